// run FILE --find-nonfinite: where values that are not finite are born, what led to them, what a half type cost.
#include "app/cli/find_nonfinite.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/document/numeric_trouble.h"
#include "engine/runtime/stepper.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

nlohmann::json number(double x) {
    if (std::isfinite(x))
        return x;
    return std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

nlohmann::json nodeName(const Graph& graph, NodeId id) {
    const Node* node = graph.node(id);
    return node ? nlohmann::json(node->name.empty() ? describe(*node) : node->name) : nlohmann::json(nullptr);
}

nlohmann::json troubleJson(const Graph& graph, const NotFinite& v) {
    return {{"tensor", graph.value(v.value)->name}, {"node", nodeName(graph, v.producer)}, {"nan", v.nan}, {"infinite", v.infinite}, {"first_nan", v.firstNan},
        {"first_infinite", v.firstInfinite}, {"born_nan", v.bornNan}, {"born_infinite", v.bornInfinite}, {"shape", v.shape}};
}

nlohmann::json walkJson(const Graph& graph, const std::vector<WalkStep>& walk) {
    nlohmann::json out = nlohmann::json::array();
    for (const WalkStep& step : walk) {
        nlohmann::json causes = nlohmann::json::array();
        for (const WalkStep::Cause& cause : step.causes)
            causes.push_back({{"tensor", graph.value(cause.value)->name}, {"element", cause.element}, {"number", number(cause.number)}});
        out.push_back({{"tensor", graph.value(step.value)->name}, {"element", step.element}, {"number", number(step.number)}, {"node", nodeName(graph, step.producer)},
            {"born_here", step.bornHere}, {"causes", causes}, {"more_causes", step.more}});
    }
    return out;
}

bool worthSaying(const PrecisionLoss& loss) { return loss.saturated > 0 || loss.underflowed > 0 || loss.subnormal > 0; }

bool holdsHalf(const Graph& graph) {
    const auto typeMap = types(graph);
    return std::any_of(typeMap->values.begin(), typeMap->values.end(),
        [](const auto& entry) { return entry.second.elementType == DType::Float16 || entry.second.elementType == DType::BFloat16; });
}

} // namespace

Result<void> findNonFinite(const Graph& graph, const NamedValues& inputs, const SessionOptions& options, Context& context) {
    NABLA_TRY(const auto stepper, Stepper::create(graph, inputs, options));
    NABLA_CHECK(stepper->goTo(stepper->stepCount(), context.job));
    const Graph& executed = stepper->graph();
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < stepper->stepCount(); ++i)
        order.push_back(stepper->nodeAt(i));
    const ValueOf valueOf = [&](ValueId id) -> Result<RuntimeValue> {
        if (const TensorPtr constant = executed.constant(id); constant && !stepper->available(id))
            return RuntimeValue(*constant);
        return stepper->value(id);
    };
    NABLA_TRY(const TroubleReport report, findTrouble(executed, order, valueOf, context.job));
    const NotFinite* worst = report.firstNan() ? report.firstNan() : report.firstInfinite();
    std::vector<WalkStep> walk;
    if (worst) {
        NABLA_TRY(walk, walkBack(executed, worst->value, worst->nan ? worst->firstNan : worst->firstInfinite, valueOf, context.job));
    }
    std::vector<PrecisionLoss> losses;
    if (holdsHalf(executed)) {
        NABLA_TRY(losses, precisionLoss(executed, inputs, context.job));
    }
    nlohmann::json values = nlohmann::json::array(), precision = nlohmann::json::array();
    for (const NotFinite& v : report.values)
        values.push_back(troubleJson(executed, v));
    for (const PrecisionLoss& loss : losses)
        precision.push_back({{"tensor", executed.value(loss.value)->name}, {"count", loss.count}, {"saturated", loss.saturated}, {"underflowed", loss.underflowed},
            {"subnormal", loss.subnormal}, {"largest_relative", loss.largestRelative}});
    if (context.json) {
        const auto first = [&](const NotFinite* v) { return v ? troubleJson(executed, *v) : nlohmann::json(nullptr); };
        context.printJson(nlohmann::json{{"schema", 1}, {"finite", report.values.empty()}, {"first_nan", first(report.firstNan())}, {"first_infinite", first(report.firstInfinite())},
            {"values", values}, {"walk", walkJson(executed, walk)}, {"precision", precision}});
    } else {
        std::string text = troubleText(executed, report);
        text += walkText(executed, walk, valueOf);
        for (const PrecisionLoss& loss : losses) {
            if (worthSaying(loss))
                text += fmt::format("{}: of {} elements {} saturated, {} became zero and {} are subnormal ({:.3g} % in all) against a run in double, largest difference {:.2g} of the largest entry\n",
                    executed.value(loss.value)->name, loss.count, loss.saturated, loss.underflowed, loss.subnormal,
                    100.0 * static_cast<double>(loss.saturated + loss.underflowed + loss.subnormal) / static_cast<double>(std::max<std::int64_t>(1, loss.count)), loss.largestRelative);
        }
        context.print(text);
    }
    if (worst && context.json) // the report is the one object on stdout
        context.exitCode = exitCodeOf(ErrorKind::Check);
    else if (worst)
        return Error{ErrorKind::Check, fmt::format("{} value{} not finite", report.values.size(), report.values.size() == 1 ? " is" : "s are")};
    return {};
}

} // namespace nabla::app::cli
