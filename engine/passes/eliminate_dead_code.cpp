// Liveness from the outputs back; what is not reached goes.
#include "engine/passes/eliminate_dead_code.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "engine/graph/dead_nodes.h"
#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

bool readsCapture(const Graph& body, ValueId formal) {
    bool read = std::find(body.outputs().begin(), body.outputs().end(), formal) != body.outputs().end();
    body.forEachNode([&](const Node& node) {
        const auto reads = [&](const std::vector<ValueId>& list) {
            return std::find(list.begin(), list.end(), formal) != list.end();
        };
        read = read || reads(node.inputs) || reads(node.captures);
    });
    return read;
}

class DeadCode {
public:
    explicit DeadCode(PassContext& context)
        : m_context(context) { }

    Result<std::optional<Graph>> clean(const Graph& graph) {
        NABLA_CHECK(m_context.job.check());
        GraphEditor editor(graph);
        NABLA_TRY(bool changed, rewriteBodies(editor, [this](const Graph& body) { return clean(body); }));
        changed = removeCaptures(editor) || changed;
        changed = removeUnread(editor) || changed;
        if (!changed)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    bool removeUnread(GraphEditor& editor) {
        const Graph before = editor.graph(); // for the names of what goes
        const Unneeded removed = removeUnneeded(editor);
        for (const NodeId id : removed.nodes)
            m_context.record("dead-node", {id}, {}, fmt::format("no output needs {}", describe(*before.node(id))));
        for (const ValueId id : removed.initializers)
            m_context.record(
                "unread-initializer", {}, {}, fmt::format("nothing reads initializer \"{}\"", before.value(id)->name));
        return !removed.empty();
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
        m_context.record("unread-capture", {}, {},
            fmt::format("no body of {} reads \"{}\"", describe(node), editor.graph().value(node.captures[k])->name));
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
