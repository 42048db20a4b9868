// TrainingState: a training run as views show it, a table of weights by steps that grows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/ids.h"

namespace nabla::views {

/// One weight in one step.
struct TrainingCell {
    double rms = 0;         ///< of the gradient's finite elements
    double updateRatio = 0; ///< l2 of the update over l2 of the weight
    double zeroShare = 0;   ///< of the gradient's elements
    double deadShare = 0;   ///< units whose whole gradient is zero
    std::int64_t units = 0; ///< that deadShare is a share of
    std::int64_t notFinite = 0;
    double min = 0, max = 0; ///< of the gradient
    std::array<std::uint32_t, 32> histogram{}; ///< equal bins from min to max
};

struct TrainingStep {
    std::int64_t step = 0;
    double loss = 0, rate = 0, gradientNorm = 0, milliseconds = 0;
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
