// Chunk-wise pointer comparison; shared chunks are skipped whole.
#include "engine/graph/graph_diff.h"

namespace nabla::engine {

GraphDiff diff(const Graph& before, const Graph& after) {
    GraphDiff out;
    CowTable<Node>::forEachDifference(before.m_nodes, after.m_nodes, [&](std::uint32_t id, const NodePtr& a, const NodePtr& b) {
        (a ? (b ? out.changed : out.removed) : out.added).push_back({id});
    });
    CowTable<Value>::forEachDifference(before.m_values, after.m_values, [&](std::uint32_t id, const ValuePtr& a, const ValuePtr& b) {
        (a ? (b ? out.changedValues : out.removedValues) : out.addedValues).push_back({id});
    });
    return out;
}

} // namespace nabla::engine
