// Walks over what was read. The engine's own makers keep these promises, so that the engine asserts them and does not ask.
#include "app/document/state_checks.h"

#include <algorithm>
#include <unordered_set>

#include "engine/graph/verifier.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr std::uint64_t kMostNodes = std::uint64_t{1} << 26; ///< of a graph with all its bodies

template <typename List> Result<void> checkIds(const List& entries, std::string_view what) {
    std::unordered_set<std::uint32_t> seen;
    for (const auto& each : entries) {
        if (!each->id)
            return readError("a {} without id", what);
        if (!seen.insert(each->id.value).second)
            return readError("{} id {} is there twice", what, each->id.value);
    }
    return {};
}

Result<void> checkValue(const Graph& graph, const Value& value) {
    if (!value.producer)
        return {};
    if (value.constant)
        return readError("value \"{}\" is a constant and is made by a node", value.name);
    const Node* producer = graph.node(value.producer);
    if (!producer || producer->output(value.outputIndex) != value.id)
        return readError("value \"{}\" names node {} as its producer, which does not make it", value.name, value.producer.value);
    return {};
}

/// Inputs and captures are values from outside, each once.
Result<void> checkFormals(const Graph& graph) {
    std::unordered_set<std::uint32_t> seen;
    for (const auto list : {graph.inputs(), graph.captures()}) {
        for (const ValueId id : list) {
            const Value* value = graph.value(id);
            if (!value || value->producer || !seen.insert(id.value).second)
                return readError("input {} of graph \"{}\" is made by a node, is there twice or not at all", id.value, graph.name());
        }
    }
    for (const ValueId id : graph.captures()) {
        if (graph.value(id)->constant)
            return readError("capture {} of graph \"{}\" is a constant", id.value, graph.name());
    }
    return {};
}

} // namespace

Result<void> checkPatch(const Graph& before, const GraphPatch& patch) {
    NABLA_CHECK(checkIds(patch.nodes, "node"));
    NABLA_CHECK(checkIds(patch.values, "value"));
    for (const NodeId id : patch.removedNodes) {
        if (!before.node(id))
            return readError("node {} is removed and is not there", id.value);
    }
    for (const ValueId id : patch.removedValues) {
        if (!before.value(id))
            return readError("value {} is removed and is not there", id.value);
    }
    return {};
}

std::uint64_t tableSlots(const Graph& before, const GraphPatch& patch) {
    const auto slots = [](auto last, const auto& entries, std::size_t removed) {
        std::uint64_t largest = last;
        for (const auto& each : entries)
            largest = std::max<std::uint64_t>(largest, each->id.value);
        const std::uint64_t chunks = largest / 64 + 1;
        return chunks + 64 * std::min<std::uint64_t>(chunks, entries.size() + removed);
    };
    std::uint32_t lastNode = 0, lastValue = 0;
    before.forEachNode([&](const Node& node) { lastNode = node.id.value; });
    before.forEachValue([&](const Value& value) { lastValue = value.id.value; });
    return slots(lastNode, patch.nodes, patch.removedNodes.size()) + slots(lastValue, patch.values, patch.removedValues.size());
}

Result<void> checkSparse(const SparseTensor& tensor) {
    if (!tensor.values || !tensor.indices)
        return readError("a sparse tensor without values or indices");
    const Shape& indices = tensor.indices->shape();
    const std::int64_t count = tensor.values->elementCount(), rank = static_cast<std::int64_t>(tensor.shape.size());
    const bool linear = indices == Shape{count}, byAxis = indices == Shape{count, rank};
    if (tensor.values->rank() != 1 || tensor.indices->dtype() != DType::Int64 || (!linear && !byAxis))
        return readError("a sparse tensor of shape {} has values {} and indices {}", toString(tensor.shape), toString(tensor.values->shape()), toString(indices));
    const auto all = tensor.indices->data<std::int64_t>();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int64_t end = linear ? elementCount(tensor.shape) : tensor.shape[i % static_cast<std::size_t>(rank)];
        if (all[i] < 0 || all[i] >= end)
            return readError("index {} of a sparse tensor is outside {}", all[i], end);
    }
    return {};
}

Result<void> checkJoint(const JointGraph& joint) {
    for (const auto* map : {&joint.gradientOf, &joint.cotangentInput, &joint.seedOf}) {
        for (const auto& [from, to] : *map) {
            if (!joint.graph.value(from) || !joint.graph.value(to))
                return readError("gradient {} of value {} is not in the graph", to.value, from.value);
        }
    }
    for (const ValueId id : joint.wrt) {
        if (!joint.graph.value(id))
            return readError("value {}, differentiated to, is not in the graph", id.value);
    }
    return {};
}

Result<void> GraphSizes::check(const Graph& graph) {
    if (const auto faults = verify(graph); !faults.empty())
        return readError("graph \"{}\": {}", graph.name(), faults.front());
    Result<void> result;
    graph.forEachValue([&](const Value& value) {
        if (result)
            result = checkValue(graph, value);
    });
    NABLA_CHECK(std::move(result));
    NABLA_CHECK(checkFormals(graph));
    std::uint64_t total = graph.nodeCount();
    const auto add = [&](const Graph& body) { total = std::min(kMostNodes + 1, total + m_nodes[&body.memo()]); };
    graph.forEachNode([&](const Node& node) {
        for (const auto& [name, body] : node.bodies())
            add(*body);
    });
    for (const auto& [key, function] : graph.functions())
        add(*function->body);
    if (total > kMostNodes)
        return readError("graph \"{}\" has more than {} nodes with its bodies", graph.name(), kMostNodes);
    m_nodes[&graph.memo()] = total;
    return {};
}

} // namespace nabla::app
