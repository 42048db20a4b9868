// Layer normalizations of onnxruntime: with a skip connection, without a mean, after embeddings.
#include "engine/ops/contrib/contrib_body.h"

namespace nabla::engine {

namespace {

constexpr auto kDomain = "com.microsoft";
constexpr auto kSource = "onnxruntime docs/ContribOperators.md";

struct Normalized {
    ValueId y, invStdDev;
};

/// x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on; the mean in float32 or wider. y has the type of the scale.
Normalized rmsNormalized(ContribBody& b, ValueId x, DType type, std::size_t rank, std::int64_t axis, ValueId scale, DType scaleType) {
    const DType inner = type == DType::Float64 ? DType::Float64 : DType::Float32;
    const ValueId wide = type == inner ? x : b.cast(x, inner);
    std::vector<std::int64_t> axes;
    for (std::int64_t i = axis; i < static_cast<std::int64_t>(rank); ++i)
        axes.push_back(i);
    const ValueId mean = b.op("ReduceMean", {b.mul(wide, wide), b.ints(axes)}, {number("keepdims", 1)});
    const ValueId deviation = b.op("Sqrt", {b.add(mean, b.scalar(inner, static_cast<double>(b.real("epsilon"))))});
    const ValueId inverse = b.op("Reciprocal", {deviation});
    const ValueId normal = b.mul(wide, inverse);
    return {b.mul(inner == scaleType ? normal : b.cast(normal, scaleType), scale), inverse};
}

Normalized layerNormalized(ContribBody& b, ValueId x, ValueId gamma, ValueId beta, ValueId* mean) {
    std::vector<ValueId> inputs{x, gamma};
    if (beta)
        inputs.push_back(beta);
    const auto out = b.ops("LayerNormalization", std::move(inputs), 3, {number("axis", -1), {"epsilon", b.real("epsilon")}});
    *mean = out[1];
    return {out[0], out[2]};
}

ContribOutputs writeSkip(ContribBody& b) {
    ValueId sum = b.add(b.in(0), b.in(1));
    if (b.in(4))
        sum = b.add(sum, b.in(4));
    ValueId mean;
    const Normalized n = layerNormalized(b, sum, b.in(2), b.in(3), &mean);
    return std::vector{n.y, mean, n.invStdDev, sum};
}

ContribOutputs writeSkipSimplified(ContribBody& b) {
    ValueId sum = b.add(b.in(0), b.in(1));
    if (b.in(3))
        sum = b.add(sum, b.in(3));
    if (b.wants(1))
        return runError("its output mean is asked for, and there is no mean");
    const std::size_t rank = b.rank(0);
    if (rank == 0)
        return runError("its input is a scalar, it wants an axis");
    const Normalized n = rmsNormalized(b, sum, b.type(0), rank, static_cast<std::int64_t>(rank) - 1, b.in(2), b.type(2));
    return std::vector{n.y, ValueId{}, n.invStdDev, sum};
}

ContribOutputs writeSimplified(ContribBody& b) {
    const auto rank = static_cast<std::int64_t>(b.rank(0));
    const std::int64_t stated = b.integer("axis"), axis = stated < 0 ? stated + rank : stated;
    if (axis < 0 || axis >= rank)
        return runError("axis {} is out of range for a tensor of rank {}", stated, rank);
    const Normalized n = rmsNormalized(b, b.in(0), b.type(0), b.rank(0), axis, b.in(1), b.type(1));
    return std::vector{n.y, n.invStdDev};
}

/// Words + positions + segments; the mask index counts the ones of each row of the mask.
ContribOutputs writeEmbed(ContribBody& b) {
    const ValueId ids = b.in(0);
    if (b.rank(0) != 2)
        return runError("input_ids has rank {}, it wants [batch, sequence]", b.rank(0));
    const auto look = [&](std::size_t table, ValueId at) { return b.op("Gather", {b.in(table), at}, {number("axis", 0)}); };
    const ValueId positions = b.in(8) ? b.in(8) : b.unsqueeze(b.range(b.dim(ids, 1)), {0});
    ValueId sum = b.add(look(2, ids), look(3, positions));
    if (b.in(1) && b.in(4))
        sum = b.add(sum, look(4, b.in(1)));
    ValueId mean, index;
    const Normalized n = layerNormalized(b, sum, b.in(5), b.in(6), &mean);
    if (b.in(7)) {
        const ValueId ones = b.cast(b.op("Equal", {b.in(7), b.scalar(DType::Int32, 1)}), DType::Int32);
        index = b.op("ReduceSum", {ones, b.ints({1})}, {number("keepdims", 0)});
    } else {
        index = b.op("Expand", {b.scalar(DType::Int32, 0), b.dim(ids, 0)});
    }
    return std::vector{n.y, index, sum};
}

/// Of x [N, H, W, C] or, where channels_last is 0, [N, C, H, W].
Result<ValueId> groupNormalized(ContribBody& b, ValueId x) {
    const bool last = b.integer("channels_last") != 0;
    if (b.rank(0) != 4)
        return runError("X has rank {}, it wants batch, channels, height and width", b.rank(0));
    if (b.integer("groups") < 1 || (b.integer("activation") != 0 && b.integer("activation") != 1))
        return runError("{} groups with activation {} is not one that is known here", b.integer("groups"), b.integer("activation"));
    ValueId y = b.op("GroupNormalization", {last ? b.transpose(x, {0, 3, 1, 2}) : x, b.in(1), b.in(2)},
        {number("num_groups", b.integer("groups")), {"epsilon", b.real("epsilon")}});
    if (last)
        y = b.transpose(y, {0, 2, 3, 1});
    return b.integer("activation") == 0 ? y : b.mul(y, b.op("Sigmoid", {y}));
}

ContribOutputs writeGroupNorm(ContribBody& b) {
    NABLA_TRY(const ValueId y, groupNormalized(b, b.in(0)));
    return std::vector{y};
}

/// The sum of x, a skip [N, C] or of rank 4, and a bias [C] goes first.
ContribOutputs writeSkipGroupNorm(ContribBody& b) {
    const bool last = b.integer("channels_last") != 0;
    const std::vector<std::int64_t> plane = last ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2, 3};
    ValueId sum = b.add(b.in(0), b.rank(3) == 2 ? b.unsqueeze(b.in(3), plane) : b.in(3));
    if (b.in(4))
        sum = b.add(sum, last ? b.in(4) : b.unsqueeze(b.in(4), {1, 2}));
    NABLA_TRY(const ValueId y, groupNormalized(b, sum));
    return std::vector{y, sum};
}

template <ContribOutputs (*write)(ContribBody&)> constexpr OpDef row(std::string_view name, std::string_view domain = kDomain) {
    return {.name = name, .domain = domain, .since = 1, .source = kSource, .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody(), .body = contribBody<write, Inner::Float>};
}

constexpr OpDef kOps[] = {
    row<writeSkip>("SkipLayerNormalization"),
    row<writeSkipSimplified>("SkipSimplifiedLayerNormalization"),
    row<writeSimplified>("SimplifiedLayerNormalization", ""),
    row<writeEmbed>("EmbedLayerNormalization"),
    row<writeGroupNorm>("GroupNorm"),
    row<writeSkipGroupNorm>("SkipGroupNorm"),
};

} // namespace

std::span<const OpDef> contribNormOps() { return kOps; }

} // namespace nabla::engine
