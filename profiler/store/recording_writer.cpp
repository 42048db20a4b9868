// Opening for writing, transactions, limits, closing. The rows themselves are in writer_rows.cpp.
#include "profiler/store/recording_writer.h"

#include <fmt/format.h>

#include "profiler/store/schema.h"

namespace nabla::profiler {

namespace {

constexpr std::int64_t kPageSize = 4096;
constexpr auto kDiskCheckTime = std::chrono::seconds(1);

Result<void> checkOwn(const Database& database) {
    NABLA_TRY(const auto id, database.integer("PRAGMA application_id"));
    if (id != kApplicationId)
        return engine::usageError("is not a Nablascope file; nothing is ever added to another program's file");
    NABLA_TRY(const auto version, database.integer("PRAGMA user_version"));
    if (version != kSchemaVersion)
        return engine::usageError("has schema version {}, this program writes {}", version.value_or(0), kSchemaVersion);
    return {};
}

/// Leaves WAL mode. False when another connection, a recorder or a reader of a live recording, has the file open.
Result<bool> leaveWal(Database& database) {
    auto mode = database.text("PRAGMA journal_mode=DELETE");
    if (mode)
        return *mode == "delete";
    if (database.wasBusy())
        return false;
    return mode.error();
}

} // namespace

Result<std::int64_t> recoverInterruptedRuns(const std::filesystem::path& path, bool* busy) {
    NABLA_TRY(Database database, Database::open(path, OpenMode::ReadWrite));
    NABLA_CHECK(checkOwn(database));
    NABLA_CHECK(database.execute("PRAGMA busy_timeout=50"));
    NABLA_TRY(const bool alone, leaveWal(database));
    if (busy)
        *busy = !alone;
    if (!alone)
        return 0;
    NABLA_TRY(const auto open, database.integer("SELECT count(*) FROM NABLA_RUN WHERE state = 0"));
    if (open.value_or(0) == 0)
        return 0;
    NABLA_CHECK(database.execute("BEGIN IMMEDIATE"));
    NABLA_CHECK(createIndexes(database));
    // Plan steps are committed before the execution they belong to has ended: it gets the row that it would have got.
    NABLA_CHECK(database.execute("INSERT INTO NABLA_STEP(id, runId, idx, phase, start, end) SELECT e.stepId, r.id, "
                                 "e.stepId - coalesce((SELECT max(t.id) FROM NABLA_STEP t WHERE t.runId < r.id), 0), "
                                 "0, min(e.start), max(e.end) "
                                 "FROM NABLA_OP_EVENT e, (SELECT max(id) AS id FROM NABLA_RUN WHERE state = 0) r "
                                 "WHERE e.stepId NOT IN (SELECT id FROM NABLA_STEP) GROUP BY e.stepId"));
    // The end of an interrupted run is the last thing that was committed.
    NABLA_CHECK(database.execute(
        "UPDATE NABLA_RUN SET state = 2, end = max(start, coalesce((SELECT max(t.end) FROM NABLA_STEP t "
        "WHERE t.runId = NABLA_RUN.id), start)) WHERE state = 0; COMMIT; ANALYZE"));
    return *open;
}

Result<RecordingWriter> RecordingWriter::open(const std::filesystem::path& path, const WriterOptions& options) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return engine::usageError("{}: is not a file", path.string());
    const bool fresh = !std::filesystem::exists(status) || std::filesystem::file_size(path, error) == 0;
    return (fresh ? create(path, options) : append(path, options)).in(path.string());
}

Result<RecordingWriter> RecordingWriter::create(const std::filesystem::path& path, const WriterOptions& options) {
    NABLA_TRY(Database database, Database::open(path, OpenMode::Create));
    RecordingWriter writer(std::move(database), path, options);
    writer.m_utcEpochNs = options.utcEpochNs != 0
        ? options.utcEpochNs
        : std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count();
    NABLA_CHECK(createSchema(writer.m_database, writer.m_utcEpochNs));
    NABLA_CHECK(writer.beginWriting());
    return writer;
}

Result<RecordingWriter> RecordingWriter::append(const std::filesystem::path& path, const WriterOptions& options) {
    bool busy = false;
    NABLA_TRY(const std::int64_t recovered, recoverInterruptedRuns(path, &busy));
    static_cast<void>(recovered);
    if (busy)
        return engine::usageError("is being recorded into, or a recording of it is being watched, by another program");
    NABLA_TRY(Database database, Database::open(path, OpenMode::ReadWrite));
    RecordingWriter writer(std::move(database), path, options);
    NABLA_CHECK(checkOwn(writer.m_database));
    NABLA_TRY(const auto epoch, writer.m_database.integer("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"));
    writer.m_utcEpochNs = epoch.value_or(0);
    NABLA_TRY(Statement strings, writer.m_database.prepare("SELECT id, value FROM StringIds"));
    while (true) {
        NABLA_TRY(const bool row, strings.step());
        if (!row)
            break;
        writer.m_strings.emplace(strings.text(1), strings.integer(0));
    }
    NABLA_CHECK(writer.beginWriting());
    return writer;
}

