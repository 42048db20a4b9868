// Rows of our own tables; every query names its columns and gives nothing for a foreign file.
#include <algorithm>

#include <fmt/format.h>

#include "profiler/store/recording.h"

namespace nabla::profiler {

namespace {

/// Runs a bound statement and makes a value of every row.
template <typename Row, typename Make> Result<std::vector<Row>> collect(Statement& statement, Make make) {
    std::vector<Row> rows;
    while (true) {
        NABLA_TRY(const bool row, statement.step());
        if (!row)
            return rows;
        rows.push_back(make(statement));
    }
}

std::optional<double> optionalReal(const Statement& row, int column) {
    return row.isNull(column) ? std::nullopt : std::optional(row.real(column));
}

} // namespace

Result<std::vector<RunRow>> Recording::runs() const {
    if (!hasTable("NABLA_RUN"))
        return std::vector<RunRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT id, graphId, hostId, device, mode, label, warmup, start, [end], state, threads, "
                            "droppedEvents, droppedGpuRecords FROM NABLA_RUN ORDER BY id"));
    return collect<RunRow>(rows, [](const Statement& r) {
        return RunRow{r.integer(0), r.optionalInteger(1), r.optionalInteger(2), std::string(r.text(3)),
            std::string(r.text(4)), std::string(r.text(5)), r.integer(6), r.integer(7), r.optionalInteger(8),
            static_cast<RunState>(r.integer(9)), r.integer(10), r.integer(11), r.integer(12)};
    });
}

Result<std::vector<HostRow>> Recording::hosts() const {
    if (!hasTable("NABLA_HOST"))
        return std::vector<HostRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT id, hostname, cpuModel, os, clockSource, cores, memBytes, tscHz, tscInvariant FROM "
                            "NABLA_HOST ORDER BY id"));
    return collect<HostRow>(rows, [](const Statement& r) {
        return HostRow{r.integer(0), std::string(r.text(1)), std::string(r.text(2)), std::string(r.text(3)),
            std::string(r.text(4)), r.integer(5), r.integer(6), r.integer(7), r.integer(8) != 0};
    });
}

Result<std::vector<ModelRow>> Recording::models() const {
    if (!hasTable("NABLA_MODEL"))
        return std::vector<ModelRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT id, path, format, sha256, opset, importedUtcNs FROM NABLA_MODEL ORDER BY id"));
    return collect<ModelRow>(rows, [](const Statement& r) {
        return ModelRow{r.integer(0), std::string(r.text(1)), std::string(r.text(2)), std::string(r.text(3)),
            r.integer(4), r.integer(5)};
    });
}

Result<std::vector<GraphRow>> Recording::graphs() const {
    if (!hasTable("NABLA_GRAPH"))
        return std::vector<GraphRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare(
            "SELECT id, modelId, parentId, passNameId, kind, nodes, edges, fingerprint FROM NABLA_GRAPH ORDER BY id"));
    return collect<GraphRow>(rows, [this](const Statement& r) {
        return GraphRow{r.integer(0), r.integer(1), r.optionalInteger(2), std::string(string(r.integer(3))),
            static_cast<GraphKind>(r.integer(4)), r.integer(5), r.integer(6), std::string(r.text(7))};
    });
}

Result<std::vector<StepRow>> Recording::steps(std::int64_t runId) const {
    if (!hasTable("NABLA_STEP"))
        return std::vector<StepRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare(
            "SELECT id, runId, idx, phase, start, [end], loss FROM NABLA_STEP WHERE runId = ? ORDER BY idx"));
    rows.bind(1, runId);
    return collect<StepRow>(rows, [](const Statement& r) {
        return StepRow{r.integer(0), r.integer(1), r.integer(2), static_cast<RowPhase>(r.integer(3)), r.integer(4),
            r.integer(5), optionalReal(r, 6)};
    });
}

Result<std::vector<NodeRow>> Recording::nodes(std::int64_t graphId) const {
    if (!hasTable("NABLA_NODE"))
        return std::vector<NodeRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare(
            "SELECT id, graphId, idx, nameId, opTypeId, domainId, phase, forwardNodeId, flops, bytesRead, "
            "bytesWritten FROM NABLA_NODE WHERE graphId = ? ORDER BY idx"));
    rows.bind(1, graphId);
    return collect<NodeRow>(rows, [this](const Statement& r) {
        return NodeRow{r.integer(0), r.integer(1), r.integer(2), std::string(string(r.integer(3))),
            std::string(string(r.integer(4))), std::string(string(r.integer(5))), static_cast<RowPhase>(r.integer(6)),
            r.optionalInteger(7), r.optionalInteger(8), r.optionalInteger(9), r.optionalInteger(10)};
    });
}

