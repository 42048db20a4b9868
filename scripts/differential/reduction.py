"""Reductions, cumulative sums, normalizations, softmax, losses."""
import numpy as np

from .cases import FLOATS


def axes_of(g, rank, negative_since=11):
    axes = [int(a) for a in g.rng.permutation(rank)[:g.integer(1, rank)]]
    return [a - rank if g.since >= negative_since and g.chance(0.4) else a for a in axes]


def reduce(g):
    op = g.schema.name
    rank = g.integer(0 if g.since >= 13 else 1, 4)
    shape = g.shape(rank)
    kind = g.type("T")
    positive = op in ("ReduceLogSum",)
    x = g.values(kind, shape, 0.1, 3.0) if positive and kind in FLOATS else g.values(kind, shape, 1, 9) if positive else g.values(kind, shape)
    if op == "ReduceProd" and kind not in FLOATS:
        x = g.values(kind, shape, -2, 2)
    if op == "ReduceProd" and kind in FLOATS:
        x = g.values(kind, shape, 0.7, 1.4)
    if kind in FLOATS and x.size:   # sums that cancel, added up in the type itself
        g.case.floor = {"float16": 1e-3, "bfloat16": 8e-3, "float": 1e-6}.get(kind, 0.0) * float(np.abs(x.astype(np.float64)).sum())
    g.maybe(0.6, keepdims=g.integer(0, 1))
    axes = axes_of(g, rank) if rank and g.chance(0.7) else None
    by_input = len(g.schema.inputs) > 1
    if axes is None and by_input:
        g.maybe(0.4, noop_with_empty_axes=g.integer(0, 1))
    if not by_input:
        g.set(axes=axes)
        return g.done([x])
    if axes is None and g.chance(0.3):
        axes = []
    return g.done([x] if axes is None else [x, g.ints(axes)], constant=0.4)


def arg_extreme(g):
    rank = g.integer(1, 4)
    shape = [max(1, d) for d in g.shape(rank)]
    g.maybe(0.8, axis=g.axis(rank))
    g.maybe(0.6, keepdims=g.integer(0, 1), select_last_index=g.integer(0, 1))
    x = g.tensor("T", shape)
    if g.chance(0.3) and g.bound["T"] in FLOATS:
        x = np.round(x)
    return g.done([x])


def cumulative(g):
    rank = g.integer(1, 4)
    g.maybe(0.5, exclusive=g.integer(0, 1), reverse=g.integer(0, 1))
    kind = g.type("T")
    x = g.values(kind, g.shape(rank)) if g.schema.name == "CumSum" else g.values(kind, g.shape(rank), 0.6 if kind in FLOATS else 1, 1.5 if kind in FLOATS else 2)
    axis = g.ints(g.integer(-rank, rank - 1), g.type("T2"))
    return g.done([x, axis.reshape([1] if g.chance(0.2) else [])])


def softmax(g):
    rank = g.integer(1, 4)
    g.maybe(0.7, axis=g.axis(rank))
    if g.since < 13 and rank == 1 and "axis" not in g.case.attrs:
        g.set(axis=0)
    x = g.tensor("T", g.shape(rank), scale=g.choice([1.0, 30.0]))
    g.case.floor = 1e-5 if g.schema.name == "LogSoftmax" else 0.0   # a logarithm near 0
    return g.done([x])


def batch_norm(g):
    kind = g.type("T")
    shape = [max(1, d) for d in g.shape(low=2, high=5)]
    channels = [shape[1]]
    second = g.since in (14, 15)
    stat = "T2" if g.since >= 15 else "U" if g.since == 14 else "T"
    vector = "T1" if g.since >= 15 else "T"
    for parameter in (vector, stat):
        if parameter != "T":
            g.type(parameter)
    g.maybe(0.5, epsilon=0.01, momentum=0.7)
    inputs = [g.values(kind, shape), g.values(g.bound[vector], channels), g.values(g.bound[vector], channels), g.values(g.bound[stat], channels),
              g.values(g.bound[stat], channels, 0.5, 2.0)]
    if g.since < 7:
        g.set(is_test=1)
    if g.since == 1:
        g.set(consumed_inputs=[0, 0, 0, 1, 1])
    g.maybe(0.3, spatial=1)
    if second and g.chance(0.4):
        g.set(training_mode=1)
        return g.done(inputs, 3)
    return g.done(inputs, 1)


