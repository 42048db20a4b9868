// What a training run's gradients say: a measure per weight and step, and a diagnosis in plain words; no Qt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "views/training_state.h"

namespace nabla::views {

enum class FlowMeasure : std::uint8_t { Rms, UpdateRatio, ZeroShare, DeadShare };

double measureOf(const TrainingCell& cell, FlowMeasure measure);
/// -1 (too small) .. 0 (healthy) .. 1 (too large), for the colour; NaN where something is not finite. Healthy bands, in powers of ten: rms
/// 1e-6 .. 1e-1, update to weight 1e-5 .. 1e-2 (about 1e-3 is the usual aim); shares are -1 at 100 %.
double healthOf(const TrainingCell& cell, FlowMeasure measure);

struct Finding {
    enum class Kind : std::uint8_t { NotFinite, Exploding, Vanishing, Dead, Healthy } kind = Kind::Healthy;
    std::string title, text;
    std::size_t weight = 0;       ///< where to look, into TrainingState::weights
    std::int64_t step = -1;       ///< when it began; -1: no step
};
/// Worst first; one Healthy finding when there is nothing to say. Empty without steps.
///   NotFinite  a gradient or the loss is NaN or infinite: the first step and weight.
///   Exploding  the norm of all gradients is above 10 times the median of the 20 steps before it.
///   Vanishing  the last steps' rms is below 1/1000 of the largest weight's and updates move it by less than 1e-6.
///   Dead       half of the units or more had a gradient of exactly zero in each of the last steps.
std::vector<Finding> diagnose(const TrainingState& state);

/// `0.00123 · update/weight 8.1e−4 · zero 12 % · dead 0 of 16` of one cell.
std::string cellText(const TrainingCell& cell);

} // namespace nabla::views
