// Costs from types: FLOPs by the operators' own rules, bytes as the sum of what is read and written.
#include "engine/analysis/cost.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/analysis/expanded_cost.h"
#include "engine/analysis/trip_count.h"
#include "engine/base/saturated.h"
#include "engine/ops/cost_rules.h"

namespace nabla::engine {

namespace {

/// What a body takes, run once.
struct BodyWork {
    std::int64_t flops = 0, bytesRead = 0, bytesWritten = 0;
    bool known = true;

    void add(const NodeCost& cost, std::int64_t times = 1) {
        flops = saturatedSum(flops, saturatedProduct({cost.flops, times}));
        bytesRead = saturatedSum(bytesRead, saturatedProduct({cost.bytesRead, times}));
        bytesWritten = saturatedSum(bytesWritten, saturatedProduct({cost.bytesWritten, times}));
        known = known && cost.known;
    }
};

/// Shapes and element types of a node's values, for the rules; handles (sequences, optionals, maps) have neither and move nothing.
struct NodeShapes {
    std::vector<std::optional<Shape>> inputs, outputs;
    std::vector<DType> inputTypes, outputTypes;
    std::vector<TensorPtr> constants;
    bool known = true, outputsKnown = true;
};

class Counter {
public:
    Counter(const Graph& graph, const TypeMap& types, ExpandedCosts& expanded, GraphCost& total)
        : m_graph(graph)
        , m_types(types)
        , m_expanded(expanded)
        , m_total(total) { }

    void count() {
        const BodyWork all = countGraph(m_graph, [&](const NodeCost& cost) {
            if (cost.known)
                m_total.bytesMoved = saturatedSum(m_total.bytesMoved, saturatedSum(cost.bytesRead, cost.bytesWritten));
            else
                ++m_total.unknownNodes;
        });
        m_total.flops = all.flops;
        countParameters(m_graph);
    }

private:
    template <typename F> BodyWork countGraph(const Graph& graph, F&& eachNode) {
        BodyWork all;
        graph.forEachNode([&](const Node& node) {
            const NodeCost cost = countNode(graph, node);
            m_total.nodes.emplace(node.id, cost);
            all.add(cost);
            eachNode(cost);
        });
        return all;
    }
    /// `node` of `graph` has this body. What it captures is known inside too.
    BodyWork countBody(const Graph& graph, const Node& node, const Graph& body) {
        for (std::size_t i = 0; i < body.captures().size() && i < node.captures.size(); ++i) {
            if (const TensorPtr value = known(graph, node.captures[i]))
                m_captured.emplace(body.captures()[i], value);
        }
        return countGraph(body, [](const NodeCost&) { });
    }

    // ---- parameters ----

    struct Parameters {
        std::int64_t numbers = 0, bytes = 0;
        void add(std::int64_t count, std::int64_t size) {
            numbers = saturatedSum(numbers, count);
            bytes = saturatedSum(bytes, size);
        }
    };

    /// Floats, and the whole numbers of at most 8 bits that quantized weights are.
    static void addLearned(const TensorPtr& constant, Parameters& out) {
        if (!constant || constant->rank() == 0)
            return;
        const bool quantized = isInteger(constant->dtype()) && bitWidth(constant->dtype()) <= 8;
        if (isFloat(constant->dtype()) || quantized)
            out.add(constant->elementCount(), constant->bytes());
    }
    /// ai.onnx.ml keeps what was learned in float attributes; a Constant has a tensor, the numbers of `value_floats`, or a sparse tensor.
    static void addAttributes(const Node& node, Parameters& out) {
        const bool ml = node.domain == "ai.onnx.ml" && node.opType != "LabelEncoder";
        if (!ml && !node.is("Constant"))
            return;
        for (const Attribute& a : node.attributes) {
            if (const auto* floats = std::get_if<std::vector<float>>(&a.value))
                out.add(static_cast<std::int64_t>(floats->size()), 4 * static_cast<std::int64_t>(floats->size()));
            else if (const auto* tensor = std::get_if<TensorPtr>(&a.value); tensor && *tensor && (!ml || isFloat((*tensor)->dtype()))) // modes of nodes are uint8
                addLearned(*tensor, out);
            else if (const auto* sparse = std::get_if<SparseTensorPtr>(&a.value); sparse && *sparse)
                addLearned((*sparse)->values, out);
        }
    }
    void countParameters(const Graph& graph) {
        Parameters all;
        graph.forEachValue([&](const Value& value) { addLearned(value.constant, all); }); // defaults of inputs too
        graph.forEachNode([&](const Node& node) {
            addAttributes(node, all);
            for (const auto& [name, body] : node.bodies())
                countParameters(*body);
            const Function* function = m_graph.function(node);
            if (function && function->body && m_counted.insert(function).second)
                countParameters(*function->body);
        });
        m_total.parameters = saturatedSum(m_total.parameters, all.numbers);
        m_total.parameterBytes = saturatedSum(m_total.parameterBytes, all.bytes);
    }
    /// Of one node: its own inputs, and what stands in its bodies.
    std::int64_t nodeParameters(const Graph& graph, const Node& node) const {
        Parameters own;
        if (!node.is("Constant"))
            addAttributes(node, own);
        for (const auto* list : {&node.inputs, &node.captures}) {
            for (const ValueId id : *list) {
                const Value* value = id ? graph.value(id) : nullptr;
                if (value)
                    addLearned(value->constant, own);
                if (const Node* producer = id ? graph.producer(id) : nullptr; producer && producer->is("Constant"))
                    addAttributes(*producer, own);
            }
        }
        std::int64_t numbers = own.numbers;
        for (const auto& [name, body] : node.bodies()) {
            const Graph& inside = *body;
            inside.forEachNode([&](const Node& inner) { numbers = saturatedSum(numbers, nodeParameters(inside, inner)); });
        }
        return numbers;
    }

