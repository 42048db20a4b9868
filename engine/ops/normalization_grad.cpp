// Gradients of the normalizations. With x' = (x - mean) * r, r = 1 / sqrt(var + eps) and g the cotangent of x', each is
// dx = r * (g - mean(g) - x' * mean(g * x')), the means over the normalized axes (Ioffe and Szegedy 2015, Ba et al. 2016).
#include "engine/ops/normalization_grad.h"

#include <numeric>

namespace nabla::engine {

namespace {

using Axes = std::vector<std::int64_t>;

ValueId mean(GradientBuilder& b, ValueId x, const Axes& axes) { return b.op("ReduceMean", {x, b.ints(axes)}, {intAttr("keepdims", 1)}); }

struct Standardized {
    ValueId centred, inverse, normalized;
};
ValueId inverseDeviation(GradientBuilder& b, ValueId variance, double epsilon) {
    return b.op("Reciprocal", {b.op("Sqrt", {b.add(variance, b.scalar(variance, epsilon))})});
}
Standardized standardize(GradientBuilder& b, ValueId x, const Axes& axes, double epsilon) {
    Standardized s;
    s.centred = b.sub(x, mean(b, x, axes));
    s.inverse = inverseDeviation(b, mean(b, b.mul(s.centred, s.centred), axes), epsilon);
    s.normalized = b.mul(s.centred, s.inverse);
    return s;
}
ValueId standardizedGradient(GradientBuilder& b, const Standardized& s, ValueId g, const Axes& axes) {
    const ValueId centred = b.sub(g, mean(b, g, axes));
    return b.mul(s.inverse, b.sub(centred, b.mul(s.normalized, mean(b, b.mul(g, s.normalized), axes))));
}

Axes range(std::size_t from, std::size_t to) {
    Axes axes(to > from ? to - from : 0);
    std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(from));
    return axes;
}
/// Every axis but the channels.
Axes notChannels(std::size_t rank) {
    Axes axes = range(2, rank);
    axes.insert(axes.begin(), 0);
    return axes;
}
/// [C] as [C, 1, ..] so that it broadcasts against [N, C, ..].
ValueId perChannel(GradientBuilder& b, ValueId v, std::size_t rank) { return rank <= 2 ? v : b.op("Unsqueeze", {v, b.ints(range(1, rank - 1))}); }

Result<std::size_t> knownRank(GradientBuilder& b, const Node& n) {
    const auto rank = b.rank(n.inputs[0]);
    if (!rank)
        return runError("the gradient of {} wants an input of known rank", n.opType);
    return *rank;
}
double epsilonOf(const Node& n) { return static_cast<double>(n.floatAttribute("epsilon", 1e-5F)); }

ValueId sum(GradientBuilder& b, ValueId a, ValueId other) { return a ? b.add(a, other) : other; }

/// Training mode: statistics come from x. Outputs 1 and 2 are running averages of them.
Gradients gradBatchTraining(GradientBuilder& b, const Node& n, OutputGrads dy, std::size_t rank) {
    const Axes axes = notChannels(rank);
    const ValueId x = n.inputs[0];
    const double momentum = static_cast<double>(n.floatAttribute("momentum", 0.9F));
    const Standardized s = standardize(b, x, axes, epsilonOf(n));
    std::vector<ValueId> grads(5);
    const auto cotangent = [&](std::size_t i) { return i < dy.size() ? dy[i] : ValueId{}; };
    if (cotangent(0)) {
        grads[0] = standardizedGradient(b, s, b.mul(dy[0], perChannel(b, n.inputs[1], rank)), axes);
        grads[1] = b.reduceSum(b.mul(dy[0], s.normalized), axes, false);
        grads[2] = b.reduceSum(dy[0], axes, false);
    }
    const ValueId count = b.castLike(b.div(b.op("Size", {x}), b.op("Size", {n.inputs[1]})), x);
    for (const std::size_t i : {1U, 2U}) {
        if (!cotangent(i))
            continue;
        grads[2 + i] = b.mul(dy[i], b.scalar(n.inputs[2 + i], momentum));
        const ValueId ownShare = b.mul(b.castLike(dy[i], x), b.scalar(x, i == 1 ? 1 - momentum : 2 * (1 - momentum)));
        const ValueId share = perChannel(b, b.div(ownShare, count), rank);
        grads[0] = sum(b, grads[0], i == 1 ? b.op("Expand", {share, b.shapeOf(x)}) : b.mul(share, s.centred));
    }
    return grads;
}

/// x padded and averaged over neighbouring channels: `before` and `after` channels and the one itself, absent ones count as 0.
ValueId averageChannels(GradientBuilder& b, ValueId x, std::int64_t before, std::int64_t after) {
    const ValueId shape = b.shapeOf(x);
    const auto part = [&](std::int64_t from, std::int64_t to) { return b.op("Shape", {x}, {intAttr("start", from), intAttr("end", to)}); };
    const ValueId image = b.op("Reshape", {x, b.op("Concat", {part(0, 1), b.ints({1}), part(1, 2), b.ints({-1})}, {intAttr("axis", 0)})});
    const ValueId pooled = b.op("AveragePool", {image},
        {intsAttr("kernel_shape", {before + after + 1, 1}), intsAttr("pads", {before, 0, after, 0}), intAttr("count_include_pad", 1)});
    return b.op("Reshape", {pooled, shape});
}

} // namespace

