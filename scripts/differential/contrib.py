"""Operators of onnxruntime's own domain, against onnxruntime alone."""
import numpy as np
from onnxruntime.capi import onnxruntime_pybind11_state as state

from .cases import Skip, int_range
from .spatial import window_attributes, windows


class Formal:
    def __init__(self, parameter):
        self.name, self.type_str = parameter.name, parameter.typeStr


class Schema:
    """A schema of onnxruntime with the names that the onnx package gives."""

    def __init__(self, schema):
        self.name, self.domain, self.since_version, self.deprecated = schema.name, schema.domain, schema.since_version, False
        self.attributes = schema.attributes
        self.inputs, self.outputs = [Formal(i) for i in schema.inputs], [Formal(o) for o in schema.outputs]
        self.type_constraints = schema.type_constraints


SCHEMAS = {s.name: Schema(s) for s in state.get_all_operator_schema() if s.domain == "com.microsoft"}


def schemas_of(name):
    return [SCHEMAS[name]]


def floats(g, shape, **how):
    return g.values("float", shape, **how)


def scale(g, shape=(), low=0.01, high=0.2):
    return g.values("float", shape, low, high)


def zero(g, kind, shape=()):
    low, high = int_range(kind)
    return g.values(kind, shape, max(low, -20), min(high, 140 if kind == "uint8" else 20))


def bytes_of(g, kind, shape):
    return g.values(kind, shape, *int_range(kind))


def unary(g):
    g.maybe(0.6, alpha=1.3)
    g.case.floor = 2e-6   # tails that cancel
    kind = g.type("T")
    return g.done([g.values(kind, g.shape(), scale=2.0)])


def bias_gelu(g):
    shape = g.shape(low=1)
    kind = g.type("T")
    x, b = g.values(kind, shape), g.values(kind, shape[-1:])
    g.case.tolerance = 100.0 if kind == "double" else 1.0   # constants of float32
    return g.done([x, None if g.schema.name == "FastGelu" and g.chance(0.4) else b])


def fused_conv(g):
    rank = g.choice([1, 2, 2])
    kernel, strides, dilations, pads, sizes = windows(g, rank)
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    group, each, out = g.choice([1, 1, 2]), g.integer(1, 3), g.integer(1, 3)
    window_attributes(g, kernel, strides, dilations, pads)
    if group != 1:
        g.set(group=group)
    name = g.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"])
    params = {"LeakyRelu": [0.2], "Clip": [-0.4, 0.6], "HardSigmoid": [0.3, 0.4]}
    g.set(activation=name, activation_params=params.get(name))
    return g.done([floats(g, [g.integer(1, 2), group * each, *sizes]), floats(g, [group * out, each, *kernel]),
                   floats(g, [group * out]) if g.chance(0.6) else None])


def fused_gemm(g):
    m, k, n = g.integer(1, 5), g.integer(1, 20), g.integer(1, 5)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    name = g.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Softsign"])
    g.set(transA=ta, transB=tb, activation=name)
    g.maybe(0.5, alpha=0.5, beta=2.0)
    if name in ("LeakyRelu", "Elu"):
        g.set(activation_alpha=0.3)
    c = g.choice([[m, n], [n], [1, n], [m, 1], [1]])
    return g.done([floats(g, [k, m] if ta else [m, k]), floats(g, [n, k] if tb else [k, n]), floats(g, c)])


def fused_matmul(g):
    m, k, n = g.integer(1, 5), g.integer(1, 9), g.integer(1, 5)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    g.set(transA=ta, transB=tb)
    g.maybe(0.5, alpha=0.25)
    batch = [g.integer(1, 3) for _ in range(g.integer(0, 2))]
    left, right = [k, m] if ta else [m, k], [n, k] if tb else [k, n]
    return g.done([floats(g, batch + left), floats(g, (batch if g.chance(0.6) else []) + right)])


def norms(g):
    op = g.schema.name
    shape = [g.integer(1, 3), g.integer(1, 4), g.integer(2, 9)]
    x, gamma = floats(g, shape), floats(g, shape[-1:])
    g.maybe(0.7, epsilon=0.001)
    more = g.chance(0.3)
    skip = floats(g, shape if g.chance(0.7) else [1, *shape[1:]] if g.chance(0.5) else shape[1:])
    bias = floats(g, shape[-1:]) if g.chance(0.4) else None
    g.bound["T"] = "float"
    if op == "SkipSimplifiedLayerNormalization":
        return g.done([x, skip, gamma, bias], [True, False, False, more])
    return g.done([x, skip, gamma, floats(g, shape[-1:]) if g.chance(0.7) else None, bias], [True, False, False, more])


