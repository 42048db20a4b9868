// GraphDiff: what differs between two states of one document, by comparison of pointers.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// "Unchanged" is exact: the very same node object. Meaningful for two states of one history (ids agree).
struct GraphDiff {
    std::vector<NodeId> added, removed, changed;
    std::vector<ValueId> addedValues, removedValues, changedValues;

    bool empty() const { return added.empty() && removed.empty() && changed.empty() && addedValues.empty() && removedValues.empty() && changedValues.empty(); }
};

GraphDiff diff(const Graph& before, const Graph& after);

} // namespace nabla::engine
