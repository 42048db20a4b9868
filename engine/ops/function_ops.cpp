// Operators that run and differentiate by the function body of the standard.
#include "engine/ops/op_def.h"

namespace nabla::engine {

namespace {

constexpr auto kWindow = "its only input is a size";

constexpr OpDef kFunctionOps[] = {
    {.name = "Attention", .since = 25, .source = "ONNX Operators.md, Attention-25", .run = expandBody(), .gradient = throughBody()},
    {.name = "RotaryEmbedding", .since = 23, .source = "ONNX Operators.md, RotaryEmbedding-23", .run = expandBody(), .gradient = throughBody()},
    {.name = "LinearAttention", .since = 27, .source = "ONNX Operators.md, LinearAttention-27", .run = expandBody(), .gradient = throughBody()},
    {.name = "CausalConvWithState", .since = 27, .source = "ONNX Operators.md, CausalConvWithState-27", .run = expandBody(), .gradient = throughBody()},
    {.name = "SwiGLU", .since = 28, .source = "ONNX Operators.md, SwiGLU-28", .run = expandBody(), .gradient = throughBody()},
    {.name = "FlexAttention", .domain = "ai.onnx.preview", .since = 1, .source = "ONNX Operators.md, ai.onnx.preview FlexAttention-1", .run = expandBody(),
        .gradient = throughBody()},
    {.name = "HannWindow", .since = 17, .source = "ONNX Operators.md, HannWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow)},
    {.name = "HammingWindow", .since = 17, .source = "ONNX Operators.md, HammingWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow)},
    {.name = "BlackmanWindow", .since = 17, .source = "ONNX Operators.md, BlackmanWindow-17", .run = expandBody(), .gradient = notDifferentiable(kWindow)},
};

} // namespace

std::span<const OpDef> functionOps() { return kFunctionOps; }

} // namespace nabla::engine
