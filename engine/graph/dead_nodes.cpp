// Liveness from the outputs back, iterative.
#include "engine/graph/dead_nodes.h"

namespace nabla::engine {

std::unordered_set<NodeId> liveNodes(const Graph& graph) {
    std::unordered_set<NodeId> live;
    std::vector<ValueId> stack(graph.outputs().begin(), graph.outputs().end());
    while (!stack.empty()) {
        const Node* node = graph.producer(stack.back());
        stack.pop_back();
        if (!node || !live.insert(node->id).second)
            continue;
        for (const auto* list : {&node->inputs, &node->captures}) {
            for (const ValueId value : *list) {
                if (value)
                    stack.push_back(value);
            }
        }
    }
    return live;
}

Unneeded removeUnneeded(GraphEditor& editor) {
    Unneeded removed;
    const std::unordered_set<NodeId> live = liveNodes(editor.graph());
    editor.graph().forEachNode([&](const Node& node) {
        if (!live.contains(node.id))
            removed.nodes.push_back(node.id);
    });
    for (const NodeId id : removed.nodes) { // dead nodes may read each other, also in a ring: cut first
        Node node = *editor.graph().node(id);
        node.inputs.clear();
        node.captures.clear();
        std::erase_if(node.attributes, [](const Attribute& a) {
            return std::holds_alternative<GraphPtr>(a.value) || std::holds_alternative<std::vector<GraphPtr>>(a.value);
        });
        editor.replaceNode(std::move(node));
    }
    for (const NodeId id : removed.nodes)
        editor.removeNode(id);
    editor.graph().forEachValue([&](const Value& value) {
        if (editor.graph().constant(value.id) && editor.consumers(value.id).empty() && !editor.isOutput(value.id))
            removed.initializers.push_back(value.id);
    });
    for (const ValueId id : removed.initializers)
        editor.removeValue(id);
    return removed;
}

} // namespace nabla::engine
