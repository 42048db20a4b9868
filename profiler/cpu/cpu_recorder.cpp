// Start, drain loop and end of a recording of the CPU side.
#include "profiler/cpu/cpu_recorder.h"

#include <algorithm>
#include <iterator>

#include <unistd.h>

#include "profiler/cpu/host_facts.h"

namespace nabla::profiler {

using engine::EventRecord;
using engine::RecordKind;

namespace {

/// A ring of 131,072 records fills in 145 ms at 900,000 a second; ten drains in that time leave room for a busy core.
constexpr auto kDrainInterval = std::chrono::milliseconds(10);
constexpr auto kCommitInterval = std::chrono::milliseconds(50);
/// 256 MiB. Beyond it the rings are left to fill, and drops are counted there.
constexpr std::size_t kMaxQueued = 8u << 20;

} // namespace

Result<std::unique_ptr<CpuRecorder>> CpuRecorder::start(const std::filesystem::path& path,
    engine::ExecutionObserver& observer, RecordingMeta meta, const WriterOptions& options) {
    if (observer.recording())
        return engine::usageError("{}: a recording is running already", path.string());
    engine::ClockConversion clock(observer.clockSource());
    WriterOptions writing = options;
    if (writing.utcEpochNs == 0)
        writing.utcEpochNs = clock.utcEpochNs();
    NABLA_TRY(RecordingWriter writer, RecordingWriter::open(path, writing));
    std::unique_ptr<CpuRecorder> recorder(new CpuRecorder(observer, std::move(writer), std::move(clock)));
    NABLA_CHECK(recorder->writeMeta(meta, path));
    observer.start();
    recorder->m_writeThread = std::jthread([raw = recorder.get()] { raw->writeLoop(); });
    recorder->m_drainThread
        = std::jthread([raw = recorder.get()](const std::stop_token& stop) { raw->drainLoop(stop); });
    return recorder;
}

CpuRecorder::~CpuRecorder() {
    // Nobody is there to be told; who wants to know calls stop().
    static_cast<void>(stop());
}

Result<void> CpuRecorder::writeMeta(const RecordingMeta& meta, const std::filesystem::path& path) {
    m_offset = m_clock.utcEpochNs() - m_writer.utcEpochNs();
    m_runStart = toNs(m_clock.pairs().front().ticks);
    NABLA_TRY(const std::int64_t host, m_writer.add(hostFacts()));
    NABLA_TRY(const std::int64_t model, m_writer.add(meta.model));
    GraphRow graph = meta.graph;
    graph.modelId = model;
    NABLA_TRY(const std::int64_t graphId, m_writer.add(graph));
    for (NodeRow node : meta.nodes) {
        node.graphId = graphId;
        NABLA_CHECK(m_writer.add(node));
    }
    for (const NodeOriginRow& origin : meta.origins)
        NABLA_CHECK(m_writer.add(origin));
    for (ValueRow value : meta.values) {
        value.graphId = graphId;
        if (value.producerNodeId)
            m_producers[static_cast<std::uint32_t>(value.id)] = *value.producerNodeId;
        NABLA_CHECK(m_writer.add(value));
    }
    for (const std::string& kernel : meta.kernelNames) {
        NABLA_TRY(const std::int64_t id, m_writer.intern(kernel));
        m_kernelIds.push_back(id);
    }
    for (const auto& [counter, name] : meta.counterNames) {
        NABLA_TRY(const std::int64_t id, m_writer.intern(name));
        m_counterIds[counter] = id;
    }
    NABLA_TRY(m_firstStepId, m_writer.nextStepId());
    RunRow run;
    run.graphId = graphId;
    run.hostId = host;
    run.device = meta.device;
    run.mode = meta.mode;
    run.label = meta.label.empty() ? path.stem().string() : meta.label;
    run.warmup = meta.warmup;
    run.threads = meta.threads;
    run.start = m_runStart;
    NABLA_TRY(m_report.runId, m_writer.beginRun(run));
    return {};
}

void CpuRecorder::addTensorStats(std::vector<TensorStatsRow> rows) {
    const std::lock_guard lock(m_mutex);
    m_stats.insert(m_stats.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

RecordingReport CpuRecorder::report() const {
    RecordingReport report;
    {
        const std::lock_guard lock(m_mutex);
        report = m_report;
    }
    report.dropped = static_cast<std::int64_t>(m_observer.dropped());
    return report;
}

void CpuRecorder::drainLoop(const std::stop_token& stop) {
    for (bool last = false; !last;) {
        last = stop.stop_requested();
        bool room = true;
        {
            const std::lock_guard lock(m_mutex);
            room = m_queued < kMaxQueued || !m_writing;
        }
        std::vector<Drained> batches;
        std::size_t count = 0;
        // Only copied here: while the observer drains, a new thread has to wait for its ring.
        if (room || last) {
            count = m_observer.drain([&](const engine::ThreadRing& thread, std::span<const EventRecord> records) {
                batches.push_back({globalTid(getpid(), thread.threadId), thread.threadId, thread.threadName,
                    {records.begin(), records.end()}});
            });
        }
        std::unique_lock lock(m_mutex);
        if (m_writing) {
            std::move(batches.begin(), batches.end(), std::back_inserter(m_queue));
            m_queued += count;
        }
        m_drained = last;
        m_writeWake.notify_one();
        if (!last)
            m_drainWake.wait_for(lock, stop, kDrainInterval, [] { return false; });
    }
}

void CpuRecorder::writeLoop() {
    for (bool last = false; !last;) {
        std::vector<Drained> batches;
        {
            std::unique_lock lock(m_mutex);
            m_writeWake.wait_for(lock, kCommitInterval, [this] { return !m_queue.empty() || m_drained; });
            batches.swap(m_queue);
            m_queued = 0;
            last = m_drained;
        }
        if (auto written = writeBatches(batches); !written) {
            m_observer.stop(); // producers need not make what cannot be kept
            const std::lock_guard lock(m_mutex);
            m_writing = false;
            m_queue.clear();
            m_report.refusal = m_writer.refusal();
            if (m_report.refusal.empty())
                m_failure = written.error();
            return;
        }
    }
}

Result<void> CpuRecorder::writeBatches(const std::vector<Drained>& batches) {
    m_clock.refresh(); // every tick of the batches lies before this pair, so the conversion interpolates
    for (const Drained& drained : batches)
        NABLA_CHECK(write(drained));
    NABLA_CHECK(writeStats());
    return m_writer.commitIfDue();
}

Result<void> CpuRecorder::write(const Drained& drained) {
    const auto [last, isNew] = m_lastEnds.try_emplace(drained.threadId, m_runStart);
    if (isNew)
        NABLA_CHECK(m_writer.add(ThreadRow{drained.globalTid, drained.threadName}));
    std::int64_t iterations = 0;
    std::int64_t events = 0;
    std::int64_t strays = 0;
    for (const EventRecord& record : drained.records) {
        if (toNs(record.start) < m_runStart) {
            ++strays; // pushed by a scope of an earlier recording
            continue;
        }
        switch (record.kind) {
        case RecordKind::Step:
            NABLA_CHECK(writeStep(record, drained.globalTid, last->second));
            ++events;
            break;
        case RecordKind::Run:
            NABLA_CHECK(writeRun(record, last->second));
            ++iterations;
            break;
        case RecordKind::Alloc:
        case RecordKind::Free:
            NABLA_CHECK(writeBlock(record));
            break;
        case RecordKind::Counter:
            NABLA_CHECK(writeCounter(record));
            break;
        }
    }
    const std::lock_guard lock(m_mutex);
    m_report.iterations += iterations;
    m_report.events += events;
    m_report.strays += strays;
    return {};
}

std::int64_t CpuRecorder::clampedEnd(std::int64_t start, std::int64_t end, std::int64_t& lastEnd) {
    // A thread's records come in the order of their ends; anything else is a clock that went backwards.
    const std::int64_t least = std::max(start, lastEnd);
    if (end < least) {
        const std::lock_guard lock(m_mutex);
        ++m_report.clamped;
        end = least;
    }
    lastEnd = end;
    return end;
}

CpuRecorder::OpenIteration* CpuRecorder::open(std::uint32_t iteration) {
    // Another thread's records may be drained after the run's own.
    if (iteration < m_closed.size() && m_closed[iteration])
        return nullptr;
    return &m_open[iteration];
}

Result<void> CpuRecorder::writeStep(const EventRecord& record, std::int64_t globalTid, std::int64_t& lastEnd) {
    OpEventRow row;
    row.start = toNs(record.start);
    row.end = clampedEnd(row.start, toNs(record.end), lastEnd);
    row.stepId = m_firstStepId + record.iteration - 1;
    row.nodeId = record.node;
    row.globalTid = globalTid;
    row.kernelId = record.kernel < m_kernelIds.size() ? m_kernelIds[record.kernel] : 0;
    row.flags = static_cast<std::int64_t>(record.phase);
    row.planStep = record.planStep;
    if (OpenIteration* iteration = open(record.iteration)) {
        iteration->start = iteration->timed ? std::min(iteration->start, row.start) : row.start;
        iteration->end = std::max(iteration->end, row.end);
        iteration->timed = true;
    }
    return m_writer.add(row);
}

Result<void> CpuRecorder::writeRun(const EventRecord& record, std::int64_t& lastEnd) {
    StepRow row;
    row.id = m_firstStepId + record.iteration - 1;
    row.runId = m_report.runId;
    row.idx = record.iteration;
    row.phase = static_cast<RowPhase>(record.phase);
    row.start = toNs(record.start);
    row.end = clampedEnd(row.start, toNs(record.end), lastEnd);
    if (const auto iteration = m_open.find(record.iteration); iteration != m_open.end()) {
        row.loss = iteration->second.loss;
        m_open.erase(iteration);
    }
    if (m_closed.size() <= record.iteration)
        m_closed.resize(record.iteration + std::size_t{1024});
    m_closed[record.iteration] = true;
    return m_writer.add(row);
}

Result<void> CpuRecorder::writeBlock(const EventRecord& record) {
    AllocEventRow row;
    row.time = toNs(record.start);
    row.stepId = m_firstStepId + record.iteration - 1;
    row.valueId = record.node;
    if (const auto producer = m_producers.find(record.node); producer != m_producers.end())
        row.nodeId = producer->second;
    row.action = record.kind == RecordKind::Alloc ? AllocAction::Alloc : AllocAction::Free;
    row.offset = static_cast<std::int64_t>(record.end);
    row.bytes = static_cast<std::int64_t>(record.bytes());
    return m_writer.add(row);
}

Result<void> CpuRecorder::writeCounter(const EventRecord& record) {
    auto name = m_counterIds.find(record.node);
    if (name == m_counterIds.end()) {
        NABLA_TRY(const std::int64_t id, m_writer.intern(fmt::format("counter {}", record.node)));
        name = m_counterIds.emplace(record.node, id).first;
    }
    if (record.node == engine::kLossCounter) {
        if (OpenIteration* iteration = open(record.iteration))
            iteration->loss = record.counterValue();
    }
    return m_writer.add(CounterRow{toNs(record.start), name->second, record.counterValue()});
}

Result<void> CpuRecorder::writeStats() {
    std::vector<TensorStatsRow> rows;
    {
        const std::lock_guard lock(m_mutex);
        rows.swap(m_stats);
    }
    for (TensorStatsRow& row : rows) {
        row.stepId += m_firstStepId - 1;
        NABLA_CHECK(m_writer.add(row));
    }
    return {};
}

Result<void> CpuRecorder::finish() {
    if (m_writer.refusal().empty()) {
        // Executions that are still open (a stepper in the middle) end with the last of their steps.
        for (const auto& [iteration, open] : m_open) {
            if (!open.timed)
                continue;
            StepRow row;
            row.id = m_firstStepId + iteration - 1;
            row.runId = m_report.runId;
            row.idx = iteration;
            row.start = open.start;
            row.end = open.end;
            row.loss = open.loss;
            NABLA_CHECK(m_writer.add(row));
            const std::lock_guard lock(m_mutex);
            ++m_report.iterations;
        }
        for (const engine::ClockPair& pair : m_clock.pairs())
            NABLA_CHECK(m_writer.addClockPair(m_report.runId, static_cast<std::int64_t>(pair.ticks), toNs(pair.ticks)));
    }
    NABLA_CHECK(m_writer.endRun(m_report.runId, toNs(engine::readTicks(m_clock.source())), m_report.dropped, 0));
    return m_writer.close();
}

Result<RecordingReport> CpuRecorder::stop() {
    if (!m_drainThread.joinable()) // stopped before, or never started: writing the meta rows failed
        return m_failure ? Result<RecordingReport>(*m_failure) : Result<RecordingReport>(m_report);
    m_observer.stop();
    m_drainThread.request_stop();
    m_drainThread.join();
    m_writeThread.join();
    {
        const std::lock_guard lock(m_mutex);
        m_report.dropped = static_cast<std::int64_t>(m_observer.dropped());
    }
    if (m_failure)
        return *m_failure;
    if (auto finished = finish(); !finished) {
        if (m_writer.refusal().empty()) {
            m_failure = finished.error();
            return *m_failure;
        }
        {
            const std::lock_guard lock(m_mutex);
            m_report.refusal = m_writer.refusal();
        }
        NABLA_CHECK(m_writer.endRun(m_report.runId, toNs(engine::readTicks(m_clock.source())), m_report.dropped, 0));
        NABLA_CHECK(m_writer.close());
    }
    return m_report;
}

} // namespace nabla::profiler
