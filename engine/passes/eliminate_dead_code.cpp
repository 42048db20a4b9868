// Liveness from the outputs back; what is not reached goes.
#include "engine/passes/eliminate_dead_code.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

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

bool readsCapture(const Graph& body, ValueId formal) {
    bool read = std::find(body.outputs().begin(), body.outputs().end(), formal) != body.outputs().end();
    body.forEachNode([&](const Node& node) {
        const auto reads = [&](const std::vector<ValueId>& list) { return std::find(list.begin(), list.end(), formal) != list.end(); };
        read = read || reads(node.inputs) || reads(node.captures);
    });
    return read;
}

class DeadCode {
public:
    explicit DeadCode(PassContext& context) : m_context(context) { }

    Result<std::optional<Graph>> clean(const Graph& graph) {
        NABLA_CHECK(m_context.job.check());
        GraphEditor editor(graph);
        bool changed = removeNodes(editor, graph);
        NABLA_TRY(const bool inBodies, rewriteBodies(editor, [this](const Graph& body) { return clean(body); }));
        changed = removeCaptures(editor) || inBodies || changed;
        changed = removeConstants(editor) || changed;
        if (!changed)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    bool removeNodes(GraphEditor& editor, const Graph& graph) {
        const std::unordered_set<NodeId> live = liveNodes(graph);
        std::vector<NodeId> dead;
        graph.forEachNode([&](const Node& node) {
            if (!live.contains(node.id))
                dead.push_back(node.id);
        });
        for (const NodeId id : dead) {
            m_context.record("dead-node", {id}, {}, fmt::format("no output needs {}", describe(*graph.node(id))));
            // Dead nodes may read each other in any order, also in a ring: cut first.
            Node node = *editor.graph().node(id);
            node.inputs.clear();
            node.captures.clear();
            std::erase_if(node.attributes, [](const Attribute& a) { return std::holds_alternative<GraphPtr>(a.value) || std::holds_alternative<std::vector<GraphPtr>>(a.value); });
            editor.replaceNode(std::move(node));
        }
        for (const NodeId id : dead)
            editor.removeNode(id);
        return !dead.empty();
    }

    bool removeCaptures(GraphEditor& editor) {
        std::vector<NodePtr> controls;
        editor.graph().forEachNode([&](const Node& node) {
            if (!node.captures.empty())
                controls.push_back(editor.graph().nodePtr(node.id));
        });
        bool changed = false;
        for (const NodePtr& control : controls) {
            for (std::size_t k = control->captures.size(); k-- > 0;)
                changed = removeCapture(editor, control->id, k) || changed;
        }
        return changed;
    }

    bool removeCapture(GraphEditor& editor, NodeId id, std::size_t k) {
        Node node = *editor.graph().node(id);
        for (const auto& [name, body] : node.bodies()) {
            if (readsCapture(*body, body->captures()[k]))
                return false;
        }
        m_context.record("unread-capture", {}, {}, fmt::format("no body of {} reads \"{}\"", describe(node), editor.graph().value(node.captures[k])->name));
        const auto without = [k](const GraphPtr& body) -> GraphPtr {
            GraphEditor inner(*body);
            inner.removeCapture(body->captures()[k]);
            return std::make_shared<const Graph>(inner.finish());
        };
        for (Attribute& attribute : node.attributes) {
            if (auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body)
                *body = without(*body);
            else if (auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value))
                std::transform(list->begin(), list->end(), list->begin(), without);
        }
        node.captures.erase(node.captures.begin() + static_cast<std::ptrdiff_t>(k));
        editor.replaceNode(std::move(node));
        return true;
    }

    bool removeConstants(GraphEditor& editor) {
        std::vector<ValueId> unread;
        editor.graph().forEachValue([&](const Value& value) {
            if (editor.graph().constant(value.id) && editor.consumers(value.id).empty() && !editor.isOutput(value.id))
                unread.push_back(value.id);
        });
        for (const ValueId id : unread) {
            m_context.record("unread-initializer", {}, {}, fmt::format("nothing reads initializer \"{}\"", editor.graph().value(id)->name));
            editor.removeValue(id);
        }
        return !unread.empty();
    }

    PassContext& m_context;
};

} // namespace

Result<Graph> eliminateDeadCode(const Graph& graph, PassContext& context) {
    Graph current = graph;
    for (;;) { // a capture that nobody reads any more leaves its producer dead
        NABLA_TRY(std::optional<Graph> cleaned, DeadCode(context).clean(current));
        if (!cleaned)
            return current;
        current = std::move(*cleaned);
    }
}

} // namespace nabla::engine
