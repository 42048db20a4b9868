"""Convolutions, pooling, resampling, regions."""
import numpy as np

from .cases import FLOATS, Skip


def windows(g, rank, size=None, transposed=False):
    """kernel_shape, strides, dilations, pads; spatial sizes that the window fits into."""
    kernel = [g.integer(1, 3) for _ in range(rank)]
    strides = [g.integer(1, 3) for _ in range(rank)]
    dilations = [g.integer(1, 2) for _ in range(rank)]
    pads = [g.integer(0, max(0, min(2, k - 1))) for k in kernel * 2]
    sizes = [max((k - 1) * d + 1 + g.integer(-1, 5), 1) for k, d in zip(kernel, dilations)]
    for i in range(rank):
        while sizes[i] + pads[i] + pads[i + rank] < (kernel[i] - 1) * dilations[i] + 1:
            sizes[i] += 1
    return kernel, strides, dilations, pads, sizes


def window_attributes(g, kernel, strides, dilations, pads, auto=0.25):
    if g.chance(0.7):
        g.set(strides=strides)
    if g.chance(0.5):
        g.set(dilations=dilations)
    if g.chance(auto) and g.has("auto_pad"):
        g.set(auto_pad=g.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        g.maybe(0.7, pads=pads)
        g.maybe(0.1, auto_pad="NOTSET")


def conv(g):
    kind = g.type("T")
    rank = g.choice([1, 2, 2, 3])
    kernel, strides, dilations, pads, sizes = windows(g, rank)
    if rank == 3:
        sizes = [min(s, 5) for s in sizes]
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    group, each, out = g.choice([1, 1, 2, 3]), g.integer(1, 3), g.integer(1, 3)
    if g.chance(0.1):
        group, each, out = 17, 1, 1
    window_attributes(g, kernel, strides, dilations, pads)
    g.maybe(0.6, kernel_shape=kernel)
    if group != 1:
        g.set(group=group)
    x = g.values(kind, [g.integer(1, 2), group * each, *sizes])
    return g.done([x, g.values(kind, [group * out, each, *kernel]), g.values(kind, [group * out]) if g.chance(0.5) else None], constant=0.4)


def conv_transpose(g):
    kind = g.type("T")
    rank = g.choice([1, 2, 2, 3])
    kernel, strides, dilations, pads, _ = windows(g, rank)
    sizes = [g.integer(1, 4) for _ in range(rank)]
    group, each, out = g.choice([1, 1, 2]), g.integer(1, 3), g.integer(1, 3)
    g.set(strides=strides)
    g.maybe(0.5, dilations=dilations)
    g.maybe(0.6, kernel_shape=kernel)
    dil = g.case.attrs.get("dilations", [1] * rank)
    if group != 1:
        g.set(group=group)
    full = [(s - 1) * st + (k - 1) * d + 1 for s, st, k, d in zip(sizes, strides, kernel, dil)]
    p = g.rng.random()
    if p < 0.2:
        g.set(auto_pad=g.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    elif p < 0.35:
        g.set(output_shape=[max(1, f - g.integer(0, 1)) for f in full])
    elif p < 0.8:
        g.set(pads=[min(v, (full[i % rank] - 1) // 2) for i, v in enumerate(pads)])
    if "output_shape" not in g.case.attrs and "auto_pad" not in g.case.attrs and g.chance(0.3):
        g.set(output_padding=[g.integer(0, max(st, d) - 1) for st, d in zip(strides, dil)])
    x = g.values(kind, [g.integer(1, 2), group * each, *sizes])
    return g.done([x, g.values(kind, [group * each, out, *kernel]), g.values(kind, [group * out]) if g.chance(0.5) else None], constant=0.4)


def deform_conv(g):
    kind = g.type("T")
    kernel, strides, dilations, pads, sizes = windows(g, 2)
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    group, offset_group = g.choice([1, 2]), g.choice([1, 2])
    channels, out = 2 * g.integer(1, 2), group * g.integer(1, 2)
    g.maybe(0.6, strides=strides, dilations=dilations, kernel_shape=kernel)
    if g.chance(0.6):
        g.set(pads=pads)
    s, d, p = (g.case.attrs.get(n, v) for n, v in (("strides", [1, 1]), ("dilations", [1, 1]), ("pads", [0] * 4)))
    if group != 1:
        g.set(group=group)
    if offset_group != 1:
        g.set(offset_group=offset_group)
    size = [(sizes[i] + p[i] + p[i + 2] - (kernel[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(2)]
    count = kernel[0] * kernel[1] * offset_group
    n = g.integer(1, 2)
    g.case.tolerance = 50.0 if kind == "double" else 1.0   # the evaluator interpolates in float32
    return g.done([g.values(kind, [n, channels, *sizes]), g.values(kind, [out, channels // group, *kernel]), g.values(kind, [n, 2 * count, *size]),
                   g.values(kind, [out]) if g.chance(0.5) else None, g.values(kind, [n, count, *size], 0, 1) if g.chance(0.5) else None])


def causal_conv(g):
    kind = g.type("T")
    n, channels, length, width = g.integer(1, 3), g.integer(1, 4), g.integer(1, 6), g.integer(1, 4)
    g.maybe(0.5, activation=g.choice(["none", "silu", "swish"]))
    past = g.values(kind, [n, channels, width - 1]) if g.chance(0.5) and width > 1 else None
    return g.done([g.values(kind, [n, channels, length]), g.values(kind, [channels, 1, width]), g.values(kind, [channels]) if g.chance(0.5) else None, past], 2)


def pool(g):
    op = g.schema.name
    kind = g.type("T")
    rank = g.choice([1, 2, 2, 3])
    if op == "LpPool" and g.since == 1:
        rank = 2
    kernel, strides, dilations, pads, sizes = windows(g, rank)
    if not g.has("dilations"):
        dilations = [1] * rank
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    if op == "LpPool":
        p = g.integer(1, 3)
        if p != 2:
            g.set(p=p if g.since > 1 else float(p))
    g.set(kernel_shape=kernel)
    window_attributes(g, kernel, strides, dilations, pads)
    g.maybe(0.4, count_include_pad=g.integer(0, 1))
    if "auto_pad" not in g.case.attrs:
        g.maybe(0.4, ceil_mode=g.integer(0, 1))
    x = g.values(kind, [g.integer(1, 2), g.integer(1, 3), *sizes])
    if op == "MaxPool" and g.since >= 8:
        more = g.chance(0.4)
        if more:
            g.maybe(0.4, storage_order=g.integer(0, 1))
            if kind not in ("float", "double"):
                x = g.values(kind, x.shape, *([-100, 100] if kind == "int8" else [0, 200] if kind == "uint8" else [None, None]))
        g.case.exact = True
        return g.done([x], [True, more])
    return g.done([x])


def global_pool(g):
    op = g.schema.name
    if op == "GlobalLpPool":
        p = g.integer(1, 3)
        if p != 2:
            g.set(p=p if g.since > 1 else float(p))
    return g.done([g.tensor("T", [g.integer(1, 3), g.integer(1, 4)] + [g.integer(1, 5) for _ in range(g.integer(1, 3))])])


def max_unpool(g):
    kind = g.type("T1")
    n, c, h, w = g.integer(1, 2), g.integer(1, 2), g.integer(1, 3), g.integer(1, 3)
    kernel, strides = [2, g.integer(2, 3)], [2, g.integer(2, 3)]
    out = [(h - 1) * strides[0] + kernel[0], (w - 1) * strides[1] + kernel[1]]
    g.set(kernel_shape=kernel, strides=strides)
    if g.chance(0.3):
        g.set(pads=[0, 0, 1, 0])
        out[0] -= 1
    x = g.values(kind, [n, c, h, w])
    size = n * c * out[0] * out[1]
    places = g.rng.permutation(size)[:x.size].reshape(x.shape).astype(np.int64)
    shape = None
    if g.chance(0.3):
        shape = g.ints([n, c, out[0] + 1, out[1] + g.integer(0, 1)])
    g.case.exact = True
    return g.done([x, places, shape])


def max_roi_pool(g):
    n, c, h, w = 2, g.integer(1, 3), g.integer(3, 8), g.integer(3, 8)
    kind = g.type("T")
    g.set(pooled_shape=[g.integer(1, 3), g.integer(1, 3)])
    g.maybe(0.4, spatial_scale=0.5)
    rows = []
    for _ in range(g.integer(1, 4)):
        x1, y1 = g.integer(0, w - 2), g.integer(0, h - 2)
        rows.append([g.integer(0, n - 1), x1, y1, g.integer(x1, w - 1), g.integer(y1, h - 1)])
    x = g.values(kind, [n, c, h, w])
    return g.done([x, np.array(rows).astype(x.dtype)])


def col2im(g):
    rank = g.choice([1, 2, 2, 3])
    kind = g.type("T")
    kernel, strides, dilations, pads, sizes = windows(g, rank)
    sizes = [max(s, (k - 1) * d + 1) for s, k, d in zip(sizes, kernel, dilations)]
    g.maybe(0.6, strides=strides, dilations=dilations, pads=pads)
    s, d, p = (g.case.attrs.get(n, v) for n, v in (("strides", [1] * rank), ("dilations", [1] * rank), ("pads", [0] * 2 * rank)))
    count = int(np.prod([(sizes[i] + p[i] + p[i + rank] - (kernel[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(rank)]))
    return g.done([g.values(kind, [g.integer(1, 2), g.integer(1, 2) * int(np.prod(kernel)), count]), g.ints(sizes), g.ints(kernel)])


def roi_align(g):
    kind = g.type("T1")
    n, c, h, w = 2, g.integer(1, 2), g.integer(3, 7), g.integer(3, 7)
    rows = []
    for _ in range(g.integer(1, 3)):
        x1, y1 = g.rng.uniform(0, w - 2), g.rng.uniform(0, h - 2)
        rows.append([x1, y1, g.rng.uniform(x1 + 0.5, w - 0.5), g.rng.uniform(y1 + 0.5, h - 0.5)])
    g.maybe(0.7, output_height=g.integer(1, 3), output_width=g.integer(1, 3), sampling_ratio=g.integer(0, 3))
    g.maybe(0.4, spatial_scale=0.5, mode=g.choice(["avg", "max"]), coordinate_transformation_mode=g.choice(["half_pixel", "output_half_pixel"]))
    x = g.values(kind, [n, c, h, w])
    return g.done([x, np.array(rows).astype(x.dtype), g.values("int64", [len(rows)], 0, n - 1)])


def grid_sample(g):
    rank = 2 if g.since < 20 or g.chance(0.7) else 3
    sizes, out = [g.integer(1, 5) for _ in range(rank)], [g.integer(1, 4) for _ in range(rank)]
    n = g.integer(1, 2)
    x = g.tensor("T1", [n, g.integer(1, 2), *sizes])
    kind = g.type("T2") if "T2" in g.allowed else g.bound["T1"]
    modes = ["bilinear", "nearest", "bicubic"] if g.since < 20 else ["linear", "nearest", "cubic"]
    mode = g.choice(modes if rank == 2 else modes[:2])
    if mode not in ("bilinear", "linear") or g.chance(0.4):
        g.set(mode=mode)
    g.maybe(0.6, padding_mode=g.choice(["zeros", "border", "reflection"]), align_corners=g.integer(0, 1))
    if g.bound["T1"] not in FLOATS and mode != "nearest" or kind not in ("float", "double") and mode == "nearest":
        raise Skip  # how an interpolated value becomes an integer is left open, and which cell is nearest to a place rounded to a half
    if kind not in ("float", "double"):
        g.case.tolerance = 300.0   # places computed in a half
    elif kind == "float" and g.bound["T1"] == "double":
        g.case.tolerance = 50.0    # places computed in float32
    return g.done([x, g.values(kind, [n, *out, rank], -1.3, 1.3)])


def affine_grid(g):
    rank = g.choice([2, 3])
    n = g.integer(1, 2)
    g.maybe(0.6, align_corners=g.integer(0, 1))
    return g.done([g.tensor("T1", [n, rank, rank + 1]), g.ints([n, g.integer(1, 3)] + [g.integer(2, 4) for _ in range(rank)])])


def resize(g):
    rank = g.integer(1, 4)
    kind = g.type("T1" if "T1" in g.allowed else "T")
    shape = [g.integer(1, 5) for _ in range(rank)]
    g.case.slack = 1   # whether an interpolated value is cut or rounded to an integer is left open
    mode = g.choice(["nearest", "linear", "cubic"] if g.since >= 11 else ["nearest", "linear"])
    if mode != "nearest" and rank > 2:
        shape = [1, g.integer(1, 2)] + shape[2:]
    if mode != "nearest" or g.chance(0.3):
        g.set(mode=mode)
    fixed = [1.0] * (rank - 2) if mode != "nearest" and rank > 2 else []
    free = rank - len(fixed)
    scales = fixed + [g.choice([0.5, 0.6, 1.0, 1.5, 2.0, 2.3, 3.0]) for _ in range(free)]
    scales = [s if int(d * s) >= 1 else 1.0 for d, s in zip(shape, scales)]
    if g.since < 11:
        x = g.values(kind, shape)
        return g.done([x, np.array(scales, np.float32)])
    modes = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"] + (["half_pixel_symmetric"] if g.since >= 19 else [])
    if g.chance(0.1):
        modes = ["tf_crop_and_resize"]
    transform = g.choice(modes)
    if transform != "half_pixel" or g.chance(0.3):
        g.set(coordinate_transformation_mode=transform)
    if mode == "nearest":
        g.maybe(0.7, nearest_mode=g.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        g.maybe(0.5, cubic_coeff_a=-0.5, exclude_outside=g.integer(0, 1))
    if mode != "nearest" and g.since >= 18:
        g.maybe(0.25, antialias=1)
    axes = None
    if g.since >= 18 and g.chance(0.3):
        axes = list(range(len(fixed), rank)) if g.chance(0.6) else list(range(rank))
        if g.chance(0.3) and g.since >= 19:
            axes = [a - rank for a in axes]
        g.set(axes=axes)
    shown = list(range(rank)) if axes is None else axes
    roi = None
    if transform == "tf_crop_and_resize":
        kind_roi = "float" if g.since < 11 or "T2" not in g.allowed else g.type("T2", only=("float",))
        roi = g.values(kind_roi, [2 * len(shown)], 0.1, 0.9)
        roi = np.concatenate([np.minimum(roi[:len(shown)], roi[len(shown):]), np.maximum(roi[:len(shown)], roi[len(shown):])])
        if fixed:
            for i, a in enumerate(shown):
                if a % rank < len(fixed):
                    roi[i], roi[i + len(shown)] = 0, 1
        g.maybe(0.5, extrapolation_value=2.0)
    x = g.values(kind, shape)
    if mode == "cubic" and kind == "double":
        g.case.tolerance = 50.0   # the evaluator's weights are float32
    if g.since == 11 and roi is None:
        roi = np.zeros([0], np.float32)
    if g.chance(0.5):
        return g.done([x, roi, np.array([scales[a] for a in shown], np.float32)], constant=0.4)
    sizes = [max(1, int(shape[a] * scales[a])) for a in shown]
    if g.since >= 18 and g.chance(0.2):
        g.set(keep_aspect_ratio_policy=g.choice(["not_larger", "not_smaller"]))
    empty = np.zeros([0], np.float32) if g.since == 11 else None
    return g.done([x, roi, empty, g.ints(sizes)], constant=0.4)


def upsample(g):
    rank = g.choice([2, 4])
    shape = [g.integer(1, 4) for _ in range(rank)]
    scales = [1.0] * (rank - 2) + [g.choice([1.0, 2.0, 3.0, 1.5]) for _ in range(2)]
    mode = g.choice(["nearest", "linear"])
    if g.since == 1:
        mode = g.choice(["nearest", "bilinear"])
        g.set(height_scale=scales[-2], width_scale=scales[-1])
        if rank != 4:
            raise Skip
    g.maybe(0.8, mode=mode)
    x = g.tensor("T", shape)
    g.case.slack = 1
    if g.since >= 9:
        return g.done([x, np.array(scales, np.float32)])
    g.set(scales=scales if g.since > 1 else None)
    return g.done([x])


def non_max(g):
    batches, boxes, classes = g.integer(1, 2), g.integer(1, 6), g.integer(1, 2)
    corner = g.rng.uniform(0, 8, (batches, boxes, 2))
    size = g.rng.uniform(1, 5, (batches, boxes, 2))
    centre = g.integer(0, 1)
    g.maybe(0.7, center_point_box=centre)
    data = np.concatenate([corner, size if g.case.attrs.get("center_point_box") else corner + size], -1).astype(np.float32)
    scores = g.rng.permutation(batches * classes * boxes).reshape(batches, classes, boxes).astype(np.float32) / 16
    tail = [np.array([g.integer(1, 4)], np.int64) if g.chance(0.8) else None, np.array([0.4], np.float32) if g.chance(0.7) else None,
            np.array([0.3], np.float32) if g.chance(0.5) else None]
    return g.done([data, scores, *tail])


GENERATORS = {"Conv": conv, "ConvTranspose": conv_transpose, "DeformConv": deform_conv, "CausalConvWithState": causal_conv, "AveragePool": pool,
              "MaxPool": pool, "LpPool": pool, "GlobalAveragePool": global_pool, "GlobalMaxPool": global_pool, "GlobalLpPool": global_pool,
              "MaxUnpool": max_unpool, "MaxRoiPool": max_roi_pool, "Col2Im": col2im, "RoiAlign": roi_align, "GridSample": grid_sample,
              "AffineGrid": affine_grid, "Resize": resize, "Upsample": upsample, "NonMaxSuppression": non_max}
NOT_COVERED = {"ImageDecoder": "its input is a coded picture; tests/data/vision has pictures of each format"}
