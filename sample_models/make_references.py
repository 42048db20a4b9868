"""Writes the reference values of every sample model into tests/data/samples/<name>/.

  forward.npz       every value of the main graph (weights left out) for inputs.npz, by onnxruntime in float32
  expected_f64.npz  the model's outputs by torch in double
  gradients.npz     torch autograd in double: d target / d x for each float initializer and float input
  cotangents.npz    the same for every other float value of the main graph that the target depends on

The target is `loss`; where there is no loss, the sum of `root` (control_flow) or of `smooth` (scan_filter). Keys are the ONNX value names.
Run: python make_references.py [SAMPLE…]      (after the scripts that make the models; without names, all of them)
"""
import sys
from pathlib import Path

import numpy as np
import onnx
import torch

from model_builder import run_unoptimised
from onnx_in_torch import run_model

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data" / "samples"
TARGETS = {"digits_mlp": "loss", "digits_cnn": "loss", "tiny_gpt": "loss", "control_flow": "root", "scan_filter": "smooth", "karate_gnn": "loss",
           "rnn_loop": "loss", "two_tower": "loss", "cart_pole": "loss"}
FORWARD_TOLERANCE = 2e-5    # float32 against double, of a value's largest entry; the longest sums have 256 terms


def all_values(model: onnx.ModelProto, inputs: dict) -> dict:
    """Every node output of the main graph by onnxruntime, by making each one an output of the model."""
    typed = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    infos = {info.name: info for info in typed.graph.value_info}
    known = {info.name for info in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                typed.graph.output.append(infos[name])
    return run_unoptimised(typed.SerializeToString(), inputs)


def compare(name: str, forward: dict, double: dict) -> float:
    """The largest difference of a float value relative to its largest entry; other values must be equal."""
    worst = 0.0
    for key, value in forward.items():
        other = double[key].detach().numpy()
        assert value.shape == other.shape, f"{name}: {key} is {value.shape} in onnxruntime, {other.shape} in torch"
        if value.dtype.kind == "f":
            difference = np.abs(value - other).max() / max(np.abs(other).max(), 1e-30)
            assert difference < FORWARD_TOLERANCE, f"{name}: {key} differs by {difference:.2g} of its largest entry"
            worst = max(worst, float(difference))
        else:
            assert np.array_equal(value, other), f"{name}: {key} differs"
    return worst


def split_gradients(model: onnx.ModelProto, values: dict) -> tuple[dict, dict]:
    """Gradients of leaves (inputs and initializers) and of the values between, where there is a path to the target."""
    leaves = {x.name for x in model.graph.input} | {x.name for x in model.graph.initializer}
    gradients, cotangents = {}, {}
    for name, tensor in values.items():
        if tensor.is_floating_point() and tensor.requires_grad and tensor.grad is not None:
            (gradients if name in leaves else cotangents)[name] = tensor.grad.numpy()
    return gradients, cotangents


def check_by_differences(model: onnx.ModelProto, inputs: dict, target: str, gradients: dict) -> float:
    """Central differences along one random direction per leaf: the evaluator's graph and its gradients must agree."""
    rng = np.random.default_rng(0)
    worst, step = 0.0, 1e-6
    for name, gradient in gradients.items():
        direction = rng.standard_normal(gradient.shape)
        sides = [float(evaluate(model, inputs, target, {name: s * step * direction})) for s in (1.0, -1.0)]
        difference = (sides[0] - sides[1]) / (2 * step)
        expected = float((gradient * direction).sum())
        error = abs(difference - expected) / (abs(expected) + 1e-3)
        assert error < 1e-4, f"{name}: difference quotient {difference:.8g}, gradient {expected:.8g}"
        worst = max(worst, error)
    return worst


def evaluate(model: onnx.ModelProto, inputs: dict, target: str, shifts: dict) -> float:
    """The summed target with leaves moved by `shifts`, in double."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for initializer in changed.graph.initializer:
        if initializer.name in shifts:
            array = onnx.numpy_helper.to_array(initializer).astype(np.float64) + shifts[initializer.name]
            initializer.CopyFrom(onnx.numpy_helper.from_array(np.asarray(array), initializer.name))
    moved = {key: value + shifts[key] if key in shifts else value for key, value in inputs.items()}
    return run_model(changed, moved)[target].sum().item()


def make(name: str, target: str) -> None:
    model = onnx.load(HERE / name / "model.onnx")
    inputs = dict(np.load(HERE / name / "inputs.npz"))
    forward = all_values(model, inputs)
    values = run_model(model, inputs)
    worst = compare(name, forward, values)
    values[target].sum().backward()
    gradients, cotangents = split_gradients(model, values)
    quotient = check_by_differences(model, inputs, target, gradients)

    folder = DATA / name
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {info.name: values[info.name].detach().numpy() for info in model.graph.output}
    np.savez(folder / "forward.npz", **forward)
    np.savez(folder / "expected_f64.npz", **outputs)
    np.savez(folder / "gradients.npz", **gradients)
    np.savez(folder / "cotangents.npz", **cotangents)
    print(f"{name}: {len(forward)} values (float32 and double differ by at most {worst:.1e}), "
          f"{len(gradients)} gradients, {len(cotangents)} cotangents, difference quotients within {quotient:.1e}")


def main() -> None:
    torch.set_num_threads(1)
    wanted = sys.argv[1:] or list(TARGETS)
    for name, target in ((name, TARGETS[name]) for name in wanted):
        if (HERE / name / "model.onnx").exists():
            make(name, target)


if __name__ == "__main__":
    main()
