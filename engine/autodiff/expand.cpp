// Rounds of inlining until nothing on the way needs it.
#include "engine/autodiff/expand.h"

#include <algorithm>
#include <unordered_set>

#include "engine/analysis/lift_opset.h"
#include "engine/analysis/topology.h"
#include "engine/autodiff/sweep.h"
#include "engine/graph/copy_graph.h"
#include "engine/ops/op_def.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

/// Bodies of the standard nest four deep; a model's own functions rarely more. Deeper means one that calls itself.
constexpr int kMaxRounds = 64;

class Expander {
public:
    Expander(const Graph& graph, std::shared_ptr<const TypeMap> types)
        : m_main(graph)
        , m_types(std::move(types)) { }

    /// Inlines the listed nodes of a graph where they need it; true when any was.
    Result<bool> expand(GraphEditor& editor, const std::vector<NodeId>& nodes) {
        bool changed = false;
        for (const NodeId id : nodes) {
            NABLA_TRY(const bool here, expandNode(editor, id));
            changed = changed || here;
        }
        return changed;
    }

private:
    Result<bool> expandNode(GraphEditor& editor, NodeId id) {
        const NodePtr node = editor.graph().nodePtr(id);
        if (const Function* function = m_main.function(*node)) {
            if (!function->body)
                return runError("{}: the function has no body", describe(*node));
            inlineCall(editor, id, *function->body, function, std::make_shared<const std::string>("expand/function"));
            return true;
        }
        const OpDef* op = findOp(node->opType, node->domain);
        const bool expandsItself = op && op->gradient.usesBody(); // SequenceMap: its body is expanded inside the Loop it becomes
        if (!node->bodies().empty() && !expandsItself)
            return expandBodies(editor, *node);
        if (op && !op->gradient.usesBody())
            return false;
        std::vector<ValueType> inputTypes;
        for (const ValueId input : node->inputs)
            inputTypes.push_back(input ? m_types->of(input) : ValueType{});
        NABLA_TRY(const GraphPtr body,
            newestOperatorBody(*node, newestOpset(node->domain), inputTypes, editor.graph().ids()).in(describe(*node)));
        if (!body)
            return false;
        inlineCall(editor, id, *body, nullptr, std::make_shared<const std::string>("expand/" + node->opType));
        return true;
    }

    Result<bool> expandBodies(GraphEditor& editor, const Node& control) {
        Node node = control;
        bool changed = false;
        for (Attribute& attribute : node.attributes) {
            auto* body = std::get_if<GraphPtr>(&attribute.value);
            if (!body || !*body)
                continue;
            std::vector<NodeId> nodes;
            (*body)->forEachNode([&](const Node& each) { nodes.push_back(each.id); });
            GraphEditor inner(**body);
            NABLA_TRY(const bool here, expand(inner, nodes));
            if (here)
                *body = std::make_shared<const Graph>(inner.finish());
            changed = changed || here;
        }
        if (changed)
            editor.replaceNode(std::move(node));
        return changed;
    }

    const Graph& m_main;
    std::shared_ptr<const TypeMap> m_types;
};

/// Nodes that a path from wrt to `of` runs through.
std::vector<NodeId> nodesBetween(const Graph& graph, const std::vector<ValueId>& of, const std::vector<ValueId>& wrt,
    const std::shared_ptr<const TypeMap>& typeMap) {
    const std::vector<NodeId>& order = topologicalOrder(graph)->order;
    ValueTypes valueTypes(typeMap);
    const std::unordered_set<ValueId> reached = reachedFrom(graph, order, wrt, valueTypes);
    std::unordered_set<ValueId> needed(of.begin(), of.end());
    std::vector<NodeId> between;
    for (std::size_t i = order.size(); i-- > 0;) {
        const Node& node = *graph.node(order[i]);
        const auto onPath = [&](ValueId value) { return value && needed.contains(value) && reached.contains(value); };
        if (std::none_of(node.outputs.begin(), node.outputs.end(), onPath))
            continue;
        between.push_back(order[i]);
        needed.insert(node.inputs.begin(), node.inputs.end());
        needed.insert(node.captures.begin(), node.captures.end());
    }
    return between;
}

} // namespace

Result<Graph> expandForGradient(
    const Graph& graph, const std::vector<ValueId>& of, const std::vector<ValueId>& wrt, const JobControl& job) {
    Graph current = graph;
    for (int round = 0; round < kMaxRounds; ++round) {
        NABLA_CHECK(job.check());
        const std::shared_ptr<const TypeMap> typeMap = types(current);
        GraphEditor editor(current);
        Expander expander(current, typeMap);
        NABLA_TRY(const bool changed, expander.expand(editor, nodesBetween(current, of, wrt, typeMap)));
        if (!changed)
            return current;
        current = editor.finish();
    }
    return runError("functions are still left after {} rounds of expansion: one calls itself", kMaxRounds);
}

} // namespace nabla::engine
