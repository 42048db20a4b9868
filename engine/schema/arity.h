// Whether a node has the inputs and outputs that its operator demands.
#pragma once

#include "engine/base/result.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// Errors (Run) name the operator's input or output that is not there, or how many there are too many. Operators that nobody knows
/// at this opset are not judged. Source: the schemas (formal parameters, and for variadic ones the least and largest number).
Result<void> checkArity(const Node& node, std::int64_t opset);

} // namespace nabla::engine
