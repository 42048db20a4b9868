// grad: what to differentiate, the sweep, and the outputs of the joint graph.
#include "engine/autodiff/grad.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/autodiff/expand.h"
#include "engine/autodiff/sweep.h"
#include "engine/graph/graph_editor.h"
#include "engine/schema/schema.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

bool isFloatTensor(const ValueType& type) {
    return type.isTensor() && isDifferentiable(type.elementType);
}

Result<void> requireFloat(const Graph& graph, const TypeMap& typeMap, ValueId value, std::string_view role) {
    const Value* v = graph.value(value);
    if (!v)
        return usageError("{}: value {} is not in the graph", role, value.value);
    const ValueType& type = typeMap.of(value);
    if (type.kind != ValueType::Kind::Unknown && !isFloatTensor(type))
        return usageError("{}: \"{}\" is {}, and only float tensors have gradients", role, v->name, type.text());
    return {};
}

Result<std::vector<ValueId>> chooseOf(const Graph& graph, const TypeMap& typeMap, const GradOptions& options) {
    const std::vector<ValueId> chosen = options.of.empty() ? defaultOf(graph) : options.of;
    for (const ValueId value : chosen)
        NABLA_CHECK(requireFloat(graph, typeMap, value, "gradient of"));
    if (chosen.empty())
        return usageError("the model has no float output to differentiate");
    return chosen;
}

Result<std::vector<ValueId>> chooseWrt(const Graph& graph, const TypeMap& typeMap, const GradOptions& options) {
    const std::vector<ValueId> chosen = options.wrt.empty() ? defaultWrt(graph) : options.wrt;
    for (const ValueId value : chosen)
        NABLA_CHECK(requireFloat(graph, typeMap, value, "gradient with respect to"));
    return chosen;
}

/// Builds the joint graph in one editor.
class JointBuilder {
public:
    JointBuilder(const Graph& forward, const GradOptions& options)
        : m_options(options)
        , m_editor(forward)
        , m_types(types(forward))
        , m_order(topologicalOrder(forward)->order)
        , m_firstNode(forward.ids()->nextNode()) { }

    Result<JointGraph> build(const std::vector<ValueId>& of, const std::vector<ValueId>& wrt) {
        SweepContext context{m_types, m_options.job, m_joint.notes};
        ReverseSweep sweep(context, m_editor, m_order, wrt);
        for (const ValueId value : of) {
            const ValueId seed = seedFor(value);
            m_joint.seedOf.emplace(value, seed);
            sweep.seed(value, seed);
        }
        NABLA_CHECK(sweep.run());
        for (const auto& [value, cotangent] : sweep.cotangents())
            m_joint.gradientOf.emplace(value, cotangent);
        addOutputs(sweep, wrt);
        removeUnused();
        m_joint.wrt = wrt;
        m_joint.graph = m_editor.finish();
        return std::move(m_joint);
    }

private:
    ValueId seedFor(ValueId value) {
        const std::string& name = m_editor.graph().value(value)->name;
        const ValueType type = m_types.of(m_editor.graph(), value);
        if (m_options.cotangents == GradOptions::Cotangents::Inputs) {
            const ValueId input = m_editor.addInput(fmt::format("cotangent:{}", name), type);
            m_joint.cotangentInput.emplace(value, input);
            return input;
        }
        return filledLike(value, 1, fmt::format("ones:{}", name));
    }

    /// ConstantOfShape(Shape(value)); like the value's type where that is not known before running.
    ValueId filledLike(ValueId value, double element, const std::string& name) {
        const ValueType type = m_types.of(m_editor.graph(), value);
        const DType dtype = type.elementType == DType::Undefined ? DType::Float32 : type.elementType;
        auto fill = *Tensor::make(dtype, {1}); // one element: below any limit
        writeDouble(dtype, fill.mutableRaw(), 0, element);
        const Node* producer = m_editor.graph().producer(value);
        const auto made = [&](NodeSpec spec) {
            spec.gradientOf = producer ? producer->id : NodeId{};
            spec.origins = producer ? producer->origins : std::vector<NodeId>{};
            spec.createdBy = m_createdBy;
            return m_editor.addValue(std::move(spec));
        };
        const ValueId shape = made({.opType = "Shape", .inputs = {value}});
        const bool isKnown = type.elementType != DType::Undefined;
        NodeSpec spec{.opType = "ConstantOfShape",
            .inputs = {shape},
            .attributes = {{"value", std::make_shared<const Tensor>(std::move(fill))}}};
        if (isKnown)
            spec.outputNames = {name};
        ValueId filled = made(std::move(spec));
        if (!isKnown)
            filled = made({.opType = "CastLike", .inputs = {filled, value}, .outputNames = {name}});
        m_types.set(filled, type);
        return filled;
    }

