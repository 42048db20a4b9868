// Linear in bytes and time, logarithmic in gradient size.
#include "views/graph/overlays.h"

#include <algorithm>
#include <cmath>

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
    return out;
}

/// Healthy is the middle: rms within two decades of the median is near 0, four decades away is the end of the ramp.
Overlay gradients(const ViewState& state) {
    Overlay out;
    out.title = "Gradient rms";
    out.ramp = OverlayRamp::Health;
    std::unordered_map<NodeId, double> rms;
    state.graph.forEachNode([&](const Node& node) {
        if (!node.gradientOf)
            return;
        const auto it = state.stats.find(node.output(0));
        if (it != state.stats.end() && it->second.count > 0)
            rms[node.id] = it->second.rms;
    });
    std::vector<double> logs;
    for (const auto& [id, x] : rms) {
        if (x > 0)
            logs.push_back(std::log10(x));
    }
    if (logs.empty())
        return out;
    std::nth_element(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2), logs.end());
    const double median = logs[logs.size() / 2];
    out.low = "vanishing";
    out.high = "exploding";
    for (const auto& [id, x] : rms) {
        out.position[id] = x > 0 ? static_cast<float>(std::clamp((std::log10(x) - median) / 4, -1.0, 1.0)) : -1.0F;
        out.text[id] = "rms " + formatNumber(x);
    }
    // The forward node shows the cotangent of its first output.
    for (const auto& [forward, cotangent] : state.gradientOf) {
        const Value* value = state.graph.value(forward);
        const auto it = state.stats.find(cotangent);
        if (!value || !value->producer || value->outputIndex != 0 || it == state.stats.end() || rms.contains(value->producer))
            continue;
        const double x = it->second.rms;
        out.position[value->producer] = x > 0 ? static_cast<float>(std::clamp((std::log10(x) - median) / 4, -1.0, 1.0)) : -1.0F;
        out.text[value->producer] = "\u2191 rms " + formatNumber(x);
    }
    return out;
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