Result<void> RecordingWriter::beginWriting() {
    NABLA_TRY(const std::string mode, m_database.text("PRAGMA journal_mode=WAL"));
    if (mode != "wal")
        return engine::readError(
            "SQLite stays in journal mode \"{}\": a recording needs WAL, which network drives lack", mode);
    NABLA_CHECK(m_database.execute("PRAGMA synchronous=NORMAL"));
    // The hard limit leaves room for the indexes that close() builds; beyond it SQLite itself answers SQLITE_FULL.
    const auto pages = static_cast<std::int64_t>(m_options.maxFileBytes / kPageSize) * 2 + 1024;
    return m_database.execute(fmt::format("PRAGMA max_page_count={}", pages).c_str());
}

Error RecordingWriter::refuse(std::string why) {
    if (m_refusal.empty())
        m_refusal = std::move(why);
    return engine::readError("{}: {}", m_path.string(), m_refusal);
}

Result<void> RecordingWriter::beginTransaction() {
    if (!m_refusal.empty())
        return refuse({});
    if (m_inTransaction)
        return {};
    NABLA_CHECK(m_database.execute("BEGIN IMMEDIATE"));
    m_inTransaction = true;
    m_rowsInTransaction = 0;
    m_transactionStart = std::chrono::steady_clock::now();
    return {};
}

Result<void> RecordingWriter::commitIfDue() {
    if (m_inTransaction && std::chrono::steady_clock::now() - m_transactionStart >= m_options.transactionTime)
        return flush();
    return {};
}

Result<void> RecordingWriter::flush() {
    if (!m_inTransaction)
        return {};
    m_inTransaction = false;
    if (auto committed = m_database.execute("COMMIT"); !committed) {
        const bool full = m_database.wasFull();
        const std::string why = committed.error().message();
        static_cast<void>(m_database.execute("ROLLBACK")); // SQLITE_FULL may have done so itself
        if (full)
            return refuse(fmt::format("recording stopped: {}", why));
        return refuse(fmt::format("recording stopped, the last {} rows are lost: {}", m_rowsInTransaction, why));
    }
    return checkSpace();
}

Result<void> RecordingWriter::checkSpace() {
    NABLA_TRY(const auto pages, m_database.integer("PRAGMA page_count"));
    const auto bytes = static_cast<std::uint64_t>(pages.value_or(0)) * kPageSize;
    if (bytes >= m_options.maxFileBytes)
        return refuse(
            fmt::format("recording stopped: the file has reached its limit of {} bytes", m_options.maxFileBytes));
    const auto now = std::chrono::steady_clock::now();
    if (now - m_lastDiskCheck < kDiskCheckTime)
        return {};
    m_lastDiskCheck = now;
    std::error_code error;
    const auto space = std::filesystem::space(m_path, error);
    if (!error && space.available < m_options.minFreeBytes)
        return refuse(fmt::format("recording stopped: the disk has only {} bytes left, {} are kept free",
            space.available, m_options.minFreeBytes));
    return {};
}

Result<std::int64_t> RecordingWriter::nextStepId() const {
    NABLA_TRY(const auto last, m_database.integer("SELECT max(id) FROM NABLA_STEP"));
    return last.value_or(0) + 1;
}

Result<void> RecordingWriter::endRun(
    std::int64_t runId, std::int64_t end, std::int64_t droppedEvents, std::int64_t droppedGpuRecords) {
    // Also after a refusal: the run is then complete up to the limit, and the message said so.
    if (auto flushed = flush(); !flushed && m_refusal.empty())
        return flushed;
    NABLA_TRY(Statement update,
        m_database.prepare(
            "UPDATE NABLA_RUN SET state = 1, end = ?2, droppedEvents = ?3, droppedGpuRecords = ?4 WHERE id = ?1"));
    return update.run(runId, end, droppedEvents, droppedGpuRecords);
}

Result<void> RecordingWriter::close() {
    Result<void> outcome = flush();
    if (!m_refusal.empty())
        outcome = {}; // it was reported when it happened
    for (auto& statement : m_inserts)
        statement.reset();
    if (outcome)
        outcome = createIndexes(m_database);
    if (outcome)
        outcome = m_database.execute("ANALYZE");
    if (outcome) {
        // With a reader on it the file stays in WAL mode until someone opens it alone; it is complete either way.
        auto alone = leaveWal(m_database);
        if (!alone)
            outcome = alone.error();
        else if (!*alone)
            outcome = m_database.execute("PRAGMA wal_checkpoint(PASSIVE)");
    }
    NABLA_TRY(m_database, Database::open({}, OpenMode::Memory));
    return std::move(outcome).in(m_path.string());
}

} // namespace nabla::profiler
