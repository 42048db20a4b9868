// Schemas of operators that onnxruntime defines: its domain com.microsoft, and what its optimiser puts into ai.onnx.
#pragma once

#include <span>
#include <string_view>

#include "engine/schema/schema.h"

namespace nabla::engine {

/// The domain of onnxruntime's operators.
inline constexpr std::string_view kContribDomain = "com.microsoft";

/// One row per operator. All are version 1 and in force at every opset of their domain.
std::span<const OperatorSchema> contribSchemas();
/// The texts that contribSchemas() reads, one per operator.
std::span<const std::string_view> contribSchemaTexts();

} // namespace nabla::engine
