// Calls inlined round by round; recursion is found in the graph of calls before anything is copied.
#include "engine/passes/expand_functions.h"

#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "engine/graph/copy_graph.h"
#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

/// Size of each function when all is expanded, by depth-first search; a call back into an open one is recursion.
class CallGraph {
public:
    explicit CallGraph(const Graph& main)
        : m_main(main) { }

    /// Nodes of the graph with every call expanded, saturating.
    Result<std::size_t> expandedNodes(const Graph& graph) {
        std::size_t total = 0;
        std::optional<Error> error;
        graph.forEachNode([&](const Node& node) {
            if (error)
                return;
            const Function* function = m_main.function(node);
            if (!function || !function->body)
                ++total;
            Result<std::size_t> inside = function && function->body ? sizeOf(*function) : bodiesOf(node);
            if (inside)
                total = std::min(total + *inside, kMaxExpandedNodes + 1);
            else
                error = inside.error();
        });
        if (error)
            return *error;
        return total;
    }

private:
    Result<std::size_t> bodiesOf(const Node& node) {
        std::size_t total = 0;
        for (const auto& [name, body] : node.bodies()) {
            NABLA_TRY(const std::size_t inside, expandedNodes(*body));
            total += inside;
        }
        return total;
    }

    Result<std::size_t> sizeOf(const Function& function) {
        if (const auto it = m_sizes.find(&function); it != m_sizes.end())
            return it->second;
        const std::string key = functionKey(function.domain, function.name, function.overload);
        if (!m_open.insert(&function).second)
            return runError("function {} calls itself", key);
        NABLA_TRY(const std::size_t size, expandedNodes(*function.body));
        m_open.erase(&function);
        m_sizes[&function] = size;
        return size;
    }

    const Graph& m_main;
    std::map<const Function*, std::size_t> m_sizes;
    std::set<const Function*> m_open;
};

class FunctionExpander {
public:
    FunctionExpander(const Graph& main, PassContext& context)
        : m_main(main)
        , m_context(context) { }

    Result<std::optional<Graph>> expand(const Graph& graph) {
        NABLA_CHECK(m_context.job.check());
        GraphEditor editor(graph);
        bool any = false;
        for (bool found = true; found;) { // what a body brings may call again; recursion is ruled out
            std::vector<NodeId> calls;
            editor.graph().forEachNode([&](const Node& node) {
                const Function* function = m_main.function(node);
                if (function && function->body)
                    calls.push_back(node.id);
            });
            found = !calls.empty();
            any = any || found;
            for (const NodeId id : calls) {
                NABLA_CHECK(m_context.job.check());
                inlineOne(editor, id);
            }
        }
        NABLA_TRY(const bool inBodies, rewriteBodies(editor, [this](const Graph& body) { return expand(body); }));
        if (!any && !inBodies)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    void inlineOne(GraphEditor& editor, NodeId id) {
        const NodePtr call = editor.graph().nodePtr(id);
        const Function* function = m_main.function(*call);
        CopiedGraph copied = inlineCall(editor, id, *function->body, function, m_context.createdBy(function->name));
        m_context.record("inline-call", {id}, std::move(copied.nodes),
            fmt::format("{} calls the model's own function {}", describe(*call),
                functionKey(function->domain, function->name, function->overload)));
    }

    const Graph& m_main;
    PassContext& m_context;
};

} // namespace

Result<Graph> expandFunctions(const Graph& graph, PassContext& context) {
    if (graph.functions().empty())
        return graph;
    NABLA_TRY(const std::size_t nodes, CallGraph(graph).expandedNodes(graph));
    if (nodes > kMaxExpandedNodes)
        return runError("expanding the model's functions would make more than {} nodes", kMaxExpandedNodes);
    NABLA_TRY(std::optional<Graph> expanded, FunctionExpander(graph, context).expand(graph));
    GraphEditor editor(expanded ? std::move(*expanded) : graph);
    editor.setFunctions({}); // nothing calls them any more
    context.record("drop-definitions", {}, {},
        fmt::format("nothing calls the {} function definitions any more", graph.functions().size()));
    return editor.finish();
}

} // namespace nabla::engine
