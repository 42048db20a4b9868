// TrainingState: a training run as views show it, a table of weights by steps that grows.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/ids.h"

namespace nabla::views {

/// All elements of a weight or of its gradient; those that are not finite are counted and left out of the rest.
struct TrainingTensor {
    std::int64_t count = 0, nan = 0, inf = 0, zero = 0;
    double min = 0, max = 0, mean = 0, std = 0, l2 = 0;
    std::array<std::uint32_t, 32> histogram{}; ///< equal bins from min to max
};

/// One weight in one step.
struct TrainingCell {
    TrainingTensor gradient;    ///< before clipping
    TrainingTensor weight;      ///< before the update
    double updateL2 = 0;        ///< of the weight after the step minus the weight before
    std::int64_t units = 0;     ///< that the weight feeds: its output channels, features, …
    std::int64_t deadUnits = 0; ///< of these, with a gradient of exactly zero

    double rms() const { return gradient.count > 0 ? gradient.l2 / std::sqrt(static_cast<double>(gradient.count)) : 0; }
    double updateRatio() const { return weight.l2 > 0 ? updateL2 / weight.l2 : 0; }
    double zeroShare() const { return gradient.count > 0 ? static_cast<double>(gradient.zero) / static_cast<double>(gradient.count) : 0; }
    double deadShare() const { return units > 0 ? static_cast<double>(deadUnits) / static_cast<double>(units) : 0; }
    std::int64_t notFinite() const { return gradient.nan + gradient.inf; }
};

struct TrainingStep {
    std::int64_t step = 0;
    double loss = 0, rate = 0, gradientNorm = 0, milliseconds = 0;
    std::int64_t endUtcNs = 0; ///< when it was done, ns since 1970
    std::vector<TrainingCell> cells; ///< by weight, as TrainingState::weights
};
using TrainingStepPtr = std::shared_ptr<const TrainingStep>;

struct TrainingState {
    enum class Phase : std::uint8_t { Running, Paused, Ended };

    std::vector<std::string> weights;            ///< names, first layer first
    std::vector<engine::ValueId> values;
    std::vector<TrainingStepPtr> steps;
    std::int64_t wanted = 0;                     ///< steps to do in all
    Phase phase = Phase::Running;
    double rate = 0;                             ///< base rate of the next step
    std::string title;                           ///< "adam, rate 0.001, batch 32"
    std::string error;                           ///< why it ended early
};

} // namespace nabla::views
