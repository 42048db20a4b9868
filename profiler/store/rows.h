// Plain rows of a recording: what the writer takes and the queries give. Column meanings: schema.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nabla::profiler {

/// What state a run is in, as stored in NABLA_RUN.state.
enum class RunState : std::int64_t {
    Recording = 0, ///< being written, or interrupted and not yet opened again
    Complete = 1,
    Recovered = 2, ///< interrupted; everything committed until then is there
};

/// NABLA_GRAPH.kind.
enum class GraphKind : std::int64_t { Source = 0, Legalized = 1, AfterPass = 2, Gradient = 3, Plan = 4 };

/// NABLA_NODE.phase, NABLA_STEP.phase, NABLA_OP_EVENT.flags bits 0..1; the numbers of engine::Phase.
enum class RowPhase : std::int64_t { None = 0, Forward = 1, Backward = 2, Optimizer = 3 };

struct HostRow {
    std::int64_t id = 0;
    std::string hostname, cpuModel, os, clockSource;
    std::int64_t cores = 0;
    std::int64_t memBytes = 0;
    std::int64_t tscHz = 0;
    bool tscInvariant = false;
};
struct ModelRow {
    std::int64_t id = 0;
    std::string path, format, sha256;
    std::int64_t opset = 0;
    std::int64_t importedUtcNs = 0;
};
struct GraphRow {
    std::int64_t id = 0;
    std::int64_t modelId = 0;
    std::optional<std::int64_t> parentId;
    std::string passName;
    GraphKind kind = GraphKind::Source;
    std::int64_t nodes = 0;
    std::int64_t edges = 0;
    std::string fingerprint;
};
/// One node of a graph. `id` is the engine's node id: unique within a graph, kept from state to state.
struct NodeRow {
    std::int64_t id = 0;
    std::int64_t graphId = 0;
    std::int64_t idx = 0; ///< place in execution order
    std::string name, opType, domain;
    RowPhase phase = RowPhase::None;
    std::optional<std::int64_t> forwardNodeId;
    std::optional<std::int64_t> flops, bytesRead, bytesWritten;
};
struct NodeOriginRow {
    std::int64_t nodeId = 0;
    std::int64_t originNodeId = 0;
};
struct ValueRow {
    std::int64_t id = 0;
    std::int64_t graphId = 0;
    std::string name;
    std::optional<std::int64_t> producerNodeId;
    std::int64_t dtype = 0; ///< ONNX TensorProto.DataType
    std::string shape; ///< "[64,3,7,7]", symbolic dims by name
    std::optional<std::int64_t> bytes;
    std::int64_t role = 0; ///< 0 intermediate, 1 input, 2 output, 3 initializer
};
/// One recording session: a number of executions of one graph.
struct RunRow {
    std::int64_t id = 0;
    std::optional<std::int64_t> graphId, hostId;
    std::string device, mode, label;
    std::int64_t warmup = 0;
    std::int64_t start = 0;
    std::optional<std::int64_t> end;
    RunState state = RunState::Recording;
    std::int64_t threads = 0;
    std::int64_t droppedEvents = 0;
    std::int64_t droppedGpuRecords = 0;
};
/// One execution of the graph within a run (an inference or a training step).
struct StepRow {
    std::int64_t id = 0;
    std::int64_t runId = 0;
    std::int64_t idx = 0;
    RowPhase phase = RowPhase::None;
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::optional<double> loss;
};
/// One plan step of one execution.
struct OpEventRow {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t stepId = 0;
    std::int64_t nodeId = 0;
    std::int64_t globalTid = 0;
    std::int64_t kernelId = 0; ///< StringIds id of the kernel's name, 0 unknown
    std::int64_t flags = 0; ///< bits 0..1: RowPhase
    std::optional<std::int64_t> bytes;
    std::optional<std::int64_t> externalId;
    std::int64_t planStep = 0; ///< index in the plan
};
enum class AllocAction : std::int64_t { Alloc = 0, Free = 1 };
struct AllocEventRow {
    std::int64_t time = 0;
    std::int64_t stepId = 0;
    std::int64_t valueId = 0;
    std::optional<std::int64_t> nodeId;
    AllocAction action = AllocAction::Alloc;
    std::int64_t pool = 0; ///< 0 CPU arena
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};
struct TensorStatsRow {
    std::int64_t stepId = 0;
    std::int64_t valueId = 0;
    std::int64_t kind = 0; ///< 0 value, 1 gradient
    std::int64_t count = 0, nan = 0, inf = 0, zero = 0;
    double min = 0, max = 0, mean = 0, std = 0, l2 = 0;
    std::vector<std::byte> histogram;
};
struct CounterRow {
    std::int64_t time = 0;
    std::int64_t counterId = 0; ///< StringIds id of the counter's name
    double value = 0;
};
struct ThreadRow {
    std::int64_t globalTid = 0;
    std::string name;
};
/// A graph state of the document (NABLA_STATE).
struct StateRow {
    std::int64_t id = 0;
    std::optional<std::int64_t> parentId;
    std::string passId;
    std::vector<std::byte> graph; ///< the engine's own versioned form
};
/// An entry of the document's view state (NABLA_VIEW).
struct ViewRow {
    std::string key, json;
};

/// globalTid as Nsight Systems packs it: pid in bits 24..47, tid in bits 0..23.
inline std::int64_t globalTid(std::int64_t pid, std::int64_t tid) {
    return ((pid & 0xffffff) << 24) | (tid & 0xffffff);
}
inline std::int64_t processOf(std::int64_t globalTid) {
    return (globalTid >> 24) & 0xffffff;
}
inline std::int64_t threadOf(std::int64_t globalTid) {
    return globalTid & 0xffffff;
}

} // namespace nabla::profiler
