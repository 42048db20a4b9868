// Choosing values, and wording the explanation.
#include "views/gradient/gradient_view_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

constexpr std::size_t kTermRows = 8, kChainRows = 14;

bool isForwardValue(const ViewState& state, ValueId value) {
    const Node* producer = state.main().producer(value);
    return state.gradientOf.contains(value) && !(producer && producer->gradientOf);
}

std::string nodeName(const Graph& graph, NodeId id) {
    const Node* node = graph.node(id);
    if (!node)
        return "?";
    return node->name.empty() ? fmt::format("{} {}", node->opType, node->id.value) : node->name;
}

std::string valueName(const Graph& graph, ValueId id) {
    const Value* value = graph.value(id);
    return value ? value->name : "?";
}

/// The forward value that `cotangent` belongs to; none when it is no cotangent.
ValueId forwardOf(const ViewState& state, ValueId cotangent) {
    ValueId found;
    for (const auto& [forward, back] : state.gradientOf) {
        if (back == cotangent && (!found || forward < found))
            found = forward;
    }
    return found;
}

/// Relative difference in words: `2.9e−7`, or nothing to compare with.
std::string relative(double value, double reference) {
    const double scale = std::max(std::fabs(reference), 1e-300);
    return value == reference ? "0" : formatNumber(std::fabs(value - reference) / scale, 2);
}

} // namespace

std::vector<GradientChoice> gradientChoices(const ViewState& state) {
    std::vector<ValueId> order;
    const auto want = [&](ValueId value) {
        if (value && isForwardValue(state, value) && std::find(order.begin(), order.end(), value) == order.end())
            order.push_back(value);
    };
    const Node* node = state.main().node(state.selection.node);
    const Node* forward = node && node->gradientOf ? state.main().node(node->gradientOf) : node;
    const bool isInput = forward && std::find(forward->inputs.begin(), forward->inputs.end(), state.selection.value) != forward->inputs.end();
    if (state.selection.value && (!node || isInput))
        want(state.selection.value);
    if (node && node->gradientOf) {
        for (const ValueId output : node->outputs)
            want(forwardOf(state, output));
    }
    if (!node)
        want(forwardOf(state, state.selection.value));
    if (forward) {
        for (const auto* values : {&forward->inputs, &forward->captures, &forward->outputs}) {
            for (const ValueId value : *values)
                want(value);
        }
    }
    std::vector<GradientChoice> out;
    for (const ValueId value : order)
        out.push_back({value, valueName(state.main(), value)});
    return out;
}

bool gradientIsThere(const ViewState& state, ValueId value) {
    const auto it = state.gradientOf.find(value);
    return it != state.gradientOf.end() && state.values && state.values->contains(it->second);
}

std::int64_t largestGradient(const ViewState& state, ValueId value) {
    if (!gradientIsThere(state, value))
        return 0;
    const RuntimeValue& gradient = state.values->at(state.gradientOf.at(value));
    if (!gradient.isTensor())
        return 0;
    std::int64_t best = 0;
    double largest = -1;
    const std::int64_t count = std::min<std::int64_t>(gradient.tensor().elementCount(), 4'000'000);
    for (std::int64_t i = 0; i < count; ++i) {
        if (const double x = std::fabs(gradient.tensor().asDouble(i)); x > largest) {
            largest = x;
            best = i;
        }
    }
    return best;
}

GradientLack gradientLack(const ViewState& state) {
    if (!state.hasDocument())
        return {"No model is open.", "Open", "open"};
    if (state.gradientOf.empty())
        return {"This graph has no backward pass yet.", "Differentiate", "differentiate"};
    const auto choices = gradientChoices(state);
    if (choices.empty())
        return {"Select a node or a value with a gradient: in the graph, the outline or the inspector.", "", ""};
    if (!gradientIsThere(state, choices.front().value))
        return {fmt::format("The backward pass has not reached \"{}\" yet.", choices.front().name), "Run", "run"};
    return {};
}

