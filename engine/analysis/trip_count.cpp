// Trip counts from constants and shapes.
#include "engine/analysis/trip_count.h"

#include <algorithm>

namespace nabla::engine {

namespace {

constexpr int kMaxChain = 64; // Identity nodes followed

std::optional<std::int64_t> knownNumber(const Graph& graph, const KnownValueOf& known, ValueId value) {
    const TensorPtr tensor = value ? known(graph, value) : nullptr;
    if (!tensor || tensor->elementCount() != 1 || (!isInteger(tensor->dtype()) && tensor->dtype() != DType::Bool))
        return std::nullopt;
    return tensor->asInt64(0);
}

/// What a body's condition says after every iteration: go on, stop, or it depends.
std::optional<bool> goesOn(const Graph& body, const KnownValueOf& known) {
    if (body.outputs().empty() || body.inputs().size() < 2)
        return std::nullopt;
    ValueId condition = body.outputs()[0];
    for (int i = 0; i < kMaxChain; ++i) {
        if (condition == body.inputs()[1])
            return true; // the one it got, which let it run
        const Node* producer = body.producer(condition);
        if (!producer || !producer->is("Identity") || !producer->input(0))
            break;
        condition = producer->inputs[0];
    }
    const auto value = knownNumber(body, known, condition);
    return value ? std::optional(*value != 0) : std::nullopt;
}

std::optional<Iterations> ofIf(const Graph& graph, const KnownValueOf& known, const Node& node) {
    const auto condition = knownNumber(graph, known, node.input(0));
    if (!condition)
        return std::nullopt;
    return Iterations{node.graphAttribute(*condition != 0 ? "then_branch" : "else_branch"), 1};
}

std::optional<Iterations> ofLoop(const Graph& graph, const KnownValueOf& known, const Node& node) {
    const GraphPtr body = node.graphAttribute("body");
    if (!body)
        return std::nullopt;
    if (node.input(1)) {
        const auto first = knownNumber(graph, known, node.input(1));
        if (!first)
            return std::nullopt;
        if (*first == 0)
            return Iterations{body, 0};
    }
    const auto limit = knownNumber(graph, known, node.input(0));
    const auto again = goesOn(*body, known);
    if (!again || (node.input(0) ? !limit : *again))
        return std::nullopt;
    const std::int64_t trips = limit ? std::max<std::int64_t>(0, *limit) : 1;
    return Iterations{body, *again ? trips : std::min<std::int64_t>(trips, 1)};
}

std::optional<Iterations> ofScan(const Graph& graph, const TypeMap& types, const Node& node) {
    const GraphPtr body = node.graphAttribute("body");
    const std::int64_t scanned = node.intAttribute("num_scan_inputs", 0);
    const auto inputs = static_cast<std::int64_t>(node.inputs.size());
    const bool batched = graph.opset("") > 0 && graph.opset("") < 9; // the first version had a batch axis and lengths
    if (!body || batched || scanned < 1 || scanned > inputs || !node.input(static_cast<std::size_t>(inputs - scanned)))
        return std::nullopt;
    const ValueType& type = types.of(node.inputs[static_cast<std::size_t>(inputs - scanned)]);
    if (!type.isTensor() || !type.shape)
        return std::nullopt;
    const auto axes = node.intsAttribute("scan_input_axes");
    const auto rank = static_cast<std::int64_t>(type.shape->size());
    const std::int64_t stated = axes.empty() ? 0 : axes[0];
    if (stated < -rank || stated >= rank)
        return std::nullopt;
    const auto size = (*type.shape)[static_cast<std::size_t>(stated < 0 ? stated + rank : stated)].constant();
    return size ? std::optional(Iterations{body, *size}) : std::nullopt;
}

} // namespace

TensorPtr knownValue(const Graph& graph, const TypeMap& types, ValueId value) {
    if (TensorPtr constant = graph.constant(value))
        return constant;
    if (const auto it = types.constants.find(value); it != types.constants.end())
        return it->second;
    const Node* producer = graph.producer(value);
    return producer && producer->is("Constant") ? producer->tensorAttribute("value") : nullptr;
}

std::optional<Iterations> knownIterations(const Graph& graph, const TypeMap& types, const Node& node, const KnownValueOf& known) {
    if (!node.domain.empty())
        return std::nullopt;
    if (node.opType == "If")
        return ofIf(graph, known, node);
    if (node.opType == "Loop")
        return ofLoop(graph, known, node);
    return node.opType == "Scan" ? ofScan(graph, types, node) : std::nullopt;
}

} // namespace nabla::engine
