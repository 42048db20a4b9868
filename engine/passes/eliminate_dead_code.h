// Removing what no output needs.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Removes nodes and initializers that lead to no output, in bodies too, and captures that no body reads.
/// Graph inputs stay: they are part of the model.
Result<Graph> eliminateDeadCode(const Graph& graph, PassContext& context);

} // namespace nabla::engine
