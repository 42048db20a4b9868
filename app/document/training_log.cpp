// One NABLA_RUN a training; rows of NABLA_TENSOR_STATS by weight and kind.
#include "app/document/training_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "app/document/training.h"
#include "profiler/cpu/host_facts.h"
#include "profiler/store/recording.h"
#include "profiler/store/recording_writer.h"

namespace nabla::app {

using namespace nabla::engine;
using profiler::TensorStatsRow;
using views::TrainingCell;
using views::TrainingState;
using views::TrainingStep;

namespace {

constexpr std::int64_t kInitializerRole = 3;
constexpr const char* kMode = "training";
constexpr const char* kRateName = "learning rate";
constexpr const char* kNormName = "gradient norm";

Result<void> writeCell(profiler::RecordingWriter& writer, const TrainingCell& cell, std::int64_t step, ValueId value) {
    NABLA_CHECK(writer.add(statsRow(step, value, StatsKind::Weight, cell.weight)));
    NABLA_CHECK(writer.add(statsRow(step, value, StatsKind::Gradient, cell.gradient)));
    TensorStatsRow update = statsRow(step, value, StatsKind::Update), units = statsRow(step, value, StatsKind::UnitNorms);
    update.count = cell.weight.count;
    update.l2 = cell.updateL2;
    units.count = cell.units;
    units.zero = cell.deadUnits;
    NABLA_CHECK(writer.add(update));
    return writer.add(units);
}

/// Begin of a step on the file's clock, ns.
std::int64_t startOf(const TrainingStep& step, std::int64_t zero) { return step.endUtcNs - zero - static_cast<std::int64_t>(step.milliseconds * 1e6); }

Result<std::int64_t> beginRun(profiler::RecordingWriter& writer, const TrainingState& training) {
    NABLA_TRY(const std::int64_t host, writer.add(profiler::hostFacts()));
    NABLA_TRY(const std::int64_t model, writer.add(profiler::ModelRow{}));
    profiler::GraphRow graph;
    graph.modelId = model;
    graph.kind = profiler::GraphKind::Gradient;
    NABLA_TRY(const std::int64_t graphId, writer.add(graph));
    for (std::size_t w = 0; w < training.weights.size(); ++w) {
        profiler::ValueRow value;
        value.id = training.values[w].value;
        value.graphId = graphId;
        value.name = training.weights[w];
        value.role = kInitializerRole;
        NABLA_CHECK(writer.add(value));
    }
    profiler::RunRow run;
    run.graphId = graphId;
    run.hostId = host;
    run.device = "cpu";
    run.mode = kMode;
    run.label = training.title;
    run.start = startOf(*training.steps.front(), writer.utcEpochNs());
    return writer.beginRun(run);
}

} // namespace

Result<void> saveTraining(const std::filesystem::path& path, const TrainingState& training, const JobControl& job) {
    if (training.steps.empty())
        return {};
    profiler::WriterOptions options;
    options.utcEpochNs = std::max<std::int64_t>(1, startOf(*training.steps.front(), 0)); // of a new file
    NABLA_TRY(profiler::RecordingWriter writer, profiler::RecordingWriter::open(path, options));
    NABLA_TRY(const std::int64_t run, beginRun(writer, training));
    NABLA_TRY(std::int64_t id, writer.nextStepId());
    NABLA_TRY(const std::int64_t rate, writer.intern(kRateName));
    NABLA_TRY(const std::int64_t norm, writer.intern(kNormName));
    std::int64_t end = 0;
    for (const views::TrainingStepPtr& step : training.steps) {
        NABLA_CHECK(job.check());
        profiler::StepRow row;
        row.id = id++;
        row.runId = run;
        row.idx = step->step;
        row.start = startOf(*step, writer.utcEpochNs());
        row.end = end = step->endUtcNs - writer.utcEpochNs();
        row.loss = step->loss;
        NABLA_CHECK(writer.add(row));
        NABLA_CHECK(writer.add(profiler::CounterRow{row.end, rate, step->rate}));
        NABLA_CHECK(writer.add(profiler::CounterRow{row.end, norm, step->gradientNorm}));
        for (std::size_t w = 0; w < step->cells.size() && w < training.values.size(); ++w)
            NABLA_CHECK(writeCell(writer, step->cells[w], row.id, training.values[w]));
    }
    NABLA_CHECK(writer.endRun(run, end, 0, 0));
    return writer.close();
}

namespace {

using Curve = std::map<std::int64_t, double>; // by time

Result<std::pair<Curve, Curve>> readCounters(const profiler::Recording& file) {
    std::pair<Curve, Curve> out;
    NABLA_TRY(const auto rows, file.counters());
    for (const profiler::CounterRow& row : rows) {
        const std::string_view name = file.string(row.counterId);
        if (name == kRateName)
            out.first[row.time] = row.value;
        else if (name == kNormName)
            out.second[row.time] = row.value;
    }
    return out;
}

/// The last number within a step; 0 without.
double within(const Curve& curve, const profiler::StepRow& step, std::int64_t next) {
    auto it = curve.upper_bound(std::max(step.end, next - 1));
    return it != curve.begin() && std::prev(it)->first >= step.start ? std::prev(it)->second : 0;
}

struct RunReader {
    const profiler::Recording& file;
    TrainingState state;
    std::map<std::uint32_t, std::size_t> place; // of a value, in `state.weights`
    std::map<std::int64_t, std::string> names;