def embed(g):
    batch, length, size = g.integer(1, 3), g.integer(1, 4), g.choice([4, 8])
    segments = g.chance(0.6)
    ids = g.values("int32", [batch, length], 0, 8)
    mask = np.sort(g.values("int32", [batch, length], 0, 1), axis=-1)[:, ::-1].copy() if g.chance(0.5) else None
    g.maybe(0.5, epsilon=0.001)
    g.bound["T"] = "float"
    return g.done([ids, g.values("int32", [batch, length], 0, 1) if segments else None, floats(g, [9, size]), floats(g, [6, size]),
                   floats(g, [2, size]) if segments else None, floats(g, [size]), floats(g, [size]), mask], 2, {1: "int32"})


def attention(g):
    batch, length, heads = g.integer(1, 2), g.integer(1, 4), g.choice([1, 2])
    size = heads * g.choice([2, 4])
    g.set(num_heads=heads)
    causal = g.chance(0.4)
    if causal:
        g.set(unidirectional=1)
    mask = None
    how = g.integer(0, 3)
    if how == 1:
        mask = g.values("int32", [batch], 1, length)
    elif how == 2:
        mask = g.values("int32", [batch, length], 0, 1)
        mask[:, 0] = 1
    elif how == 3:
        mask = g.values("int32", [batch, length, length], 0, 1)
        mask[..., 0] = 1
    g.maybe(0.3, scale=0.4)
    return g.done([floats(g, [batch, length, size]), floats(g, [size, 3 * size]), floats(g, [3 * size]), mask], 1, {0: "float"})


def multi_head(g):
    batch, q, kv, heads, width = g.integer(1, 2), g.integer(1, 4), g.integer(1, 5), g.choice([1, 2]), g.choice([2, 4])
    size = heads * width
    g.set(num_heads=heads)
    bias = floats(g, [3 * size]) if g.chance(0.4) else None
    mask = None
    if g.chance(0.3):
        mask = g.values("int32", [batch, kv], 0, 1)
        mask[:, 0] = 1
    extra = floats(g, [g.choice([1, batch]), g.choice([1, heads]), q, kv]) if g.chance(0.3) else None
    g.maybe(0.3, scale=0.4)
    return g.done([floats(g, [batch, q, size]), floats(g, [batch, kv, size]), floats(g, [batch, kv, size]), bias, mask, extra], 1, {0: "float"})