    void addOutputs(ReverseSweep& sweep, const std::vector<ValueId>& wrt) {
        std::vector<ValueId> outputs(m_editor.graph().outputs().begin(), m_editor.graph().outputs().end());
        std::unordered_set<ValueId> taken(outputs.begin(), outputs.end());
        for (const ValueId value : wrt) {
            const std::string name = m_editor.graph().value(value)->name;
            ValueId gradient = sweep.cotangent(value);
            if (!gradient) {
                m_joint.notes.push_back({Diagnostic::Severity::Info, {}, value,
                    fmt::format(
                        "no differentiable path leads from \"{}\" to what is differentiated: its gradient is zero",
                        name),
                    false});
                gradient = filledLike(value, 0, fmt::format("zero:{}", name));
            }
            gradient = ownOutput(gradient, taken);
            m_editor.renameValue(gradient, fmt::format("grad:{}", name));
            taken.insert(gradient);
            outputs.push_back(gradient);
            m_joint.gradientOf[value] = gradient;
        }
        m_editor.setOutputs(std::move(outputs));
    }

    /// A value made by a backward node that no other output is: two inputs may share one cotangent, or it may be the
    /// seed itself.
    ValueId ownOutput(ValueId gradient, const std::unordered_set<ValueId>& taken) {
        const Node* producer = m_editor.graph().producer(gradient);
        if (producer && producer->id > m_firstNode && !taken.contains(gradient))
            return gradient;
        NodeSpec spec;
        spec.opType = "Identity";
        spec.inputs = {gradient};
        spec.gradientOf = producer ? (producer->gradientOf ? producer->gradientOf : producer->id) : NodeId{};
        spec.origins = producer ? producer->origins : std::vector<NodeId>{};
        spec.createdBy = m_createdBy;
        return m_editor.addValue(std::move(spec));
    }

    /// Backward nodes and constants that lead to nothing: a rule may make more than was asked for.
    void removeUnused() {
        std::unordered_set<ValueId> kept(m_editor.graph().outputs().begin(), m_editor.graph().outputs().end());
        for (const auto& [value, cotangent] : m_joint.gradientOf)
            kept.insert(cotangent);
        for (const auto& [value, seed] : m_joint.seedOf)
            kept.insert(seed);
        std::vector<NodeId> made;
        std::vector<ValueId> constants;
        m_editor.graph().forEachNode([&](const Node& node) {
            if (node.id > m_firstNode)
                made.push_back(node.id);
        });
        m_editor.graph().forEachValue([&](const Value& value) {
            if (value.constant && value.id > m_firstValue)
                constants.push_back(value.id);
        });
        const auto isUsed
            = [&](ValueId value) { return value && (kept.contains(value) || !m_editor.consumers(value).empty()); };
        for (std::size_t i = made.size(); i-- > 0;) { // readers have higher ids than what they read
            const Node* node = m_editor.graph().node(made[i]);
            if (std::none_of(node->outputs.begin(), node->outputs.end(), isUsed))
                m_editor.removeNode(made[i]);
        }
        for (const ValueId constant : constants) {
            if (!isUsed(constant))
                m_editor.removeValue(constant);
        }
    }

    const GradOptions& m_options;
    GraphEditor m_editor;
    ValueTypes m_types;
    std::vector<NodeId> m_order;
    NodeId m_firstNode; ///< ids above it are ours
    ValueId m_firstValue = m_editor.graph().ids()->nextValue();
    JointGraph m_joint;
    std::shared_ptr<const std::string> m_createdBy = std::make_shared<const std::string>("grad/outputs");
};

} // namespace

std::vector<ValueId> defaultOf(const Graph& graph) {
    const std::shared_ptr<const TypeMap> typeMap = types(graph);
    std::vector<ValueId> chosen;
    for (const ValueId output : graph.outputs()) {
        if (isFloatTensor(typeMap->of(output)) && std::find(chosen.begin(), chosen.end(), output) == chosen.end())
            chosen.push_back(output);
    }
    return chosen;
}

std::vector<ValueId> defaultWrt(const Graph& graph) {
    const std::shared_ptr<const TypeMap> typeMap = types(graph);
    std::vector<ValueId> chosen;
    for (const ValueId input : graph.inputs()) {
        if (isFloatTensor(typeMap->of(input)))
            chosen.push_back(input);
    }
    graph.forEachValue([&](const Value& value) {
        if (graph.constant(value.id) && isDifferentiable(value.constant->dtype()) && value.constant->rank() >= 1)
            chosen.push_back(value.id);
    });
    return chosen;
}

Result<JointGraph> grad(const Graph& graph, const GradOptions& options) {
    if (graph.info().dialect != "onnx" || (graph.opset("") > 0 && graph.opset("") != newestOpset("")))
        return runError("only a legalized graph has gradients: this one is {} opset {}, not ONNX opset {}",
            graph.info().dialect, graph.opset(""), newestOpset(""));
    if (const auto order = topologicalOrder(graph); !order->inCycle.empty())
        return runError("{} is on or behind a cycle", describe(*graph.node(order->inCycle.front())));
    const std::shared_ptr<const TypeMap> typeMap = types(graph);
    NABLA_TRY(const std::vector<ValueId> of, chooseOf(graph, *typeMap, options));
    NABLA_TRY(const std::vector<ValueId> wrt, chooseWrt(graph, *typeMap, options));
    NABLA_TRY(const Graph expanded, expandForGradient(graph, of, wrt, options.job));
    return JointBuilder(expanded, options).build(of, wrt);
}

} // namespace nabla::engine
