"""Operators that work element by element: unary, binary with broadcasting, variadic, activations, casts."""
import numpy as np
from onnx import TensorProto

from .cases import CODES, FLOATS, SIGNED, SMALL_FLOATS, UNSIGNED, Skip, int_range

# Where the function is defined; elsewhere the peers agree on NaN as a rule, but not on each type.
DOMAINS = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.95, 0.95), "Acosh": (1, 9), "Log": (0.01, 9), "Sqrt": (0, 9), "Tan": (-1.4, 1.4),
           "Sinh": (-3, 3), "Cosh": (-3, 3), "Exp": (-4, 4)}
AWAY_FROM_ZERO = {"Reciprocal"}


def unary(g):
    op = g.schema.name
    parameter = g.schema.inputs[0].type_str
    kind = g.type(parameter)
    low, high = DOMAINS.get(op, (None, None))
    special = 0.0 if op in ("Round", "Sign") else 0.15
    if op == "Erf" and kind not in FLOATS:
        raise Skip  # erf of whole numbers, cut to whole numbers, asks for more digits than the peers compute
    x = g.values(kind, g.shape(), low, high, special=special, scale=3.0 if op in ("Round", "Floor", "Ceil", "Sigmoid", "Tanh", "Relu") else 1.0)
    if op in AWAY_FROM_ZERO and kind in FLOATS:
        x = np.where(np.abs(x.astype(np.float64)) < 0.1, np.array(1.5), x.astype(np.float64)).astype(x.dtype)
    if op == "Round" and g.chance(0.5):
        x = (g.values("int32", x.shape).astype(np.float64) / 2).astype(x.dtype)
    g.set(consumed_inputs=None)
    return g.done([x])


def activation(g):
    kind = g.type(g.schema.inputs[0].type_str)
    x = g.values(kind, g.shape(), scale=3.0, special=0.1)
    g.case.floor = {"float16": 2e-3, "bfloat16": 1e-2, "float": 1e-6}.get(kind, 0.0)   # tails that cancel
    g.maybe(0.6, alpha=round(g.rng.uniform(0.1, 2), 3), beta=round(g.rng.uniform(0, 1), 3), gamma=round(g.rng.uniform(0.5, 2), 3))
    g.maybe(0.6, lambd=round(g.rng.uniform(0, 1.5), 3), bias=round(g.rng.uniform(-1, 1), 3), approximate=g.choice(["none", "tanh"]))
    return g.done([x])


def broadcast_pair(g, shape=None):
    """Two shapes that broadcast together, by the newest rule or by that of opset 6 and before (attributes axis and broadcast)."""
    shape = g.shape() if shape is None else list(shape)
    if g.since < 7 and g.has("broadcast"):
        if g.chance(0.4):
            return shape, shape
        g.set(broadcast=1)
        rank = len(shape)
        size = g.integer(0, rank)
        start = g.integer(0, rank - size)
        if start + size != rank or g.chance(0.3):
            g.set(axis=start)
        other = shape[start:start + size]
        return shape, other
    left, right = list(shape), list(shape)
    for part in (left, right):
        for i in range(len(part)):
            if g.chance(0.25):
                part[i] = 1
    cut = g.integer(0, len(shape))
    if g.chance(0.4):
        right = right[cut:]
    elif g.chance(0.3):
        left = left[cut:]
    return left, right


def binary(g):
    op = g.schema.name
    left, right = broadcast_pair(g)
    kind = g.type(g.schema.inputs[0].type_str)
    special = 0.1 if op in ("Add", "Sub", "Mul", "Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual") else 0.0
    a, b = g.values(kind, left, special=special), g.values(kind, right, special=special)
    if op == "Equal" and a.size and b.size and kind in FLOATS:
        a, b = np.round(a), np.round(b)
    if op in ("Div", "Mod"):
        b = nonzero(b)
    if op == "Mod":
        if g.chance(0.5) or kind in FLOATS:
            g.set(fmod=1 if kind in FLOATS else g.integer(0, 1))
    if op == "BitShift":
        g.set(direction=g.choice(["LEFT", "RIGHT"]))
        bits = int(kind.lstrip("uint"))
        b = g.values(kind, right, 0, bits - 1)
        a = g.values(kind, left, *([0, 100] if kind[0] == "u" else [-50, 100]))
    if op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        low, high = int_range(kind)
        a, b = g.values(kind, left, max(low, -10**9), min(high, 10**9)), g.values(kind, right, max(low, -10**9), min(high, 10**9))
    if op == "SwiGLU":
        g.maybe(0.5, alpha=round(g.rng.uniform(0.5, 2), 3))
        a, b = g.values(kind, left), g.values(kind, left)
    return g.done([a, b])


