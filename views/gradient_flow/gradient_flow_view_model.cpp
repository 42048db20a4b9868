// Thresholds and sentences.
#include "views/gradient_flow/gradient_flow_view_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "views/theme/units.h"

namespace nabla::views {

namespace {

constexpr std::size_t kLast = 5; // steps that must agree before something is called lasting

std::vector<TrainingStepPtr> withCells(const TrainingState& state) {
    std::vector<TrainingStepPtr> out;
    for (const TrainingStepPtr& step : state.steps) {
        if (step->cells.size() == state.weights.size())
            out.push_back(step);
    }
    return out;
}

/// Where log10 x lies: 0 within [low, high], else how many powers of ten outside, over `span` of them.
double band(double x, double low, double high, double span) {
    if (!(x > 0))
        return -1;
    const double p = std::log10(x);
    return p < low ? std::max(-1.0, (p - low) / span) : p > high ? std::min(1.0, (p - high) / span) : 0;
}

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void findNotFinite(const TrainingState& state, std::vector<Finding>& out) {
    for (const TrainingStepPtr& step : state.steps) {
        for (std::size_t w = 0; w < step->cells.size(); ++w) {
            if (step->cells[w].gradient.notFinite() > 0) {
                out.push_back({Finding::Kind::NotFinite, fmt::format("Not finite since step {}", step->step),
                    fmt::format("The gradient of {} has {} elements that are NaN or infinite.", state.weights[w], formatCount(step->cells[w].gradient.notFinite())), w, step->step});
                return;
            }
        }
        if (!std::isfinite(step->loss)) {
            out.push_back({Finding::Kind::NotFinite, fmt::format("The loss is not finite since step {}", step->step), "Step into it to see which value is the first.", 0, step->step});
            return;
        }
    }
}

void findExploding(const TrainingState& state, std::vector<Finding>& out) {
    std::vector<double> before;
    for (const TrainingStepPtr& step : state.steps) {
        const double usual = median(before);
        if (before.size() >= 5 && std::isfinite(step->gradientNorm) && step->gradientNorm > 10 * usual && usual > 0) {
            std::size_t worst = 0;
            for (std::size_t w = 1; w < step->cells.size(); ++w)
                worst = step->cells[w].gradient.rms() > step->cells[worst].gradient.rms() ? w : worst;
            out.push_back({Finding::Kind::Exploding, fmt::format("Exploding at step {}", step->step),
                fmt::format("The norm of all gradients is {}, {} times the median of the steps before{}.", formatNumber(step->gradientNorm), formatNumber(step->gradientNorm / usual, 2),
                    step->cells.empty() ? "" : fmt::format("; largest in {}", state.weights[worst])),
                worst, step->step});
            return;
        }
        before.push_back(step->gradientNorm);
        if (before.size() > 20)
            before.erase(before.begin());
    }
}

bool vanishes(const TrainingStep& step, std::size_t w) {
    double largest = 0;
    for (const TrainingCell& cell : step.cells)
        largest = std::max(largest, cell.gradient.rms());
    return step.cells[w].gradient.rms() < largest / 1000 && step.cells[w].updateRatio() < 1e-6;
}

/// First of the steps up to the end in all of which `holds`; nullopt when it does not hold in the last kLast.
template <typename Holds> std::optional<std::int64_t> since(const std::vector<TrainingStepPtr>& steps, Holds&& holds) {
    std::size_t first = steps.size();
    while (first > 0 && holds(*steps[first - 1]))
        --first;
    return steps.size() - first >= std::min(kLast, std::max<std::size_t>(steps.size(), 1)) && first < steps.size() ? std::optional(steps[first]->step) : std::nullopt;
}

void findVanishing(const TrainingState& state, const std::vector<TrainingStepPtr>& steps, std::vector<Finding>& out) {
    std::optional<std::size_t> top, bottom;
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    for (std::size_t w = 0; w < state.weights.size(); ++w) {
        if (const auto from = since(steps, [&](const TrainingStep& s) { return vanishes(s, w); })) {
            bottom = bottom ? bottom : w;
            top = w;
            start = std::min(start, *from);
        }
    }
    if (!top)
        return;
    const TrainingCell& cell = steps.back()->cells[*top];
    out.push_back({Finding::Kind::Vanishing,
        *top == *bottom ? fmt::format("Vanishing at {}, since step {}", state.weights[*top], start)
                        : fmt::format("Vanishing from {} down to {}, since step {}", state.weights[*top], state.weights[*bottom], start),
        fmt::format("Gradient rms {}, update to weight {}: these weights have stopped moving.", formatNumber(cell.gradient.rms()), formatNumber(cell.updateRatio())), *top, start});
}

void findDead(const TrainingState& state, const std::vector<TrainingStepPtr>& steps, std::vector<Finding>& out) {
    for (std::size_t w = 0; w < state.weights.size(); ++w) {
        const auto from = since(steps, [&](const TrainingStep& s) { return s.cells[w].units > 1 && s.cells[w].deadShare() >= 0.5; });
        if (!from)
            continue;
        const TrainingCell& cell = steps.back()->cells[w];
        out.push_back({Finding::Kind::Dead, fmt::format("Dead units in {}, since step {}", state.weights[w], *from),
            fmt::format("{} of {} units ({}) get a gradient of exactly zero: nothing can wake them.", cell.deadUnits, cell.units, percent(cell.deadShare())), w, *from});
    }
}

} // namespace

double measureOf(const TrainingCell& cell, FlowMeasure measure) {
    switch (measure) {
    case FlowMeasure::Rms: return cell.gradient.rms();
    case FlowMeasure::UpdateRatio: return cell.updateRatio();
    case FlowMeasure::ZeroShare: return cell.gradient.zeroShare();
    case FlowMeasure::DeadShare: return cell.deadShare();
    }
    return 0;
}

double healthOf(const TrainingCell& cell, FlowMeasure measure) {
    if (cell.gradient.notFinite() > 0)
        return std::numeric_limits<double>::quiet_NaN();
    switch (measure) {
    case FlowMeasure::Rms: return band(cell.gradient.rms(), -6, -1, 3);
    case FlowMeasure::UpdateRatio: return band(cell.updateRatio(), -5, -2, 2);
    case FlowMeasure::ZeroShare: return -cell.gradient.zeroShare();
    case FlowMeasure::DeadShare: return -cell.deadShare();
    }
    return 0;
}

std::vector<Finding> diagnose(const TrainingState& state) {
    std::vector<Finding> out;
    if (state.steps.empty())
        return out;
    const std::vector<TrainingStepPtr> steps = withCells(state);
    findNotFinite(state, out);
    findExploding(state, out);
    if (!steps.empty()) {
        findVanishing(state, steps, out);
        findDead(state, steps, out);
    }
    if (out.empty())
        out.push_back({Finding::Kind::Healthy, "No NaN, no Inf, no dead layer",
            fmt::format("{} weights over {} steps; loss {} → {}.", state.weights.size(), state.steps.size(), formatNumber(state.steps.front()->loss),
                formatNumber(state.steps.back()->loss)),
            0, -1});
    return out;
}

std::string cellText(const TrainingCell& cell) {
    std::string out = fmt::format("rms {} · update/weight {} · zero {}", formatNumber(cell.gradient.rms()), formatNumber(cell.updateRatio()), percent(cell.gradient.zeroShare()));
    if (cell.units > 1)
        out += fmt::format(" · dead {} of {}", cell.deadUnits, cell.units);
    if (cell.gradient.notFinite() > 0)
        out += fmt::format(" · {} not finite", cell.gradient.notFinite());
    return out;
}

} // namespace nabla::views
