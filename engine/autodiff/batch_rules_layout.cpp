// Batching rules of operators that arrange: shapes, axes, slices, gathering.
#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "engine/autodiff/batch_builder.h"

namespace nabla::engine {

namespace {

using Result = std::optional<std::vector<Batched>>;
using Ints = std::vector<std::int64_t>;

Attribute intAttribute(std::string name, std::int64_t value) { return {std::move(name), value}; }

std::int64_t shifted(std::int64_t axis) { return axis < 0 ? axis : axis + 1; }

Ints shiftedAll(const Ints& axes) {
    Ints out;
    std::transform(axes.begin(), axes.end(), std::back_inserter(out), shifted);
    return out;
}

Attribute shiftedAxis(const BatchBuilder& b, std::int64_t otherwise) { return intAttribute("axis", shifted(b.node().intAttribute("axis", otherwise))); }

/// The batch axis at position `at` (counted in all axes) moved to the front of a value with `rank` axes in all.
ValueId toFront(BatchBuilder& b, ValueId value, std::size_t at, std::size_t rank) {
    if (at == 0)
        return value;
    Ints perm{static_cast<std::int64_t>(at)};
    for (std::size_t i = 0; i < rank; ++i) {
        if (i != at)
            perm.push_back(static_cast<std::int64_t>(i));
    }
    return b.op("Transpose", {value}, {{"perm", std::move(perm)}});
}

Result transpose(BatchBuilder& b) {
    if (!b.rank(0))
        return std::nullopt;
    Ints perm = b.node().intsAttribute("perm");
    if (perm.empty()) {
        perm.resize(*b.rank(0));
        std::iota(perm.rbegin(), perm.rend(), 0);
    }
    Ints made{0};
    for (const std::int64_t axis : perm)
        made.push_back(axis + 1);
    return b.again({b.in(0)}, {{"perm", std::move(made)}});
}

/// A 0 in the shape copies the axis at its place, and all places move by one: a 0 in front copies the batch.
Result reshape(BatchBuilder& b) {
    if (!b.areShared(1))
        return std::nullopt;
    const bool zeroIsSize = b.node().intAttribute("allowzero", 0) != 0;
    if (const auto shape = b.ints(1); shape && !zeroIsSize) {
        Ints made{0};
        made.insert(made.end(), shape->begin(), shape->end());
        return b.again({b.in(0), b.vector(std::move(made))});
    }
    return b.again({b.in(0), b.concat({zeroIsSize ? b.batchSize() : b.vector({0}), b.in(1)})});
}

Result flatten(BatchBuilder& b) {
    if (!b.rank(0))
        return std::nullopt;
    const auto r = static_cast<std::int64_t>(*b.rank(0));
    std::int64_t axis = b.node().intAttribute("axis", 1);
    axis = axis < 0 ? axis + r : axis;
    if (axis == 0 || axis == 1)
        return std::vector{Batched{b.op("Reshape", {b.in(0), b.vector(axis == 0 ? Ints{0, 1, -1} : Ints{0, 0, -1})})}};
    const auto count = [&](std::int64_t from, std::int64_t to) {
        const ValueId sizes = b.op("Shape", {b.in(0)}, {intAttribute("start", from), intAttribute("end", to)});
        return b.op("ReduceProd", {sizes}, {intAttribute("keepdims", 1)});
    };
    const ValueId shape = b.concat({b.batchSize(), count(1, axis + 1), count(axis + 1, r + 1)});
    return std::vector{Batched{b.op("Reshape", {b.in(0), shape}, {intAttribute("allowzero", 1)})}};
}

/// Axes are the second input and must be there.
Result axesInput(BatchBuilder& b) {
    const auto axes = b.ints(1);
    if (!axes)
        return std::nullopt;
    return b.again({b.in(0), b.vector(shiftedAll(*axes))});
}

Result expand(BatchBuilder& b) {
    if (!b.areShared(1) || !b.rank(0) || !b.length(1))
        return std::nullopt;
    const std::size_t largest = std::max(*b.rank(0), *b.length(1));
    return b.again({b.withRank(0, largest), b.concat({b.vector(Ints(largest - *b.length(1) + 1, 1)), b.in(1)})});
}

Result tile(BatchBuilder& b) {
    if (!b.areShared(1))
        return std::nullopt;
    return b.again({b.in(0), b.concat({b.vector({1}), b.in(1)})});
}

template <std::int64_t otherwise> Result splitAlongAxis(BatchBuilder& b) {
    if (!b.areShared(1))
        return std::nullopt;
    std::vector<Attribute> attributes{shiftedAxis(b, otherwise)};
    for (const Attribute& each : b.node().attributes) {
        if (each.name != "axis")
            attributes.push_back(each);
    }
    return b.again(b.all(), std::move(attributes));
}

/// Every input gets the batch axis.
template <std::int64_t otherwise> Result repeatedAlongAxis(BatchBuilder& b) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < b.inputCount(); ++i) {
        if (!b.rank(i) || *b.rank(i) == 0)
            return std::nullopt;
        inputs.push_back(b.repeated(i));
    }
    std::vector<Attribute> attributes{shiftedAxis(b, otherwise)};
    for (const Attribute& each : b.node().attributes) {
        if (each.name != "axis")
            attributes.push_back(each);
    }
    return b.again(std::move(inputs), std::move(attributes));
}