def instance_norm(g):
    kind = g.type("T")
    shape = [max(1, d) for d in g.shape(low=3, high=5)]
    shape[-1] += 1
    g.maybe(0.6, epsilon=0.01)
    if g.since == 1:
        g.set(consumed_inputs=[0, 0, 0])
    return g.done([g.values(kind, shape), g.values(kind, shape[1:2]), g.values(kind, shape[1:2])])


def layer_norm(g):
    kind = g.type("T")
    rank = g.integer(1, 4)
    shape = [max(1, d) for d in g.shape(rank)]
    shape[-1] += 2
    axis = g.integer(-rank, rank - 1)
    if axis == -1 and g.chance(0.5):
        pass
    else:
        g.set(axis=axis)
    g.maybe(0.6, epsilon=0.01)
    g.maybe(0.2, stash_type=1)
    part = shape[axis:]
    if g.schema.name == "RMSNormalization":
        return g.done([g.values(kind, shape), g.values(g.type("V"), part)])
    g.bound["U"] = "float"
    bias = g.values(kind, part) if g.chance(0.6) else None
    more = g.chance(0.4)
    return g.done([g.values(kind, shape), g.values(kind, part), bias], [True, more, more])


def group_norm(g):
    kind = g.type("T")
    groups, each = g.integer(1, 3), g.integer(1, 3)
    shape = [g.integer(1, 3), groups * each] + [g.integer(1, 5) for _ in range(g.integer(1, 3))]
    shape[-1] += 1
    length = groups if g.since < 21 else groups * each
    g.set(num_groups=groups)
    g.maybe(0.6, epsilon=0.01)
    if kind == "double" and g.since >= 21:
        g.case.tolerance = 50.0   # the peers compute statistics in float32, the default of stash_type
    return g.done([g.values(kind, shape), g.values(kind, [length]), g.values(kind, [length])])


def lrn(g):
    g.set(size=g.integer(1, 6))
    g.maybe(0.6, alpha=0.02, beta=0.6, bias=1.5)
    return g.done([g.tensor("T", [g.integer(1, 3), g.integer(1, 7)] + [g.integer(1, 4) for _ in range(g.integer(0, 3))])])


def lp_normalization(g):
    rank = g.integer(1, 4)
    g.maybe(0.7, axis=g.integer(-rank, rank - 1), p=g.integer(1, 2))
    x = g.tensor("T", g.shape(rank))
    return g.done([x])


def mvn(g):
    x = g.tensor("T", [g.integer(1, 4) + 1 for _ in range(4)])
    g.maybe(0.5, axes=[int(a) for a in g.rng.permutation(4)[:g.integer(1, 3)]])
    g.case.tolerance = 5.0
    return g.done([x])


def loss(g):
    op = g.schema.name
    kind = g.type("T")
    classes = g.integer(1, 6)
    shape = [g.integer(1, 4), classes] + [g.integer(1, 4) for _ in range(g.integer(0, 2))]
    x = g.values(kind, shape)
    target = g.values(g.type("Tind"), [shape[0], *shape[2:]], 0, classes - 1)
    reduction = g.choice(["none", "sum", "mean"])
    if reduction != "mean" or g.chance(0.5):
        g.set(reduction=reduction)
    weight = g.values(kind, [classes], 0.2, 2.0) if g.chance(0.5) else None
    if g.chance(0.4):
        ignored = g.integer(0, classes - 1) if g.chance(0.7) else -1
        g.set(ignore_index=ignored)
        if ignored < 0 and target.size:
            target = np.where(g.rng.random(target.shape) < 0.3, np.array(-1, target.dtype), target).astype(target.dtype)
        if reduction == "mean" and (target == ignored).all():
            g.case.tags.add("all_ignored")
    outputs = [True, g.chance(0.4)] if op == "SoftmaxCrossEntropyLoss" else 1
    return g.done([x, target, weight], outputs)


REDUCTIONS = ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare").split()
GENERATORS = {**{op: reduce for op in REDUCTIONS}, "ArgMax": arg_extreme, "ArgMin": arg_extreme, "CumSum": cumulative, "CumProd": cumulative,
              "Softmax": softmax, "LogSoftmax": softmax, "Hardmax": softmax, "BatchNormalization": batch_norm, "InstanceNormalization": instance_norm,
              "LayerNormalization": layer_norm, "RMSNormalization": layer_norm, "GroupNormalization": group_norm, "LRN": lrn,
              "LpNormalization": lp_normalization, "MeanVarianceNormalization": mvn, "NegativeLogLikelihoodLoss": loss, "SoftmaxCrossEntropyLoss": loss}
