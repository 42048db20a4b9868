#!/usr/bin/env python3
"""Writes the cases of this folder: one-node models of old opsets whose operator meant something else, or said it otherwise, than today's.

The expected values are worked out here with NumPy from the words of onnx/docs/Changelog.md on that version. Where onnxruntime still loads the model, its outputs
must equal them (the script stops otherwise), and README.md's table says so.

usage: make_opsets.py           (wants numpy, onnx, onnxruntime)
"""
import pathlib
import shutil
import textwrap

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
RNG = np.random.default_rng(7)
F, I64 = np.float32, np.int64
IR = {1: 3, 7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 20: 9}
CHECKED, UNCHECKED = [], []


def f(*shape):
    return RNG.standard_normal(shape).astype(F)


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def case(name, opset, op, inputs, outputs, constants=(), **attributes):
    """`inputs`, `outputs`: arrays, None for an omitted one. Inputs at the positions `constants` become initializers."""
    in_names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    out_names = [f"y{i}" if y is not None else "" for i, y in enumerate(outputs)]
    outputs = [np.asarray(y) for y in outputs if y is not None]
    node = helper.make_node(op, in_names, out_names, **attributes)
    given = {n: np.asarray(x) for n, x in zip(in_names, inputs) if n}
    feeds = {n: x for n, x in given.items() if in_names.index(n) not in constants}
    fixed = [numpy_helper.from_array(x, n) for n, x in given.items() if n not in feeds]
    infos = [value_info(n, x) for n, x in (given if opset < 9 else feeds).items()]  # before IR 4 every initializer is an input too
    graph = helper.make_graph([node], name, infos, [value_info(n, y) for n, y in zip([n for n in out_names if n], outputs)], fixed)
    write(name, helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR[max(v for v in IR if v <= opset)]), feeds, outputs)


def write(name, model, feeds, outputs):
    try:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for theirs, ours in zip(session.run(None, feeds), outputs):
            if theirs.dtype != ours.dtype or not np.allclose(theirs, ours, rtol=1e-5, atol=1e-5, equal_nan=True):
                raise ValueError(f"{name}: onnxruntime gives\n{theirs}\nworked out\n{ours}")
        CHECKED.append(name)
    except ValueError:
        raise
    except Exception as error:
        UNCHECKED.append((name, str(error).splitlines()[0][:90]))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for i, (key, x) in enumerate(feeds.items()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(x, key).SerializeToString())
    for i, (info, y) in enumerate(zip(model.graph.output, outputs)):
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(y), info.name).SerializeToString())


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# ---- one family each ----

def flattening():
    """Softmax and kin before 13: the input is a matrix, its rows the axes before `axis` (1 unless stated)."""
    x = f(2, 3, 4)
    rows, flat = softmax(x.reshape(2, 12), 1).reshape(x.shape), softmax(x.reshape(1, 24), 1).reshape(x.shape)
    case("softmax_1", 1, "Softmax", [x], [rows])
    case("softmax_11_axis0", 11, "Softmax", [x], [flat], axis=0)
    case("softmax_11_negative", 11, "Softmax", [x], [rows], axis=-2)
    case("logsoftmax_1", 1, "LogSoftmax", [x], [np.log(rows)])
    case("logsoftmax_11_axis2", 11, "LogSoftmax", [x], [np.log(softmax(x, 2))], axis=2)
    hard = np.zeros((2, 12), F)
    hard[np.arange(2), x.reshape(2, 12).argmax(1)] = 1
    case("hardmax_1", 1, "Hardmax", [x], [hard.reshape(x.shape)])
    case("hardmax_11", 11, "Hardmax", [x], [hard.reshape(x.shape)], axis=1)
    case("flatten_1", 1, "Flatten", [x], [x.reshape(2, 12)])
    case("flatten_9_axis0", 9, "Flatten", [x], [x.reshape(1, 24)], axis=0)


