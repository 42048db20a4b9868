// TrainingState: a training run as views show it, a table of weights by steps that grows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/ids.h"
#include "engine/tensor/tensor_statistics.h"

namespace nabla::views {

/// One weight in one step.
struct TrainingCell {
    engine::TensorStatistics gradient; ///< before clipping
    engine::TensorStatistics weight;   ///< before the update
    double updateL2 = 0;               ///< of the weight after the step minus the weight before
    std::int64_t units = 0;            ///< that the weight feeds: its output channels, features, …
    std::int64_t deadUnits = 0;        ///< of these, with a gradient of exactly zero

    double updateRatio() const { return weight.l2 > 0 ? updateL2 / weight.l2 : 0; }
    double deadShare() const { return units > 0 ? static_cast<double>(deadUnits) / static_cast<double>(units) : 0; }
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
