"""Operators that move elements: shapes, slices, gathering, scattering, sorting out."""
import numpy as np
import onnx

from .cases import CODES, FLOATS, Skip


def data(g, parameter, shape):
    g.case.exact = True
    return g.tensor(parameter, shape)


def identity(g):
    return g.done([data(g, g.schema.inputs[0].type_str, g.shape())])


def shape_op(g):
    g.allowed.setdefault("T1", ["int64"])
    x = data(g, "T", g.shape())
    g.bound["T1"] = "int64"
    g.maybe(0.4, start=g.integer(-5, 5), end=g.integer(-5, 5))
    return g.done([x])


def concat(g):
    rank = g.integer(1, 4)
    shape = g.shape(rank)
    axis = g.axis(rank)
    g.type("T")
    arrays = []
    for _ in range(g.integer(1, 4)):
        part = list(shape)
        part[axis] = g.dim()
        arrays.append(data(g, "T", part))
    if g.since < 4 and axis == 1 and g.chance(0.5):
        return g.done(arrays)
    g.set(axis=axis)
    return g.done(arrays)


def split(g):
    rank = g.integer(1, 4)
    shape, axis = g.shape(rank), g.axis(rank)
    count = g.integer(1, 4)
    parts = [g.integer(0 if g.chance(0.1) else 1, 4) for _ in range(count)]
    if axis != 0 or g.chance(0.5):
        g.set(axis=axis)
    else:
        g.set(axis=0)
    equal = g.chance(0.4)
    if equal:
        parts = [g.integer(1, 3)] * count
    shape[axis] = sum(parts)
    if g.since >= 18 and equal:
        if count > 1 and g.chance(0.4) and parts[0] > 1:
            shape[axis] -= 1   # the last part is smaller
            if -(-shape[axis] // count) * (count - 1) >= shape[axis]:
                shape[axis] += 1
        g.set(num_outputs=count)
        return g.done([data(g, "T", shape)], count)
    x = data(g, "T", shape)
    if equal and g.since > 1:
        return g.done([x], count)
    if g.since == 1 or g.since < 13:
        g.set(split=parts)
        return g.done([x], count)
    return g.done([x, g.ints(parts)], count)


def slice_op(g):
    rank = g.integer(1, 4)
    shape = g.shape(rank)
    x = data(g, "T", shape)
    axes = sorted(g.rng.permutation(rank)[:g.integer(1, rank)].tolist())
    far = [10**9, -10**9, 2**31 - 1]
    starts = [g.choice(far[:2]) if g.chance(0.05) else g.integer(-shape[a] - 1, shape[a] + 1) for a in axes]
    ends = [g.choice(far) if g.chance(0.15) else g.integer(-shape[a] - 1, shape[a] + 1) for a in axes]
    if g.since == 1:
        given = axes if axes != list(range(len(axes))) or g.chance(0.5) else None
        g.set(starts=starts, ends=ends, axes=given)
        return g.done([x])
    kind = g.type("Tind")
    steps = [g.choice([1, 1, 2, 3] if not g.chance(0.4) else [-1, -2, 5, -7]) for _ in axes]
    order = g.rng.permutation(len(axes))
    axes, starts, ends, steps = ([v[i] for i in order] for v in (axes, starts, ends, steps))
    signed = [a - rank if g.chance(0.3) and g.since >= 11 else a for a in axes]
    no_axes = axes == list(range(rank)) and g.chance(0.5)
    inputs = [x, g.ints(starts, kind), g.ints(ends, kind), None if no_axes else g.ints(signed, kind)]
    if g.chance(0.7) and not (g.since < 11 and no_axes):
        inputs.append(g.ints(steps, kind))
    return g.done(inputs, constant=0.4)


def transpose(g):
    rank = g.integer(0, 5)
    x = data(g, "T", g.shape(rank))
    if rank and g.chance(0.8):
        g.set(perm=[int(p) for p in g.rng.permutation(rank)])
    return g.done([x])


def reshape(g):
    shape = [g.choice([1, 2, 3, 4, 6]) for _ in range(g.integer(0, 4))]
    total = int(np.prod(shape))
    target = []
    rest = total
    for _ in range(g.integer(0, 3)):
        d = g.choice([k for k in (1, 2, 3, 4, 6) if rest % k == 0])
        target.append(d)
        rest //= d
    target.append(rest)
    if g.chance(0.5):
        target[g.integer(0, len(target) - 1)] = -1
    for i, d in enumerate(target):
        if i < len(shape) and d == shape[i] and g.chance(0.2):
            target[i] = 0
    if g.since >= 14 and 0 not in target and g.chance(0.2):
        g.set(allowzero=g.integer(0, 1))
    if g.since >= 14 and g.chance(0.06):
        shape, target = [0, 3], [3, 0]
        g.set(allowzero=1)
    x = data(g, "T", shape)
    if g.since < 5:
        g.set(shape=target)
        return g.done([x])
    return g.done([x, g.ints(target)])


def flatten(g):
    rank = g.integer(0 if g.since >= 9 else 1, 4)
    x = data(g, "T", g.shape(rank))
    g.maybe(0.8, axis=g.integer(-rank if g.since >= 11 else 0, rank))
    if rank < 1 and "axis" not in g.case.attrs:
        g.set(axis=0)
    return g.done([x])


def squeeze(g):
    shape = g.shape(low=1)
    ones = [i for i in range(len(shape)) if g.chance(0.5)]
    for i in ones:
        shape[i] = 1
    x = data(g, "T", shape)
    if not ones or g.chance(0.2):
        return g.done([x])
    axes = [a - len(shape) if g.since >= 11 and g.chance(0.4) else a for a in ones]
    if g.since < 13:
        g.set(axes=axes)
        return g.done([x])
    return g.done([x, g.ints(axes)])


def unsqueeze(g):
    shape = g.shape(high=3)
    count = g.integer(1, 3)
    rank = len(shape) + count
    axes = [int(a) for a in g.rng.permutation(rank)[:count]]
    if g.since < 11:
        axes.sort()
    axes = [a - rank if g.since >= 11 and g.chance(0.4) else a for a in axes]
    x = data(g, "T", shape)
    if g.since < 13:
        g.set(axes=axes)
        return g.done([x])
    return g.done([x, g.ints(axes)])


def expand(g):
    target = g.shape()
    shape = [1 if g.chance(0.4) else d for d in target][g.integer(0, len(target)):]
    asked = [1 if i >= len(target) - len(shape) and shape[i - len(target) + len(shape)] == d and g.chance(0.3) else d for i, d in enumerate(target)]
    return g.done([data(g, "T", shape), g.ints(asked)])


def tile(g):
    shape = g.shape(low=1, high=3)
    x = data(g, "T", shape)
    if g.since < 6:
        return g.done([x, g.values(g.bound["T"], [1], 2, 2).reshape([]), g.values(g.bound["T"], [1], 0, 0).reshape([])])
    return g.done([x, g.ints([g.integer(0 if g.chance(0.1) else 1, 3) for _ in shape])])


def pad(g):
    rank = g.integer(1, 4)
    shape = [max(2, d) for d in g.shape(rank)]
    mode = g.choice(["constant", "reflect", "edge"] + (["wrap"] if g.since >= 19 else []))
    x = data(g, "T", shape)
    kind = g.bound["T"]
    axes = list(range(rank))
    if g.since >= 18 and g.chance(0.4):
        axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]]
    top = [shape[a] - 1 for a in axes]
    low = 0 if mode != "constant" or g.chance(0.7) else -1
    pads = [g.integer(low, min(t, 3)) for t in top] + [g.integer(low, min(t, 3)) for t in top]
    for i, a in enumerate(axes):
        if shape[a] + pads[i] + pads[i + len(axes)] < 0:
            pads[i] = 0
    if mode != "constant" or g.chance(0.3):
        g.set(mode=mode)
    if g.since < 11:
        g.set(**{"paddings" if g.since == 1 else "pads": pads})
        g.maybe(0.5, value=1.5)
        return g.done([x])
    value = g.values(kind, []) if g.chance(0.5) else None
    inputs = [x, g.ints(pads), value]
    if len(axes) < rank or (g.since >= 18 and g.chance(0.3)):
        inputs.append(g.ints([a - rank if g.chance(0.4) else a for a in axes], g.type("Tind")))
    return g.done(inputs)