def broadcasting():
    """Before 7: `broadcast` = 1 lets B be smaller; its first axis lies at `axis` of A, else its last axis at A's last."""
    a, b, c = f(2, 3, 4, 5), f(3, 4), f(4, 5)
    middle = b.reshape(3, 4, 1)
    for op, how in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        case(f"{op.lower()}_1_axis", 1, op, [a, b], [how(a, middle)], broadcast=1, axis=1, consumed_inputs=[0, 0])
        case(f"{op.lower()}_6_axis", 6, op, [a, b], [how(a, middle)], broadcast=1, axis=1)
        case(f"{op.lower()}_6_last", 6, op, [a, c], [how(a, c)], broadcast=1)
        case(f"{op.lower()}_6_same", 6, op, [a, 2 * a], [how(a, 2 * a)])
    scalar = np.array(3, F)
    case("mul_6_scalar", 6, "Mul", [a, scalar], [a * scalar], broadcast=1)
    case("pow_1_axis", 1, "Pow", [np.abs(a), b], [np.abs(a) ** middle], broadcast=1, axis=1)
    case("pow_1_same", 1, "Pow", [np.abs(a[0]), a[1]], [np.abs(a[0]) ** a[1]])
    p, q = RNG.integers(0, 2, (2, 3, 4)).astype(bool), RNG.integers(0, 2, (3,)).astype(bool)
    for op, how in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
        case(f"{op.lower()}_1_axis", 1, op, [p, q], [how(p, q.reshape(3, 1))], broadcast=1, axis=1)
    r = RNG.integers(0, 3, (2, 3, 4)).astype(np.int32)
    case("equal_1_axis", 1, "Equal", [r, r[1, :, 0].copy()], [r == r[1, :, :1]], broadcast=1, axis=1)
    u, v = f(2, 3, 4), f(3)
    case("greater_1_axis", 1, "Greater", [u, v], [u > v.reshape(3, 1)], broadcast=1, axis=1)
    case("less_1_axis", 1, "Less", [u, v], [u < v.reshape(3, 1)], broadcast=1, axis=1)
    # PRelu before 7: one slope, or one for each channel (axis 1).
    x, slope = f(2, 3, 4), f(3)
    case("prelu_1", 1, "PRelu", [x, slope], [np.where(x < 0, slope.reshape(3, 1) * x, x)], consumed_inputs=[0, 0])
    case("prelu_6", 6, "PRelu", [x, slope], [np.where(x < 0, slope.reshape(3, 1) * x, x)])
    case("prelu_6_one", 6, "PRelu", [x, slope[:1]], [np.where(x < 0, slope[0] * x, x)])
    m, n = f(3, 4), f(4, 5)
    bias = f(5)
    case("gemm_1_broadcast", 1, "Gemm", [m, n, bias], [(0.5 * (m @ n) + 2 * bias).astype(F)], alpha=0.5, beta=2.0, broadcast=1)
    case("gemm_6_transposed", 6, "Gemm", [m.T.copy(), n.T.copy(), bias], [m @ n + bias], transA=1, transB=1, broadcast=1)
    whole = f(3, 5)
    case("gemm_6_whole", 6, "Gemm", [m, n, whole], [m @ n + whole])
    for op, how in (("Sum", sum), ("Max", lambda t: np.maximum(np.maximum(t[0], t[1]), t[2])), ("Min", lambda t: np.minimum(np.minimum(t[0], t[1]), t[2])),
                    ("Mean", lambda t: (sum(t) / 3).astype(F))):
        three = [f(2, 3) for _ in range(3)]
        case(f"{op.lower()}_1", 1, op, three, [how(three)], consumed_inputs=[0, 0, 0])
        case(f"{op.lower()}_6", 6, op, three, [how(three)])


def small_operands():
    a = f(2, 3, 4, 5)
    first, one = f(2), f(1, 1)
    case("add_6_first_axis", 6, "Add", [a, first], [a + first.reshape(2, 1, 1, 1)], broadcast=1, axis=0)
    case("add_6_one_element", 6, "Add", [a, one], [a + one[0, 0]], broadcast=1)
    case("div_6_one_element", 6, "Div", [a, one.reshape(1)], [a / one[0, 0]], broadcast=1)
    case("sub_6_whole_shape", 6, "Sub", [a, a[::-1].copy()], [a - a[::-1]], broadcast=1)