Gradients gradBatchNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const std::size_t rank, knownRank(b, n));
    if (rank < 2)
        return runError("the gradient of BatchNormalization wants an input of rank 2 or more");
    if (n.intAttribute("training_mode", 0) != 0)
        return gradBatchTraining(b, n, dy, rank);
    const Axes axes = notChannels(rank);
    const ValueId x = n.inputs[0];
    const ValueId inverse = inverseDeviation(b, n.inputs[4], epsilonOf(n));
    const ValueId factor = b.mul(n.inputs[1], inverse);
    std::vector<ValueId> grads(5);
    if (b.wants(0))
        grads[0] = b.mul(dy[0], perChannel(b, factor, rank));
    if (!b.wants(1) && !b.wants(2) && !b.wants(3) && !b.wants(4))
        return grads;
    const ValueId sumDy = b.reduceSum(dy[0], axes, false);
    grads[2] = sumDy;
    if (b.wants(3))
        grads[3] = b.neg(b.mul(sumDy, factor));
    if (b.wants(1) || b.wants(4)) {
        const ValueId centred = b.sub(x, perChannel(b, n.inputs[3], rank));
        const ValueId correlation = b.reduceSum(b.mul(dy[0], centred), axes, false);
        grads[1] = b.mul(correlation, inverse);
        if (b.wants(4)) // d r / d var = - r^3 / 2
            grads[4] = b.mul(b.mul(correlation, factor), b.mul(b.mul(inverse, inverse), b.scalar(x, -0.5)));
    }
    return grads;
}

Gradients gradInstanceNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const std::size_t rank, knownRank(b, n));
    if (rank < 3)
        return runError("the gradient of InstanceNormalization wants an input of rank 3 or more");
    const Axes axes = range(2, rank);
    const Standardized s = standardize(b, n.inputs[0], axes, epsilonOf(n));
    std::vector<ValueId> grads(3);
    if (b.wants(0))
        grads[0] = standardizedGradient(b, s, b.mul(dy[0], perChannel(b, n.inputs[1], rank)), axes);
    if (b.wants(1))
        grads[1] = b.reduceSum(b.mul(dy[0], s.normalized), notChannels(rank), false);
    if (b.wants(2))
        grads[2] = b.reduceSum(dy[0], notChannels(rank), false);
    return grads;
}

Gradients gradLayerNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const std::size_t rank, knownRank(b, n));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(n.intAttribute("axis", -1), rank));
    const Axes axes = range(static_cast<std::size_t>(axis), rank);
    const ValueId x = n.inputs[0];
    const Standardized s = standardize(b, x, axes, epsilonOf(n));
    std::vector<ValueId> grads(n.inputs.size());
    const auto cotangent = [&](std::size_t i) { return i < dy.size() ? dy[i] : ValueId{}; };
    if (cotangent(0)) {
        if (b.wants(0))
            grads[0] = standardizedGradient(b, s, b.mul(dy[0], n.inputs[1]), axes);
        if (b.wants(1))
            grads[1] = b.unbroadcast(b.mul(dy[0], s.normalized), n.inputs[1]);
        if (n.input(2) && b.wants(2))
            grads[2] = b.unbroadcast(dy[0], n.inputs[2]);
    }
    if (!b.wants(0) || (!cotangent(1) && !cotangent(2)))
        return grads;
    const ValueId count = b.castLike(b.div(b.op("Size", {x}), b.op("Size", {s.inverse})), x);
    if (cotangent(1))
        grads[0] = sum(b, grads[0], b.op("Expand", {b.div(b.castLike(dy[1], x), count), b.shapeOf(x)}));
    if (cotangent(2)) { // d r / d x = - r^3 (x - mean) / count
        const ValueId cube = b.mul(s.inverse, b.mul(s.inverse, s.inverse));
        grads[0] = sum(b, grads[0], b.neg(b.mul(b.div(b.mul(b.castLike(dy[2], x), cube), count), s.centred)));
    }
    return grads;
}