def indices(g, shape, size, kind):
    low = -size if g.since >= 11 else 0
    if size == 0:
        if int(np.prod(shape)):
            raise Skip
        return np.zeros(shape, CODES and np.int64 if kind == "int64" else np.int32)
    return g.values(kind, shape, low, size - 1)


def gather(g):
    rank = g.integer(1, 4)
    shape, axis = g.shape(rank), g.axis(rank)
    g.maybe(0.8, axis=axis)
    axis = g.case.attrs.get("axis", 0)
    return g.done([data(g, "T", shape), indices(g, g.shape(high=2), shape[axis], g.type("Tind"))])


def gather_elements(g):
    rank = g.integer(1, 4)
    shape = g.shape(rank)
    g.maybe(0.8, axis=g.axis(rank))
    axis = g.case.attrs.get("axis", 0) % rank
    part = [g.integer(0 if d == 0 else 1, d) if i != axis else g.dim() for i, d in enumerate(shape)]
    return g.done([data(g, "T", shape), indices(g, part, shape[axis], g.type("Tind"))])


def nd_indices(g, shape, lead, count):
    """[*lead, count] indices into the first `count` axes of `shape`."""
    columns = [indices(g, lead, d, "int64") for d in shape[:count]]
    return np.stack(columns, -1).astype(np.int64) if columns else np.zeros([*lead, 0], np.int64)


