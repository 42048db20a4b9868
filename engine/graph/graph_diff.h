// GraphDiff: what differs between two states of one document, by comparison of pointers.
#pragma once

#include <optional>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// What turns one state into another: the parts that differ, as they are to stand in the tables.
struct GraphPatch {
    std::string name, doc;
    ModelInfoPtr info;
    std::vector<ValueId> inputs, captures, outputs;
    std::vector<NodeId> removedNodes;
    std::vector<ValueId> removedValues;
    std::vector<NodePtr> nodes;   ///< added or changed
    std::vector<ValuePtr> values; ///< added or changed
    std::optional<FunctionMap> functions;                ///< nothing: those of the state before
    std::optional<std::vector<Diagnostic>> diagnostics;  ///< the same
};

/// "Unchanged" is exact: the very same node object. Meaningful for two states of one history (ids agree).
struct GraphDiff {
    std::vector<NodeId> added, removed, changed;
    std::vector<ValueId> addedValues, removedValues, changedValues;

    bool empty() const { return added.empty() && removed.empty() && changed.empty() && addedValues.empty() && removedValues.empty() && changedValues.empty(); }

    /// The state after `patch`, over `ids`; entries that it does not name stay shared with `before`. Nothing is checked: patches from a
    /// file are verified (verifier.h) before anybody else sees the result.
    static Graph patched(const Graph& before, GraphPatch patch, IdSourcePtr ids);
};

GraphDiff diff(const Graph& before, const Graph& after);

} // namespace nabla::engine
