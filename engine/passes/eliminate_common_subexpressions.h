// Computing the same thing once.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Nodes with the same operator, attributes and inputs become one, equal initializers too. Random operators and nodes
/// with bodies are left alone: two draws are two draws. An output keeps its own node where its name cannot be taken
/// over.
Result<Graph> eliminateCommonSubexpressions(const Graph& graph, PassContext& context);

} // namespace nabla::engine
