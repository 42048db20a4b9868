// Operators of onnxruntime's domain on single elements: Gelu and its relatives, bias additions, BiasSoftmax.
#include "engine/ops/contrib/contrib_body.h"

namespace nabla::engine {

namespace {

constexpr auto kDomain = "com.microsoft";
constexpr auto kSource = "onnxruntime docs/ContribOperators.md";

ContribOutputs writeGelu(ContribBody& b) { return std::vector{b.op("Gelu", {b.in(0)})}; }

ContribOutputs writeBiasGelu(ContribBody& b) { return std::vector{b.op("Gelu", {b.add(b.in(0), b.in(1))})}; }

ContribOutputs writeFastGelu(ContribBody& b) {
    const ValueId x = b.in(1) ? b.add(b.in(0), b.in(1)) : b.in(0);
    return std::vector{b.op("Gelu", {x}, {{"approximate", std::string("tanh")}})};
}

ContribOutputs writeQuickGelu(ContribBody& b) {
    const ValueId scaled = b.mul(b.in(0), b.scalar(b.type(0), static_cast<double>(b.real("alpha"))));
    return std::vector{b.mul(b.in(0), b.op("Sigmoid", {scaled}))};
}

ContribOutputs writeBiasSplitGelu(ContribBody& b) {
    const auto halves = b.splitEqually(b.add(b.in(0), b.in(1)), -1, 2);
    return std::vector{b.mul(halves[0], b.op("Gelu", {halves[1]}))};
}

ContribOutputs writeBiasAdd(ContribBody& b) { return std::vector{b.add(b.add(b.in(0), b.in(1)), b.in(2))}; }

/// Softmax over several axes at once: those from `axis` on, as one.
ContribOutputs writeBiasSoftmax(ContribBody& b) {
    const auto rank = static_cast<std::int64_t>(b.rank(0));
    const std::int64_t stated = b.integer("axis"), axis = stated < 0 ? stated + rank : stated;
    if (axis < 0 || axis > rank)
        return runError("axis {} is out of range for a tensor of rank {}", stated, rank);
    const ValueId sum = b.add(b.in(0), b.in(1));
    if (axis == rank - 1)
        return std::vector{b.op("Softmax", {sum}, {number("axis", -1)})};
    const ValueId rows = b.op("Softmax", {b.op("Flatten", {sum}, {number("axis", axis)})}, {number("axis", -1)});
    return std::vector{b.op("Reshape", {rows, b.op("Shape", {sum})}, {number("allowzero", 1)})};
}

template <ContribOutputs (*write)(ContribBody&)> constexpr OpDef row(std::string_view name) {
    return {.name = name, .domain = kDomain, .since = 1, .source = kSource, .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody(), .body = contribBody<write, Inner::Float>};
}

constexpr OpDef kOps[] = {
    row<writeGelu>("Gelu"),
    row<writeBiasGelu>("BiasGelu"),
    row<writeFastGelu>("FastGelu"),
    row<writeQuickGelu>("QuickGelu"),
    row<writeBiasSplitGelu>("BiasSplitGelu"),
    row<writeBiasAdd>("BiasAdd"),
    row<writeBiasSoftmax>("BiasSoftmax"),
};

} // namespace

std::span<const OpDef> contribActivationOps() { return kOps; }

} // namespace nabla::engine
