// Linear interpolation as Gathers of the 2^r corners, weighted.
#include "engine/ops/sampling_body.h"

namespace nabla::engine {

AxisNeighbours neighboursWithZeros(Sheet& s, ValueId place, ValueId size) {
    const ValueId lower = s.op("Floor", {place}), fraction = s.op("Sub", {place, lower});
    const ValueId last = s.op("Sub", {s.op("Cast", {size}, {number("to", static_cast<std::int64_t>(s.type()))}), s.scalar(1)});
    AxisNeighbours out;
    out.size = size;
    for (const std::size_t upper : {std::size_t{0}, std::size_t{1}}) {
        const ValueId at = upper == 0 ? lower : s.add(lower, s.scalar(1));
        const ValueId inside = s.op("And", {s.op("GreaterOrEqual", {at, s.scalar(0)}), s.op("LessOrEqual", {at, last})}); // false for NaN
        out.index[upper] = s.op("Cast", {s.op("Where", {inside, at, s.scalar(0)})}, {number("to", static_cast<std::int64_t>(DType::Int64))});
        out.weight[upper] = s.op("Where", {inside, upper == 0 ? s.oneMinus(fraction) : fraction, s.scalar(0)});
    }
    return out;
}

std::vector<ValueId> cornerTerms(Sheet& s, ValueId rows, ValueId firstRow, const std::vector<AxisNeighbours>& axes, DType type) {
    std::vector<ValueId> terms;
    for (std::size_t corner = 0; corner < (std::size_t{1} << axes.size()); ++corner) {
        ValueId cell, weight;
        for (std::size_t d = 0; d < axes.size(); ++d) {
            const std::size_t upper = corner >> (axes.size() - 1 - d) & 1;
            cell = cell ? s.add(s.mul(cell, axes[d].size), axes[d].index[upper]) : axes[d].index[upper];
            weight = weight ? s.mul(weight, axes[d].weight[upper]) : axes[d].weight[upper];
        }
        const ValueId pixel = s.op("Gather", {rows, s.add(firstRow, cell)});
        ValueId factor = s.op("Unsqueeze", {weight, s.ints({-1})});
        if (type != s.type())
            factor = s.op("Cast", {factor}, {number("to", static_cast<std::int64_t>(type))});
        terms.push_back(s.mul(pixel, factor));
    }
    return terms;
}

ValueId reshapeTo(Sheet& s, ValueId x, const std::vector<ValueId>& sizes) {
    return s.op("Reshape", {x, sizes.size() == 1 ? sizes.front() : s.op("Concat", sizes, {number("axis", 0)})}, {number("allowzero", 1)});
}

} // namespace nabla::engine
