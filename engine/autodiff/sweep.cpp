// The chain rule over a list of nodes.
#include "engine/autodiff/sweep.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/graph/copy_graph.h"

namespace nabla::engine {

std::unordered_set<ValueId> reachedFrom(
    const Graph& graph, const std::vector<NodeId>& order, const std::vector<ValueId>& wrt, ValueTypes& types) {
    std::unordered_set<ValueId> reached;
    for (const ValueId value : wrt) {
        if (value)
            reached.insert(value);
    }
    for (const NodeId id : order) {
        const Node* node = graph.node(id);
        if (!node)
            continue;
        const auto isReached = [&](ValueId value) { return value && reached.contains(value); };
        if (std::none_of(node->inputs.begin(), node->inputs.end(), isReached)
            && std::none_of(node->captures.begin(), node->captures.end(), isReached))
            continue;
        for (const ValueId output : node->outputs) {
            if (output && types.carriesGradient(graph, output))
                reached.insert(output);
        }
    }
    return reached;
}

ReverseSweep::ReverseSweep(
    SweepContext& context, GraphEditor& editor, std::vector<NodeId> order, const std::vector<ValueId>& wrt)
    : m_context(context)
    , m_editor(editor)
    , m_order(std::move(order))
    , m_active(reachedFrom(editor.graph(), m_order, wrt, context.types)) { }

void ReverseSweep::contribute(ValueId value, ValueId cotangent) {
    if (!value || !cotangent)
        return;
    // A cotangent is of the type of its value, which saves inferring it through the backward nodes.
    if (ValueType type = m_context.types.of(m_editor.graph(), value); type.kind != ValueType::Kind::Unknown)
        m_context.types.set(cotangent, std::move(type));
    m_contributions[value].push_back(cotangent);
}

/// A body that adds one element of each of `count` sequences.
static GraphPtr sumOfElements(GraphEditor& outer, const ValueType& element, std::size_t count) {
    const Graph& graph = outer.graph();
    GraphEditor body = GraphEditor::empty("sum_of_elements", graph.infoPtr(), graph.ids());
    NodeSpec sum;
    sum.opType = "Sum";
    for (std::size_t i = 0; i < count; ++i)
        sum.inputs.push_back(body.addInput(outer.freshName(fmt::format("cotangent_part_{}", i)), element));
    sum.outputNames = {outer.freshName("cotangent_sum")};
    body.setOutputs({body.addValue(std::move(sum))});
    return std::make_shared<const Graph>(body.finish());
}

Result<ValueId> ReverseSweep::total(ValueId value) {
    if (const auto it = m_totals.find(value); it != m_totals.end())
        return it->second;
    const auto it = m_contributions.find(value);
    if (it == m_contributions.end())
        return ValueId{};
    const std::vector<ValueId>& parts = it->second;
    ValueId sum = parts.front();
    if (parts.size() > 1) {
        const ValueType type = m_context.types.of(m_editor.graph(), value);
        const Node* producer = m_editor.graph().producer(value);
        const bool isTensorSequence
            = type.kind == ValueType::Kind::Sequence && type.element && type.element->isTensor();
        if ((type.kind == ValueType::Kind::Sequence && !isTensorSequence) || type.kind == ValueType::Kind::Optional)
            return runError(
                "value \"{}\" is a {} with {} readers on the way of the gradient, whose cotangents cannot be summed",
                m_editor.graph().value(value)->name, type.text(), parts.size());
        const Node* reader = m_editor.graph().producer(parts.back());
        NodeSpec spec;
        spec.opType = parts.size() == 2 ? "Add" : "Sum";
        if (isTensorSequence) {
            spec.opType = "SequenceMap";
            spec.attributes = {{"body", sumOfElements(m_editor, *type.element, parts.size())}};
        }
        spec.inputs = parts;
        spec.gradientOf = producer ? producer->id : reader ? reader->gradientOf : NodeId{};
        spec.origins = producer ? producer->origins : reader ? reader->origins : std::vector<NodeId>{};
        static const auto kCreatedBy = std::make_shared<const std::string>("grad/accumulate");
        spec.createdBy = kCreatedBy;
        sum = m_editor.addValue(std::move(spec));
        if (type.kind != ValueType::Kind::Unknown)
            m_context.types.set(sum, type);
    }
    m_totals.emplace(value, sum);
    return sum;
}

ValueId ReverseSweep::cotangent(ValueId value) {
    const auto it = m_totals.find(value);
    return it == m_totals.end() ? ValueId{} : it->second;
}

Result<void> ReverseSweep::run() {
    for (std::size_t i = m_order.size(); i-- > 0;) {
        if (i % 1024 == 0)
            NABLA_CHECK(m_context.job.check());
        NABLA_CHECK(visit(m_order[i]));
    }
    // Inputs and initializers have no node at which their sum would be made; in order of id, so that the graph is the
    // same every time.
    std::vector<ValueId> rest;
    for (const auto& [value, parts] : m_contributions) {
        if (!m_totals.contains(value))
            rest.push_back(value);
    }
    std::sort(rest.begin(), rest.end());
    for (const ValueId value : rest) {
        NABLA_TRY([[maybe_unused]] const ValueId sum, total(value));
    }
    return {};
}

Result<void> ReverseSweep::visit(NodeId id) {
    const NodePtr node = m_editor.graph().nodePtr(id); // kept: a rule may put another node into the slot
    if (!node)
        return {};
    std::vector<bool> wanted;
    for (const ValueId input : node->inputs)
        wanted.push_back(input && m_active.contains(input));
    for (const ValueId capture : node->captures)
        wanted.push_back(capture && m_active.contains(capture));
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end())
        return {};
    std::vector<ValueId> outputGrads;
    bool any = false;
    for (const ValueId output : node->outputs) {
        ValueId grad;
        if (output) {
            NABLA_TRY(grad, total(output));
        }
        outputGrads.push_back(grad);
        any = any || grad;
    }
    if (!any)
        return {};
    NABLA_TRY(const std::vector<ValueId> grads, applyRule(*node, outputGrads, wanted).in(describe(*node)));
    for (std::size_t i = 0; i < grads.size() && i < wanted.size(); ++i) {
        if (wanted[i])
            contribute(i < node->inputs.size() ? node->inputs[i] : node->captures[i - node->inputs.size()], grads[i]);
    }
    return {};
}