namespace {

void fillTerms(GradientModel& model, const ViewState& state, const ChainPath& path, double x) {
    const Graph& graph = state.main();
    if (path.terms.empty()) {
        model.sumText = path.cut.empty() ? "no output depends on this element here" : path.cut;
        return;
    }
    const auto shapeOf = [&](ValueId value) {
        if (!state.values)
            return Shape{};
        const auto it = state.values->find(value);
        return it != state.values->end() && it->second.isTensor() ? it->second.tensor().shape() : Shape{};
    };
    const ChainTerm& top = path.terms.front();
    model.upstream = {"∂L/∂y", formatNumber(top.upstream, 4), fmt::format("y = {}{}", valueName(graph, top.output), elementText(top.index, shapeOf(top.output)))};
    model.local = {"∂y/∂x", formatNumber(top.local, 4), fmt::format("x = {}", formatNumber(x, 4))};
    model.result = {path.termCount > 1 ? "product" : "∂L/∂x", formatNumber(top.product(), 4), fmt::format("by {}", nodeName(graph, path.reader))};
    if (path.termCount <= 1)
        return;
    model.sumText = fmt::format("largest of {} products; their sum is {}", formatCount(path.termCount), formatNumber(path.share, 4));
    double shown = 0;
    for (std::size_t i = 0; i < std::min(path.terms.size(), kTermRows); ++i) {
        const ChainTerm& term = path.terms[i];
        shown += term.product();
        model.terms.push_back({{elementText(term.index, shapeOf(term.output)), fmt::format("{} × {}", formatNumber(term.upstream, 4), formatNumber(term.local, 4)),
                                   formatNumber(term.product(), 4)}, path.reader, term});
    }
    if (const std::int64_t more = path.termCount - static_cast<std::int64_t>(model.terms.size()); more > 0)
        model.terms.push_back({{fmt::format("{} more", formatCount(more)), "", formatNumber(path.share - shown, 4)}, {}, {}});
}

void fillPaths(GradientModel& model, const ViewState& state, const ChainRule& rule) {
    if (rule.paths.size() + (rule.seed ? 1U : 0U) < 2)
        return;
    for (const ChainPath& path : rule.paths)
        model.paths.push_back({{nodeName(state.main(), path.reader), path.cut.empty() ? formatNumber(path.share, 4) : "cut"}, path.reader, {}});
    if (rule.seed)
        model.paths.push_back({{"given from outside", formatNumber(*rule.seed, 4)}, {}, {}});
    model.paths.push_back({{"sum", formatNumber(rule.total, 4)}, {}, {}});
}

void fillChecks(GradientModel& model, const Explanation& explanation) {
    const ChainRule& rule = explanation.rule;
    const double reference = explanation.check ? explanation.check->reference : rule.total;
    if (rule.gradient)
        model.checks.push_back({{"this graph", formatNumber(*rule.gradient, 6), relative(*rule.gradient, reference)}, {}, {}});
    model.checks.push_back({{"products", formatNumber(rule.total, 6), relative(rule.total, reference)}, {}, {}});
    if (!explanation.check)
        return;
    model.checks.push_back({{"in double", formatNumber(reference, 6), "reference"}, {}, {}});
    model.checks.push_back({{"differences", formatNumber(explanation.check->central, 6),
                                relative(explanation.check->central, reference)}, {}, {}});
}

/// From the value up to what is differentiated: at each step the reader whose output has the largest gradient; shown from there down.
void fillChain(GradientModel& model, const ViewState& state, ValueId value) {
    const auto rmsOf = [&](ValueId v) -> std::optional<double> {
        const auto back = state.gradientOf.find(v);
        const ValueStats* stats = back == state.gradientOf.end() ? nullptr : gradientStats(state, back->second);
        return stats ? std::optional(stats->rms()) : std::nullopt;
    };
    struct Link {
        ValueId value;
        NodeId reader; // that leads up
    };
    std::vector<Link> links;
    const auto readers = uses(state.main());
    for (ValueId at = value; links.size() < kChainRows;) {
        Link link{at, {}};
        ValueId next;
        double largest = -1;
        for (const NodeId id : readers->of(at)) {
            const Node& node = *state.main().node(id);
            if (node.gradientOf)
                continue;
            for (const ValueId output : node.outputs) {
                if (!output || !isForwardValue(state, output) || output == at)
                    continue;
                if (const double rms = rmsOf(output).value_or(0); rms > largest) {
                    largest = rms;
                    next = output;
                    link.reader = id;
                }
            }
        }
        links.push_back(link);
        if (!next)
            break;
        at = next;
    }
    std::reverse(links.begin(), links.end());
    std::optional<double> above;
    for (const Link& link : links) {
        const std::optional<double> rms = rmsOf(link.value);
        const Node* producer = state.main().producer(link.value);
        model.chain.push_back({{valueName(state.main(), link.value), rms && above && *above > 0 ? fmt::format("× {}", formatNumber(*rms / *above, 3)) : "",
                                   rms ? formatNumber(*rms, 3) : "not there"}, producer ? producer->id : link.reader, {}});
        above = rms;
    }
}

} // namespace

GradientModel gradientModel(const ViewState& state, std::size_t path) {
    GradientModel model;
    if (!state.explanation)
        return model;
    const Explanation& explanation = *state.explanation;
    const ChainRule& rule = explanation.rule;
    if (path < rule.paths.size()) {
        const ChainPath& shown = rule.paths[path];
        const Node* reader = state.main().node(shown.reader);
        model.subtitle = fmt::format("read by {}{}", nodeName(state.main(), shown.reader), reader ? fmt::format(", {}", reader->opType) : "");
        model.rule = shown.rule;
        fillTerms(model, state, shown, rule.x);
        if (shown.measured)
            model.sumText += model.sumText.empty() ? "local derivative by central differences" : "; local derivatives by central differences";
    } else if (rule.seed) {
        model.subtitle = "what is differentiated";
        model.rule = fmt::format("∂L/∂x = {}, given", formatNumber(*rule.seed, 4));
    }
    fillPaths(model, state, rule);
    fillChecks(model, explanation);
    fillChain(model, state, rule.value);
    return model;
}

} // namespace nabla::views