    // ---- FLOPs and bytes ----

    TensorPtr known(const Graph& graph, ValueId id) const {
        const auto it = m_captured.find(id);
        return it != m_captured.end() ? it->second : knownValue(graph, m_types, id);
    }

    std::int64_t gather(const std::vector<ValueId>& values, std::vector<std::optional<Shape>>& shapes, std::vector<DType>& types, bool& known) const {
        std::int64_t bytes = 0;
        for (const ValueId value : values) {
            const ValueType& type = value ? m_types.of(value) : kOmitted;
            shapes.push_back(type.isTensor() ? type.concreteShape() : std::nullopt);
            if (shapes.back() && !checkShape(*shapes.back()))
                shapes.back().reset(); // nothing has this size
            types.push_back(type.isTensor() ? type.elementType : DType::Undefined);
            if (shapes.back() && types.back() == DType::String)
                known = false; // as long as its strings are
            else if (shapes.back())
                bytes = saturatedSum(bytes, storageBytes(types.back(), elementCount(*shapes.back())));
            else if (value && (type.isTensor() || type.kind == ValueType::Kind::Unknown))
                known = false;
        }
        return bytes;
    }

    NodeCost countNode(const Graph& graph, const Node& node) {
        NodeCost cost;
        NodeShapes shapes;
        cost.bytesRead = gather(node.inputs, shapes.inputs, shapes.inputTypes, shapes.known);
        cost.bytesWritten = gather(node.outputs, shapes.outputs, shapes.outputTypes, shapes.outputsKnown);
        for (const ValueId id : node.inputs)
            shapes.constants.push_back(id ? known(graph, id) : nullptr);
        const OpDef* op = m_graph.function(node) ? nullptr : findOp(node.opType, node.domain);
        if (op && op->flops.countsIterations()) {
            countIterations(graph, node, cost);
        } else {
            for (const auto& [name, body] : node.bodies())
                countBody(graph, node, *body);
            countPlain(graph, node, op, shapes, cost);
        }
        if (!cost.known)
            cost.flops = cost.bytesRead = cost.bytesWritten = 0;
        cost.parameters = nodeParameters(graph, node);
        return cost;
    }

    void countPlain(const Graph& graph, const Node& node, const OpDef* op, const NodeShapes& shapes, NodeCost& cost) {
        std::optional<std::int64_t> flops;
        const bool known = shapes.known && shapes.outputsKnown;
        const bool anyway = op && (op->bytes == nothingMoves || (op->bytes == readsNothing && shapes.outputsKnown));
        if (anyway || (known && op && op->flops.function())) {
            const CostInputs inputs{node, shapes.inputs, shapes.outputs, shapes.inputTypes, shapes.outputTypes, shapes.constants, graph.opset(node.domain)};
            if (const std::int64_t own = op->flops.function()(inputs); own != kUnknownFlops)
                flops = own;
            if (op->bytes)
                op->bytes(inputs, cost);
        } else if (known && (!op || op->flops.countsBody())) {
            flops = m_expanded.flops(graph, node, inputTypes(node), shapes.constants);
        }
        cost.known = flops.has_value();
        cost.flops = flops.value_or(0);
    }

    std::vector<ValueType> inputTypes(const Node& node) const {
        std::vector<ValueType> types;
        for (const ValueId id : node.inputs)
            types.push_back(id ? m_types.of(id) : ValueType{});
        return types;
    }

    /// The bodies that run, as often as they run.
    void countIterations(const Graph& graph, const Node& node, NodeCost& cost) {
        std::unordered_map<const Graph*, BodyWork> works;
        for (const auto& [name, body] : node.bodies())
            works.emplace(body.get(), countBody(graph, node, *body));
        const std::optional<Iterations> iterations = knownIterations(graph, m_types, node, [this](const Graph& in, ValueId id) { return known(in, id); });
        cost = {};
        if (!iterations)
            return;
        const auto it = works.find(iterations->body.get());
        const BodyWork once = it == works.end() ? BodyWork{} : it->second;
        if (iterations->count > 0 && !once.known)
            return;
        BodyWork all;
        all.add({once.flops, once.bytesRead, once.bytesWritten, 0, true}, iterations->count);
        cost = {all.flops, all.bytesRead, all.bytesWritten, 0, true};
    }

    inline static const ValueType kOmitted;
    const Graph& m_graph;
    const TypeMap& m_types;
    ExpandedCosts& m_expanded;
    GraphCost& m_total;
    std::unordered_map<ValueId, TensorPtr> m_captured; ///< formal captures of bodies
    std::unordered_set<const Function*> m_counted;     ///< whose parameters are in the total
};

std::shared_ptr<const GraphCost> costWith(const Graph& graph, const TypeMap& types, ExpandedCosts& expanded) {
    auto total = std::make_shared<GraphCost>();
    Counter(graph, types, expanded, *total).count();
    return total;
}

} // namespace

std::shared_ptr<const GraphCost> cost(const Graph& graph, const DimBindings& dims) {
    std::string key = "cost";
    for (const auto& [name, size] : dims)
        key += fmt::format("|{}={}", name, size);
    return graph.memo().get<GraphCost>(key, [&] {
        ExpandedCosts expanded(graph, costWith);
        return *costWith(graph, *types(graph, dims), expanded);
    });
}

} // namespace nabla::engine
