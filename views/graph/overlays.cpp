// Linear in bytes and time, logarithmic in gradient size.
#include "views/graph/overlays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/analysis/topology.h"
#include "views/graph/node_text.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

using Numbers = std::unordered_map<NodeId, double>;

Overlay linear(const char* title, const Numbers& numbers, std::string (*text)(std::int64_t)) {
    Overlay out;
    out.title = title;
    double largest = 0;
    for (const auto& [id, x] : numbers)
        largest = std::max(largest, x);
    out.low = "0";
    out.high = text(static_cast<std::int64_t>(largest));
    for (const auto& [id, x] : numbers) {
        const double t = largest > 0 ? x / largest : 0;
        out.position[id] = static_cast<float>(t);
        out.share[id] = static_cast<float>(t);
        out.text[id] = text(static_cast<std::int64_t>(x));
    }
    out.amount = numbers;
    out.totalText = [text](double total) { return text(static_cast<std::int64_t>(total)); };
    return out;
}

constexpr double kDecades = 4; // from the middle of the ramp to its ends

/// The ramp's middle is the median; a power of ten is a quarter of the way to an end.
struct LogRamp {
    double middle = 0; ///< log10

    float operator()(double x) const {
        if (std::isnan(x))
            return std::numeric_limits<float>::quiet_NaN();
        return x > 0 ? static_cast<float>(std::clamp((std::log10(x) - middle) / kDecades, -1.0, 1.0)) : -1.0F;
    }
};

/// None: nothing is above zero.
std::optional<LogRamp> rampOf(const std::vector<double>& norms) {
    std::vector<double> logs;
    for (const double x : norms) {
        if (x > 0 && std::isfinite(x))
            logs.push_back(std::log10(x));
    }
    if (logs.empty())
        return std::nullopt;
    std::nth_element(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2), logs.end());
    return LogRamp{logs[logs.size() / 2]};
}

Overlay normOverlay(const LogRamp& ramp) {
    Overlay out;
    out.title = "Gradient norm, log scale";
    out.ramp = OverlayRamp::Health;
    out.low = "\u2264 " + formatNumber(std::pow(10, ramp.middle - kDecades), 2) + " vanishing";
    out.high = "exploding \u2265 " + formatNumber(std::pow(10, ramp.middle + kDecades), 2);
    out.total = Overlay::Total::Norm;
    out.totalText = [](double total) { return "\u2207 weights " + formatNumber(total); };
    out.place = ramp;
    return out;
}

Overlay nothing(const char* why) {
    Overlay out;
    out.title = why;
    return out;
}

std::optional<double> normOf(const ViewState& state, ValueId value) {
    const ValueStats* stats = gradientStats(state, value);
    return stats ? std::optional(stats->l2) : std::nullopt;
}

void addEdge(Overlay& out, const LogRamp& ramp, ValueId value, double norm) { out.edges[value] = {ramp(norm), "\u2016g\u2016 " + formatNumber(norm)}; }

Overlay backwardNorms(const ViewState& state) {
    Numbers backward;
    std::vector<double> norms;
    state.graph.forEachNode([&](const Node& node) {
        const auto norm = node.gradientOf ? normOf(state, node.output(0)) : std::nullopt;
        if (norm) {
            backward[node.id] = *norm;
            norms.push_back(*norm);
        }
    });
    const auto ramp = rampOf(norms);
    if (!ramp)
        return nothing("No gradients computed yet");
    Overlay out = normOverlay(*ramp);
    for (const auto& [id, norm] : backward) {
        out.position[id] = (*ramp)(norm);
        out.text[id] = formatNumber(norm);
        for (const ValueId output : state.graph.node(id)->outputs) {
            if (const auto each = normOf(state, output))
                addEdge(out, *ramp, output, *each);
        }
    }
    for (const auto& [forward, cotangent] : state.gradientOf) {
        const Value* value = state.graph.value(forward);
        const auto norm = value ? normOf(state, cotangent) : std::nullopt;
        if (!norm)
            continue;
        if (value->constant) { // a weight: it counts for the scope of its backward node, and for those of its readers
            if (const Value* gradient = state.graph.value(cotangent); gradient && gradient->producer)
                out.amount[gradient->producer] = std::hypot(out.amount[gradient->producer], *norm);
            for (const NodeId reader : uses(state.graph)->of(forward)) {
                if (!state.graph.node(reader)->gradientOf)
                    out.amount[reader] = std::hypot(out.amount[reader], *norm);
            }
            continue;
        }
        addEdge(out, *ramp, forward, *norm);
        if (value->producer && value->outputIndex == 0 && !backward.contains(value->producer)) {
            out.position[value->producer] = (*ramp)(*norm);
            out.text[value->producer] = "\u2191 " + formatNumber(*norm);
        }
    }
    return out;
}

