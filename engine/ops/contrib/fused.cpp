// Operators of onnxruntime's domain that are a product, convolution or pool of the standard with something around it.
#include <algorithm>
#include <numeric>

#include "engine/ops/contrib/contrib_body.h"

namespace nabla::engine {

namespace {

constexpr auto kDomain = "com.microsoft";
constexpr auto kSource = "onnxruntime docs/ContribOperators.md";

/// The activations that onnxruntime's optimiser fuses, with their parameters by position.
Result<ValueId> activated(ContribBody& b, ValueId x, DType type, const std::vector<float>& parameters) {
    const std::string name = b.text("activation");
    const auto parameter = [&](std::size_t i) { return parameters[i]; };
    if (name.empty())
        return x;
    if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" || name == "Softsign" || name == "HardSwish")
        return b.op(name, {x});
    if (name == "LeakyRelu" || name == "Elu" || name == "ThresholdedRelu") {
        if (parameters.empty())
            return b.op(name, {x});
        return b.op(name, {x}, {{"alpha", parameter(0)}});
    }
    if (name == "HardSigmoid" && parameters.size() >= 2)
        return b.op(name, {x}, {{"alpha", parameter(0)}, {"beta", parameter(1)}});
    if (name == "Clip" && parameters.size() >= 2)
        return b.op(name, {x, b.scalar(type, static_cast<double>(parameter(0))), b.scalar(type, static_cast<double>(parameter(1)))});
    return runError("activation \"{}\" with {} parameters is not one that is known here", name, parameters.size());
}

ContribOutputs writeFusedConv(ContribBody& b) {
    std::vector<ValueId> inputs{b.in(0), b.in(1)};
    if (b.in(2))
        inputs.push_back(b.in(2));
    ValueId y = b.op("Conv", std::move(inputs), b.copied({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
    if (b.in(3))
        y = b.add(y, b.in(3));
    const Attribute* given = b.node().attribute("activation_params");
    const auto* parameters = given ? std::get_if<std::vector<float>>(&given->value) : nullptr;
    NABLA_TRY(y, activated(b, y, b.type(0), parameters ? *parameters : std::vector<float>{}));
    return std::vector{y};
}

ContribOutputs writeFusedGemm(ContribBody& b) {
    std::vector<ValueId> inputs{b.in(0), b.in(1)};
    if (b.in(2))
        inputs.push_back(b.in(2));
    ValueId y = b.op("Gemm", std::move(inputs), b.copied({"alpha", "beta", "transA", "transB"}));
    std::vector<float> parameters;
    for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
        if (b.has(name))
            parameters.push_back(b.real(name));
    }
    NABLA_TRY(y, activated(b, y, b.type(0), parameters));
    return std::vector{y};
}

/// An operand as MatMul wants it. `batch`: the first axis moves to the place before the last; `swap`: then the last two change places. A
/// vector stays as it is.
ValueId operand(ContribBody& b, std::size_t i, bool swap, bool batch) {
    const std::size_t rank = b.rank(i);
    if (rank < 2 || (!swap && !batch))
        return b.in(i);
    std::vector<std::int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    if (batch)
        std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    if (swap)
        std::swap(perm[rank - 1], perm[rank - 2]);
    return b.transpose(b.in(i), std::move(perm));
}

ContribOutputs writeFusedMatMul(ContribBody& b) {
    const ValueId left = operand(b, 0, b.integer("transA") != 0, b.integer("transBatchA") != 0);
    const ValueId right = operand(b, 1, b.integer("transB") != 0, b.integer("transBatchB") != 0);
    const ValueId product = b.op("MatMul", {left, right});
    const double alpha = static_cast<double>(b.real("alpha"));
    return std::vector{alpha == 1 ? product : b.mul(product, b.scalar(b.type(0), alpha))};
}

/// The pads are cut off afterwards: their numbers are not known here.
ContribOutputs writeDynamicPads(ContribBody& b) {
    std::vector<ValueId> inputs{b.in(0), b.in(1)};
    if (b.in(3))
        inputs.push_back(b.in(3));
    const ValueId whole = b.op("ConvTranspose", std::move(inputs), b.copied({"dilations", "group", "kernel_shape", "strides", "output_padding"}));
    if (!b.in(2))
        return std::vector{whole};
    if (b.rank(0) < 3)
        return runError("X has rank {}, it wants a batch, channels and at least one more axis", b.rank(0));
    const auto halves = b.splitEqually(b.in(2), 0, 2);
    std::vector<std::int64_t> axes(b.rank(0) - 2);
    std::iota(axes.begin(), axes.end(), 2);
    const ValueId sizes = b.op("Shape", {whole}, {number("start", 2)});
    return std::vector{b.op("Slice", {whole, halves[0], b.sub(sizes, halves[1]), b.ints(axes)})};
}

ContribOutputs writeNhwcMaxPool(ContribBody& b) {
    const std::size_t rank = b.rank(0);
    if (rank < 3)
        return runError("x has rank {}, it wants a batch, at least one axis and channels", rank);
    std::vector<std::int64_t> channelsFirst{0, static_cast<std::int64_t>(rank) - 1}, channelsLast{0};
    for (std::int64_t i = 1; i + 1 < static_cast<std::int64_t>(rank); ++i) {
        channelsFirst.push_back(i);
        channelsLast.push_back(i + 1);
    }
    channelsLast.push_back(1);
    const ValueId pooled = b.op("MaxPool", {b.transpose(b.in(0), channelsFirst)},
        b.copied({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"}));
    return std::vector{b.transpose(pooled, channelsLast)};
}

/// The axis is an int32 of one element; negative ones count from the end of the result.
ContribOutputs writeExpandDims(ContribBody& b) {
    return std::vector{b.op("Unsqueeze", {b.in(0), b.op("Reshape", {b.cast(b.in(1), DType::Int64), b.ints({1})})})};
}

template <ContribOutputs (*write)(ContribBody&)> constexpr OpDef row(std::string_view name, GradientRule gradient = throughBody()) {
    return {.name = name, .domain = kDomain, .since = 1, .source = kSource, .run = expandBody(), .gradient = gradient, .flops = flopsOfBody(), .body = contribBody<write>};
}

constexpr OpDef kOps[] = {
    row<writeFusedConv>("FusedConv"),
    row<writeFusedGemm>("FusedGemm"),
    row<writeFusedMatMul>("FusedMatMul"),
    row<writeFusedMatMul>("TransposeMatMul"),
    row<writeDynamicPads>("ConvTransposeWithDynamicPads"),
    row<writeNhwcMaxPool>("NhwcMaxPool", notDifferentiable("its numbers are whole")),
    row<writeExpandDims>("ExpandDims"),
};

} // namespace

std::span<const OpDef> contribFusedOps() { return kOps; }

} // namespace nabla::engine
