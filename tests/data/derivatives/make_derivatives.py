#!/usr/bin/env python3
"""Writes the Jacobians, Hessians and Hessian products of this folder by torch.autograd.functional, in float64.

Run: python make_derivatives.py      (needs numpy, onnx and torch; sample_models/onnx_in_torch.py runs the graphs node by node in torch)

softmax_layer/model.onnx is written here, with its inputs; the other models are those of sample_models with their inputs.npz. Keys of NAME.npz:
jacobian:OF:WRT   of.shape + wrt.shape
hessian:A:B       a.shape + b.shape, of the sum of the elements of the first output named
hvp:A             the Hessian over all values named together, times ones
"""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.autograd import functional

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "sample_models"))
from onnx_in_torch import run_graph, to_torch  # noqa: E402

# model: (of, wrt of the Jacobian), (of, wrt of the Hessian)
CASES = {
    "softmax_layer": ((["y", "length"], ["x", "w", "b"]), ("length", ["x", "b"])),
    "digits_mlp": ((["logits"], ["layers.fc2.bias", "layers.fc3.bias"]), ("loss", ["layers.fc3.bias", "layers.fc2.bias"])),
    "digits_cnn": ((["logits"], ["features.conv1.bias"]), ("loss", ["classifier.fc2.bias", "features.bn4.weight"])),
    "karate_gnn": ((["loss"], ["layer2.weight"]), ("loss", ["layer1.bias", "layer2.weight"])),
    "control_flow": ((["root"], ["a", "half"]), ("root", ["a"])),
    "scan_filter": ((["last_p", "smooth"], ["start", "start_p", "r"]), ("smooth", ["start_p", "q"])),
    "rnn_loop": ((["loss"], ["rnn.recurrent"]), ("loss", ["rnn.bias", "head.weight"])),
    "two_tower": ((["loss"], ["name.fc2.bias"]), ("loss", ["log_scale", "picture.fc2.bias"])),
    "tiny_gpt": ((["loss"], ["ln_f.bias"]), ("loss", ["ln_f.weight", "blocks.0.ln1.weight"])),
}


def softmax_layer() -> tuple[onnx.ModelProto, dict]:
    rng = np.random.default_rng(11)
    weight, bias = rng.standard_normal((3, 4)), rng.standard_normal(4)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]), helper.make_node("Tanh", ["s"], ["t"]),
             helper.make_node("Softmax", ["t"], ["y"], axis=-1), helper.make_node("Mul", ["y", "t"], ["m"]),
             helper.make_node("ReduceSum", ["m"], ["sum"], keepdims=0), helper.make_node("Sqrt", ["sum"], ["length"])]
    graph = helper.make_graph(nodes, "softmax_layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4]), helper.make_tensor_value_info("length", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(weight.astype(np.float32), "w"), numpy_helper.from_array(bias.astype(np.float32), "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model, {"x": rng.standard_normal((2, 3)).astype(np.float32)}


def function_of(model: onnx.ModelProto, inputs: dict, of: str, wrt: list[str]):
    """`of` as a function of the values `wrt`, with their values: they become graph inputs, so that the caller's tensors take their place."""
    graph = onnx.GraphProto()
    graph.CopyFrom(model.graph)
    values = {x.name: to_torch(inputs[x.name]) for x in graph.input}
    for initializer in list(graph.initializer):
        if initializer.name in wrt:
            values[initializer.name] = to_torch(numpy_helper.to_array(initializer))
            graph.initializer.remove(initializer)
            graph.input.append(helper.make_tensor_value_info(initializer.name, initializer.data_type, list(initializer.dims)))

    def function(*given):
        now = values | dict(zip(wrt, given, strict=True))
        return run_graph(graph, [now[x.name] for x in graph.input], {})[1][of]
    return function, tuple(values[name].detach() for name in wrt)


def derivatives(model: onnx.ModelProto, inputs: dict, jacobian_of: list, jacobian_wrt: list, hessian_of: str, hessian_wrt: list) -> dict:
    found = {}
    for of in jacobian_of:
        function, at = function_of(model, inputs, of, jacobian_wrt)
        for name, block in zip(jacobian_wrt, functional.jacobian(function, at), strict=True):
            found[f"jacobian:{of}:{name}"] = block
    function, at = function_of(model, inputs, hessian_of, hessian_wrt)
    for a, row in zip(hessian_wrt, functional.hessian(lambda *x: function(*x).sum(), at), strict=True):
        for b, block in zip(hessian_wrt, row, strict=True):
            found[f"hessian:{a}:{b}"] = block
    _, products = functional.hvp(lambda *x: function(*x).sum(), at, tuple(torch.ones_like(x) for x in at))
    for name, product in zip(hessian_wrt, products, strict=True):
        found[f"hvp:{name}"] = product
    return {name: value.numpy() for name, value in found.items()}


def main() -> None:
    torch.set_num_threads(1)
    for name, (jacobian, hessian) in CASES.items():
        if name == "softmax_layer":
            model, inputs = softmax_layer()
            onnx.save(model, HERE / "softmax_layer.onnx")
            np.savez(HERE / "softmax_layer_inputs.npz", **inputs)
        else:
            folder = ROOT / "sample_models" / name
            model, inputs = onnx.load(folder / "model.onnx"), dict(np.load(folder / "inputs.npz"))
        found = derivatives(model, inputs, *jacobian, *hessian)
        assert all(np.isfinite(value).all() for value in found.values()), name
        np.savez_compressed(HERE / f"{name}.npz", **found)
        print(f"{name}: {len(found)} arrays, {sum(value.size for value in found.values())} numbers")


if __name__ == "__main__":
    main()
