// Sentences; names are cut, numbers are those of the inspector.
#include "views/problems/trouble_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/autodiff/chain_rule.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

std::string numberText(double x) { return std::isnan(x) ? "NaN" : std::isinf(x) ? (x > 0 ? "inf" : "-inf") : fmt::format("{:.6g}", x); }

std::string valueText(const Graph& graph, const ElementPlace& place) {
    const Value* value = graph.value(place.value);
    return value ? value->name.substr(0, 200) : std::string("?");
}

std::string stopText(const Graph& graph, const TroubleStop& stop, bool isBirth) {
    const std::string maker = makerText(graph, stop.at);
    const bool nan = std::isnan(stop.at.number);
    if (!stop.at.producer)
        return fmt::format("comes in by {}", maker);
    if (!isBirth && !stop.born)
        return fmt::format("carried on by {}", maker);
    const bool infinite = std::any_of(stop.causes.begin(), stop.causes.end(), [](const ElementPlace& cause) { return std::isinf(cause.number); });
    return fmt::format("{} is born here: {} read {}", nan ? "NaN" : "infinity", maker, infinite ? "infinities, but no NaN" : "finite elements only");
}

} // namespace

std::string placeText(const Graph& graph, const ElementPlace& place) {
    return fmt::format("{}{} = {}", valueText(graph, place), elementText(place.element, place.shape), numberText(place.number));
}

std::string makerText(const Graph& graph, const ElementPlace& place) {
    if (const Node* node = graph.node(place.producer))
        return node->name.empty() ? describe(*node) : fmt::format("{} ({})", node->name.substr(0, 200), node->opType.substr(0, 100));
    return graph.constant(place.value) ? "a weight" : place.producer ? "a node made by legalization" : "a graph input";
}

bool isSerious(const NumericTrouble& trouble) { return std::isnan(trouble.first.number) || trouble.born; }

std::string troubleTitle(const Graph& graph, const NumericTrouble& trouble) {
    const bool nan = std::isnan(trouble.first.number);
    return fmt::format("First {}: {}{}, {} {}{}", nan ? "NaN" : "infinity", valueText(graph, trouble.first), elementText(trouble.first.element, trouble.first.shape),
        trouble.first.producer ? "made by" : "in", makerText(graph, trouble.first), trouble.backward ? " in the backward pass" : "");
}

std::string troubleDetail(const Graph& graph, const NumericTrouble& trouble) {
    const bool nan = std::isnan(trouble.first.number);
    return fmt::format("{} element{} of {} {} {}; {} value{} not finite", formatCount(trouble.count), trouble.count == 1 ? "" : "s", valueText(graph, trouble.first),
        trouble.count == 1 ? "is" : "are", nan ? "NaN" : "infinite", trouble.values, trouble.values == 1 ? " is" : "s are");
}

std::vector<TroubleRow> troubleRows(const Graph& graph, const NumericTrouble& trouble) {
    using Kind = TroubleRow::Kind;
    std::vector<TroubleRow> rows;
    rows.push_back({Kind::First, troubleTitle(graph, trouble), trouble.error.empty() ? troubleDetail(graph, trouble) : trouble.error, trouble.first});
    for (std::size_t i = 0; i < trouble.walk.size(); ++i) {
        const TroubleStop& stop = trouble.walk[i];
        const bool birth = i == trouble.birth;
        rows.push_back({birth ? Kind::Birth : Kind::Stop, placeText(graph, stop.at), stopText(graph, stop, birth), stop.at});
        if (stop.causes.size() == 1 && i + 1 < trouble.walk.size())
            continue;
        for (const ElementPlace& cause : stop.causes)
            rows.push_back({Kind::Cause, placeText(graph, cause), fmt::format("read by {}, from {}", makerText(graph, stop.at), makerText(graph, cause)), cause});
        if (stop.more)
            rows.back().detail += "; and more";
    }
    return rows;
}

} // namespace nabla::views
