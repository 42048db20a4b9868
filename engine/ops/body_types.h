// What the outputs of a body would be, without running it.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Types of the outputs of `body` when its inputs and captures have these types, by the standard's inference node by node. Unknown where it says
/// nothing, and where nodes call bodies more than a few levels deep.
std::vector<ValueType> bodyOutputTypes(const Graph& body, const std::vector<ValueType>& inputs, const std::vector<ValueType>& captures);

} // namespace nabla::engine
