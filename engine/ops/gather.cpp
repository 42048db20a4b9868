// Gather, GatherElements, GatherND, Compress: elements picked by index.
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// An index of [-size, size) from the front. Errors name it.
Result<std::int64_t> indexIn(const KernelContext& c, std::int64_t index, std::int64_t size) {
    if (index < -size || index >= size)
        return runError("{}: index {} is out of range for an axis of {}", c.node().opType, index, size);
    return index < 0 ? index + size : index;
}

Result<void> runGather(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const AxisSplit split(x.shape(), axis);
    Shape shape(x.shape().begin(), x.shape().begin() + axis);
    shape.insert(shape.end(), c.input(1).shape().begin(), c.input(1).shape().end());
    shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    std::int64_t at = 0;
    for (std::int64_t o = 0; o < split.outer; ++o) {
        for (const std::int64_t index : indices) {
            NABLA_TRY(const std::int64_t i, indexIn(c, index, split.size));
            copyElements(y, at, x, (o * split.size + i) * split.inner, split.inner);
            at += split.inner;
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runGatherElements(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const Shape& shape = c.input(1).shape();
    const auto a = static_cast<std::size_t>(axis);
    for (std::size_t d = 0; d < std::max(shape.size(), x.rank()); ++d) {
        if (shape.size() != x.rank() || (d != a && shape[d] > x.dim(d)))
            return runError("GatherElements: indices {} do not fit data {}", toString(shape), toString(x.shape()));
    }
    const auto strides = rowMajorStrides(x.shape());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    std::size_t at = 0;
    for (IndexWalk walk(shape); !walk.done(); walk.next(), ++at) {
        NABLA_TRY(const std::int64_t i, indexIn(c, indices[at], x.dim(a)));
        copyElements(y, static_cast<std::int64_t>(at), x, walk.dot(strides) + (i - walk[a]) * strides[a], 1);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runGatherND(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto indices, needInts(c, 1));
    const Shape& shape = c.input(1).shape();
    const std::int64_t batchDims = c.intAttribute("batch_dims");
    if (shape.empty() || batchDims < 0 || batchDims >= static_cast<std::int64_t>(std::min(shape.size(), x.rank() + 1)))
        return runError("GatherND: indices {} with batch_dims {} into {}", toString(shape), batchDims, toString(x.shape()));
    const auto b = static_cast<std::size_t>(batchDims);
    const std::int64_t depth = shape.back();
    if (depth < 0 || b + static_cast<std::size_t>(depth) > x.rank() || !std::equal(shape.begin(), shape.begin() + batchDims, x.shape().begin()))
        return runError("GatherND: indices {} with batch_dims {} into {}", toString(shape), batchDims, toString(x.shape()));
    const std::size_t fixed = b + static_cast<std::size_t>(depth);
    Shape out(shape.begin(), shape.end() - 1);
    out.insert(out.end(), x.shape().begin() + static_cast<std::ptrdiff_t>(fixed), x.shape().end());
    const auto strides = rowMajorStrides(x.shape());
    const std::int64_t run = elementCount(std::span(x.shape()).subspan(fixed));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), out));
    const std::int64_t perBatch = elementCount(std::span(shape).subspan(b, shape.size() - 1 - b)), batches = elementCount(std::span(shape).first(b));
    const std::int64_t batchRun = elementCount(std::span(x.shape()).subspan(b));
    for (std::int64_t i = 0; i < batches * perBatch; ++i) {
        std::int64_t from = i / std::max<std::int64_t>(1, perBatch) * batchRun;
        for (std::int64_t d = 0; d < depth; ++d) {
            const std::size_t axis = b + static_cast<std::size_t>(d);
            NABLA_TRY(const std::int64_t index, indexIn(c, indices[static_cast<std::size_t>(i * depth + d)], x.dim(axis)));
            from += index * strides[axis];
        }
        copyElements(y, i * run, x, from, run);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runCompress(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Tensor condition, needTensor(c, 1));
    if (condition.dtype() != DType::Bool || condition.rank() != 1)
        return runError("Compress: condition is {} {}, wants a vector of bool", name(condition.dtype()), toString(condition.shape()));
    const bool flat = !c.hasAttribute("axis");
    NABLA_TRY(const std::int64_t axis, flat ? Result<std::int64_t>(0) : normalizeAxis(c.intAttribute("axis"), x.rank()));
    const Shape whole = flat ? Shape{x.elementCount()} : x.shape();
    const AxisSplit split(whole, axis);
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < condition.elementCount(); ++i) {
        if (condition.asInt64(i) == 0)
            continue;
        if (i >= split.size)
            return runError("Compress: condition selects {} of an axis of {}", i, split.size);
        kept.push_back(i);
    }
    Shape shape = whole;
    shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(kept.size());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    std::int64_t at = 0;
    for (std::int64_t o = 0; o < split.outer; ++o) {
        for (const std::int64_t i : kept) {
            copyElements(y, at, x, (o * split.size + i) * split.inner, split.inner);
            at += split.inner;
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

// ---- gradients: what was picked twice gets both cotangents ----

Attribute addition() { return stringAttr("reduction", "add"); }

/// Zeros like x with dy added at `indices` along `axis`; dy: [before axis, indices' shape, after axis].
Result<ValueId> scatterAlong(GradientBuilder& b, ValueId x, ValueId indices, std::size_t indexRank, ValueId dy, std::int64_t axis) {
    const ValueId column = b.op("Unsqueeze", {indices, b.ints({-1})});
    const auto rank = b.rank(x);
    if (axis == 0 && !rank)
        return b.op("ScatterND", {b.zerosLike(x), column, dy}, {addition()});
    if (!rank)
        return runError("{}: the rank of its input is not known", describe(b.forward()));
    NABLA_TRY(const std::int64_t at, normalizeAxis(axis, *rank));
    if (at == 0)
        return b.op("ScatterND", {b.zerosLike(x), column, dy}, {addition()});
    // The axis comes first, is scattered along, and goes back.
    const auto k = static_cast<std::int64_t>(indexRank);
    std::vector<std::int64_t> toFront, fromFront, back;
    for (std::int64_t i = 0; i < k; ++i)
        toFront.push_back(at + i);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(*rank) - 1 + k; ++i) {
        if (i < at || i >= at + k)
            toFront.push_back(i);
    }
    fromFront.push_back(at);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(*rank); ++i) {
        if (i != at)
            fromFront.push_back(i);
        back.push_back(i < at ? i + 1 : i == at ? 0 : i);
    }
    const ValueId zeros = b.op("Transpose", {b.zerosLike(x)}, {intsAttr("perm", std::move(fromFront))});
    const ValueId moved = b.op("Transpose", {dy}, {intsAttr("perm", std::move(toFront))});
    return b.op("Transpose", {b.op("ScatterND", {zeros, column, moved}, {addition()})}, {intsAttr("perm", std::move(back))});
}

Gradients gradGather(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto indexRank = b.rank(n.inputs[1]);
    const std::int64_t axis = n.intAttribute("axis", 0);
    if (!indexRank && axis != 0)
        return runError("Gather: the rank of its indices is not known");
    NABLA_TRY(const ValueId dx, scatterAlong(b, n.inputs[0], n.inputs[1], indexRank.value_or(0), dy[0], axis));
    return std::vector{dx, ValueId{}};
}

Gradients gradGatherElements(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId dx = b.op("ScatterElements", {b.zerosLike(n.inputs[0]), n.inputs[1], dy[0]}, {intAttr("axis", n.intAttribute("axis", 0)), addition()});
    return std::vector{dx, ValueId{}};
}

/// Indices with the batch's own coordinates before them, so that ScatterND, which knows no batches, can use them.
Result<ValueId> batchedIndices(GradientBuilder& b, ValueId indices, std::int64_t batchDims) {
    const auto rank = b.rank(indices);
    if (!rank)
        return runError("GatherND: the rank of its indices is not known");
    const ValueId shape = b.shapeOf(indices);
    const ValueId lead = b.op("Slice", {shape, b.ints({0}), b.ints({-1})});
    const ValueId column = b.op("Concat", {lead, b.ints({1})}, {intAttr("axis", 0)});
    std::vector<ValueId> parts;
    for (std::int64_t d = 0; d < batchDims; ++d) {
        const ValueId size = b.op("Gather", {shape, b.intScalar(d)});
        std::vector<std::int64_t> view(*rank, 1);
        view[static_cast<std::size_t>(d)] = -1;
        const ValueId counted = b.op("Range", {b.intScalar(0), size, b.intScalar(1)});
        parts.push_back(b.op("Expand", {b.op("Reshape", {counted, b.ints(std::move(view))}), column}));
    }
    parts.push_back(indices);
    return b.op("Concat", parts, {intAttr("axis", -1)});
}

Gradients gradGatherND(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t batchDims = n.intAttribute("batch_dims", 0);
    ValueId indices = n.inputs[1];
    if (batchDims > 0) {
        NABLA_TRY(indices, batchedIndices(b, indices, batchDims));
    }
    return std::vector{b.op("ScatterND", {b.zerosLike(n.inputs[0]), indices, dy[0]}, {addition()}), ValueId{}};
}

Gradients gradCompress(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const ValueId kept = b.op("Reshape", {b.op("NonZero", {n.inputs[1]}), b.ints({-1})});
    if (n.attribute("axis")) {
        NABLA_TRY(const ValueId dx, scatterAlong(b, x, kept, 1, dy[0], n.intAttribute("axis", 0)));
        return std::vector{dx, ValueId{}};
    }
    const ValueId flat = b.op("Reshape", {b.zerosLike(x), b.ints({-1})});
    const ValueId scattered = b.op("ScatterND", {flat, b.op("Unsqueeze", {kept, b.ints({-1})}), dy[0]});
    return std::vector{b.reshapeLike(scattered, x), ValueId{}};
}

constexpr OpDef kOps[] = {
    {.name = "Gather", .since = 13, .source = "ONNX Operators.md, Gather-13", .run = runGather, .gradient = gradGather, .flops = noFlops, .bytes = readsChosen},
    {.name = "GatherElements", .since = 13, .source = "ONNX Operators.md, GatherElements-13", .run = runGatherElements,
        .gradient = gradGatherElements, .flops = noFlops, .bytes = readsChosen},
    {.name = "GatherND", .since = 13, .source = "ONNX Operators.md, GatherND-13", .run = runGatherND, .gradient = gradGatherND, .flops = noFlops, .bytes = readsChosen},
    {.name = "Compress", .since = 28, .source = "ONNX Operators.md, Compress-28", .run = runCompress, .gradient = gradCompress, .flops = noFlops, .bytes = readsChosen},
};

} // namespace

std::span<const OpDef> gatherOps() { return kOps; }

} // namespace nabla::engine