Result slice(BatchBuilder& b) {
    if (!b.areShared(1))
        return std::nullopt;
    Ints axes;
    if (b.has(3)) {
        const auto given = b.ints(3);
        if (!given)
            return std::nullopt;
        axes = shiftedAll(*given);
    } else {
        if (!b.length(1))
            return std::nullopt;
        axes.resize(*b.length(1));
        std::iota(axes.begin(), axes.end(), 1);
    }
    std::vector<ValueId> inputs{b.in(0), b.in(1), b.in(2), b.vector(std::move(axes))};
    if (b.has(4))
        inputs.push_back(b.in(4));
    return b.again(std::move(inputs));
}

/// Nothing is added to the batch axis: `pads` is told its axes.
Result pad(BatchBuilder& b) {
    if (!b.areShared(1) || !b.rank(0))
        return std::nullopt;
    Ints axes(*b.rank(0));
    std::iota(axes.begin(), axes.end(), 1);
    if (b.has(3)) {
        const auto given = b.ints(3);
        if (!given)
            return std::nullopt;
        axes = shiftedAll(*given);
    }
    return b.again({b.in(0), b.in(1), b.in(2), b.vector(std::move(axes))});
}

Result gather(BatchBuilder& b) {
    const std::int64_t axis = b.node().intAttribute("axis", 0);
    if (!b.isBatched(1))
        return b.again(b.all(), {intAttribute("axis", shifted(axis))});
    if (!b.rank(0) || !b.rank(1))
        return std::nullopt;
    const auto r = static_cast<std::int64_t>(*b.rank(0));
    const std::int64_t at = axis < 0 ? axis + r : axis;
    if (!b.isBatched(0)) { // data[:axis], batch, indices, data[axis+1:]
        const ValueId gathered = b.op("Gather", b.all(), {intAttribute("axis", at)});
        return std::vector{Batched{toFront(b, gathered, static_cast<std::size_t>(at), *b.rank(0) + *b.rank(1))}};
    }
    if (at != 0)
        return std::nullopt;
    const ValueId indices = b.op("Unsqueeze", {b.in(1), b.vector({-1})});
    return std::vector{Batched{b.op("GatherND", {b.in(0), indices}, {intAttribute("batch_dims", 1)})}};
}

Result gatherND(BatchBuilder& b) {
    const std::int64_t dims = b.node().intAttribute("batch_dims", 0);
    if (!b.isBatched(0) && dims == 0)
        return b.again(b.all());
    if (!b.rank(0) || !b.rank(1))
        return std::nullopt;
    return b.again({b.repeated(0), b.repeated(1)}, {intAttribute("batch_dims", dims + 1)});
}

/// The shape of one example, which all share.
Result shape(BatchBuilder& b) {
    const auto rank = b.rank(0);
    const std::int64_t start = b.node().intAttribute("start", 0);
    const Attribute* end = b.node().attribute("end");
    const std::int64_t last = b.node().intAttribute("end", 0);
    if ((start < 0 || (end && last < 0)) && !rank)
        return std::nullopt;
    const auto placed = [&](std::int64_t at) { return (at < 0 ? std::max<std::int64_t>(at + static_cast<std::int64_t>(*rank), 0) : std::min<std::int64_t>(at, 1 << 20)) + 1; };
    std::vector<Attribute> attributes{intAttribute("start", placed(start))};
    if (end)
        attributes.push_back(intAttribute("end", placed(last)));
    return std::vector{Batched{b.op("Shape", {b.in(0)}, std::move(attributes)), false}};
}

Result size(BatchBuilder& b) {
    const ValueId sizes = b.op("Shape", {b.in(0)}, {intAttribute("start", 1)});
    return std::vector{Batched{b.op("ReduceProd", {sizes}, {intAttribute("keepdims", 0)}), false}};
}

constexpr std::array kRows = std::to_array<BatchRow>({
    {"Transpose", transpose}, {"Reshape", reshape}, {"Flatten", flatten}, {"Squeeze", axesInput}, {"Unsqueeze", axesInput}, {"Expand", expand},
    {"Tile", tile}, {"Split", splitAlongAxis<0>}, {"Concat", repeatedAlongAxis<0>}, {"GatherElements", repeatedAlongAxis<0>},
    {"ScatterElements", repeatedAlongAxis<0>}, {"Slice", slice}, {"Pad", pad}, {"Gather", gather}, {"GatherND", gatherND}, {"Shape", shape},
    {"Size", size},
});

} // namespace

std::span<const BatchRow> layoutBatchRows() { return kRows; }

} // namespace nabla::engine
