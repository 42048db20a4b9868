// One walk over the tables.
#include "engine/graph/verifier.h"

#include <unordered_set>

#include <fmt/format.h>

namespace nabla::engine {

namespace {

void verifyNode(const Graph& graph, const Node& node, std::vector<std::string>& faults) {
    const auto need = [&](ValueId value, std::string_view what) {
        if (value && !graph.value(value))
            faults.push_back(fmt::format("{}: {} value {} is not in the graph", describe(node), what, value.value));
    };
    for (const ValueId value : node.inputs)
        need(value, "input");
    for (const ValueId value : node.captures)
        need(value, "captured");
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
        need(node.outputs[i], "output");
        const Value* value = graph.value(node.outputs[i]);
        if (value && (value->producer != node.id || value->outputIndex != i))
            faults.push_back(fmt::format("{}: output \"{}\" names another producer", describe(node), value->name));
    }
    for (const auto& [name, body] : node.bodies()) {
        if (body->captures().size() != node.captures.size())
            faults.push_back(fmt::format("{}: body {} has {} captures, the node {}", describe(node), name, body->captures().size(), node.captures.size()));
    }
}

} // namespace

std::vector<std::string> verify(const Graph& graph) {
    std::vector<std::string> faults;
    graph.forEachNode([&](const Node& node) { verifyNode(graph, node, faults); });
    std::unordered_set<std::string_view> names;
    graph.forEachValue([&](const Value& value) {
        if (!names.insert(value.name).second)
            faults.push_back(fmt::format("two values are called \"{}\"", value.name));
        if (value.producer && !graph.node(value.producer))
            faults.push_back(fmt::format("value \"{}\" names a producer that is not in the graph", value.name));
    });
    for (const auto list : {graph.inputs(), graph.captures(), graph.outputs()}) {
        for (const ValueId id : list) {
            if (!graph.value(id))
                faults.push_back(fmt::format("graph input or output {} is not in the graph", id.value));
        }
    }
    return faults;
}

} // namespace nabla::engine