/// Of the last step that has statistics.
Overlay trainingNorms(const ViewState& state) {
    const TrainingState& training = *state.training;
    const auto last = std::find_if(training.steps.rbegin(), training.steps.rend(), [&](const TrainingStepPtr& step) { return step->cells.size() == training.weights.size(); });
    if (last == training.steps.rend() || training.values.size() != training.weights.size())
        return nothing("No training step yet");
    std::unordered_map<ValueId, double> squares;
    for (std::size_t w = 0; w < training.values.size(); ++w)
        squares[training.values[w]] = (*last)->cells[w].gradient.l2 * (*last)->cells[w].gradient.l2;
    Numbers norms;
    std::vector<double> all;
    state.graph.forEachNode([&](const Node& node) {
        double sum = 0;
        bool any = false;
        for (const ValueId input : node.inputs) {
            if (const auto it = squares.find(input); it != squares.end()) {
                sum += it->second;
                any = true;
            }
        }
        if (any) {
            norms[node.id] = std::sqrt(sum);
            all.push_back(std::sqrt(sum));
        }
    });
    const auto ramp = rampOf(all);
    if (!ramp)
        return nothing("Every gradient is zero");
    Overlay out = normOverlay(*ramp);
    out.title = "Gradient norm of weights, step " + std::to_string((*last)->step);
    for (const auto& [id, norm] : norms) {
        out.position[id] = (*ramp)(norm);
        out.text[id] = "\u2207 " + formatNumber(norm);
    }
    out.amount = std::move(norms);
    return out;
}

Overlay gradients(const ViewState& state) {
    const bool backward = std::any_of(state.gradientOf.begin(), state.gradientOf.end(), [&](const auto& pair) { return state.stats.contains(pair.second); });
    if (!backward && state.training && !state.training->steps.empty())
        return trainingNorms(state);
    return backwardNorms(state);
}

} // namespace

std::optional<OverlayKind> overlayFromName(std::string_view name) {
    if (name == "none")
        return OverlayKind::None;
    if (name == "time")
        return OverlayKind::Time;
    if (name == "memory")
        return OverlayKind::Memory;
    if (name == "gradient")
        return OverlayKind::Gradient;
    return std::nullopt;
}

Overlay makeOverlay(OverlayKind kind, const ViewState& state) {
    if (kind == OverlayKind::Gradient)
        return gradients(state);
    Numbers numbers;
    if (kind == OverlayKind::Time) {
        for (const auto& [id, ns] : state.medianNs)
            numbers[id] = static_cast<double>(ns);
        return linear("Time, median", numbers, formatDurationNs);
    }
    if (kind == OverlayKind::Memory && state.types) {
        state.graph.forEachNode([&](const Node& node) {
            if (const auto bytes = bytesOf(state.types->of(node.output(0))))
                numbers[node.id] = static_cast<double>(*bytes);
        });
        return linear("Bytes of outputs", numbers, formatBytes);
    }
    return {};
}

} // namespace nabla::views
