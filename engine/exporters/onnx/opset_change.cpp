// By the versions of the schemas.
#include "engine/exporters/onnx/opset_change.h"

#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

Result<void> checkGraph(const Graph& graph, const Graph& root, std::int64_t from, std::int64_t to) {
    Result<void> result;
    graph.forEachNode([&](const Node& node) {
        if (!result)
            return;
        if (node.domain.empty() && !root.function(node)) {
            const OperatorSchema *now = findSchema(node.opType, "", from), *then = findSchema(node.opType, "", to);
            if (now && !then)
                result = runError("{}: opset {} has no operator {}", describe(node), to, node.opType);
            else if (now && then && now->sinceVersion != then->sinceVersion)
                result = runError("{}: {}-{} of opset {} differs from {}-{} of opset {}", describe(node), node.opType, now->sinceVersion, from, node.opType, then->sinceVersion, to);
        }
        for (const auto& [name, body] : node.bodies()) {
            if (result)
                result = checkGraph(*body, root, from, to);
        }
    });
    return result;
}

} // namespace

Result<void> checkOpsetChange(const Graph& graph, std::int64_t opset) {
    if (opset < 1 || opset > newestOpset(""))
        return usageError("opset {} does not exist; the newest known is {}", opset, newestOpset(""));
    NABLA_CHECK(checkGraph(graph, graph, graph.opset(""), opset));
    for (const auto& [key, function] : graph.functions()) {
        const std::int64_t own = function->body->opset("");
        NABLA_CHECK(checkGraph(*function->body, graph, own > 0 ? own : graph.opset(""), opset).in(key));
    }
    return {};
}

} // namespace nabla::engine
