// What no output of a graph needs, found and removed.
#pragma once

#include <unordered_set>
#include <vector>

#include "engine/graph/graph_editor.h"

namespace nabla::engine {

/// Nodes that an output needs.
std::unordered_set<NodeId> liveNodes(const Graph& graph);

struct Unneeded {
    std::vector<NodeId> nodes;
    std::vector<ValueId> initializers;
    bool empty() const { return nodes.empty() && initializers.empty(); }
};
/// Removes nodes that lead to no output, in any order they read each other, and initializers without readers.
Unneeded removeUnneeded(GraphEditor& editor);

} // namespace nabla::engine
