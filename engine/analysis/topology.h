// Execution order and who reads what.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Producers before readers; among ready nodes the smallest id first, so the file's order is kept where it is one. Iterative.
struct TopologicalOrder {
    std::vector<NodeId> order;
    std::vector<NodeId> inCycle; ///< nodes on or behind a cycle: not in `order`
};
std::shared_ptr<const TopologicalOrder> topologicalOrder(const Graph& graph);

/// Readers of each value (inputs and captures), each once, by id.
struct Uses {
    std::unordered_map<ValueId, std::vector<NodeId>> consumers;
    const std::vector<NodeId>& of(ValueId value) const;
};
std::shared_ptr<const Uses> uses(const Graph& graph);

/// Structural faults of the file as diagnostics: cycles, values nothing makes, duplicate names, unknown operators and domains, opsets of the
/// future, functions that call themselves. Adds to what the importer said.
std::vector<Diagnostic> problems(const Graph& graph);

} // namespace nabla::engine
