// Records what an ExecutionObserver sees. One thread empties the rings every few milliseconds, another turns ticks into
// ns and writes rows: when SQLite waits for the disk, records pile up in memory instead of being dropped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/events/execution_observer.h"
#include "profiler/store/recording_writer.h"

namespace nabla::profiler {

/// What the caller knows of the graph that will run. Ids of graph, model and host are filled in while writing.
struct RecordingMeta {
    ModelRow model;
    GraphRow graph;
    std::vector<NodeRow> nodes; ///< of `graph`; `id` is the engine's node id
    std::vector<NodeOriginRow> origins;
    std::vector<ValueRow> values;
    std::vector<std::string> kernelNames; ///< by the kernel index that the executor gives
    std::map<std::uint32_t, std::string> counterNames{{engine::kLossCounter, "loss"}};
    std::string device = "cpu";
    std::string mode; ///< "compiled", "stepping" or "eager"
    std::string label;
    std::int64_t warmup = 0;
    std::int64_t threads = 1;
};

/// How a recording went, while it runs and at its end.
struct RecordingReport {
    std::int64_t runId = 0;
    std::int64_t iterations = 0; ///< executions written
    std::int64_t events = 0; ///< plan steps written
    std::int64_t dropped = 0; ///< records lost because a ring was full
    std::int64_t strays = 0; ///< records of scopes that began before this recording
    std::int64_t clamped = 0; ///< ends moved because time ran backwards on a thread
    std::string refusal; ///< why it stopped early (size limit, disk), empty when it did not
};

/// One recording. Stopping twice or destroying a running one is fine; the destructor stops and closes.
class CpuRecorder {
public:
    /// Makes or appends to `path` and begins to record on `observer`, which must outlive the recorder.
    /// Errors: the observer is recording already; those of RecordingWriter::open().
    static Result<std::unique_ptr<CpuRecorder>> start(const std::filesystem::path& path,
        engine::ExecutionObserver& observer, RecordingMeta meta, const WriterOptions& options = {});
    ~CpuRecorder();
    CpuRecorder(const CpuRecorder&) = delete;
    CpuRecorder& operator=(const CpuRecorder&) = delete;

    /// Statistics of values or gradients; `stepId` of the rows is the iteration that RunScope::iteration() gave. Any
    /// thread.
    void addTensorStats(std::vector<TensorStatsRow> rows);

    /// Ends the recording, drains the last records, closes the file. Errors: those of writing.
    Result<RecordingReport> stop();

    /// Figures so far. Any thread.
    RecordingReport report() const;

private:
    /// What is known of an execution whose own record has not come yet.
    struct OpenIteration {
        std::int64_t start = 0;
        std::int64_t end = 0;
        std::optional<double> loss;
        bool timed = false;
    };
    struct Drained {
        std::int64_t globalTid;
        std::int32_t threadId;
        std::string threadName;
        std::vector<engine::EventRecord> records;
    };

    CpuRecorder(engine::ExecutionObserver& observer, RecordingWriter writer, engine::ClockConversion clock)
        : m_observer(observer)
        , m_writer(std::move(writer))
        , m_clock(std::move(clock)) { }

    Result<void> writeMeta(const RecordingMeta& meta, const std::filesystem::path& path);
    void drainLoop(const std::stop_token& stop);
    void writeLoop();
    Result<void> writeBatches(const std::vector<Drained>& batches);
    Result<void> write(const Drained& drained);
    Result<void> writeStep(const engine::EventRecord& record, std::int64_t globalTid, std::int64_t& lastEnd);
    Result<void> writeRun(const engine::EventRecord& record, std::int64_t& lastEnd);
    Result<void> writeBlock(const engine::EventRecord& record);
    Result<void> writeCounter(const engine::EventRecord& record);
    Result<void> writeStats();
    Result<void> finish();
    OpenIteration* open(std::uint32_t iteration);
    std::int64_t toNs(std::uint64_t ticks) const { return m_clock.toNs(ticks) + m_offset; }
    std::int64_t clampedEnd(std::int64_t start, std::int64_t end, std::int64_t& lastEnd);

    engine::ExecutionObserver& m_observer;
    RecordingWriter m_writer;
    engine::ClockConversion m_clock;
    std::int64_t m_offset = 0; // from the clock's zero to the file's
    std::int64_t m_firstStepId = 1; // step id = m_firstStepId + iteration - 1
    std::int64_t m_runStart = 0;
    std::vector<std::int64_t> m_kernelIds;
    std::unordered_map<std::uint32_t, std::int64_t> m_counterIds;
    std::unordered_map<std::uint32_t, std::int64_t> m_producers; // value -> node
    std::unordered_map<std::int32_t, std::int64_t> m_lastEnds; // tid -> end of its last record
    std::map<std::uint32_t, OpenIteration> m_open;
    std::vector<bool> m_closed; // by iteration

    mutable std::mutex m_mutex;
    std::condition_variable_any m_drainWake;
    std::condition_variable m_writeWake;
    std::vector<Drained> m_queue; // guarded by m_mutex, as what follows
    std::size_t m_queued = 0; // records in m_queue
    bool m_drained = false; // nothing will be queued any more
    bool m_writing = true; // false after a failure: rows cannot be kept any more
    RecordingReport m_report;
    std::vector<TensorStatsRow> m_stats;
    std::optional<Error> m_failure;
    std::jthread m_drainThread;
    std::jthread m_writeThread;
};

} // namespace nabla::profiler
