"""Writes tests/data/samples/<name>/iterations.npz: values in iteration k of a body, by runs that end after as many.

Keys are `k.value`, k from 0. onnxruntime shows no values inside a body, but what a body hands on are outputs of a model
that is cut after k iterations:
  control_flow: the Loop with `max_trips` = k + 1. `k.x` is what k trips leave, `k.next_x` what k + 1 trips leave,
                `k.error` the last entry of `errors`.
  scan_filter:  the first Scan over the first k + 1 times (`k.next_level`, `k.next_p`); the second over the last k + 1
                times of what the first made (`k.smooth_here`).
Run: python make_iterations.py      (after the scripts that make the models)
"""
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from model_builder import run_unoptimised

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data" / "samples"


def loop_iterations() -> dict:
    model = onnx.load(HERE / "control_flow" / "model.onnx")
    inputs = dict(np.load(HERE / "control_flow" / "inputs.npz"))
    limit = next(x for x in model.graph.initializer if x.name == "max_trips")

    def cut(trips: int) -> dict:
        limit.CopyFrom(numpy_helper.from_array(np.int64(trips).reshape(()), "max_trips"))
        return run_unoptimised(model.SerializeToString(), inputs)

    whole, out = cut(1000), {}
    for k in range(int(whole["trips"])):
        before, after = cut(k), cut(k + 1)
        out[f"{k}.x"], out[f"{k}.next_x"], out[f"{k}.error"] = before["root"], after["root"], after["errors"][k]
    return out


def part(model: onnx.ModelProto, name: str, outputs: dict) -> bytes:
    """A model of one node that reads only inputs and the initializers of `model`; `outputs`: name to dimensions."""
    node = next(x for x in model.graph.node if x.name == name)
    types = {x.name: x for x in onnx.shape_inference.infer_shapes(model).graph.value_info}
    types.update({x.name: x for x in model.graph.input} | {x.name: x for x in model.graph.output})
    made = [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, dims) for x, dims in outputs.items()]
    taken = [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, ["c", "cut"][:len(types[x].type.tensor_type.shape.dim)])
             for x in node.input]
    body = next(x.g for x in node.attribute if x.name == "body")
    read = {name for x in body.node for name in x.input}
    graph = helper.make_graph([node], "cut", taken, made, [x for x in model.graph.initializer if x.name in read])
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version).SerializeToString()


def scan_iterations() -> dict:
    model = onnx.load(HERE / "scan_filter" / "model.onnx")
    given = dict(np.load(HERE / "scan_filter" / "inputs.npz"))
    forward = part(model, "/Scan_forward", {"last_level": ["c"], "last_p": ["c"], "levels": ["c", "cut"], "variances": ["c", "cut"]})
    backward = part(model, "/Scan_backward", {"first_smooth": ["c"]})
    whole, out = run_unoptimised(forward, given), {}
    for k in range(given["measured"].shape[1]):
        cut = run_unoptimised(forward, {**given, "measured": given["measured"][:, :k + 1]})
        out[f"{k}.next_level"], out[f"{k}.next_p"] = cut["last_level"], cut["last_p"]
        late = {name: np.ascontiguousarray(whole[name][:, -k - 1:]) for name in ("levels", "variances")}
        out[f"{k}.smooth_here"] = run_unoptimised(backward, {"last_level": whole["last_level"], **late})["first_smooth"]
    return out


def main() -> None:
    for name, values in (("control_flow", loop_iterations()), ("scan_filter", scan_iterations())):
        np.savez_compressed(DATA / name / "iterations.npz", **values)
        print(f"{name}: {len(values)} values")


if __name__ == "__main__":
    main()