def attributes_now_inputs():
    x = f(2, 3, 4)
    case("reshape_1", 1, "Reshape", [x], [x.reshape(2, 12)], shape=[0, -1], consumed_inputs=[0])
    case("slice_1", 1, "Slice", [x], [x[:, 1:3, 2:4]], axes=[1, 2], starts=[1, -2], ends=[3, 1000])
    case("slice_1_no_axes", 1, "Slice", [x], [x[:1, 1:]], starts=[0, 1], ends=[1, 3])
    case("slice_10_steps", 10, "Slice", [x, np.array([3], I64), np.array([-10], I64), np.array([2], I64), np.array([-2], I64)], [x[:, :, 3::-2]])
    case("pad_1", 1, "Pad", [x], [np.pad(x, ((0, 1), (0, 0), (2, 0)), constant_values=1.5)], paddings=[0, 0, 2, 1, 0, 0], value=1.5)
    case("pad_1_reflect", 1, "Pad", [x], [np.pad(x, ((0, 0), (1, 0), (2, 1)), "reflect")], paddings=[0, 1, 2, 0, 0, 1], mode="reflect")
    case("pad_2", 2, "Pad", [x], [np.pad(x, ((0, 1), (0, 0), (2, 0)), constant_values=-2)], pads=[0, 0, 2, 1, 0, 0], value=-2.0)
    case("pad_2_edge", 2, "Pad", [x], [np.pad(x, ((0, 0), (1, 2), (0, 1)), "edge")], pads=[0, 1, 0, 0, 2, 1], mode="edge")
    case("pad_2_cut", 2, "Pad", [x], [np.pad(x, ((0, 0), (0, 0), (0, 1)))[:, 1:]], pads=[0, -1, 0, 0, 0, 1])
    y = f(3, 6)
    order = np.argsort(-y, 1, kind="stable")[:, :2]
    case("topk_1", 1, "TopK", [y], [np.take_along_axis(y, order, 1), order.astype(I64)], k=2)
    down = np.argsort(-y, 0, kind="stable")[:2]
    case("topk_1_axis0", 1, "TopK", [y], [np.take_along_axis(y, down, 0), down.astype(I64)], k=2, axis=0)
    case("topk_10", 10, "TopK", [y, np.array([2], I64)], [np.take_along_axis(y, order, 1), order.astype(I64)], constants=(1,))
    case("clip_1", 1, "Clip", [x], [np.clip(x, -0.5, 0.7)], min=-0.5, max=0.7000000000000001, consumed_inputs=[0])
    case("clip_6", 6, "Clip", [x], [np.clip(x, -0.5, 0.5)], min=-0.5, max=0.5)
    case("clip_6_one_side", 6, "Clip", [x], [np.maximum(x, F(0.25))], min=0.25)
    z = f(1, 3, 1, 4)
    case("squeeze_1", 1, "Squeeze", [z], [z.reshape(3, 4)])
    case("squeeze_1_axes", 1, "Squeeze", [z], [z.reshape(1, 3, 4)], axes=[2])
    case("squeeze_11_negative", 11, "Squeeze", [z], [z.reshape(1, 3, 4)], axes=[-2])
    case("unsqueeze_1", 1, "Unsqueeze", [x], [x.reshape(1, 2, 3, 4, 1)], axes=[0, 4])
    case("unsqueeze_11_negative", 11, "Unsqueeze", [x], [x.reshape(2, 3, 1, 4)], axes=[-2])
    reductions = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min, "Prod": np.prod, "SumSquare": lambda v, **k: np.sum(v * v, **k),
                  "L1": lambda v, **k: np.sum(np.abs(v), **k), "L2": lambda v, **k: np.sqrt(np.sum(v * v, **k)),
                  "LogSum": lambda v, **k: np.log(np.sum(v, **k)), "LogSumExp": lambda v, **k: np.log(np.sum(np.exp(v), **k))}
    positive = np.abs(x) + F(0.1)
    for name, how in reductions.items():
        case(f"reduce{name.lower()}_1", 1, "Reduce" + name, [positive], [how(positive, axis=(0, 2), keepdims=True)], axes=[0, 2])
        case(f"reduce{name.lower()}_11_negative", 11, "Reduce" + name, [positive], [how(positive, axis=1, keepdims=False)], axes=[-2], keepdims=0)
        case(f"reduce{name.lower()}_1_all", 1, "Reduce" + name, [positive], [how(positive, axis=None, keepdims=True)])
    case("split_1", 1, "Split", [x], [x[:, :, :1], x[:, :, 1:]], axis=2, split=[1, 3])
    case("split_2", 2, "Split", [x], [x[:, :1], x[:, 1:]], axis=1, split=[1, 2])
    case("split_2_equal", 2, "Split", [x], [x[:1], x[1:]])
    case("split_11_negative", 11, "Split", [x], [x[..., :2], x[..., 2:]], axis=-1)
    case("tile_6", 6, "Tile", [x, np.array([1, 2, 3], I64)], [np.tile(x, (1, 2, 3))], constants=(1,))
    case("onehot_9", 9, "OneHot", [np.array([1, 0, 2], I64), np.array([3], I64), np.array([2, 5], F)], [np.where(np.eye(3) > 0, 5, 2)[[1, 0, 2]].astype(F)], constants=(1,))


