// The graph that a call runs: a function's body with the call's attributes put in.
#pragma once

#include "engine/graph/graph.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

/// Body of a model's function for one call: references to attributes are replaced by the call's, else by the function's
/// defaults, else the attribute is left out. Bodies inside too. Errors (Run): a required attribute that the call does
/// not give.
Result<Graph> functionForCall(const Function& function, const Node& call);

/// Body of an operator that is defined by one, for these input types, in the newest opset.
Result<Graph> bodyForCall(
    const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids);

} // namespace nabla::engine
