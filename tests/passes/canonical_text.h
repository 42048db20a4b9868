// A graph as text that depends on what it computes and on its inputs' and outputs' names, not on the names of inner
// values.
#pragma once

#include <string>

#include "engine/graph/graph.h"

namespace nabla::tests {

/// One line a node, numbered from the outputs back; nodes and constants that no output needs are listed at the end, so
/// that they cannot hide.
std::string canonicalText(const engine::Graph& graph);

} // namespace nabla::tests
