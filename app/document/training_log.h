// Training runs in a `.nabla` file: what a window trained, written beside the history, and what `train --record` wrote, read again.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/base/stop.h"
#include "views/training_state.h"

namespace nabla::app {

using TrainingPtr = std::shared_ptr<const views::TrainingState>;

/// Appends one run: a step row with its loss for every step, rate and gradient norm as counters, statistics of weights and gradients with the
/// kinds of TrainRecording (of updates and unit norms the counts and norms only). Makes the file when there is none. Errors: of RecordingWriter.
engine::Result<void> saveTraining(const std::filesystem::path& path, const views::TrainingState& training, const engine::JobControl& job = {});

/// Every training of the file (a run whose steps have a loss), oldest first, as ended trainings. Errors (Read): of Recording.
engine::Result<std::vector<TrainingPtr>> loadTrainings(const std::filesystem::path& path, const engine::JobControl& job = {});

} // namespace nabla::app