def tile_1():
    """`tiles` copies along `axis`; both are inputs of the type of the data."""
    x = f(2, 3, 4)
    case("tile_1", 1, "Tile", [x, np.array([3], F), np.array([1], F)], [np.tile(x, (1, 3, 1))], constants=(1, 2))


def defaults_and_names():
    a, b = f(2, 3), f(2, 3)
    case("concat_1", 1, "Concat", [a, b], [np.concatenate([a, b], 1)])
    case("concat_1_axis0", 1, "Concat", [a, b], [np.concatenate([a, b], 0)], axis=0)
    case("concat_4", 4, "Concat", [a, b], [np.concatenate([a, b], 1)], axis=1)
    case("cast_1", 1, "Cast", [np.array([1.7, -2.2, 0], F)], [np.array([1, -2, 0], np.int32)], to="INT32")
    case("cast_1_bool", 1, "Cast", [np.array([1.7, -2.2, 0], F)], [np.array([True, True, False])], to="BOOL")
    case("cast_6", 6, "Cast", [np.array([1.7, -2.2, 0], F)], [np.array([1, -2, 0], I64)], to=TensorProto.INT64)
    x = f(2, 3, 4)
    alpha, gamma = F(1.6732), F(1.0507)
    case("selu_1", 1, "Selu", [x], [np.where(x > 0, gamma * x, gamma * (alpha * np.exp(x) - alpha)).astype(F)], consumed_inputs=[0])
    case("elu_1", 1, "Elu", [x], [np.where(x > 0, x, F(2) * (np.exp(x) - 1)).astype(F)], alpha=2.0, consumed_inputs=[0])
    case("hardsigmoid_1", 1, "HardSigmoid", [x], [np.clip(F(0.2) * x + F(0.5), 0, 1).astype(F)], consumed_inputs=[0])
    case("leakyrelu_1", 1, "LeakyRelu", [x], [np.where(x < 0, F(0.01) * x, x)], consumed_inputs=[0])
    for op, how in (("Relu", lambda v: np.maximum(v, 0)), ("Abs", np.abs), ("Neg", np.negative), ("Exp", np.exp), ("Tanh", np.tanh), ("Floor", np.floor),
                    ("Ceil", np.ceil), ("Sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("Reciprocal", lambda v: 1 / v)):
        case(f"{op.lower()}_1", 1, op, [x], [how(x).astype(F)], consumed_inputs=[0])
    for op, how in (("Sqrt", np.sqrt), ("Log", np.log)):
        case(f"{op.lower()}_1", 1, op, [np.abs(x)], [how(np.abs(x))], consumed_inputs=[0])
    case("argmax_1", 1, "ArgMax", [x], [x.argmax(1)[:, None]], axis=1)
    case("gather_1", 1, "Gather", [x, np.array([2, 0], I64)], [x[:, [2, 0]]], axis=1)
    d = f(1, 8, 2, 3)
    case("depthtospace_1", 1, "DepthToSpace", [d], [d.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)], blocksize=2)
    case("mean_variance_9", 9, "MeanVarianceNormalization", [d], [((d - d.mean((0, 2, 3), keepdims=True)) / (d.std((0, 2, 3), keepdims=True) + 1e-9)).astype(F)])
    case("constant_1", 1, "Constant", [], [x], value=numpy_helper.from_array(x))
    data, index, update = f(3, 3), np.array([[1, 0, 2]], I64), f(1, 3)
    scattered = data.copy()
    scattered[index[0], np.arange(3)] = update[0]
    case("scatter_9", 9, "Scatter", [data, index, update], [scattered])


def upsampling():
    x = f(1, 2, 2, 3)
    twice = x.repeat(2, 2).repeat(2, 3)
    case("upsample_1", 1, "Upsample", [x], [twice], height_scale=2.0, width_scale=2.0, mode="nearest")
    case("upsample_7", 7, "Upsample", [x], [twice], scales=[1.0, 1.0, 2.0, 2.0])
    scales = np.array([1, 1, 1, 2], F)
    # Linear before 11: output i lies at i / scale, and what is beyond the last element takes that one.
    at = np.minimum(np.arange(6) / 2, 2)
    low = np.floor(at).astype(int)
    high, part = np.minimum(low + 1, 2), (at - low).astype(F)
    blended = x[..., low] * (1 - part) + x[..., high] * part
    case("upsample_1_bilinear", 1, "Upsample", [x], [blended], height_scale=1.0, width_scale=2.0, mode="bilinear")
    case("upsample_7_linear", 7, "Upsample", [x], [blended], scales=[1.0, 1.0, 1.0, 2.0], mode="linear")
    case("upsample_9_linear", 9, "Upsample", [x, scales], [blended], constants=(1,), mode="linear")
    case("resize_10_linear", 10, "Resize", [x, scales], [blended], constants=(1,), mode="linear")
    # Nearest of 10 rounds i / scale down: 5 / 1.5 = 3.33 takes 2 of 3 at the end
    fine = x[..., np.floor(np.arange(4) / F(1.5)).astype(int)]
    case("resize_10_nearest", 10, "Resize", [x, np.array([1, 1, 1, 1.5], F)], [fine], constants=(1,))
    half = np.clip((np.arange(6) + 0.5) / 2 - 0.5, 0, 2)
    low = np.floor(half).astype(int)
    high, part = np.minimum(low + 1, 2), (half - low).astype(F)
    case("resize_11_linear", 11, "Resize", [x, np.array([], F), scales], [x[..., low] * (1 - part) + x[..., high] * part], constants=(1, 2), mode="linear")


def normalizations():
    x, scale, bias, mean, var = f(2, 3, 2, 2), f(3), f(3), f(3), np.abs(f(3)) + F(0.5)
    c = [v.reshape(3, 1, 1) for v in (scale, bias, mean, var)]
    y = (c[0] * (x - c[2]) / np.sqrt(c[3] + F(1e-5)) + c[1]).astype(F)
    inputs = [x, scale, bias, mean, var]
    case("batchnorm_1", 1, "BatchNormalization", inputs, [y], is_test=1, consumed_inputs=[0, 0, 0, 1, 1])
    case("batchnorm_6", 6, "BatchNormalization", inputs, [y], is_test=1, spatial=1)
    case("batchnorm_7", 7, "BatchNormalization", inputs, [y], momentum=0.5)
    case("batchnorm_9", 9, "BatchNormalization", inputs, [y])
    # spatial = 0: a mean, variance, scale and bias for every element of the features.
    each = [f(3, 2, 2) for _ in range(3)] + [np.abs(f(3, 2, 2)) + F(0.5)]
    z = (each[0] * (x - each[2]) / np.sqrt(each[3] + F(1e-5)) + each[1]).astype(F)
    case("batchnorm_7_features", 7, "BatchNormalization", [x, *each], [z], spatial=0)
    case("batchnorm_6_features", 6, "BatchNormalization", [x, *each], [z], spatial=0, is_test=1)
    m, v = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    case("instancenorm_1", 1, "InstanceNormalization", [x, scale, bias], [(c[0] * (x - m) / np.sqrt(v + F(1e-5)) + c[1]).astype(F)], consumed_inputs=[0, 0, 0])
    g = f(2, 4, 3)
    groups = g.reshape(2, 2, 6)
    normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    two, more = f(2), f(2)  # version 18: one scale and bias for a group
    case("groupnorm_18", 18, "GroupNormalization", [g, two, more], [(normal * two.reshape(2, 1) + more.reshape(2, 1)).reshape(g.shape).astype(F)], num_groups=2)
    case("dropout_1_test", 1, "Dropout", [x], [x], is_test=1, ratio=0.3, consumed_inputs=[0])
    case("dropout_6_test", 6, "Dropout", [x], [x], is_test=1, ratio=0.3)
    case("dropout_7", 7, "Dropout", [x], [x], ratio=0.3)
    case("lpnormalization_1", 1, "LpNormalization", [x], [x / np.abs(x).sum(1, keepdims=True)], axis=1, p=1)


def pools():
    x = f(1, 2, 4, 5)
    w = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    case("maxpool_1", 1, "MaxPool", [x], [w.max((-1, -2))], kernel_shape=[2, 2])
    case("averagepool_1", 1, "AveragePool", [x], [w.mean((-1, -2)).astype(F)], kernel_shape=[2, 2])
    ones = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones_like(x), ((0, 0), (0, 0), (1, 0), (1, 0))), (2, 2), (2, 3)).sum((-1, -2))
    sums = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 0))), (2, 2), (2, 3)).sum((-1, -2))
    case("averagepool_1_pads", 1, "AveragePool", [x], [sums / ones], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    case("averagepool_7_include", 7, "AveragePool", [x], [sums / F(4)], kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1)
    case("maxpool_1_lower", 1, "MaxPool", [x], [np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 0), (1, 0)), constant_values=-np.inf),
                                                                                         (2, 2), (2, 3)).max((-1, -2))], kernel_shape=[2, 2], auto_pad="SAME_LOWER")
    case("lppool_1", 1, "LpPool", [x], [(np.abs(w) ** 3).sum((-1, -2)).astype(F) ** F(1 / 3)], kernel_shape=[2, 2], p=3.0)
    case("lppool_2", 2, "LpPool", [x], [np.sqrt((w * w).sum((-1, -2)))], kernel_shape=[2, 2])
    case("globallppool_1", 1, "GlobalLpPool", [x], [(np.abs(x) ** 3).sum((2, 3), keepdims=True).astype(F) ** F(1 / 3)], p=3.0)
    case("globallppool_2", 2, "GlobalLpPool", [x], [np.sqrt((x * x).sum((2, 3), keepdims=True))])
    k = f(3, 2, 2, 2)
    case("conv_1", 1, "Conv", [x, k], [np.einsum("ncijab,mcab->nmij", w, k).astype(F)])


