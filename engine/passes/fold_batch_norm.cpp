// Conv + BatchNormalization in one rule.
#include "engine/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/passes/rewrite.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

const Node* convBefore(RewriteSite& s) {
    const Node* conv = s.node().input(0) ? s.producer(s.node().input(0)) : nullptr;
    return conv && conv->is("Conv") && s.node().output(0) ? conv : nullptr;
}

bool isConvBatchNorm(RewriteSite& s) {
    return convBefore(s) != nullptr;
}

bool isFloatConstant(const TensorPtr& tensor) {
    return tensor && (tensor->dtype() == DType::Float32 || tensor->dtype() == DType::Float64);
}

std::optional<std::string> guard(RewriteSite& s) {
    const Node& norm = s.node();
    const Node& conv = *convBefore(s);
    if (norm.intAttribute("training_mode", 0) != 0)
        return "it normalizes by the statistics of the batch (training_mode = 1)";
    for (std::size_t i = 1; i < norm.outputs.size(); ++i) {
        if (norm.outputs[i])
            return "its running statistics are outputs";
    }
    if (!s.hasOneReader(norm.input(0)))
        return fmt::format("the output of {} has another reader", describe(conv));
    const TensorPtr weight = s.constant(conv.input(1));
    if (!isFloatConstant(weight) || weight->rank() < 2)
        return fmt::format("the weight of {} is no float constant", describe(conv));
    const std::int64_t channels = weight->dim(0); // groups divide the input channels, axis 0 holds all output channels
    for (std::size_t i = 1; i < 5; ++i) {
        const TensorPtr parameter = s.constant(norm.input(i));
        if (!isFloatConstant(parameter))
            return fmt::format("parameter {} of the normalization is no float constant", i);
        if (parameter->elementCount() != channels)
            return fmt::format("{} output channels, but parameter {} of the normalization has {} elements", channels, i,
                parameter->elementCount());
    }
    if (conv.input(2)
        && (!isFloatConstant(s.constant(conv.input(2))) || s.constant(conv.input(2))->elementCount() != channels))
        return fmt::format("the bias of {} is no float constant of {} elements", describe(conv), channels);
    return std::nullopt;
}

TensorPtr filled(const Tensor& like, const Shape& shape, const std::vector<double>& values) {
    Tensor tensor = *Tensor::make(like.dtype(), shape); // no larger than the weight that is there
    for (std::size_t i = 0; i < values.size(); ++i)
        writeDouble(like.dtype(), tensor.mutableRaw(), static_cast<std::int64_t>(i), values[i]);
    return std::make_shared<const Tensor>(std::move(tensor));
}

Applied fold(RewriteSite& s) {
    const Node norm = s.node();
    const Node conv = *convBefore(s);
    const TensorPtr weight = s.constant(conv.input(1)), bias = conv.input(2) ? s.constant(conv.input(2)) : nullptr;
    const TensorPtr scale = s.constant(norm.input(1)), shift = s.constant(norm.input(2)),
                    mean = s.constant(norm.input(3)), variance = s.constant(norm.input(4));
    const auto epsilon = static_cast<double>(norm.floatAttribute("epsilon", 1e-5F));
    const std::int64_t channels = weight->dim(0);
    const std::int64_t perChannel = channels == 0 ? 0 : weight->elementCount() / channels;
    std::vector<double> newWeight(static_cast<std::size_t>(weight->elementCount())),
        newBias(static_cast<std::size_t>(channels));
    for (std::int64_t c = 0; c < channels; ++c) {
        const double factor = scale->asDouble(c) / std::sqrt(variance->asDouble(c) + epsilon);
        for (std::int64_t i = 0; i < perChannel; ++i)
            newWeight[static_cast<std::size_t>(c * perChannel + i)] = weight->asDouble(c * perChannel + i) * factor;
        newBias[static_cast<std::size_t>(c)]
            = ((bias ? bias->asDouble(c) : 0.0) - mean->asDouble(c)) * factor + shift->asDouble(c);
    }
    const std::string base = s.name(conv.input(1));
    Node folded = conv;
    folded.inputs
        = {conv.inputs[0], s.editor.addInitializer(base + ".folded", filled(*weight, weight->shape(), newWeight)),
            s.editor.addInitializer(base + ".folded_bias", filled(*weight, {channels}, newBias))};
    folded.createdBy = s.context.createdBy("conv-batch-norm");
    folded.origins.insert(folded.origins.end(), norm.origins.begin(), norm.origins.end());
    s.editor.replaceNode(std::move(folded));
    s.editor.removeNodeKeepingOutputs(norm.id);
    s.editor.takeOver(norm.outputs[0], conv.outputs[0]);
    return {{conv.id, norm.id}, {conv.id},
        fmt::format("{} is the only reader of {}, and all parameters are constant", describe(norm), describe(conv))};
}

constexpr RewriteRule kRules[] = {{"conv-batch-norm", "BatchNormalization", isConvBatchNorm, guard, fold}};

} // namespace

Result<Graph> foldBatchNorm(const Graph& graph, PassContext& context) {
    return applyRules(graph, context, kRules);
}

} // namespace nabla::engine
