// Training a model of a file: data and state as .npz, statistics into a recording.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/events/execution_observer.h"
#include "engine/training/trainer.h"
#include "profiler/cpu/cpu_recorder.h"

namespace nabla::app {

/// The state of a trainer as an .npz: its values by name, and `train:step`, `train:learning_rate`.
engine::Result<void> saveTrainState(const std::filesystem::path& path, const engine::TrainState& state);
/// Errors (Read): the file; (Usage): it is no such state.
engine::Result<engine::TrainState> loadTrainState(const std::filesystem::path& path);

/// The imported graph with the trainer's weights; where legalization has renamed one, the legalized graph with them.
engine::Result<engine::Graph> trainedModel(const engine::Graph& imported, const engine::Graph& legalized, const engine::Trainer& trainer);

/// NABLA_TENSOR_STATS.kind of a training.
enum class StatsKind : std::int64_t { Weight = 0, Gradient = 1, Update = 2, UnitNorms = 3 };
profiler::TensorStatsRow statsRow(std::int64_t step, engine::ValueId value, StatsKind kind);
profiler::TensorStatsRow statsRow(std::int64_t step, engine::ValueId value, StatsKind kind, const engine::TensorStatistics& statistics);
engine::TensorStatistics statisticsOf(const profiler::TensorStatsRow& row);

/// Records the steps of a trainer: time slices, loss, rate and gradient norm as counters, and rows of NABLA_TENSOR_STATS per weight.
/// `kind` there: 0 weight, 1 gradient, 2 update (new - old), 3 l2 norms of the gradient per unit (`count` units, `zero` of them dead). `histogram`: 32
/// little-endian uint32, equal bins from min to max.
class TrainRecording {
public:
    static engine::Result<std::unique_ptr<TrainRecording>> start(const std::filesystem::path& path, engine::Trainer& trainer,
        const engine::NamedValues& firstBatch, const std::string& label);
    engine::ExecutionObserver* observer() { return &m_observer; }
    void add(const engine::StepReport& report);
    engine::Result<profiler::RecordingReport> stop() { return m_recorder->stop(); }

private:
    TrainRecording() = default;
    engine::ExecutionObserver m_observer;
    std::unique_ptr<profiler::CpuRecorder> m_recorder;
    std::int64_t m_firstStep = 0;
};

} // namespace nabla::app