def recurrent():
    """Version 1 and 3 say by `output_sequence` whether all hidden states are wanted; equations as in version 7, one layer forward."""
    x, h = f(3, 2, 4), 3
    sigmoid = lambda v: 1 / (1 + np.exp(-v))

    def cells(gates):
        return f(1, gates * h, 4), f(1, gates * h, h), f(1, 2 * gates * h)

    def lstm(w, r, b):
        state, cell, all_h = np.zeros((2, h), F), np.zeros((2, h), F), []
        for step in x:
            i, o, fg, c = np.split(step @ w[0].T + state @ r[0].T + b[0, :4 * h] + b[0, 4 * h:], 4, 1)
            cell = sigmoid(fg) * cell + sigmoid(i) * np.tanh(c)
            state = sigmoid(o) * np.tanh(cell)
            all_h.append(state)
        return np.stack(all_h)[:, None].astype(F), state[None].astype(F), cell[None].astype(F)

    def gru(w, r, b):
        state, all_h = np.zeros((2, h), F), []
        wb, rb = b[0, :3 * h], b[0, 3 * h:]
        for step in x:
            z, g, n = np.split(step @ w[0].T + wb, 3, 1)
            rz, rg, _ = np.split(state @ r[0].T + rb, 3, 1)
            z, g = sigmoid(z + rz), sigmoid(g + rg)
            n = np.tanh(n + (g * state) @ r[0][2 * h:].T + rb[2 * h:])
            state = (1 - z) * n + z * state
            all_h.append(state)
        return np.stack(all_h)[:, None].astype(F), state[None].astype(F)

    def rnn(w, r, b):
        state, all_h = np.zeros((2, h), F), []
        for step in x:
            state = np.tanh(step @ w[0].T + state @ r[0].T + b[0, :h] + b[0, h:])
            all_h.append(state)
        return np.stack(all_h)[:, None].astype(F), state[None].astype(F)

    for op, gates, run in (("LSTM", 4, lstm), ("GRU", 3, gru), ("RNN", 1, rnn)):
        weights = cells(gates)
        y = run(*weights)
        case(f"{op.lower()}_1_sequence", 1, op, [x, *weights], list(y[:2]), hidden_size=h, output_sequence=1)
        case(f"{op.lower()}_1_last", 1, op, [x, *weights], [None, y[1]], hidden_size=h)
        case(f"{op.lower()}_7", 7, op, [x, *weights], list(y), hidden_size=h)
    case("gru_3", 3, "GRU", [x, *(weights := cells(3))], list(gru(*weights)), hidden_size=h, output_sequence=1)


