// Meta rows from the plan, then the runs.
#include "app/document/recording.h"

#include <chrono>

#include <fmt/format.h>

#include "engine/kernels/kernel.h"
#include "engine/analysis/cost.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

std::string_view modeName(ExecutorMode mode) {
    switch (mode) {
    case ExecutorMode::Compiled: return "compiled";
    case ExecutorMode::Stepping: return "stepping";
    case ExecutorMode::Eager: return "eager";
    }
    return "?";
}

profiler::RowPhase rowPhase(Phase phase) { return static_cast<profiler::RowPhase>(phase); }

void addNodes(const Plan& plan, profiler::RecordingMeta& meta) {
    const auto total = cost(plan.graph);
    std::int64_t index = 0;
    for (const PlanStep& step : plan.steps) {
        const Node& node = *step.graphNode;
        profiler::NodeRow row;
        row.id = step.node.value;
        row.idx = index++;
        row.name = node.name;
        row.opType = node.opType;
        row.domain = node.domain;
        row.phase = rowPhase(step.phase);
        if (node.gradientOf)
            row.forwardNodeId = node.gradientOf.value;
        if (const auto it = total->nodes.find(step.node); it != total->nodes.end() && it->second.known) {
            row.flops = it->second.flops;
            row.bytesRead = it->second.bytesRead;
            row.bytesWritten = it->second.bytesWritten;
        }
        meta.nodes.push_back(std::move(row));
        for (const NodeId origin : node.origins)
            meta.origins.push_back({step.node.value, origin.value});
    }
}

void addValues(const Plan& plan, profiler::RecordingMeta& meta) {
    for (const PlanSlot& slot : plan.slotTable) {
        const Value* value = plan.graph.value(slot.value);
        if (!value)
            continue;
        profiler::ValueRow row;
        row.id = slot.value.value;
        row.name = value->name;
        if (value->producer)
            row.producerNodeId = value->producer.value;
        row.dtype = static_cast<std::int64_t>(slot.dtype);
        if (slot.sizeKnown) {
            row.shape = toString(slot.shape);
            row.bytes = storageBytes(slot.dtype, elementCount(slot.shape));
        }
        row.role = slot.place == PlanSlot::Place::Input ? 1 : slot.place == PlanSlot::Place::Constant ? 3 : slot.isOutput ? 2 : 0;
        meta.values.push_back(std::move(row));
    }
}

} // namespace

profiler::RecordingMeta recordingMeta(const Plan& plan, const SessionOptions& options, const std::string& label) {
    profiler::RecordingMeta meta;
    const ModelInfo& info = plan.graph.info();
    meta.model.path = info.path.string();
    meta.model.format = info.format;
    meta.model.opset = plan.graph.opset("");
    meta.graph.kind = profiler::GraphKind::Plan;
    meta.graph.nodes = static_cast<std::int64_t>(plan.steps.size());
    for (const PlanStep& step : plan.steps)
        meta.graph.edges += static_cast<std::int64_t>(step.inputs.size());
    meta.mode = modeName(options.mode);
    meta.label = label;
    meta.threads = options.threads;
    addNodes(plan, meta);
    addValues(plan, meta);
    return meta;
}

Result<profiler::RecordingReport> record(Session& session, const SessionOptions& sessionOptions, const NamedValues& inputs,
    const std::filesystem::path& path, const RecordOptions& options) {
    for (int i = 0; i < options.warmup; ++i) {
        NABLA_TRY([[maybe_unused]] const NamedValues warm, session.run(inputs, options.job));
    }
    NABLA_TRY(const auto plan, session.plan(inputs));
    profiler::RecordingMeta meta = recordingMeta(*plan, sessionOptions, options.label);
    meta.warmup = options.warmup;
    ExecutionObserver observer;
    NABLA_TRY(auto recorder, profiler::CpuRecorder::start(path, observer, std::move(meta)));
    for (int i = 0; i < options.runs; ++i) {
        if (auto run = session.run(inputs, options.job, &observer); !run) {
            [[maybe_unused]] const auto stopped = recorder->stop(); // what was recorded is kept
            return run.error();
        }
        options.job.say("recording", i + 1, options.runs);
    }
    return recorder->stop();
}

} // namespace nabla::app
