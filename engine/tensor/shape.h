// Shape: concrete dimensions of a tensor, outermost first, and what follows from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace nabla::engine {

using Shape = std::vector<std::int64_t>;
using ShapeView = std::span<const std::int64_t>;

/// Ranks above this are refused when a file is read.
inline constexpr std::size_t kMaxRank = 64;

/// Product of the dimensions (none negative); 1 for rank 0; 2^63 - 1 rather than overflow.
std::int64_t elementCount(ShapeView shape);
/// Errors (Read): a negative dimension, rank above kMaxRank, a product of all dimensions but the zeros beyond 2^47.
Result<void> checkShape(ShapeView shape);
/// Row-major strides in elements, the same length as shape.
std::vector<std::int64_t> rowMajorStrides(ShapeView shape);
/// `[2,3]`; `[]` for a scalar.
std::string toString(ShapeView shape);

/// NumPy/ONNX multidirectional broadcasting. Errors (Run) name both shapes.
Result<Shape> broadcastShapes(ShapeView a, ShapeView b);

/// Brings `axis` into [0, rank). Errors (Run): out of [-rank, rank). `what` names it in the message.
Result<std::int64_t> normalizeAxis(std::int64_t axis, std::size_t rank, std::string_view what = "axis");

} // namespace nabla::engine