Result<std::vector<ValueId>> ReverseSweep::applyRule(
    const Node& node, const std::vector<ValueId>& outputGrads, const std::vector<bool>& wanted) {
    const OpDef* op = findOp(node.opType, node.domain);
    if (!op)
        return runError("no gradient rule is known for operator {}",
            node.domain.empty() ? node.opType : node.domain + "." + node.opType);
    const GradientFunction rule = op->gradient.rule();
    if (!rule && op->gradient.usesBody())
        return runError("the gradient of {} goes through its body, but there is none for these inputs", node.opType);
    if (!rule) {
        m_context.notes.push_back({Diagnostic::Severity::Info, node.id, {},
            fmt::format("{}: no gradient flows through: {}", describe(node), op->gradient.reason()), false});
        return std::vector<ValueId>{};
    }
    const auto typesIn = [this](const GraphEditor& editor) -> GradientBuilder::TypeOf {
        return [this, &editor](ValueId value) { return m_context.types.of(editor.graph(), value); };
    };
    BodySupport support;
    support.vjp = [this](const BodyVjpRequest& request) { return bodyVjp(request); };
    support.typesIn = typesIn;
    GradientBuilder builder(m_editor, node, typesIn(m_editor), wanted);
    builder.setBodySupport(&support);
    return rule(builder, node, outputGrads);
}

Result<std::vector<ValueId>> ReverseSweep::bodyVjp(const BodyVjpRequest& request) {
    CopyOptions options;
    options.inputs = request.inputs;
    options.captures = request.captures;
    options.gradientOf = request.forward.id;
    options.createdBy = std::make_shared<const std::string>("grad/run-again");
    const CopiedGraph copy = copyInto(request.editor, *request.body, options);
    m_context.types.copy(copy.values);

    std::unordered_map<NodeId, NodeId> made;
    std::size_t next = 0;
    request.body->forEachNode([&](const Node& node) { made[node.id] = copy.nodes[next++]; });
    std::vector<NodeId> order;
    for (const NodeId id : topologicalOrder(*request.body)->order)
        order.push_back(made.at(id));

    std::vector<ValueId> formals = request.inputs;
    formals.insert(formals.end(), request.captures.begin(), request.captures.end());
    std::vector<ValueId> wrt;
    for (std::size_t i = 0; i < formals.size(); ++i) {
        if (i < request.wanted.size() && request.wanted[i])
            wrt.push_back(formals[i]);
    }
    ReverseSweep inner(m_context, request.editor, std::move(order), wrt);
    for (std::size_t i = 0; i < copy.outputs.size() && i < request.outputGrads.size(); ++i)
        inner.seed(copy.outputs[i], request.outputGrads[i]);
    NABLA_CHECK(inner.run());
    std::vector<ValueId> grads;
    for (std::size_t i = 0; i < formals.size(); ++i)
        grads.push_back(i < request.wanted.size() && request.wanted[i] ? inner.cotangent(formals[i]) : ValueId{});
    return grads;
}

} // namespace nabla::engine
