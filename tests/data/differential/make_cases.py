#!/usr/bin/env python3
"""Writes the cases of this folder: what scripts/differential.py found wrong in ours, each with the right outputs and who says so.

usage: make_cases.py           (wants the packages of scripts/requirements_peers.txt; the values here are of onnxruntime 1.32.0 and onnx 1.23.2)
"""
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).resolve().parent
RNG = np.random.default_rng(11)
ROWS = []


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def code(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def by_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def by_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def case(name, op, opset, inputs, outputs, source, right=None, domain="", shapes=True, **attributes):
    """`outputs`: element types; `right`: the outputs, or the function that computes them; without `shapes` the model does not declare any."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(len(outputs))], domain=domain, **attributes)
    feeds = {n: x for n, x in zip(names, inputs) if n}
    graph = helper.make_graph([node], name, [helper.make_tensor_value_info(n, code(x), x.shape if shapes else None) for n, x in feeds.items()],
                              [helper.make_tensor_value_info(f"y{i}", kind, None) for i, kind in enumerate(outputs)])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    results = right(model, feeds) if callable(right) else right
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", feeds.values()), ("output", results)):
        for i, value in enumerate(values):
            (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(value), f"{kind}_{i}").SerializeToString())
    ROWS.append(f"- `{name}`: {source}\n")


F, D, H, I64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64


def legacy_broadcasting():
    a, b = f(2, 3, 4), f(3)
    right = [a + b[None, :, None]]
    case("add6_axis_without_ranks", "Add", 6, [a, b], [F], "NumPy: a + b[:, None], as Add-6 says of axis 1", right, shapes=False, broadcast=1, axis=1)
    case("mul6_axis_from_the_end_without_ranks", "Mul", 6, [a, b], [F], "NumPy: a * b[:, None], as Mul-6 says of axis -2", [a * b[None, :, None]], shapes=False,
         broadcast=1, axis=-2)


def attention():
    case("attention24_heads_of_four_dimensions", "Attention", 24, [f(1, 4, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 2)], [F], "reference evaluator of onnx 1.23.2",
         by_reference, q_num_heads=4, kv_num_heads=2, is_causal=1)
    case("attention24_heads_without_ranks", "Attention", 24, [f(1, 4, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 2)], [F], "reference evaluator of onnx 1.23.2",
         by_reference, shapes=False, q_num_heads=4, kv_num_heads=2)


def normalization():
    x = RNG.standard_normal((2, 3, 5))
    case("layernormalization_double_statistics", "LayerNormalization", 17, [x, RNG.standard_normal(5)], [D, F, F], "onnxruntime 1.32.0", by_onnxruntime)
    half = f(2, 3, 4, 5).astype(np.float16)
    wide = half.astype(np.float64)
    right = [((wide - wide.mean((0, 2, 3), keepdims=True)) / wide.std((0, 2, 3), keepdims=True)).astype(np.float16)]
    case("meanvariance_half", "MeanVarianceNormalization", 13, [half], [H], "NumPy in double, by the formula of the schema", right)
    near = np.array([[0.7, 0.71], [-3.0, -3.02], [5.0, 5.5]], np.float32)
    wide = near.astype(np.float64)
    right = [((wide - wide.mean(1, keepdims=True)) / (wide.std(1, keepdims=True) + 1e-9)).astype(np.float32)]
    case("meanvariance_of_close_entries", "MeanVarianceNormalization", 13, [near], [F], "NumPy in double, by the formula of the schema", right, axes=[1])
    case("meanvariance_double_axes", "MeanVarianceNormalization", 13, [x], [D], "NumPy, by the formula of the schema",
         [(x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-9)], axes=[1])


def loops():
    def body(state):
        nodes = [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", [state, state], ["next"]), helper.make_node("Neg", ["next"], ["left"])]
        kinds = [("i", I64), ("go", TensorProto.BOOL), (state, F)]
        return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(n, k, None) for n, k in kinds],
                                 [helper.make_tensor_value_info(n, k, None) for n, k in (("again", TensorProto.BOOL), ("next", F), ("left", F))])

    s = f(2, 3)
    case("loop_of_no_trips_with_undeclared_rank", "Loop", 16, [np.array(0), np.array(True), s], [F, F],
         "the standard: the state, and a stack of no entries of its shape", [s, np.zeros((0, 2, 3), np.float32)], shapes=False, body=body("s"))


def pools():
    x = f(2, 2, 6, 7)
    rois = np.array([[0, 0, 0, 6, 5], [1, 2, 1, 3, 4], [1, 5, 5, 2, 2], [0, -3, 4, 9, 11]], np.float32)
    case("maxroipool", "MaxRoiPool", 1, [x, rois], [F], "onnxruntime 1.32.0", by_onnxruntime, pooled_shape=[2, 3])
    case("maxroipool_scaled", "MaxRoiPool", 1, [x, rois * np.array([1, 2, 2, 2, 2], np.float32)], [F], "onnxruntime 1.32.0", by_onnxruntime, pooled_shape=[3, 1], spatial_scale=0.4)


def resizing():
    row = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)[None, None]
    scales = [np.array(s, np.float32) for s in ([1, 1, 0.6, 0.6], [1, 1, 2, 0.6], [1, 1, 1.5, 2.5])]
    case("resize10_shrinks", "Resize", 10, [row, scales[0]], [F], "the example of Resize-10: 1 and 3; onnxruntime 1.32.0", by_onnxruntime)
    case("resize10_grows_and_shrinks", "Resize", 10, [f(1, 2, 3, 5), scales[1]], [F], "onnxruntime 1.32.0", by_onnxruntime)
    picture = np.array([[2, 8, 3, 8, 0], [7, 1, 2, 3, 1], [250, 5, 255, 9, 9]], np.uint8)
    case("resize_cubic_of_bytes", "Resize", 19, [picture, None, None, np.array([6, 10])], [TensorProto.UINT8], "reference evaluator of onnx 1.23.2: rounded and clamped", by_reference,
         mode="cubic")
    case("resize10_grows", "Resize", 10, [f(1, 2, 3, 5), scales[2]], [F], "onnxruntime 1.32.0", by_onnxruntime)


def others():
    case("nonzero_scalar", "NonZero", 13, [np.array(2.5, np.float32)], [I64], "the standard: [0, N] for a scalar; reference evaluator of onnx 1.23.2", by_reference)
    case("nonzero_scalar_zero", "NonZero", 13, [np.array(0.0, np.float32)], [I64], "the standard: [0, N] for a scalar; reference evaluator of onnx 1.23.2", by_reference)
    case("thresholdedrelu_nan", "ThresholdedRelu", 22, [np.array([np.nan, 2, 0.5, -np.inf, np.inf], np.float32)], [F], "onnxruntime 1.32.0", by_onnxruntime)
    case("expanddims", "ExpandDims", 17, [f(2, 3), np.array(-2, np.int32)], [F], "onnxruntime 1.32.0", by_onnxruntime, domain="com.microsoft")
    whole = RNG.integers(-9, 10, (3, 5)).astype(np.int32)
    right = [np.log(np.exp(whole.astype(np.float64)).sum(1)).astype(np.int32)]
    case("reducelogsumexp_int32", "ReduceLogSumExp", 18, [whole, np.array([1])], [TensorProto.INT32], "NumPy in double, cut to whole numbers", right, keepdims=0)


def slicing():
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    case("slice_backwards_from_before_the_first", "Slice", 13, [x, np.array([-5]), np.array([-1000]), np.array([1]), np.array([-2])], [TensorProto.INT16],
         "the text of Slice-13: the start is clamped to the first; onnxruntime 1.32.0 (the evaluator takes nothing)", [x[:, :1]])


def small_floats():
    kind = helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E4M3FNUZ)
    a, b = f(2, 3).astype(kind), f(3, 4).astype(kind)
    zero = np.zeros((), kind)
    sa, sb, sy = (np.array(s, np.float32) for s in (0.5, 0.25, 0.125))
    right = [(a.astype(np.float64) @ b.astype(np.float64) * float(sa) * float(sb) / float(sy)).astype(np.float32).astype(kind)]
    case("qlinearmatmul_float8e4m3fnuz", "QLinearMatMul", 21, [a, sa, zero, b, sb, zero, sy, zero], [TensorProto.FLOAT8E4M3FNUZ],
         "NumPy in double, rounded by ml_dtypes 0.7.0", right)
    for name, code_, steps in (("e2m3", TensorProto.FLOAT6E2M3, [0.125, 7.5]), ("e3m2", TensorProto.FLOAT6E3M2, [0.0625, 28.0])):
        six = helper.tensor_dtype_to_np_dtype(code_)
        x = np.array([0.0, steps[0], -steps[0] / 2, 0.3, -1.27, 3.1, steps[1], -100.0, 5.25], np.float32)
        case(f"cast_to_float6{name}", "Cast", 28, [x], [code_], "reference evaluator of onnx 1.23.2", by_reference, to=code_)
        case(f"cast_from_float6{name}", "Cast", 28, [x.astype(six)], [F], "reference evaluator of onnx 1.23.2", by_reference, to=F)
        q = f(3, 5)
        case(f"quantizelinear_float6{name}", "QuantizeLinear", 28, [q, np.array(0.25, np.float32), np.zeros((), six)], [code_],
             "reference evaluator of onnx 1.23.2", by_reference)
        case(f"dequantizelinear_float6{name}", "DequantizeLinear", 28, [q.astype(six), np.array([0.5, 2, 0.25], np.float32)], [F],
             "reference evaluator of onnx 1.23.2", by_reference, axis=0)


def sampling():
    grid = RNG.uniform(-2, 2, (1, 4, 2, 2))  # half of it outside
    case("gridsample_cubic_border", "GridSample", 22, [RNG.standard_normal((1, 2, 4, 3)), grid], [D],
         "onnxruntime 1.32.0, equal to PyTorch 2.15's grid_sample; the evaluator of onnx clamps the place first", by_onnxruntime, mode="cubic", padding_mode="border")


def main():
    for family in (legacy_broadcasting, attention, normalization, loops, pools, resizing, slicing, others, small_floats, sampling):
        family()
    (HERE / "README.md").write_text("""# What random comparison found

Cases in which ours was wrong, found by `scripts/differential.py` and `scripts/ort_optimised.py`: the value, the shape or the type differed, or the node was refused. Laid out as the backend
tests of ONNX, written by `make_cases.py` (seeded). Own work, same licence as the project. Where the outputs come from:

""" + "".join(sorted(ROWS)))
    print(len(ROWS), "cases")


if __name__ == "__main__":
    main()
