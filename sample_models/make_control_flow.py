"""Writes control_flow/: square roots by iteration until they are good enough, with Loop and If.

Each trip of the Loop looks at its largest relative error and takes, by If, a step of Halley's method while far off and
a step of Newton's method when near. The number of trips depends on the data, and so does the length of `errors`.
    Newton: x <- (x + a / x) / 2            Halley: x <- x (x^2 + 3 a) / (3 x^2 + a)
Closed forms: root = sqrt(a), d root / d a = 1 / (2 sqrt(a)).
Run: python make_control_flow.py      (needs numpy, onnx, onnxruntime)
"""
from pathlib import Path

import numpy as np
from onnx import TensorProto

from model_builder import FLOAT, INT64, ModelBuilder, write_expected

HERE = Path(__file__).resolve().parent
MAX_TRIPS, TOLERANCE, FAR = 30, 1e-5, 0.5
METADATA = {"data": "none", "script": "sample_models/make_control_flow.py"}


def branch(name: str, doc: str) -> ModelBuilder:
    """A body of If: no inputs, it reads `a` and the body's `x` from outside; one output, the next x."""
    b = ModelBuilder(name, doc)
    b.output(f"{name}_x", FLOAT, ["n"], "The next estimate.")
    return b


def newton() -> ModelBuilder:
    b = branch("newton", "x <- (x + a / x) / 2")
    b.node("Div", "/newton/Div", ["a", "x"], "newton_quotient")
    b.node("Add", "/newton/Add", ["x", "newton_quotient"], "newton_sum")
    b.node("Mul", "/newton/Mul", ["newton_sum", "half"], "newton_x")
    return b


def halley() -> ModelBuilder:
    b = branch("halley", "x <- x (x^2 + 3 a) / (3 x^2 + a)")
    b.node("Mul", "/halley/Mul_a", ["a", "three"], "halley_3a")
    b.node("Mul", "/halley/Mul_square", ["square", "three"], "halley_3x2")
    b.node("Add", "/halley/Add_above", ["square", "halley_3a"], "halley_above")
    b.node("Add", "/halley/Add_below", ["halley_3x2", "a"], "halley_below")
    b.node("Div", "/halley/Div", ["halley_above", "halley_below"], "halley_factor")
    b.node("Mul", "/halley/Mul", ["x", "halley_factor"], "halley_x")
    return b


def trip() -> ModelBuilder:
    """The Loop's body: (trip, condition, x) to (go on, next x, error)."""
    b = ModelBuilder("trip", "One step of the iteration.")
    b.input("trip", INT64, [], "Trips done so far.")
    b.input("was_going", TensorProto.BOOL, [], "Always true here.")
    b.input("x", FLOAT, ["n"], "The estimate so far.")
    b.node("Mul", "/trip/Mul", ["x", "x"], "square")
    b.node("Sub", "/trip/Sub", ["square", "a"], "difference")
    b.node("Div", "/trip/Div", ["difference", "a"], "relative")
    b.node("Abs", "/trip/Abs", ["relative"], "size")
    b.node("ReduceMax", "/trip/ReduceMax", ["size"], "error", keepdims=0)
    b.node("Greater", "/trip/Greater_far", ["error", "far"], "is_far")
    b.node("If", "/trip/If", ["is_far"], "next_x", then_branch=halley().graph(), else_branch=newton().graph())
    b.node("Greater", "/trip/Greater_tolerance", ["error", "tolerance"], "go_on")
    b.output("go_on", TensorProto.BOOL, [], "False after the step that began within the tolerance.")
    b.output("next_x", FLOAT, ["n"], "The next estimate.")
    b.output("error", FLOAT, [], "max |x^2 - a| / a before the step.")
    return b


def build() -> ModelBuilder:
    b = ModelBuilder("control_flow", "Square roots by Halley's and Newton's method, until they are good enough.")
    b.input("a", FLOAT, ["n"], "Numbers above 0.")
    b.input("tolerance", FLOAT, [], "The loop ends after the step that began with max |x^2 - a| / a within this.")
    for name, value in (("half", 0.5), ("three", 3.0), ("far", FAR)):
        b.weight(name, np.float32(value))
    limit, true = b.weight("max_trips", np.int64(MAX_TRIPS)), b.weight("true", np.bool_(True))
    one = b.weight("one", np.float32(1.0))
    b.node("Add", "/start/Add", ["a", one], "a_plus_1")
    b.node("Mul", "/start/Mul", ["a_plus_1", "half"], "start", "(a + 1) / 2 is never below the root.")
    b.node("Loop", "/Loop", [limit, true, "start"], ["root", "errors"], body=trip().graph())
    b.node("Shape", "/Shape", ["errors"], "errors_shape")
    b.node("Squeeze", "/Squeeze", ["errors_shape", b.weight("axis0", np.array([0], np.int64))], "trips")
    b.output("root", FLOAT, ["n"], "The square roots.")
    b.output("errors", FLOAT, ["trips"], "The error before each step.")
    b.output("trips", INT64, [], "How many steps were taken.")
    return b


def main() -> None:
    folder = HERE / "control_flow"
    build().save(folder, METADATA)
    a = np.array([0.25, 2.0, 10.0, 144.0, 3.0e4], np.float32)
    outputs = write_expected(folder, {"a": a, "tolerance": np.array(TOLERANCE, np.float32)})
    wrong = np.abs(outputs["root"] / np.sqrt(a.astype(np.float64)) - 1).max()
    assert wrong < 1e-6, f"the roots are off by {wrong:.2g}"
    print(f"control_flow: {int(outputs['trips'])} trips, errors {outputs['errors']}, roots within {wrong:.1e} of sqrt")


if __name__ == "__main__":
    main()
