"""Writes expected.json: types and shapes that onnx.shape_inference (with data propagation) finds for models of this repository.

Run from the repository's root with the PyPI packages onnx 1.23.2 and numpy: python tests/data/types/make_expected.py
A dimension is a number, a name of the file, or null (unknown, or a name that the tool made up)."""
import glob
import json
import os
import onnx
from onnx import shape_inference


def dims_of(tensor_type):
    if not tensor_type.HasField("shape"):
        return None
    out = []
    for dim in tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            out.append(dim.dim_value)
        elif dim.dim_param and dim.dim_param != "?" and not dim.dim_param.startswith("unk__"):
            out.append(dim.dim_param)
        else:
            out.append(None)
    return out


def main():
    found = {}
    paths = sorted(glob.glob("sample_models/**/*.onnx", recursive=True) + glob.glob("tests/data/models/**/*.onnx", recursive=True)
                   + glob.glob("tests/data/grad/*/model.onnx"))
    for path in paths:
        model = onnx.load(path)
        try:
            inferred = shape_inference.infer_shapes(model, data_prop=True)
        except Exception as error:  # the tool refuses the model: nothing to compare with
            print(path, error)
            continue
        values = {}
        for info in list(inferred.graph.value_info) + list(inferred.graph.output):
            if info.type.HasField("tensor_type"):
                values[info.name] = [info.type.tensor_type.elem_type, dims_of(info.type.tensor_type)]
        found[path] = values
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "expected.json"), "w") as out:
        json.dump({"tool": "onnx " + onnx.__version__, "models": found}, out, separators=(",", ":"), sort_keys=True)
        out.write("\n")
    print(len(found), "models,", sum(len(v) for v in found.values()), "values")


main()