def gather_nd(g):
    shape = [max(1, d) for d in g.shape(low=1)]
    batch = g.integer(0, min(2, len(shape) - 1)) if g.has("batch_dims") else 0
    if batch:
        g.set(batch_dims=batch)
    count = g.integer(1, len(shape) - batch)
    lead = shape[:batch] + g.shape(high=2, low=0 if batch == 0 else 0)
    return g.done([data(g, "T", shape), nd_indices(g, shape[batch:], lead, count)])


def reduction_mode(g):
    modes = ["none"] + (["add", "mul"] if g.since >= 16 else []) + (["max", "min"] if g.since >= 18 else [])
    mode = g.choice(modes)
    if mode != "none" and g.type("T") in ("string", "bool", "complex64", "complex128"):
        mode = "none"
    if mode != "none" or (g.since >= 16 and g.chance(0.3)):
        g.set(reduction=mode)
    return mode


def scatter_elements(g):
    rank = g.integer(1, 3)
    shape = [max(1, d) for d in g.shape(rank)]
    g.maybe(0.8, axis=g.axis(rank))
    axis = g.case.attrs.get("axis", 0) % rank
    mode = reduction_mode(g)
    part = [g.integer(1, d) for d in shape]
    ind = indices(g, part, shape[axis], g.type("Tind"))
    if mode == "none":   # the standard forbids the same place twice
        order = np.argsort(g.rng.random(tuple(shape)), axis=axis)
        ind = order[tuple(slice(0, p) for p in part)].astype(ind.dtype)
    x, updates = data(g, "T", shape), g.tensor("T", part)
    g.case.exact = mode in ("none", "max", "min")
    return g.done([x, ind, updates])


def scatter_nd(g):
    shape = [max(1, d) for d in g.shape(low=1)]
    count = g.integer(1, len(shape))
    mode = reduction_mode(g)
    if mode == "none":
        places = int(np.prod(shape[:count]))
        picked = g.rng.permutation(places)[:g.integer(1, min(places, 6))]
        ind = np.stack(np.unravel_index(picked, shape[:count]), -1).astype(np.int64)
        lead = [len(picked)]
    else:
        lead = [max(1, d) for d in g.shape(high=2)]
        ind = nd_indices(g, shape, lead, count)
    x, updates = data(g, "T", shape), g.tensor("T", lead + shape[count:])
    g.case.exact = mode in ("none", "max", "min")
    return g.done([x, ind, updates])


