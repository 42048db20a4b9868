"""Quantization and products of quantized tensors of the standard."""
import numpy as np

from .cases import CODES, FLOATS, SMALL_FLOATS, Skip, int_range
from .spatial import window_attributes, windows
from .linear import matmul_shapes


def scale_values(g, kind, shape):
    if kind == "float8e8m0":
        return g.values("float", shape, 0.2, 3.0).astype(g.values(kind, []).dtype)
    if kind == "int32":
        return g.values(kind, shape, 1, 4)
    return g.values(kind, shape, 0.02, 0.5)


def zero_point(g, kind, shape):
    if kind in SMALL_FLOATS or kind == "int32":
        return np.zeros(tuple(shape), g.values(kind, []).dtype)
    low, high = int_range(kind)
    return g.values(kind, shape, max(low, -20), min(high, 20))


def granularity(g, shape):
    """Shape of the scale, and sets axis and block_size."""
    rank = len(shape)
    choices = ["tensor"] + (["axis"] if g.has("axis") and rank else []) + (["block"] if g.has("block_size") and rank and 0 not in shape else [])
    how = g.choice(choices)
    if how == "tensor":
        return []
    axis = g.integer(-rank, rank - 1)
    if how == "axis":
        if rank == 1 and g.chance(0.5) or (axis == 1 and g.chance(0.5)):
            axis = 1 if rank > 1 else 0
        g.set(axis=axis)
        return [shape[axis]]
    size = g.integer(1, max(1, shape[axis]))
    blocks = -(-shape[axis] // size)
    if blocks * size != shape[axis] and -(-shape[axis] // blocks) != size:
        size = shape[axis]
        blocks = 1
    g.set(axis=axis, block_size=size)
    out = list(shape)
    out[axis] = blocks
    return out


def quantize(g):
    shape = g.shape()
    param_in, param_out = ("T1", "T3" if "T3" in g.allowed else "T2")
    kind = g.type(param_in)
    scale_kind = g.type("T2") if param_out == "T3" else kind if g.since >= 19 else "float"
    if param_out == "T3" and kind == "int32" and scale_kind not in ("float",):
        raise Skip
    target = g.choice([t for t in g.allowed[param_out] if t in CODES])
    g.bound[param_out] = target
    part = granularity(g, shape)
    scale = scale_values(g, scale_kind, part)
    x = g.values(kind, shape, scale=4.0)
    if target in SMALL_FLOATS:
        g.maybe(0.3, saturate=g.integer(0, 1))
    zero = zero_point(g, target, part)
    g.case.slack = 0 if kind == "float" and scale_kind == "float" else 1
    if g.has("output_dtype") and g.chance(0.3):
        g.set(output_dtype=CODES[target])
        zero = None if g.chance(0.7) else zero
    elif target == "uint8" and g.chance(0.3):
        zero = None
    return g.done([x, scale, zero])


def dequantize(g):
    shape = g.shape()
    kind = g.type("T1" if "T1" in g.allowed else "T")
    scale_kind = g.type("T2") if "T2" in g.allowed else "float"
    part = granularity(g, shape)
    scale = scale_values(g, scale_kind, part)
    zero = zero_point(g, kind, part) if g.chance(0.7) else None
    out = scale_kind
    if "T3" in g.allowed:
        if scale_kind == "float8e8m0" or g.chance(0.3):
            out = g.choice(g.allowed["T3"])
            g.set(output_dtype=CODES[out])
        g.bound["T3"] = out
    x = g.values(kind, shape, -100, 100) if kind not in SMALL_FLOATS else g.values(kind, shape)
    return g.done([x, scale, zero], 1, {0: out})


def dynamic_quantize(g):
    g.bound["T1"] = "float"
    g.bound["T2"] = "uint8"
    g.case.slack = 1
    return g.done([g.values("float", [max(1, d) for d in g.shape(high=3)], scale=g.choice([0.1, 1.0, 30.0]))], 3, {1: "float"})


def small(g, kind, shape):
    return g.values(kind, shape, -60, 60) if kind not in SMALL_FLOATS else g.values(kind, shape)


def matmul_integer(g):
    left, right = matmul_shapes(g)
    a, b = g.type("T1"), g.type("T2")
    za = zb = None
    if g.chance(0.6):
        za = zero_point(g, a, [])
    if g.chance(0.6):
        zb = zero_point(g, b, [right[-1]] if g.chance(0.4) and len(right) == 2 and len(left) >= 2 else [])
    g.bound["T3"] = "int32"
    return g.done([g.values(a, left, -100, 200), g.values(b, right, -100, 200), za, zb], constant=0.4)


def qlinear_matmul(g):
    left, right = matmul_shapes(g)
    a = g.type("T1")
    b, y = g.type("T2"), g.type("T3")
    kinds8 = {"int8", "uint8"}
    if not ({a, b, y} <= kinds8 or not {a, b, y} & kinds8):
        raise Skip
    ts = g.type("TS") if "TS" in g.allowed else "float"
    columns = [right[-1]] if g.chance(0.3) and len(right) == 2 and len(left) >= 2 else []
    inputs = [small(g, a, left), g.values(ts, [], 0.02, 0.2), zero_point(g, a, []),
              small(g, b, right), g.values(ts, columns, 0.02, 0.2), zero_point(g, b, columns), g.values(ts, [], 0.3, 2.0), zero_point(g, y, [])]
    g.case.slack = 1
    return g.done(inputs, constant=0.4)


def conv_parts(g):
    rank = g.choice([1, 2, 2])
    kernel, strides, dilations, pads, sizes = windows(g, rank)
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    group, each, out = g.choice([1, 1, 2]), g.integer(1, 3), g.integer(1, 3)
    window_attributes(g, kernel, strides, dilations, pads)
    g.maybe(0.6, kernel_shape=kernel)
    if group != 1:
        g.set(group=group)
    return [g.integer(1, 2), group * each, *sizes], [group * out, each, *kernel]


def conv_integer(g):
    x, w = conv_parts(g)
    a, b = g.type("T1"), g.type("T2")
    g.bound["T3"] = "int32"
    za = zero_point(g, a, []) if g.chance(0.6) else None
    zb = zero_point(g, b, [w[0]] if g.chance(0.3) else []) if g.chance(0.5) else None
    return g.done([g.values(a, x, -100, 200), g.values(b, w, -100, 200), za, zb], constant=0.4)


def qlinear_conv(g):
    x, w = conv_parts(g)
    a, b, y = g.type("T1"), g.type("T2"), g.type("T3")
    per = [w[0]] if g.chance(0.4) else []
    inputs = [small(g, a, x), g.values("float", [], 0.02, 0.2), zero_point(g, a, []),
              small(g, b, w), g.values("float", per, 0.02, 0.2), zero_point(g, b, per), g.values("float", [], 0.3, 2.0), zero_point(g, y, []),
              g.values("int32", [w[0]], -500, 500) if g.chance(0.5) else None]
    g.case.slack = 1
    return g.done(inputs, constant=0.4)


GENERATORS = {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic_quantize, "MatMulInteger": matmul_integer,
              "QLinearMatMul": qlinear_matmul, "ConvInteger": conv_integer, "QLinearConv": qlinear_conv}