Gradients gradGroupNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const std::size_t rank, knownRank(b, n));
    const ValueId rows = b.ints({0, n.intAttribute("num_groups", 1), -1});
    const ValueId x = n.inputs[0];
    const Standardized s = standardize(b, b.op("Reshape", {x, rows}), {2}, epsilonOf(n));
    std::vector<ValueId> grads(3);
    if (b.wants(0)) {
        const ValueId g = b.op("Reshape", {b.mul(dy[0], perChannel(b, n.inputs[1], rank)), rows});
        grads[0] = b.reshapeLike(standardizedGradient(b, s, g, {2}), x);
    }
    if (b.wants(1))
        grads[1] = b.reduceSum(b.mul(dy[0], b.reshapeLike(s.normalized, x)), notChannels(rank), false);
    if (b.wants(2))
        grads[2] = b.reduceSum(dy[0], notChannels(rank), false);
    return grads;
}

// The mean is not taken away: dx = r * (g - x' * mean(g * x')).
Gradients gradRmsNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const std::size_t rank, knownRank(b, n));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(n.intAttribute("axis", -1), rank));
    const Axes axes = range(static_cast<std::size_t>(axis), rank);
    const ValueId x = n.inputs[0];
    const ValueId cotangent = b.castLike(dy[0], x), scale = b.castLike(n.inputs[1], x);
    const ValueId inverse = inverseDeviation(b, mean(b, b.mul(x, x), axes), epsilonOf(n));
    const ValueId normalized = b.mul(x, inverse);
    std::vector<ValueId> grads(2);
    if (b.wants(0)) {
        const ValueId g = b.mul(cotangent, scale);
        grads[0] = b.mul(inverse, b.sub(g, b.mul(normalized, mean(b, b.mul(g, normalized), axes))));
    }
    if (b.wants(1))
        grads[1] = b.castLike(b.unbroadcast(b.mul(cotangent, normalized), n.inputs[1]), n.inputs[1]);
    return grads;
}

// y = x S^-beta, S = bias + alpha * average of x^2 over neighbouring channels:
// dx = dy S^-beta - 2 alpha beta x * average over the mirrored neighbours of (dy x S^(-beta - 1)).
Gradients gradLrn(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t size = n.intAttribute("size", 1), before = (size - 1) / 2, after = size / 2;
    const double alpha = static_cast<double>(n.floatAttribute("alpha", 1e-4F)), beta = static_cast<double>(n.floatAttribute("beta", 0.75F));
    const ValueId x = n.inputs[0];
    const ValueId average = averageChannels(b, b.mul(x, x), before, after);
    const ValueId s = b.add(b.mul(average, b.scalar(x, alpha)), b.scalar(x, static_cast<double>(n.floatAttribute("bias", 1.0F))));
    const ValueId direct = b.mul(dy[0], b.op("Pow", {s, b.scalar(x, -beta)}));
    const ValueId through = averageChannels(b, b.mul(b.mul(dy[0], x), b.op("Pow", {s, b.scalar(x, -beta - 1)})), after, before);
    return std::vector<ValueId>{b.sub(direct, b.mul(b.mul(x, b.scalar(x, 2 * alpha * beta)), through))};
}

// y = x / |x|: dx = (dy - k sum(dy y)) / |x| with k = sign(x) for p = 1, y for p = 2; 0 where the norm is 0.
Gradients gradLpNormalization(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t p = n.intAttribute("p", 2), axis = n.intAttribute("axis", -1);
    const ValueId x = n.inputs[0], y = n.outputs[0];
    const ValueId norm = b.op(p == 1 ? "ReduceL1" : "ReduceL2", {x, b.ints({axis})}, {intAttr("keepdims", 1)});
    const ValueId isZero = b.op("Equal", {norm, b.scalar(x, 0)});
    const ValueId safe = b.where(isZero, b.scalar(x, 1), norm);
    const ValueId along = b.mul(p == 1 ? b.op("Sign", {x}) : y, b.reduceSum(b.mul(dy[0], y), {axis}, true));
    return std::vector<ValueId>{b.where(isZero, b.scalar(x, 0), b.div(b.sub(dy[0], along), safe))};
}

} // namespace nabla::engine