def tensor_scatter(g):
    rank = g.integer(3, 4)
    axis = g.integer(1, rank - 1)
    shape = [g.integer(1, 3) for _ in range(rank)]
    shape[axis] = g.integer(3, 6)
    part = list(shape)
    part[axis] = g.integer(1, 3)
    circular = g.chance(0.5)
    g.set(mode="circular" if circular else "linear")
    g.set(axis=axis - rank if g.chance(0.5) else axis)
    top = shape[axis] - 1 if circular else shape[axis] - part[axis]
    where = g.values("int64", [shape[0]], 0, top) if g.chance(0.8) else None
    return g.done([data(g, "T", shape), g.tensor("T", part), where])


def depth_to_space(g):
    block = g.integer(1, 3)
    back = g.schema.name == "SpaceToDepth"
    n, c, h, w = (g.integer(1, 3) for _ in range(4))
    g.set(blocksize=block)
    g.maybe(0.6, mode=g.choice(["DCR", "CRD"]))
    return g.done([data(g, "T", [n, c, h * block, w * block] if back else [n, c * block * block, h, w])])


def trilu(g):
    shape = g.shape(low=2)
    g.maybe(0.6, upper=g.integer(0, 1))
    return g.done([data(g, "T", shape), np.array(g.integer(-4, 4), np.int64) if g.chance(0.6) else None])


def compress(g):
    rank = g.integer(1, 3)
    shape = g.shape(rank)
    axis = g.axis(rank) if g.chance(0.6) else None
    length = shape[axis] if axis is not None else int(np.prod(shape))
    g.set(axis=axis)
    return g.done([data(g, "T", shape), g.values("bool", [g.integer(0, length)])])


def reverse_sequence(g):
    shape = g.shape(low=2)
    time = g.integer(0, 1)
    g.set(time_axis=time, batch_axis=1 - time)
    if time == 0 and g.chance(0.5):
        g.case.attrs.clear()
    if shape[time] < 1:
        raise Skip
    return g.done([data(g, "T", shape), g.values("int64", [shape[1 - time]], 1, shape[time])])


def one_hot(g):
    depth = g.integer(1, 6)
    kind = g.type("T1")
    ind = np.round(g.values(kind, g.shape(high=3), -depth - 1, depth + 1))
    g.maybe(0.7, axis=g.integer(-ind.ndim - 1, ind.ndim))
    depth_kind = g.type("T2")
    d = g.values(depth_kind, [] if g.chance(0.5) else [1], 0, 0)
    return g.done([ind, (d + np.array(depth, d.dtype)).astype(d.dtype), g.tensor("T3", [2])])


def non_zero(g):
    kind = g.type("T")
    x = g.values(kind, g.shape(low=0))
    if kind != "string" and x.size:
        mask = g.rng.random(x.shape) < 0.4
        x = np.where(mask, np.zeros((), x.dtype), x).astype(x.dtype)
    return g.done([x])


def range_op(g):
    kind = g.type("T")
    if kind in FLOATS:
        start, delta = round(g.rng.uniform(-3, 3), 2), g.choice([0.5, 1.0, -0.5, 2.0, 0.25])
    else:
        start, delta = g.integer(-4, 6), g.choice([1, 2, 3, -1, -2])
    limit = start + delta * g.integer(-2, 9) - (delta / 4 if kind in FLOATS else 0)
    return g.done([np.array(v).astype(g.values(kind, []).dtype) for v in (start, limit, delta)], constant=0.5)


def constant_of_shape(g):
    kind = g.choice([t for t in g.allowed["T2"] if t in CODES])
    g.bound["T2"] = kind
    if kind == "float" and g.chance(0.3):
        pass
    else:
        g.set(value=onnx.numpy_helper.from_array(g.values(kind, [1])))
    g.case.exact = True
    return g.done([g.ints(g.shape()).reshape(-1)])


