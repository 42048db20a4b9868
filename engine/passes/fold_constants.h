// Computing what is known before running.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Runs the reference kernel of every node whose inputs are all constant and puts the result there as an initializer
/// under the same value id; Constant nodes and shape arithmetic that type inference knows become initializers too.
/// Random operators, control flow, results above PassContext::foldLimitBytes, and nodes that make a graph output are
/// left alone. Errors in a kernel are left for the run to report.
Result<Graph> foldConstants(const Graph& graph, PassContext& context);

} // namespace nabla::engine
