// Putting the bodies of the model's own functions where they are called.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Inlines every call of a model function, nested ones and those in bodies too, and drops the definitions. Operators of
/// the standard that have a function body stay whole. Errors (Run): a function that calls itself, or expansion beyond
/// kMaxExpandedNodes.
Result<Graph> expandFunctions(const Graph& graph, PassContext& context);
inline constexpr std::size_t kMaxExpandedNodes = 2'000'000;

} // namespace nabla::engine
