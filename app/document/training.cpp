// State files, trained models, rows of statistics.
#include "app/document/training.h"

#include <bit>
#include <cstring>

#include "app/document/recording.h"
#include "engine/importers/values/npz.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr const char* kStep = "train:step";
constexpr const char* kRate = "train:learning_rate";

} // namespace

static_assert(std::endian::native == std::endian::little, "histograms are stored as little-endian numbers");

profiler::TensorStatsRow statsRow(std::int64_t step, ValueId value, StatsKind kind) {
    profiler::TensorStatsRow out;
    out.stepId = step;
    out.valueId = value.value;
    out.kind = static_cast<std::int64_t>(kind);
    return out;
}

profiler::TensorStatsRow statsRow(std::int64_t step, ValueId value, StatsKind kind, const TensorStatistics& s) {
    profiler::TensorStatsRow out = statsRow(step, value, kind);
    out.count = s.count;
    out.nan = s.nan;
    out.inf = s.inf;
    out.zero = s.zero;
    out.min = s.min;
    out.max = s.max;
    out.mean = s.mean;
    out.std = s.std;
    out.l2 = s.l2;
    out.histogram.resize(sizeof s.histogram);
    std::memcpy(out.histogram.data(), s.histogram.data(), out.histogram.size());
    return out;
}

TensorStatistics statisticsOf(const profiler::TensorStatsRow& row) {
    TensorStatistics out{row.count, row.nan, row.inf, row.zero, row.min, row.max, row.mean, row.std, row.l2, {}};
    if (row.histogram.size() == sizeof out.histogram)
        std::memcpy(out.histogram.data(), row.histogram.data(), row.histogram.size());
    return out;
}

Result<void> saveTrainState(const std::filesystem::path& path, const TrainState& state) {
    NamedTensors arrays = state.values;
    arrays[kStep] = Tensor::scalar<std::int64_t>(state.step);
    arrays[kRate] = Tensor::scalar<double>(state.learningRate);
    for (const auto& [name, tensor] : state.values) {
        if (tensor.dtype() != DType::Float32 && tensor.dtype() != DType::Float64 && tensor.dtype() != DType::Float16)
            return usageError("the state of \"{}\" is {}, which an .npz cannot hold exactly", name, nabla::engine::name(tensor.dtype()));
    }
    return writeNpz(path, arrays);
}

Result<TrainState> loadTrainState(const std::filesystem::path& path) {
    NABLA_TRY(NamedTensors arrays, readNpz(path));
    TrainState out;
    const auto step = arrays.find(kStep), rate = arrays.find(kRate);
    if (step == arrays.end() || rate == arrays.end() || step->second.elementCount() != 1 || rate->second.elementCount() != 1)
        return usageError("{}: is no saved state of a training run: it lacks \"{}\" or \"{}\"", path.string(), kStep, kRate);
    out.step = step->second.asInt64(0);
    out.learningRate = rate->second.asDouble(0);
    arrays.erase(kStep);
    arrays.erase(kRate);
    out.values = std::move(arrays);
    return out;
}

Result<Graph> trainedModel(const Graph& imported, const Graph& legalized, const Trainer& trainer) {
    const std::map<std::string, Tensor> weights = trainer.weights();
    if (auto graph = withWeights(imported, weights))
        return graph;
    return withWeights(legalized, weights);
}

Result<std::unique_ptr<TrainRecording>> TrainRecording::start(
    const std::filesystem::path& path, Trainer& trainer, const NamedValues& firstBatch, const std::string& label) {
    std::unique_ptr<TrainRecording> out(new TrainRecording);
    out->m_firstStep = trainer.stepsDone();
    NABLA_TRY(const NamedValues inputs, trainer.inputsFor(firstBatch));
    NABLA_TRY(const auto plan, trainer.session().plan(inputs));
    profiler::RecordingMeta meta = recordingMeta(*plan, {}, label);
    meta.graph.kind = profiler::GraphKind::Plan;
    meta.counterNames[kRateCounter] = "learning rate";
    meta.counterNames[kGradientNormCounter] = "gradient norm";
    NABLA_TRY(out->m_recorder, profiler::CpuRecorder::start(path, out->m_observer, std::move(meta)));
    return out;
}

void TrainRecording::add(const StepReport& report) {
    const std::int64_t iteration = report.step - m_firstStep + 1;
    std::vector<profiler::TensorStatsRow> rows;
    for (const ParameterReport& p : report.parameters) {
        rows.push_back(statsRow(iteration, p.value, StatsKind::Weight, p.weight));
        rows.push_back(statsRow(iteration, p.value, StatsKind::Gradient, p.gradient));
        rows.push_back(statsRow(iteration, p.value, StatsKind::Update, p.update));
        rows.push_back(statsRow(iteration, p.value, StatsKind::UnitNorms, p.unitNorms));
    }
    if (!rows.empty())
        m_recorder->addTensorStats(std::move(rows));
}

} // namespace nabla::app
