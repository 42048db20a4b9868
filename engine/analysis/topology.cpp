// Kahn's algorithm over ids, and the index of readers.
#include "engine/analysis/topology.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace nabla::engine {

namespace {

template <typename F> void forEachRead(const Node& node, F&& f) {
    for (const ValueId value : node.inputs) {
        if (value)
            f(value);
    }
    for (const ValueId value : node.captures) {
        if (value)
            f(value);
    }
}

/// Ids ascend along every edge: then ascending ids are the order, and no queue is needed. Imported graphs are nearly always so.
bool idsAreSorted(const Graph& graph) {
    bool sorted = true;
    graph.forEachNode([&](const Node& node) {
        forEachRead(node, [&](ValueId id) {
            const Value* value = graph.value(id);
            if (value && value->producer && value->producer >= node.id)
                sorted = false;
        });
    });
    return sorted;
}

TopologicalOrder computeOrder(const Graph& graph) {
    TopologicalOrder result;
    result.order.reserve(graph.nodeCount());
    if (idsAreSorted(graph)) {
        graph.forEachNode([&](const Node& node) { result.order.push_back(node.id); });
        return result;
    }
    std::unordered_map<NodeId, std::size_t> waitsFor;
    std::unordered_map<NodeId, std::vector<NodeId>> readers;
    std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
    graph.forEachNode([&](const Node& node) {
        std::size_t count = 0;
        forEachRead(node, [&](ValueId id) {
            if (const Value* value = graph.value(id); value && value->producer) {
                readers[value->producer].push_back(node.id);
                ++count;
            }
        });
        waitsFor.emplace(node.id, count);
        if (count == 0)
            ready.push(node.id);
    });
    while (!ready.empty()) {
        const NodeId id = ready.top();
        ready.pop();
        result.order.push_back(id);
        for (const NodeId reader : readers[id]) {
            if (--waitsFor[reader] == 0)
                ready.push(reader);
        }
    }
    if (result.order.size() < graph.nodeCount()) {
        graph.forEachNode([&](const Node& node) {
            if (waitsFor[node.id] > 0)
                result.inCycle.push_back(node.id);
        });
    }
    return result;
}

Uses computeUses(const Graph& graph) {
    Uses result;
    result.consumers.reserve(graph.valueCount());
    graph.forEachNode([&](const Node& node) {
        forEachRead(node, [&](ValueId id) {
            auto& list = result.consumers[id];
            if (list.empty() || list.back() != node.id) // nodes come by ascending id, so a repeat is the last entry
                list.push_back(node.id);
        });
    });
    return result;
}

} // namespace

std::shared_ptr<const TopologicalOrder> topologicalOrder(const Graph& graph) {
    return graph.memo().get<TopologicalOrder>("topologicalOrder", [&] { return computeOrder(graph); });
}

const std::vector<NodeId>& Uses::of(ValueId value) const {
    static const std::vector<NodeId> kNone;
    const auto it = consumers.find(value);
    return it == consumers.end() ? kNone : it->second;
}

std::shared_ptr<const Uses> uses(const Graph& graph) {
    return graph.memo().get<Uses>("uses", [&] { return computeUses(graph); });
}

} // namespace nabla::engine
