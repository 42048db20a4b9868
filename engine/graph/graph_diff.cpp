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

Graph GraphDiff::patched(const Graph& before, GraphPatch patch, IdSourcePtr ids) {
    Graph graph = before;
    graph.m_memo = std::make_shared<AnalysisMemo>();
    graph.m_ids = std::move(ids);
    graph.m_name = std::move(patch.name);
    graph.m_doc = std::move(patch.doc);
    graph.m_info = std::move(patch.info);
    graph.m_inputs = std::move(patch.inputs);
    graph.m_captures = std::move(patch.captures);
    graph.m_outputs = std::move(patch.outputs);
    if (patch.functions)
        graph.m_functions = std::make_shared<const FunctionMap>(std::move(*patch.functions));
    if (patch.diagnostics)
        graph.m_diagnostics = std::make_shared<const std::vector<Diagnostic>>(std::move(*patch.diagnostics));
    for (const NodeId id : patch.removedNodes)
        graph.m_nodes.erase(id.value);
    for (const ValueId id : patch.removedValues)
        graph.m_values.erase(id.value);
    for (const NodePtr& node : patch.nodes)
        graph.m_nodes.set(node->id.value, node);
    for (const ValuePtr& value : patch.values)
        graph.m_values.set(value->id.value, value);
    return graph;
}

} // namespace nabla::engine