def nonzero(x):
    if x.dtype.kind in "iu" or str(x.dtype).startswith(("int", "uint")):
        return np.where(x == 0, np.array(3, x.dtype), x).astype(x.dtype)
    wide = x.astype(np.float64)
    return np.where(np.abs(wide) < 0.2, 0.75, wide).astype(x.dtype)


def power(g):
    left, right = broadcast_pair(g)
    kind = g.type("T")
    kind_y = g.type("T1") if "T1" in g.allowed else kind
    a = g.values(kind, left, 0.1, 3.0) if kind in FLOATS else g.values(kind, left, 0, 4)
    b = g.values(kind_y, right, -2.0, 2.0) if kind_y in FLOATS else g.values(kind_y, right, 0, 3)
    if kind not in FLOATS and kind_y in FLOATS:
        b = np.abs(np.round(b))
    if kind in FLOATS and kind_y not in FLOATS and g.chance(0.4):
        a = (-a.astype(np.float64)).astype(a.dtype)
    return g.done([a, b])


def variadic(g):
    op, count = g.schema.name, g.integer(1, 4)
    kind = g.type("T")
    shape = g.shape()
    same = g.since < 8
    arrays = []
    for _ in range(count):
        part = shape if same else [1 if g.chance(0.2) else d for d in shape][g.integer(0, len(shape)) if g.chance(0.3) else 0:]
        arrays.append(g.values(kind, part, special=0.08))
    return g.done(arrays)


def clip(g):
    kind = g.type("T")
    x = g.values(kind, g.shape(), scale=3.0)
    low, high = (-1.5, 2.0) if kind in FLOATS else (1, 5) if kind in UNSIGNED else (-3, 4)
    if g.chance(0.05):
        low, high = high, low
    if g.since < 11:
        g.maybe(0.8, min=float(low), max=float(high))
        return g.done([x])
    bounds = [np.array(v, x.dtype) if g.chance(0.75) else None for v in (low, high)]
    return g.done([x, *bounds])


def where(g):
    shape = g.shape()
    parts = [[1 if g.chance(0.2) else d for d in shape][g.integer(0, len(shape)) if g.chance(0.3) else 0:] for _ in range(3)]
    g.case.exact = True
    return g.done([g.values("bool", parts[0]), g.tensor("T", parts[1], special=0.2), g.tensor("T", parts[2], special=0.2)])


def prelu(g):
    kind = g.type("T")
    shape = g.shape(low=1)
    x = g.values(kind, shape)
    if g.since < 7:
        slope = g.values(kind, [shape[1]] if len(shape) > 1 and g.chance(0.7) else [1])
    else:
        slope = g.values(kind, [1 if g.chance(0.3) else d for d in shape][g.integer(0, len(shape)):])
    return g.done([x, slope])


def is_inf(g):
    g.maybe(0.5, detect_negative=g.integer(0, 1), detect_positive=g.integer(0, 1))
    return g.done([g.tensor("T1", g.shape(), special=1.0)])


def is_nan(g):
    return g.done([g.tensor("T1", g.shape(), special=1.0)])


def cast_values(g, source, target, shape):
    """Values that the target can hold, as the standard leaves open what happens to others."""
    if source == "string":
        texts = ["1", "-3", "2.5", "1e2", "0", "NaN", "-INF", "inf"] if target in FLOATS else ["1", "0", "7"] if target in UNSIGNED else ["1", "-3", "7", "0"]
        if target in ("string", "bool"):
            texts = ["1", "0"]
        return np.asarray(np.array(texts, dtype=object)[g.rng.integers(len(texts), size=tuple(shape))], dtype=object).reshape(tuple(shape))
    if target == "float8e8m0":   # what negative numbers become is left open, and the evaluator and the table of Cast differ on special ones
        return g.values(source, shape, 1, 9) if source in SIGNED + UNSIGNED else g.values(source, shape, 0.01, 60.0)
    if source in FLOATS + SMALL_FLOATS and target in SIGNED + UNSIGNED:
        low, high = int_range(target)
        return g.values(source, shape, max(low, -90), min(high, 90)) if source != "float8e8m0" else g.values(source, shape, 1, min(high, 90))
    if source in SIGNED + UNSIGNED and target in FLOATS:
        low, high = int_range(source)
        limit = 2**11 if target == "float16" else 2**40
        return g.values(source, shape, max(low, -limit), min(high, limit))
    return g.values(source, shape, scale=g.choice([1.0, 30.0]), special=0.15 if target in FLOATS + SMALL_FLOATS + ("bool", ) else 0.0)


