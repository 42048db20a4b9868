// One INSERT a table, columns named.
#include <iterator>

#include "profiler/store/recording_writer.h"

namespace nabla::profiler {

namespace {

/// In the order of RecordingWriter::Insert.
constexpr const char* kInsertSql[] = {
    "INSERT INTO StringIds(id, value) VALUES(?,?)",
    "INSERT OR REPLACE INTO NABLA_NODE(id, graphId, idx, nameId, opTypeId, domainId, phase, forwardNodeId, flops, "
    "bytesRead, "
    "bytesWritten) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR IGNORE INTO NABLA_NODE_ORIGIN(nodeId, originNodeId) VALUES(?,?)",
    "INSERT OR REPLACE INTO NABLA_VALUE(id, graphId, nameId, producerNodeId, dtype, shape, bytes, role) "
    "VALUES(?,?,?,?,?,?,?,?)",
    "INSERT INTO ThreadNames(nameId, priority, globalTid) VALUES(?,NULL,?)",
    "INSERT INTO NABLA_STEP(id, runId, idx, phase, start, end, loss) VALUES(?,?,?,?,?,?,?)",
    "INSERT INTO NABLA_OP_EVENT(start, end, stepId, nodeId, globalTid, kernelId, flags, bytes, externalId, planStep) "
    "VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO NABLA_ALLOC_EVENT(time, stepId, valueId, nodeId, action, pool, offset, bytes) VALUES(?,?,?,?,?,?,?,?)",
    "INSERT INTO NABLA_TENSOR_STATS(stepId, valueId, kind, count, nan, inf, zero, min, max, mean, std, l2, histogram) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO NABLA_COUNTER(time, counterId, value) VALUES(?,?,?)",
    "INSERT INTO NABLA_CLOCK_PAIR(runId, ticks, ns) VALUES(?,?,?)",
};

std::int64_t number(RowPhase phase) {
    return static_cast<std::int64_t>(phase);
}

} // namespace

Result<Statement*> RecordingWriter::insert(Insert which) {
    static_assert(std::size(kInsertSql) == kInsertCount);
    auto& slot = m_inserts[which];
    if (!slot) {
        NABLA_TRY(Statement statement, m_database.prepare(kInsertSql[which]));
        slot = std::move(statement);
    }
    return &*slot;
}

template <typename... Args> Result<void> RecordingWriter::write(Insert which, const Args&... args) {
    NABLA_CHECK(beginTransaction());
    NABLA_TRY(Statement * statement, insert(which));
    if (auto written = statement->run(args...); !written) {
        if (!m_database.wasFull())
            return written;
        const std::string why = written.error().message();
        static_cast<void>(flush()); // keeps what fitted; SQLite may have rolled back already
        return refuse(fmt::format("recording stopped: {}", why));
    }
    if (++m_rowsInTransaction >= m_options.rowsPerTransaction)
        return flush();
    return {};
}

Result<std::int64_t> RecordingWriter::intern(std::string_view text) {
    std::string key(text);
    if (const auto known = m_strings.find(key); known != m_strings.end())
        return known->second;
    NABLA_TRY(const auto last, m_database.integer("SELECT max(id) FROM StringIds"));
    const std::int64_t id = last.value_or(0) + 1;
    NABLA_CHECK(write(kString, id, text));
    m_strings.emplace(std::move(key), id);
    return id;
}

Result<std::int64_t> RecordingWriter::add(const HostRow& row) {
    NABLA_CHECK(beginTransaction());
    NABLA_TRY(Statement statement,
        m_database.prepare("INSERT INTO NABLA_HOST(hostname, cpuModel, cores, memBytes, os, clockSource, "
                           "tscHz, tscInvariant) VALUES(?,?,?,?,?,?,?,?)"));
    NABLA_CHECK(statement.run(row.hostname, row.cpuModel, row.cores, row.memBytes, row.os, row.clockSource, row.tscHz,
        row.tscInvariant ? 1 : 0));
    return m_database.lastRowId();
}

Result<std::int64_t> RecordingWriter::add(const ModelRow& row) {
    NABLA_CHECK(beginTransaction());
    NABLA_TRY(Statement statement,
        m_database.prepare("INSERT INTO NABLA_MODEL(path, format, sha256, opset, importedUtcNs) VALUES(?,?,?,?,?)"));
    NABLA_CHECK(statement.run(row.path, row.format, row.sha256, row.opset, row.importedUtcNs));
    return m_database.lastRowId();
}

Result<std::int64_t> RecordingWriter::add(const GraphRow& row) {
    NABLA_TRY(const std::int64_t pass, intern(row.passName));
    NABLA_CHECK(beginTransaction());
    NABLA_TRY(Statement statement,
        m_database.prepare("INSERT INTO NABLA_GRAPH(modelId, parentId, passNameId, kind, nodes, edges, "
                           "fingerprint) VALUES(?,?,?,?,?,?,?)"));
    NABLA_CHECK(statement.run(
        row.modelId, row.parentId, pass, static_cast<std::int64_t>(row.kind), row.nodes, row.edges, row.fingerprint));
    return m_database.lastRowId();
}

Result<void> RecordingWriter::add(const NodeRow& row) {
    NABLA_TRY(const std::int64_t name, intern(row.name));
    NABLA_TRY(const std::int64_t type, intern(row.opType));
    NABLA_TRY(const std::int64_t domain, intern(row.domain));
    return write(kNode, row.id, row.graphId, row.idx, name, type, domain, number(row.phase), row.forwardNodeId,
        row.flops, row.bytesRead, row.bytesWritten);
}

Result<void> RecordingWriter::add(const NodeOriginRow& row) {
    return write(kOrigin, row.nodeId, row.originNodeId);
}

Result<void> RecordingWriter::add(const ValueRow& row) {
    NABLA_TRY(const std::int64_t name, intern(row.name));
    return write(kValue, row.id, row.graphId, name, row.producerNodeId, row.dtype, row.shape, row.bytes, row.role);
}

Result<void> RecordingWriter::add(const ThreadRow& row) {
    NABLA_TRY(const std::int64_t name, intern(row.name));
    return write(kThread, name, row.globalTid);
}

Result<void> RecordingWriter::add(const StepRow& row) {
    return write(kStep, row.id, row.runId, row.idx, number(row.phase), row.start, row.end, row.loss);
}

Result<void> RecordingWriter::add(const OpEventRow& row) {
    return write(kOpEvent, row.start, row.end, row.stepId, row.nodeId, row.globalTid, row.kernelId, row.flags,
        row.bytes, row.externalId, row.planStep);
}

Result<void> RecordingWriter::add(const AllocEventRow& row) {
    return write(kAlloc, row.time, row.stepId, row.valueId, row.nodeId, static_cast<std::int64_t>(row.action), row.pool,
        row.offset, row.bytes);
}

Result<void> RecordingWriter::add(const TensorStatsRow& row) {
    return write(kStats, row.stepId, row.valueId, row.kind, row.count, row.nan, row.inf, row.zero, row.min, row.max,
        row.mean, row.std, row.l2, std::span<const std::byte>(row.histogram));
}

Result<void> RecordingWriter::add(const CounterRow& row) {
    return write(kCounter, row.time, row.counterId, row.value);
}

Result<void> RecordingWriter::addClockPair(std::int64_t runId, std::int64_t ticks, std::int64_t ns) {
    return write(kClockPair, runId, ticks, ns);
}

Result<std::int64_t> RecordingWriter::beginRun(const RunRow& row) {
    NABLA_CHECK(beginTransaction());
    NABLA_TRY(Statement statement,
        m_database.prepare("INSERT INTO NABLA_RUN(graphId, hostId, device, mode, warmup, start, state, "
                           "threads, label, droppedEvents, droppedGpuRecords) VALUES(?,?,?,?,?,?,0,?,?,0,0)"));
    NABLA_CHECK(
        statement.run(row.graphId, row.hostId, row.device, row.mode, row.warmup, row.start, row.threads, row.label));
    const std::int64_t id = m_database.lastRowId();
    NABLA_CHECK(flush());
    return id;
}

} // namespace nabla::profiler
