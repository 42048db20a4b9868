// Operators that run and differentiate by the function body of the standard.
#include <algorithm>

#include "engine/ops/op_def.h"
#include "engine/ops/upgrade_tools.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

constexpr auto kWindow = "its only input is a size";

bool hasRank(const ValueType& type, std::size_t rank) { return type.shape && type.shape->size() == rank; }

/// To version 24 the heads of four-dimensional inputs might be named though their shape tells them; version 25 forbids it.
Result<void> dropHeads(UpgradeContext& c) {
    return hasRank(c.type(c.node.input(0)), 4) ? replaceWith(c, withoutAttributes(c.node, {"q_num_heads", "kv_num_heads"})) : Result<void>();
}
/// The same where the rank was not known when the node was lifted.
Result<GraphPtr> attentionBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    const bool plain = !inputTypes.empty() && hasRank(inputTypes.front(), 4);
    return functionBody(plain ? withoutAttributes(node, {"q_num_heads", "kv_num_heads"}) : node, opset, inputTypes, ids);
}
constexpr Upgrade kAttentionUpgrades[] = {{24, dropHeads}};

constexpr OpDef kFunctionOps[] = {
    {.name = "Attention", .since = 25, .source = "ONNX Operators.md, Attention-25", .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody(),
        .upgrades = kAttentionUpgrades, .body = attentionBody},
    {.name = "RotaryEmbedding", .since = 23, .source = "ONNX Operators.md, RotaryEmbedding-23", .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody()},
    {.name = "LinearAttention", .since = 27, .source = "ONNX Operators.md, LinearAttention-27", .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody()},
    {.name = "CausalConvWithState", .since = 27, .source = "ONNX Operators.md, CausalConvWithState-27", .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody()},
    {.name = "SwiGLU", .since = 28, .source = "ONNX Operators.md, SwiGLU-28", .run = expandBody(), .gradient = throughBody(), .flops = flopsOfBody()},
    {.name = "FlexAttention", .domain = "ai.onnx.preview", .since = 1, .source = "ONNX Operators.md, ai.onnx.preview FlexAttention-1", .run = expandBody(),
        .gradient = throughBody(), .flops = flopsOfBody()},
    {.name = "HannWindow", .since = 17, .source = "ONNX Operators.md, HannWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow), .flops = flopsOfBody()},
    {.name = "HammingWindow", .since = 17, .source = "ONNX Operators.md, HammingWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow), .flops = flopsOfBody()},
    {.name = "BlackmanWindow", .since = 17, .source = "ONNX Operators.md, BlackmanWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow), .flops = flopsOfBody()},
};

} // namespace

std::span<const OpDef> functionOps() { return kFunctionOps; }

} // namespace nabla::engine
