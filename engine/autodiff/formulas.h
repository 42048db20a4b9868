// The gradient of each operator as people write it, for showing beside the numbers. What is computed are the rules in engine/ops.
#pragma once

#include <string>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// `dx = dy * (1 - y^2)` in mathematical signs, for the input of the node that is `value`; the general chain rule where nothing
/// shorter says it.
std::string gradientFormula(const Node& node, ValueId value);
/// A function applied to each element of its first input alone, the others being constants.
bool isElementwiseFunction(const Node& node);

} // namespace nabla::engine