Result<std::vector<ValueRow>> Recording::values(std::int64_t graphId) const {
    if (!hasTable("NABLA_VALUE"))
        return std::vector<ValueRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT id, graphId, nameId, producerNodeId, dtype, shape, bytes, role FROM NABLA_VALUE "
                            "WHERE graphId = ? ORDER BY id"));
    rows.bind(1, graphId);
    return collect<ValueRow>(rows, [this](const Statement& r) {
        return ValueRow{r.integer(0), r.integer(1), std::string(string(r.integer(2))), r.optionalInteger(3),
            r.integer(4), std::string(r.text(5)), r.optionalInteger(6), r.integer(7)};
    });
}

Result<std::vector<NodeOriginRow>> Recording::nodeOrigins() const {
    if (!hasTable("NABLA_NODE_ORIGIN"))
        return std::vector<NodeOriginRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT nodeId, originNodeId FROM NABLA_NODE_ORIGIN ORDER BY nodeId, originNodeId"));
    return collect<NodeOriginRow>(rows, [](const Statement& r) { return NodeOriginRow{r.integer(0), r.integer(1)}; });
}

Result<std::vector<AllocEventRow>> Recording::allocEvents(std::int64_t stepId) const {
    if (!hasTable("NABLA_ALLOC_EVENT"))
        return std::vector<AllocEventRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT time, stepId, valueId, nodeId, action, pool, offset, bytes FROM NABLA_ALLOC_EVENT "
                            "WHERE stepId = ? ORDER BY time, rowid"));
    rows.bind(1, stepId);
    return collect<AllocEventRow>(rows, [](const Statement& r) {
        return AllocEventRow{r.integer(0), r.integer(1), r.integer(2), r.optionalInteger(3),
            static_cast<AllocAction>(r.integer(4)), r.integer(5), r.integer(6), r.integer(7)};
    });
}

Result<std::vector<TensorStatsRow>> Recording::tensorStats(std::int64_t stepId) const {
    if (!hasTable("NABLA_TENSOR_STATS"))
        return std::vector<TensorStatsRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT stepId, valueId, kind, count, nan, inf, zero, min, max, mean, std, l2, histogram "
                            "FROM NABLA_TENSOR_STATS WHERE stepId = ? ORDER BY rowid"));
    rows.bind(1, stepId);
    return collect<TensorStatsRow>(rows, [](const Statement& r) {
        const auto histogram = r.blob(12);
        return TensorStatsRow{r.integer(0), r.integer(1), r.integer(2), r.integer(3), r.integer(4), r.integer(5),
            r.integer(6), r.real(7), r.real(8), r.real(9), r.real(10), r.real(11),
            {histogram.begin(), histogram.end()}};
    });
}

Result<std::vector<CounterRow>> Recording::counters(std::optional<std::int64_t> counterId) const {
    if (!hasTable("NABLA_COUNTER"))
        return std::vector<CounterRow>();
    NABLA_TRY(Statement rows,
        m_database->prepare("SELECT time, counterId, value FROM NABLA_COUNTER WHERE ?1 IS NULL OR counterId = ?1 ORDER "
                            "BY counterId, time"));
    rows.bind(1, counterId);
    return collect<CounterRow>(rows, [](const Statement& r) {
        return CounterRow{r.integer(0), r.integer(1), r.real(2)};
    });
}

Result<std::vector<ThreadRow>> Recording::threads() const {
    const auto table = m_tables.find("ThreadNames");
    if (table == m_tables.end())
        return std::vector<ThreadRow>();
    for (const char* needed : {"nameId", "globalTid"}) {
        if (std::count(table->second.begin(), table->second.end(), needed) == 0)
            return engine::readError("ThreadNames has no column \"{}\"", needed);
    }
    NABLA_TRY(Statement rows, m_database->prepare("SELECT globalTid, nameId FROM ThreadNames"));
    return collect<ThreadRow>(rows, [this](const Statement& r) {
        return ThreadRow{r.integer(0), std::string(string(r.integer(1)))};
    });
}

Result<std::vector<StateRow>> Recording::loadStates() const {
    if (m_kind != RecordingKind::Own || !hasTable("NABLA_STATE"))
        return std::vector<StateRow>();
    NABLA_TRY(Statement rows, m_database->prepare("SELECT id, parentId, passId, graph FROM NABLA_STATE ORDER BY id"));
    return collect<StateRow>(rows, [](const Statement& r) {
        const auto graph = r.blob(3);
        return StateRow{r.integer(0), r.optionalInteger(1), std::string(r.text(2)), {graph.begin(), graph.end()}};
    });
}

Result<std::optional<std::string>> Recording::loadView(std::string_view key) const {
    if (m_kind != RecordingKind::Own || !hasTable("NABLA_VIEW"))
        return std::nullopt;
    NABLA_TRY(Statement rows, m_database->prepare("SELECT json FROM NABLA_VIEW WHERE key = ?"));
    rows.bind(1, key);
    NABLA_TRY(const bool row, rows.step());
    return row ? std::optional(std::string(rows.text(0))) : std::nullopt;
}

} // namespace nabla::profiler