def group_query(g):
    batch, kv = g.integer(1, 2), g.choice([1, 2])
    heads, width = kv * g.choice([1, 2]), 16
    first = g.chance(0.5)
    length = g.integer(1, 4) if first else 1
    past = 0 if first else g.integer(1, 6)
    g.set(num_heads=heads, kv_num_heads=kv)
    g.maybe(0.3, scale=0.3, softcap=2.0)
    g.maybe(0.3, local_window_size=g.integer(1, 4))
    rotary = g.chance(0.4)
    total = past + length
    tables = [floats(g, [12, width // 2]) for _ in range(2)] if rotary else []
    if rotary:
        g.set(do_rotary=1)
        g.maybe(0.5, rotary_interleaved=1)
    inputs = [floats(g, [batch, length, heads * width]), floats(g, [batch, length, kv * width]), floats(g, [batch, length, kv * width]),
              floats(g, [batch, kv, past, width]), floats(g, [batch, kv, past, width]), np.full([batch], total - 1, np.int32), np.array(total, np.int32), *tables]
    g.bound["T"] = "float"
    return g.done(inputs, 3, {0: "float", 1: "float", 2: "float"})


def rotary(g):
    batch, heads, length, width = g.integer(1, 2), g.integer(1, 3), g.integer(1, 4), g.choice([4, 8])
    flat = g.chance(0.5)
    g.maybe(0.5, interleaved=1)
    part = width
    if g.chance(0.4):
        part = width // 2
        g.set(rotary_embedding_dim=part)
    if flat and part != width or g.chance(0.3):
        g.set(num_heads=heads)
    if flat and "num_heads" not in g.case.attrs:
        heads = 1 if g.chance(0.5) else heads
    x = floats(g, [batch, length, heads * width] if flat else [batch, heads, length, width])
    ids = g.values("int64", [batch, length], 0, 8) if g.chance(0.5) else g.ints([g.integer(0, 3)])
    table = [9, part // 2]
    return g.done([x, ids, floats(g, table), floats(g, table)], 1, {0: "float"})


def nbits(g):
    bits, k, n = g.choice([4, 8, 2]), g.choice([16, 32, 40, 48]), g.integer(1, 8)
    blocks = (k + 15) // 16
    g.set(K=k, N=n, bits=bits, block_size=16)
    zeros = bytes_of(g, "uint8", [n, (blocks * bits + 7) // 8]) if g.chance(0.5) else None
    g.case.tolerance = 5.0
    return g.done([floats(g, [*([g.integer(1, 3)] if g.chance(0.5) else []), g.integer(1, 4), k]), bytes_of(g, "uint8", [n, blocks, 16 * bits // 8]),
                   floats(g, [n, blocks]), zeros, None, floats(g, [n]) if g.chance(0.5) and zeros is not None else None], 1, {0: "float"})


def q_binary(g):
    kind = g.choice(["int8", "uint8"])
    shape = g.shape()
    other = [1 if g.chance(0.2) else d for d in shape][g.integer(0, len(shape)) if g.chance(0.4) else 0:]
    g.case.slack = 1
    g.bound["T"] = kind
    z = lambda: zero(g, kind)
    return g.done([bytes_of(g, kind, shape), scale(g), z(), bytes_of(g, kind, other), scale(g), z(), scale(g, (), 0.05, 2.0), z()])


def q_unary(g):
    kind = g.choice(["int8", "uint8"])
    g.case.slack = 1
    g.bound["T"] = kind
    g.maybe(0.6, alpha=0.2)
    shape = g.shape(low=1)
    extra = {}
    if g.schema.name == "QLinearSoftmax":
        shape = [max(1, d) for d in shape]
        g.set(axis=-1 if g.chance(0.6) else g.integer(0, len(shape) - 1), opset=13)
        out = [np.float32(1 / 256), np.array(0 if kind == "uint8" else -128, kind)]
        return g.done([bytes_of(g, kind, shape), scale(g), zero(g, kind), np.asarray(out[0]), out[1]], constant=0.5)
    return g.done([bytes_of(g, kind, shape), scale(g), zero(g, kind), scale(g), zero(g, kind)], 1, extra, constant=0.5)


def q_pool(g):
    kind = g.choice(["int8", "uint8"])
    g.case.slack = 1
    g.bound["T"] = kind
    n, c = g.integer(1, 2), g.integer(1, 9)
    if g.schema.name == "QLinearGlobalAveragePool":
        last = g.integer(0, 1)
        g.set(channels_last=last)
        h, w = g.integer(1, 5), g.integer(1, 5)
        return g.done([bytes_of(g, kind, [n, h, w, c] if last else [n, c, h, w]), scale(g), zero(g, kind), scale(g), zero(g, kind)])
    kernel, strides, _, pads, sizes = windows(g, 2)
    sizes = [max(s, k) for s, k in zip(sizes, kernel)]
    g.set(kernel_shape=kernel, strides=strides)
    g.maybe(0.7, pads=pads, count_include_pad=g.integer(0, 1))
    return g.done([bytes_of(g, kind, [n, c, *sizes]), scale(g), zero(g, kind), scale(g), zero(g, kind)])


def q_concat(g):
    kind = g.choice(["int8", "uint8"])
    rank = g.integer(1, 3)
    shape, axis = [max(1, d) for d in g.shape(rank)], g.integer(0, rank - 1)
    g.set(axis=axis)
    inputs = [scale(g, (), 0.05, 0.5), zero(g, kind)]
    for _ in range(g.integer(1, 3)):
        part = list(shape)
        part[axis] = g.integer(1, 4)
        inputs += [bytes_of(g, kind, part), scale(g), zero(g, kind)]
    g.case.slack = 1
    return g.done(inputs, 1, {0: kind}, constant=0.5)


def q_where(g):
    kind = g.choice(["int8", "uint8"])
    shape = g.shape()
    g.case.slack = 1
    g.bound["T"] = kind
    return g.done([g.values("bool", shape), bytes_of(g, kind, shape), scale(g), zero(g, kind), bytes_of(g, kind, shape[g.integer(0, len(shape)):]), scale(g), zero(g, kind),
                   scale(g, (), 0.05, 0.5), zero(g, kind)], constant=0.3)


def q_gemm(g):
    a, b = g.choice([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
    m, k, n = g.integer(1, 4), g.integer(1, 9), g.integer(1, 6)
    ta, tb = g.integer(0, 1), g.integer(0, 1)
    g.set(transA=ta, transB=tb)
    g.maybe(0.4, alpha=0.5)
    per = [n] if g.chance(0.4) else []
    inputs = [bytes_of(g, a, [k, m] if ta else [m, k]), scale(g), zero(g, a), bytes_of(g, b, [n, k] if tb else [k, n]), scale(g, per), zero(g, b, per),
              g.values("int32", [n], -300, 300) if g.chance(0.5) else None]
    out = "float"
    if g.chance(0.5):
        out = a
        inputs += [scale(g, (), 0.1, 2.0), zero(g, a)]
        g.case.slack = 1
    return g.done(inputs, 1, {0: out})


def dynamic_matmul(g):
    kind = g.choice(["int8", "uint8"])
    k, n = g.integer(1, 9), g.integer(1, 6)
    per = [n] if g.chance(0.4) else []
    a = floats(g, [*([g.integer(1, 2)] if g.chance(0.4) else []), g.integer(1, 4), k])
    b = zero(g, kind, per) if g.chance(0.6) else None
    bias = floats(g, [n]) if g.chance(0.5) else None
    if g.schema.name == "MatMulIntegerToFloat":
        ka = g.choice(["int8", "uint8"])
        return g.done([bytes_of(g, ka, a.shape), bytes_of(g, kind, [k, n]), scale(g), scale(g, per), zero(g, ka) if b is not None else None, b, bias], 1, {0: "float"})
    g.case.tolerance = 10.0
    return g.done([a, bytes_of(g, kind, [k, n]), scale(g, per), b, bias], 1, {0: "float"})


def quantize(g):
    back = g.schema.name == "DequantizeLinear"
    kind = g.choice(["int8", "uint8", "int16", "uint16"])
    shape = [max(1, d) for d in g.shape(low=1)]
    axis = g.integer(0, len(shape) - 1) if g.chance(0.5) else None
    part = []
    if axis is not None:
        g.set(axis=axis)
        part = [shape[axis]]
    s, z = scale(g, part), zero(g, kind, part)
    if back:
        return g.done([bytes_of(g, kind, shape), s, z], 1, {0: "float"})
    return g.done([floats(g, shape, scale=3.0), s, z], 1, {0: kind})


def nhwc_max_pool(g):
    kind = g.choice(["int8", "uint8"])
    kernel, strides, dilations, pads, sizes = windows(g, 2)
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    g.set(kernel_shape=kernel)
    window_attributes(g, kernel, strides, dilations, pads, 0.1)
    return g.done([bytes_of(g, kind, [g.integer(1, 2), *sizes, g.integer(1, 5)])], 1, {0: kind})


def inverse(g):
    n = g.integer(1, 4)
    x = floats(g, [*g.shape(high=1), n, n]) + 3 * np.eye(n, dtype=np.float32)
    g.case.tolerance = 10.0
    return g.done([x.astype(np.float32)], 1, {0: "float"})


def expand_dims(g):
    shape = g.shape(high=3)
    return g.done([floats(g, shape), g.ints(g.integer(-len(shape) - 1, len(shape)), "int32")], 1, {0: "float"})


def q_attention(g):
    batch, length, heads = g.integer(1, 2), g.integer(1, 4), g.choice([1, 2])
    size = heads * g.choice([2, 4])
    ka, kw = g.choice(["uint8", "int8"]), g.choice(["uint8", "int8"])
    g.set(num_heads=heads)
    g.maybe(0.3, unidirectional=1)
    mask = g.values("int32", [batch], 1, length) if g.chance(0.4) else None
    return g.done([bytes_of(g, ka, [batch, length, size]), bytes_of(g, kw, [size, 3 * size]), floats(g, [3 * size]), np.array(0.02, np.float32),
                   np.array(0.01, np.float32), mask, zero(g, ka), zero(g, kw)], 1, {0: "float"}, constant=0.0)


TABLE = {"Gelu": unary, "QuickGelu": unary, "BiasGelu": bias_gelu, "FastGelu": bias_gelu, "FusedConv": fused_conv, "FusedGemm": fused_gemm,
         "FusedMatMul": fused_matmul, "TransposeMatMul": fused_matmul, "SkipLayerNormalization": norms, "SkipSimplifiedLayerNormalization": norms,
         "EmbedLayerNormalization": embed, "Attention": attention, "MultiHeadAttention": multi_head, "GroupQueryAttention": group_query,
         "RotaryEmbedding": rotary, "MatMulNBits": nbits, "QLinearAdd": q_binary, "QLinearMul": q_binary, "QLinearSigmoid": q_unary,
         "QLinearLeakyRelu": q_unary, "QLinearSoftmax": q_unary, "QLinearAveragePool": q_pool, "QLinearGlobalAveragePool": q_pool,
         "QLinearConcat": q_concat, "QLinearWhere": q_where, "QGemm": q_gemm, "DynamicQuantizeMatMul": dynamic_matmul,
         "MatMulIntegerToFloat": dynamic_matmul, "QuantizeLinear": quantize, "DequantizeLinear": quantize, "NhwcMaxPool": nhwc_max_pool,
         "Inverse": inverse, "ExpandDims": expand_dims, "QAttention": q_attention}
GENERATORS = {f"com.microsoft.{op}": generator for op, generator in TABLE.items()}
NOT_COVERED = {"com.microsoft." + op: "onnxruntime has no CPU kernel for it" for op in ("BiasAdd", "BiasSoftmax", "BiasSplitGelu")}
