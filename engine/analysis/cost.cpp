// Costs from types: FLOPs by the operators' own formulas, bytes as the sum of what is read and written.
#include "engine/analysis/cost.h"

#include <string>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/saturated.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

namespace {

/// Operators that only move or describe elements.
bool computesNothing(const Node& node) {
    static const std::unordered_set<std::string_view> kMovers
        = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Split", "Slice", "Gather",
            "GatherElements", "GatherND", "Shape", "Size", "Constant", "ConstantOfShape", "Expand", "Tile", "Pad",
            "Cast", "CastLike", "Dropout", "DepthToSpace", "SpaceToDepth", "If", "Loop", "Scan", "Optional",
            "OptionalGetElement", "OptionalHasElement", "SequenceConstruct", "SequenceEmpty", "SequenceInsert",
            "SequenceErase", "SequenceAt", "SequenceLength", "SplitToSequence", "ConcatFromSequence", "ScatterElements",
            "ScatterND", "Range", "EyeLike", "OneHot", "Trilu", "ReverseSequence", "BitCast"};
    return node.domain.empty() && kMovers.contains(node.opType);
}

class Counter {
public:
    Counter(const Graph& main, const TypeMap& types, GraphCost& total)
        : m_main(main)
        , m_types(types)
        , m_total(total) { }

    void count(const Graph& graph) {
        graph.forEachValue([&](const Value& value) {
            if (const TensorPtr constant = graph.constant(value.id))
                countParameter(*constant);
        });
        graph.forEachNode([&](const Node& node) {
            if (const TensorPtr constant = node.is("Constant") ? node.tensorAttribute("value") : nullptr)
                countParameter(*constant);
            countNode(node);
            for (const auto& [name, body] : node.bodies())
                count(*body); // once, whatever the number of iterations
        });
    }

private:
    void countParameter(const Tensor& constant) {
        if (!isFloat(constant.dtype()) || constant.rank() == 0)
            return;
        m_total.parameters = saturatedSum(m_total.parameters, constant.elementCount());
        m_total.parameterBytes = saturatedSum(m_total.parameterBytes, constant.bytes());
    }

    void gather(const std::vector<ValueId>& values, std::vector<std::optional<Shape>>& shapes,
        std::vector<DType>& types, std::int64_t& bytes, bool& known) const {
        for (const ValueId value : values) {
            const ValueType& type = value ? m_types.of(value) : kOmitted;
            shapes.push_back(type.isTensor() ? type.concreteShape() : std::nullopt);
            if (shapes.back() && !checkShape(*shapes.back()))
                shapes.back().reset(); // nothing has this size
            types.push_back(type.isTensor() ? type.elementType : DType::Undefined);
            if (!value)
                continue;
            if (shapes.back())
                bytes = saturatedSum(bytes, storageBytes(types.back(), elementCount(*shapes.back())));
            else
                known = false;
        }
    }

    void countNode(const Node& node) {
        NodeCost cost;
        cost.known = true;
        std::vector<std::optional<Shape>> inputs, outputs;
        std::vector<DType> inputTypes, outputTypes;
        gather(node.inputs, inputs, inputTypes, cost.bytesRead, cost.known);
        gather(node.outputs, outputs, outputTypes, cost.bytesWritten, cost.known);
        if (cost.known)
            cost.flops = flops(node, inputs, outputs, inputTypes, outputTypes);
        if (cost.known) {
            m_total.flops = saturatedSum(m_total.flops, cost.flops);
            m_total.bytesMoved = saturatedSum(m_total.bytesMoved, saturatedSum(cost.bytesRead, cost.bytesWritten));
        } else {
            cost.bytesRead = cost.bytesWritten = 0;
            ++m_total.unknownNodes;
        }
        m_total.nodes.emplace(node.id, cost);
    }

    std::int64_t flops(const Node& node, const std::vector<std::optional<Shape>>& inputs,
        const std::vector<std::optional<Shape>>& outputs, const std::vector<DType>& inputTypes,
        const std::vector<DType>& outputTypes) {
        if (const Function* function = m_main.function(node))
            return function->body ? functionFlops(node, *function) : 0;
        const OpDef* op = findOp(node.opType, node.domain);
        if (op && op->flops)
            return op->flops({node, inputs, outputs, inputTypes, outputTypes});
        if (computesNothing(node))
            return 0;
        std::int64_t elements = 0;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i] && isDifferentiable(outputTypes[i]))
                elements = saturatedSum(elements, elementCount(*outputs[i]));
        }
        return elements;
    }

    /// The body on the shapes of this call. A function that calls itself counts nothing (it cannot run either).
    std::int64_t functionFlops(const Node& call, const Function& function) {
        const std::string key = functionKey(function.domain, function.name, function.overload);
        if (!m_open.insert(key).second)
            return 0;
        GraphEditor editor(*function.body);
        for (std::size_t i = 0; i < function.body->inputs().size() && i < call.inputs.size(); ++i) {
            if (call.inputs[i])
                editor.setDeclaredType(function.body->inputs()[i], m_types.of(call.inputs[i]));
        }
        editor.setFunctions(m_main.functions());
        const Graph body = editor.finish();
        GraphCost inside;
        Counter counter(m_main, *types(body), inside);
        counter.m_open = m_open;
        counter.count(body);
        m_open.erase(key);
        return inside.flops;
    }

    inline static const ValueType kOmitted;
    const Graph& m_main;
    const TypeMap& m_types;
    GraphCost& m_total;
    std::unordered_set<std::string> m_open;
};

} // namespace

std::shared_ptr<const GraphCost> cost(const Graph& graph, const DimBindings& dims) {
    std::string key = "cost";
    for (const auto& [name, size] : dims)
        key += fmt::format("|{}={}", name, size);
    return graph.memo().get<GraphCost>(key, [&] {
        GraphCost total;
        Counter(graph, *types(graph, dims), total).count(graph);
        return total;
    });
}

} // namespace nabla::engine
