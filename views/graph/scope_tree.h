// ScopeTree: the hierarchy that node names spell, `/features/conv1/Conv`; the outline and the graph's boxes share it. No Qt.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::views {

/// Scope 0 is the root. A scope that holds one node and nothing else is dissolved and lends the node its name. Gradient nodes stand under
/// `backward`, in the scope of the forward node they belong to.
struct ScopeTree {
    struct Scope {
        std::string name, path; ///< path with `/`, empty for the root
        int parent = -1;
        std::vector<int> children;
        std::vector<engine::NodeId> nodes; ///< its own, by id
        std::size_t nodeCount = 0;         ///< with all scopes below
    };
    std::vector<Scope> scopes;
    std::unordered_map<engine::NodeId, int> scopeOf;
    std::unordered_map<engine::NodeId, std::string> titles; ///< what a node is called within its scope; never empty

    int scope(engine::NodeId node) const;
    const std::string& title(engine::NodeId node) const;
    /// Index of a path; -1 when there is none.
    int find(std::string_view path) const;
};

ScopeTree scopeTree(const engine::Graph& graph);

} // namespace nabla::views
