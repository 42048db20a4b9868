// One node after another until all outputs are there.
#include "mini_evaluator.h"

#include <cmath>
#include <unordered_map>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"
#include "engine/tensor/element.h"

namespace nabla::tests {

using namespace nabla::engine;

Result<Graph> upgradeAll(const Graph& graph, const std::vector<RuntimeValue>& inputs) {
    std::unordered_map<ValueId, ValueType> types;
    for (std::size_t i = 0; i < graph.inputs().size() && i < inputs.size(); ++i) {
        if (const Tensor& t = inputs[i].tensor(); t.defined())
            types[graph.inputs()[i]] = ValueType::tensor(t.dtype(), ShapeView(t.shape()));
    }
    graph.forEachValue([&](const Value& v) {
        if (v.constant)
            types[v.id] = ValueType::tensor(v.constant->dtype(), ShapeView(v.constant->shape()));
    });
    std::vector<NodeId> nodes;
    graph.forEachNode([&](const Node& n) { nodes.push_back(n.id); });
    GraphEditor editor(graph);
    for (const NodeId id : nodes) {
        const Node node = *graph.node(id);
        const std::int64_t opset = graph.opset(node.domain);
        const OpDef* op = findOp(node.opType, node.domain);
        const OperatorSchema* schema = findSchema(node.opType, node.domain, opset);
        if (!op || !schema || schema->sinceVersion >= op->since)
            continue;
        for (const Upgrade& upgrade : op->upgrades) {
            if (schema->sinceVersion <= upgrade.through) {
                UpgradeContext context{editor, node, opset, [&](ValueId v) { return types.contains(v) ? types[v] : ValueType{}; }};
                NABLA_CHECK(upgrade.apply(context));
                break;
            }
        }
    }
    return editor.finish();
}

Result<std::vector<RuntimeValue>> evaluate(const Graph& graph, const std::vector<RuntimeValue>& inputs) {
    std::unordered_map<ValueId, RuntimeValue> values;
    graph.forEachValue([&](const Value& v) {
        if (v.constant)
            values[v.id] = *v.constant;
    });
    for (std::size_t i = 0; i < graph.inputs().size() && i < inputs.size(); ++i) {
        if (!inputs[i].absent() || !values.contains(graph.inputs()[i]))
            values[graph.inputs()[i]] = inputs[i];
    }
    std::vector<NodeId> waiting;
    graph.forEachNode([&](const Node& n) { waiting.push_back(n.id); });
    while (!waiting.empty()) {
        std::vector<NodeId> left;
        for (const NodeId id : waiting) {
            const Node& node = *graph.node(id);
            std::vector<RuntimeValue> in;
            bool ready = true;
            for (const ValueId input : node.inputs) {
                ready = ready && (!input || values.contains(input));
                in.push_back(input && ready ? values[input] : RuntimeValue{});
            }
            if (!ready) {
                left.push_back(id);
                continue;
            }
            const OpDef* op = findOp(node.opType, node.domain);
            if (!op || !op->run.run())
                return runError("no reference kernel for {}", node.opType);
            std::vector<RuntimeValue> out(node.outputs.size());
            const KernelContext context(node, std::max(graph.opset(node.domain), op->since), in, out);
            NABLA_CHECK(op->run.run()(context).in(node.opType));
            for (std::size_t i = 0; i < out.size(); ++i) {
                if (node.outputs[i])
                    values[node.outputs[i]] = out[i];
            }
        }
        if (left.size() == waiting.size())
            return runError("{} nodes wait for values that nobody makes", left.size());
        waiting = std::move(left);
    }
    std::vector<RuntimeValue> outputs;
    for (const ValueId output : graph.outputs())
        outputs.push_back(values[output]);
    return outputs;
}

std::string difference(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
    if (!actual.defined())
        return "no tensor";
    if (actual.dtype() != expected.dtype())
        return fmt::format("type {} instead of {}", name(actual.dtype()), name(expected.dtype()));
    if (actual.shape() != expected.shape())
        return fmt::format("shape {} instead of {}", toString(actual.shape()), toString(expected.shape()));
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        bool same = false;
        if (isFloat(expected.dtype()) || isComplex(expected.dtype())) {
            const auto a = readComplex(actual.dtype(), actual.raw(), i), e = readComplex(expected.dtype(), expected.raw(), i);
            const auto close = [&](double x, double y) {
                return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= atol + rtol * std::fabs(y);
            };
            same = close(a.real(), e.real()) && close(a.imag(), e.imag());
        } else {
            same = actual.asText(i) == expected.asText(i);
        }
        if (!same)
            return fmt::format("element {} is {} instead of {}", i, actual.asText(i), expected.asText(i));
    }
    return {};
}

} // namespace nabla::tests
