// What a card says about a node: operator with its telling attributes, shape, bytes. No Qt.
#pragma once

#include <optional>
#include <string>

#include "engine/analysis/types.h"
#include "engine/graph/graph.h"

namespace nabla::views {

/// `Conv 3×3 · stride 2 · 64→128`, `BatchNormalization · ε 1e-5`, `Transpose · perm [0,2,1]`.
std::string operatorText(const engine::Node& node, const engine::TypeMap& types);
/// `[1,64,56,56] f32`; `seq(…)`; empty when nothing is known.
std::string shapeText(const engine::ValueType& type);
/// Bytes of a value whose shape is all numbers.
std::optional<std::int64_t> bytesOf(const engine::ValueType& type);
/// An attribute's value exactly: `-1`, `[3, 3]`, `"SAME_UPPER"`, `float32[64,3,7,7]`, `graph "body"`.
std::string attributeText(const engine::AttributeValue& value);

} // namespace nabla::views