def cast(g):
    like = g.schema.name == "CastLike"
    source, target = g.type("T1"), g.choice([t for t in g.allowed["T2"] if t in CODES])
    if source == "string" and target not in FLOATS + ("string", "int32", "int64", "int8", "int16", "uint8"):
        raise Skip
    if target == "string" and source in FLOATS + SMALL_FLOATS:
        raise Skip  # how many digits are written is left open
    g.bound["T2"] = target
    shape = g.shape()
    g.case.exact = True
    if target in SMALL_FLOATS:
        g.maybe(0.5, saturate=g.integer(0, 1))
    if target == "float8e8m0":
        g.maybe(0.7, round_mode=g.choice(["up", "down", "nearest"]))
    x = cast_values(g, source, target, shape)
    if like:
        return g.done([x, g.values(target, g.shape())])
    g.set(to=CODES[target] if g.schema.attributes["to"].type == g.schema.attributes["to"].type.INT else TensorProto.DataType.Name(CODES[target]))
    return g.done([x])


def bit_cast(g):
    sizes = {"bool": 8}
    kind = g.choice([t for t in g.allowed["T1"] if t in CODES and t != "string"])
    g.bound["T1"] = kind

    def bits(t):
        if t == "bool":
            return 8
        if t.startswith("complex"):
            return int(t[7:])
        table = {"float": 32, "double": 64, "float16": 16, "bfloat16": 16, "float4e2m1": 4, "float6e2m3": 6, "float6e3m2": 6}
        return sizes.get(t) or table.get(t) or (8 if t.startswith("float8") else int("".join(c for c in t if c.isdigit())))

    target = g.choice([t for t in g.allowed["T2"] if t in CODES and t not in ("string", "bool") and bits(t) == bits(kind)])
    g.bound["T2"] = target
    g.case.exact = True
    g.set(to=CODES[target])
    return g.done([g.values(kind, g.shape())])


def logical_not(g):
    return g.done([g.values("bool", g.shape())])


def bitwise_not(g):
    return g.done([g.tensor("T", g.shape())])


def dropout(g):
    kind = g.type("T")
    x = g.values(kind, g.shape(), special=0.1)
    g.bound.setdefault("T2", "bool")
    g.case.exact = True
    if g.since < 7:
        g.set(is_test=1)
    if g.since < 12:
        g.maybe(0.5, ratio=0.3)
        mask = {1: kind if g.since < 10 else "bool"}
        return g.done([x], [True, g.since >= 10 and g.chance(0.5)], mask)
    ratio = g.values(g.type("T1"), [], 0.0, 0.9) if g.chance(0.5) else None
    mode = np.array(False) if g.chance(0.4) else None
    if g.chance(0.15):
        ratio, mode = g.values(g.type("T1"), [], 0.0, 0.0), np.array(True)
    return g.done([x, ratio, mode], [True, g.chance(0.5)])


UNARY = ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign "
         "Sqrt Tan Tanh HardSwish Mish").split()
ACTIVATIONS = "Celu Elu Gelu HardSigmoid LeakyRelu Selu Shrink Swish ThresholdedRelu".split()
BINARY = ("Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or Sub SwiGLU Xor").split()

GENERATORS = {**{op: unary for op in UNARY}, **{op: activation for op in ACTIVATIONS}, **{op: binary for op in BINARY},
              "Pow": power, "Max": variadic, "Min": variadic, "Mean": variadic, "Sum": variadic, "Clip": clip, "Where": where, "PRelu": prelu,
              "IsInf": is_inf, "IsNaN": is_nan, "Cast": cast, "CastLike": cast, "BitCast": bit_cast, "Not": logical_not, "BitwiseNot": bitwise_not,
              "Dropout": dropout}