def theirs(name, opset, op, inputs, outputs=1, constants=(), **attributes):
    """A version that onnxruntime still runs: its outputs are the expected values."""
    node = helper.make_node(op, [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)], [f"y{i}" for i in range(outputs)], **attributes)
    given = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    graph = helper.make_graph([node], name, [value_info(n, x) for n, x in given.items()], [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR[max(v for v in IR if v <= opset)])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    case(name, opset, op, inputs, session.run(None, given), constants, **attributes)


def middle_versions():
    x, image = f(2, 3, 4), f(1, 2, 4, 5)
    u8 = RNG.integers(0, 256, (3, 4)).astype(np.uint8)
    theirs("cumsum_11", 11, "CumSum", [x, np.array(1, np.int32)], exclusive=1, reverse=1)
    theirs("isinf_10", 10, "IsInf", [np.array([1, np.inf, -np.inf, np.nan], F)], detect_negative=0)
    theirs("mod_10", 10, "Mod", [np.array([-7, 7, 5], np.int32), np.array([3, -3, 2], np.int32)])
    theirs("mod_10_fmod", 10, "Mod", [np.array([-7, 7, 5.5], F), np.array([3, -3, 2], F)], fmod=1)
    theirs("quantize_10", 10, "QuantizeLinear", [x, F(0.02), np.uint8(128)])
    theirs("quantize_13_axis", 13, "QuantizeLinear", [x, np.array([0.01, 0.02, 0.03], F), np.array([1, 2, 3], np.uint8)], axis=1)
    theirs("dequantize_10", 10, "DequantizeLinear", [u8, F(0.02), np.uint8(7)])
    theirs("dequantize_13_axis", 13, "DequantizeLinear", [u8, np.array([0.1, 0.2, 0.3], F), np.array([1, 2, 3], np.uint8)], axis=0)
    theirs("gridsample_16", 16, "GridSample", [image, RNG.uniform(-1, 1, (1, 3, 3, 2)).astype(F)], mode="bilinear", padding_mode="border")
    theirs("gridsample_16_cubic", 16, "GridSample", [image, RNG.uniform(-1, 1, (1, 3, 3, 2)).astype(F)], mode="bicubic", align_corners=1)
    theirs("roialign_10", 10, "RoiAlign", [image, np.array([[0, 0, 3, 3]], F), np.array([0], I64)], output_height=2, output_width=2, sampling_ratio=2)
    theirs("roialign_16_max", 16, "RoiAlign", [image, np.array([[0, 0, 3, 3]], F), np.array([0], I64)], output_height=2, output_width=2, sampling_ratio=1, mode="max")
    wave = f(2, 6, 1)
    spectrum = np.fft.fft(wave[..., 0].astype(np.float64), axis=1)
    parts = np.stack([spectrum.real, spectrum.imag], -1).astype(F)
    case("dft_17", 17, "DFT", [wave], [parts], axis=1)
    case("dft_17_onesided", 17, "DFT", [wave], [parts[:, :4]], axis=1, onesided=1)
    theirs("resize_13_cubic", 13, "Resize", [image, None, np.array([1, 1, 1.5, 2], F)], constants=(2,), mode="cubic")
    theirs("resize_13_sizes", 13, "Resize", [image, None, None, np.array([1, 2, 3, 7], I64)], constants=(3,), mode="nearest", nearest_mode="ceil")
    theirs("resize_18_axes", 18, "Resize", [image, None, np.array([2, 1.5], F)], constants=(2,), mode="linear", axes=[2, 3])
    theirs("resize_11_crop", 11, "Resize", [image, np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 0.8], F), np.array([], F), np.array([1, 2, 3, 4], I64)], constants=(2, 3), mode="linear",
           coordinate_transformation_mode="tf_crop_and_resize")
    theirs("scatternd_11", 11, "ScatterND", [f(4, 3), np.array([[2], [0]], I64), f(2, 3)])
    theirs("scatterelements_11", 11, "ScatterElements", [f(3, 3), np.array([[1, -1, 2]], I64), f(1, 3)])
    theirs("scatternd_16_add", 16, "ScatterND", [f(4, 3), np.array([[2], [2]], I64), f(2, 3)], reduction="add")
    scores, labels = f(4, 5), np.array([1, 4, 0, 2], I64)
    case("crossentropy_12_each", 12, "SoftmaxCrossEntropyLoss", [scores, labels], [-np.log(softmax(scores, 1))[np.arange(4), labels]], reduction="none")
    theirs("celu_12", 12, "Celu", [x], alpha=1.5)
    theirs("maxpool_8_columns", 8, "MaxPool", [image], 2, kernel_shape=[2, 2], storage_order=1)
    theirs("maxpool_10_dilated", 10, "MaxPool", [image], kernel_shape=[2, 2], dilations=[2, 1], ceil_mode=1, strides=[2, 2])
    theirs("averagepool_10_ceil", 10, "AveragePool", [image], kernel_shape=[2, 2], ceil_mode=1, strides=[2, 2])
    theirs("nonzero_9", 9, "NonZero", [np.array([[1, 0], [2, 3]], F)])
    theirs("range_11", 11, "Range", [F(1), F(6), F(1.5)])
    theirs("unique_11", 11, "Unique", [np.array([3, 1, 3, 2, 1], F)], 4)
    theirs("argmin_11_negative", 11, "ArgMin", [x], axis=-1, keepdims=0)
    theirs("argmax_12_last", 12, "ArgMax", [np.array([[1, 3, 3]], F)], axis=1, select_last_index=1)
    theirs("bitshift_11", 11, "BitShift", [u8, np.full((3, 4), 2, np.uint8)], direction="LEFT")
    theirs("pad_11", 11, "Pad", [x, np.array([0, 1, 0, 0, 0, 2], I64), F(1.5)], constants=(1,))
    theirs("pad_18_axes", 18, "Pad", [x, np.array([1, 2], I64), None, np.array([-1], I64)], constants=(1, 3), mode="reflect")
    theirs("clip_11", 11, "Clip", [x, F(-0.5), None])
    theirs("clip_12_int", 12, "Clip", [np.array([1, 5, 9], I64), np.array(2, I64), np.array(6, I64)])
    theirs("reducemax_12", 12, "ReduceMax", [u8], axes=[1])
    theirs("reducesum_13_input", 13, "ReduceSum", [x, np.array([1], I64)], constants=(1,), keepdims=0)
    theirs("reducesum_13_noop", 13, "ReduceSum", [x], noop_with_empty_axes=1)
    theirs("squeeze_13", 13, "Squeeze", [f(1, 3, 1), np.array([0], I64)], constants=(1,))
    theirs("split_13", 13, "Split", [x, np.array([1, 2], I64)], 2, constants=(1,), axis=1)
    theirs("topk_11_smallest", 11, "TopK", [f(3, 6), np.array([2], I64)], 2, constants=(1,), largest=0)
    theirs("pow_12_int", 12, "Pow", [np.array([1, 2, 3], F), np.array([3, 2, 1], I64)])
    theirs("batchnorm_14", 14, "BatchNormalization", [image, f(2), f(2), f(2), np.abs(f(2))])
    theirs("dropout_12", 12, "Dropout", [x, F(0.3)])
    theirs("onehot_11_negative", 11, "OneHot", [np.array([1, -1], I64), np.array([3], I64), np.array([0, 1], F)], constants=(1,), axis=0)
    theirs("nonmaxsuppression_10", 10, "NonMaxSuppression", [np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]], F), np.array([[[0.9, 0.75, 0.6]]], F), np.array([3], I64),
                                                            np.array([0.5], F), np.array([0], F)])
    theirs("gemm_9_no_bias", 11, "Gemm", [f(3, 4), f(4, 5)], alpha=0.5)
    theirs("where_9", 9, "Where", [np.array([True, False, True]), f(3), f(2, 3)])
    theirs("compress_9", 9, "Compress", [x, np.array([True, False, True])], axis=1)
    theirs("gathernd_11", 11, "GatherND", [x, np.array([[0, 1], [1, 2]], I64)])
    theirs("depthtospace_11_crd", 11, "DepthToSpace", [f(1, 8, 2, 3)], blocksize=2, mode="CRD")
    theirs("convtranspose_1", 7, "ConvTranspose", [f(1, 2, 3, 3), f(2, 3, 2, 2)], strides=[2, 2], output_padding=[1, 0])
    theirs("maxunpool_9", 9, "MaxUnpool", [np.array([[[[1, 2], [3, 4]]]], F), np.array([[[[5, 7], [13, 15]]]], I64)], kernel_shape=[2, 2], strides=[2, 2])
    theirs("einsum_12", 12, "Einsum", [f(2, 3), f(3, 4)], equation="ij,jk")
    theirs("cast_13_half", 13, "Cast", [x], to=TensorProto.FLOAT16)
    theirs("meanvariance_13", 13, "MeanVarianceNormalization", [image], axes=[0, 2, 3])
    theirs("greaterorequal_12", 12, "GreaterOrEqual", [f(3), f(3)])


def main():
    for family in (small_operands, middle_versions, flattening, broadcasting, attributes_now_inputs, tile_1, defaults_and_names, upsampling, normalizations, pools, recurrent):
        family()
    lines = ["# Old opsets", "", "One-node models of old opsets, with values worked out in `make_opsets.py` from the words of `onnx/docs/Changelog.md`. Own work, same licence as the project.",
             f"{len(CHECKED) + len(UNCHECKED)} cases. onnxruntime {ort.__version__} loads and agrees with {len(CHECKED)} of them; it does not load the others:", ""]
    lines += textwrap.wrap(", ".join(name for name, _ in UNCHECKED), 150)
    (HERE / "README.md").write_text("\n".join(lines) + "\n")
    print(len(CHECKED), "equal onnxruntime's;", len(UNCHECKED), "are not loaded by it")


if __name__ == "__main__":
    main()
