// Expansion before differentiation: nodes whose gradient goes through a body give way to that body.
#pragma once

#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// The graph in which every node between `wrt` and `of` has a rule of its own as far as bodies help: calls of model
/// functions are inlined, and operators without rule by their function body; the same inside bodies of control flow on
/// the way. Output ids stay. Errors (Run): expansion that does not end (a function that calls itself).
Result<Graph> expandForGradient(
    const Graph& graph, const std::vector<ValueId>& of, const std::vector<ValueId>& wrt, const JobControl& job);

} // namespace nabla::engine
