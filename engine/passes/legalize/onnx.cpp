// Legalization of the ONNX dialect: every node lifted to the newest operator version, so that kernels and rules exist
// once; Gradient nodes, which only a graph as a whole gives a meaning, expanded.
#include <optional>

#include <fmt/format.h>

#include "engine/analysis/lift_opset.h"
#include "engine/graph/graph_editor.h"
#include "engine/passes/legalize/gradient_nodes.h"
#include "engine/passes/pass.h"

namespace nabla::engine {

namespace {

Result<Graph> lift(const Graph& graph, PassContext& context) {
    std::vector<LiftedNode> lifted;
    NABLA_TRY(Graph result, liftOpset(graph, "legalize-onnx", context.dims, context.job, &lifted));
    for (LiftedNode& node : lifted)
        context.record(fmt::format("lift-{}", node.opType), {node.node}, std::move(node.added), std::move(node.reason));
    return result;
}

Result<FunctionMap> liftFunctions(const FunctionMap& functions, PassContext& context, bool& changed) {
    FunctionMap lifted = functions;
    for (auto& [key, function] : lifted) {
        if (!function->body || (!hasOldOpset(*function->body) && !hasGradientNodes(*function->body)))
            continue;
        Function copy = *function;
        NABLA_TRY(Graph body, lift(*function->body, context).in(key));
        NABLA_TRY(std::optional<Graph> expanded, expandGradientNodes(body, *function->body, context).in(key));
        if (expanded)
            body = std::move(*expanded);
        copy.body = std::make_shared<const Graph>(std::move(body));
        function = std::make_shared<const Function>(std::move(copy));
        changed = true;
    }
    return lifted;
}

} // namespace

Result<Graph> legalizeOnnx(const Graph& graph, PassContext& context) {
    if (graph.info().dialect != "onnx")
        return runError(
            "the graph is in the dialect \"{}\", which has no legalization to ONNX operators", graph.info().dialect);
    bool functionsChanged = false;
    NABLA_TRY(FunctionMap functions, liftFunctions(graph.functions(), context, functionsChanged));
    Graph lifted = graph;
    if (hasOldOpset(graph) || functionsChanged) {
        NABLA_TRY(lifted, lift(graph, context));
    }
    if (functionsChanged) {
        GraphEditor editor(std::move(lifted));
        editor.setFunctions(std::move(functions));
        lifted = editor.finish();
    }
    NABLA_TRY(std::optional<Graph> expanded, expandGradientNodes(lifted, graph, context));
    return expanded ? std::move(*expanded) : lifted;
}

Result<Graph> legalized(const Graph& graph) {
    // A graph that is legal already is not put into its own memo, which would keep itself alive.
    struct Outcome {
        std::optional<Graph> changed;
        std::optional<Error> error;
    };
    const auto outcome = graph.memo().get<Outcome>("legalized", [&] {
        PassContext context("legalize-onnx");
        Result<Graph> result = legalizeOnnx(graph, context);
        if (!result)
            return Outcome{std::nullopt, result.error()};
        return result->sameStateAs(graph) ? Outcome{} : Outcome{std::move(*result), std::nullopt};
    });
    if (outcome->error)
        return *outcome->error;
    return outcome->changed ? *outcome->changed : graph;
}

} // namespace nabla::engine
