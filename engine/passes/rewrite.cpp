// Sweeps of rules over graphs and their bodies.
#include "engine/passes/rewrite.h"

#include <unordered_map>

#include <fmt/format.h>

#include "engine/analysis/topology.h"

namespace nabla::engine {

TensorPtr RewriteSite::constant(ValueId value) const {
    if (!value)
        return nullptr;
    if (TensorPtr tensor = editor.graph().constant(value))
        return tensor;
    const Node* node = producer(value);
    return node && node->is("Constant") ? node->tensorAttribute("value") : nullptr;
}

std::optional<std::vector<std::int64_t>> RewriteSite::ints(ValueId value) const {
    const TensorPtr tensor = constant(value);
    if (!tensor || !isInteger(tensor->dtype()))
        return std::nullopt;
    return tensor->toInt64s();
}

bool RewriteSite::sameShape(ValueId a, ValueId b) {
    const ValueType first = type(a);
    const ValueType& second = type(b);
    if (!first.isTensor() || !second.isTensor() || !first.shape || !second.shape
        || first.shape->size() != second.shape->size())
        return false;
    for (std::size_t i = 0; i < first.shape->size(); ++i) {
        if (!(*first.shape)[i].sameAs((*second.shape)[i]))
            return false;
    }
    return true;
}

namespace {

constexpr int kMaxSweeps = 32;

class Rewriter {
public:
    Rewriter(PassContext& context, std::span<const RewriteRule> rules, ValueTypes& types)
        : m_context(context)
        , m_types(types) {
        for (const RewriteRule& rule : rules)
            m_rules[rule.opType].push_back(&rule);
    }

    Result<std::optional<Graph>> rewrite(const Graph& graph) {
        GraphEditor editor(graph);
        bool changed = false;
        // Rules make few nodes, all for a slot that was visited: the order of the original stays good enough for every
        // sweep.
        const std::vector<NodeId> order = topologicalOrder(graph)->order;
        for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
            NABLA_CHECK(m_context.job.check());
            bool here = false;
            for (const NodeId id : order) {
                NABLA_TRY(const bool visited, visit(editor, id, sweep == 0));
                here = here || visited;
            }
            changed = changed || here;
            if (!here)
                break;
        }
        if (!changed)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    Result<bool> visit(GraphEditor& editor, NodeId id, bool withBodies) {
        NodePtr node = editor.graph().nodePtr(id);
        if (!node)
            return false;
        bool changed = false;
        if (withBodies && !node->bodies().empty()) {
            NABLA_TRY(changed, rewriteBodies(editor, *node));
            node = editor.graph().nodePtr(id);
        }
        if (!node->domain.empty())
            return changed;
        const auto rules = m_rules.find(node->opType);
        if (rules == m_rules.end())
            return changed;
        for (const RewriteRule* rule : rules->second) {
            RewriteSite site(editor, m_types, m_context, node);
            if (!rule->pattern(site))
                continue;
            if (auto failed = rule->guard ? rule->guard(site) : std::nullopt) {
                m_context.nearMiss(std::string(rule->name), id, std::move(*failed));
                continue;
            }
            Applied applied = rule->replace(site);
            m_context.record(std::string(rule->name), std::move(applied.removed), std::move(applied.added),
                std::move(applied.reason));
            return true;
        }
        return changed;
    }

    Result<bool> rewriteBodies(GraphEditor& editor, const Node& control) {
        Node node = control;
        bool changed = false;
        for (Attribute& attribute : node.attributes) {
            auto* body = std::get_if<GraphPtr>(&attribute.value);
            if (!body || !*body)
                continue;
            NABLA_TRY(std::optional<Graph> better, rewrite(**body));
            if (better) {
                *body = std::make_shared<const Graph>(std::move(*better));
                changed = true;
            }
        }
        if (changed)
            editor.replaceNode(std::move(node));
        return changed;
    }

    PassContext& m_context;
    ValueTypes& m_types;
    std::unordered_map<std::string_view, std::vector<const RewriteRule*>> m_rules;
};

} // namespace

Result<Graph> applyRules(const Graph& graph, PassContext& context, std::span<const RewriteRule> rules) {
    // Without the bound dimensions: what a pass leaves must be right for every size.
    ValueTypes valueTypes(types(graph));
    NABLA_TRY(std::optional<Graph> changed, Rewriter(context, rules, valueTypes).rewrite(graph));
    return changed ? std::move(*changed) : graph;
}

std::optional<std::string> redirectGuard(const RewriteSite& site, ValueId to) {
    const ValueId from = site.node().output(0);
    if (site.editor.canReplace(from, to))
        return std::nullopt;
    return fmt::format(
        "it gives the output \"{}\" its name, and \"{}\" cannot take it", site.name(from), site.name(to));
}

Applied redirect(RewriteSite& site, ValueId to, std::string reason) {
    const NodeId id = site.node().id;
    site.editor.replaceUses(site.node().output(0), to);
    site.editor.removeNode(id);
    return {{id}, {}, std::move(reason)};
}

Applied replaceInPlace(RewriteSite& site, std::string_view rule, std::string opType, std::vector<ValueId> inputs,
    std::vector<Attribute> attributes, std::string reason) {
    Node node = site.node();
    while (!inputs.empty() && !inputs.back())
        inputs.pop_back();
    node.opType = std::move(opType);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.createdBy = site.context.createdBy(rule);
    const NodeId id = node.id;
    site.editor.replaceNode(std::move(node));
    return {{id}, {id}, std::move(reason)};
}

} // namespace nabla::engine