def constant(g):
    options = [n for n in g.schema.attributes if n != "sparse_value"]
    which = g.choice(options)
    g.case.exact = True
    if which == "value":
        kind = g.choice([t for t in g.allowed["T"] if t in CODES])
        g.set(value=onnx.numpy_helper.from_array(g.values(kind, g.shape())) if kind != "string"
              else onnx.helper.make_tensor("v", 8, [2], ["a", "b c"]))
    elif which == "value_string":
        kind, _ = "string", g.set(value_string="a b")
    elif which == "value_strings":
        kind, _ = "string", g.set(value_strings=["a", "", "b c"])
    elif which.startswith("value_float"):
        kind, _ = "float", g.set(**{which: 1.25 if which == "value_float" else [0.5, -2.0]})
    else:
        kind, _ = "int64", g.set(**{which: -7 if which == "value_int" else [3, 0, -5]})
    return g.done([], 1, {0: kind})


def eye_like(g):
    kind = g.type("T1")
    g.maybe(0.5, k=g.integer(-3, 3))
    target = g.choice([t for t in g.allowed["T2"] if t in CODES]) if g.chance(0.5) else kind
    if target != kind or g.chance(0.3):
        g.set(dtype=CODES[target])
    g.bound["T2"] = target
    if target == "string":
        raise Skip
    return g.done([g.values(kind, g.shape(2))])


def unique(g):
    kind = g.type("T")
    rank = g.integer(1, 3)
    shape = [max(1, d) for d in g.shape(rank)]
    axis = g.axis(rank) if g.chance(0.5) else None
    g.set(axis=axis)
    g.maybe(0.6, sorted=g.integer(0, 1))
    x = g.values(kind, shape)
    if kind in FLOATS:
        x = np.round(x)
        x = (x + np.zeros((), x.dtype)).astype(x.dtype)
    g.case.exact = True
    return g.done([x], [True, g.chance(0.7), g.chance(0.7), g.chance(0.7)])


def top_k(g):
    rank = g.integer(1, 3)
    shape = [max(1, d) for d in g.shape(rank)]
    axis = g.axis(rank)
    g.set(axis=axis)
    k = g.integer(0 if g.chance(0.05) else 1, shape[axis])
    kind = g.type("T")
    count = int(np.prod(shape))
    g.maybe(0.5, largest=g.integer(0, 1), sorted=1)
    if kind in ("int8", "uint8", "bfloat16", "float16", "int16", "uint16"):
        x = g.values(kind, shape)   # with ties: the lower index first
    else:
        x = (g.rng.permutation(count) - count // 3).reshape(shape)
        x = np.abs(x) if kind[0] == "u" else x
        x = x.astype(g.values(kind, []).dtype)
    g.bound["I"] = "int64"
    g.case.exact = True
    if g.since < 10:
        g.set(k=k)
        return g.done([x], 2)
    return g.done([x, g.ints([k])], 2)


def center_crop_pad(g):
    rank = g.integer(1, 4)
    shape = g.shape(rank)
    axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]] if g.chance(0.5) else None
    target = [g.integer(1, 7) for _ in (axes or range(rank))]
    g.set(axes=[a - rank if g.chance(0.3) else a for a in axes] if axes else None)
    return g.done([data(g, "T", shape), g.ints(target, g.type("Tind"))])


GENERATORS = {
    "Identity": identity, "Shape": shape_op, "Size": shape_op, "Concat": concat, "Split": split, "Slice": slice_op, "Transpose": transpose, "Reshape": reshape,
    "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Expand": expand, "Tile": tile, "Pad": pad, "Gather": gather,
    "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterElements": scatter_elements, "Scatter": scatter_elements, "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter, "DepthToSpace": depth_to_space, "SpaceToDepth": depth_to_space, "Trilu": trilu, "Compress": compress,
    "ReverseSequence": reverse_sequence, "OneHot": one_hot, "NonZero": non_zero, "Range": range_op, "ConstantOfShape": constant_of_shape,
    "Constant": constant, "EyeLike": eye_like, "Unique": unique, "TopK": top_k, "CenterCropPad": center_crop_pad}