    std::size_t placeOf(ValueId value) {
        const auto [it, isNew] = place.try_emplace(value.value, state.weights.size());
        if (isNew) {
            const auto name = names.find(value.value);
            state.weights.push_back(name == names.end() ? fmt::format("value #{}", value.value) : name->second);
            state.values.push_back(value);
        }
        return it->second;
    }

    Result<void> readCells(std::int64_t stepId, TrainingStep& step) {
        NABLA_TRY(const auto rows, file.tensorStats(stepId));
        for (const TensorStatsRow& row : rows) {
            if (row.valueId <= 0 || row.valueId > std::numeric_limits<std::uint32_t>::max())
                return readError("{}: statistics of a value {} that cannot be", file.path().string(), row.valueId);
            const std::size_t at = placeOf(ValueId{static_cast<std::uint32_t>(row.valueId)});
            step.cells.resize(std::max(step.cells.size(), at + 1));
            TrainingCell& cell = step.cells[at];
            switch (static_cast<StatsKind>(row.kind)) {
            case StatsKind::Weight: cell.weight = statisticsOf(row); break;
            case StatsKind::Gradient: cell.gradient = statisticsOf(row); break;
            case StatsKind::Update: cell.updateL2 = row.l2; break;
            case StatsKind::UnitNorms:
                cell.units = row.count;
                cell.deadUnits = row.zero;
                break;
            }
        }
        return {};
    }
};

} // namespace

Result<std::vector<TrainingPtr>> loadTrainings(const std::filesystem::path& path, const JobControl& job) {
    NABLA_TRY(const profiler::Recording file, profiler::Recording::open(path, job));
    NABLA_TRY(const auto runs, file.runs());
    NABLA_TRY(const auto counters, readCounters(file));
    const std::int64_t epoch = file.utcEpochNs().value_or(0);
    const auto startAfter = [&runs](std::int64_t time) { // of the run that comes then: its counters are not this one's
        std::int64_t next = std::numeric_limits<std::int64_t>::max();
        for (const profiler::RunRow& run : runs)
            next = run.start > time ? std::min(next, run.start) : next;
        return next;
    };
    std::vector<TrainingPtr> out;
    for (const profiler::RunRow& run : runs) {
        NABLA_TRY(const auto steps, file.steps(run.id));
        if (steps.empty() || (run.mode != kMode && std::none_of(steps.begin(), steps.end(), [](const profiler::StepRow& step) { return step.loss.has_value(); })))
            continue;
        RunReader reader{file, {}, {}, {}};
        if (run.graphId) {
            NABLA_TRY(const auto values, file.values(*run.graphId));
            for (const profiler::ValueRow& value : values)
                reader.names[value.id] = value.name;
        }
        std::vector<std::shared_ptr<TrainingStep>> made;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            NABLA_CHECK(job.check());
            const profiler::StepRow& row = steps[i];
            auto step = std::make_shared<TrainingStep>();
            step->step = row.idx;
            step->loss = row.loss.value_or(std::numeric_limits<double>::quiet_NaN()); // NaN has no place in a column of numbers
            const std::int64_t next = i + 1 < steps.size() ? steps[i + 1].start : startAfter(row.end);
            step->rate = within(counters.first, row, next);
            step->gradientNorm = within(counters.second, row, next);
            step->milliseconds = static_cast<double>(row.end - row.start) / 1e6;
            step->endUtcNs = row.end + epoch;
            NABLA_CHECK(reader.readCells(row.id, *step));
            made.push_back(std::move(step));
        }
        for (const auto& step : made) {
            if (!step->cells.empty()) // a weight that came later
                step->cells.resize(reader.state.weights.size());
            reader.state.steps.push_back(step);
        }
        reader.state.wanted = static_cast<std::int64_t>(steps.size());
        reader.state.phase = TrainingState::Phase::Ended;
        reader.state.rate = reader.state.steps.back()->rate;
        reader.state.title = run.label;
        out.push_back(std::make_shared<const TrainingState>(std::move(reader.state)));
    }
    return out;
}

} // namespace nabla::app
