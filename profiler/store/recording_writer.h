// Writes a recording: one thread, prepared statements, a transaction every 10,000 rows or 100 ms.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profiler/store/rows.h"
#include "profiler/store/sqlite.h"

namespace nabla::profiler {

struct WriterOptions {
    std::uint64_t maxFileBytes = 2'000'000'000; ///< recording stops here, with a message
    std::uint64_t minFreeBytes = 256u << 20; ///< and when the disk has less than this left
    std::size_t rowsPerTransaction = 10'000;
    std::chrono::milliseconds transactionTime{100};
    /// UTC of the session's time 0, ns since 1970; 0: now. Only a new file takes it.
    std::int64_t utcEpochNs = 0;
};

/// What state 0 turns into when nobody writes any more: indexes, ANALYZE, state 2. `path` is an own file.
/// Returns the number of runs recovered; 0 also when somebody is still writing (`busy`, if given, says so).
Result<std::int64_t> recoverInterruptedRuns(const std::filesystem::path& path, bool* busy = nullptr);

/// Appends to a new or an own file. While it lives the file is in WAL mode and readers see what is committed; close()
/// leaves one plain file. Without close() (or after kill -9) everything committed is there and is recovered on opening.
///
/// Every add() may fail with "reached its limit": rows are refused from then on, what was written stays, close() works.
class RecordingWriter {
public:
    /// Errors: another program records into the file; it is not ours; a newer version's; folder not writable.
    static Result<RecordingWriter> open(const std::filesystem::path& path, const WriterOptions& options = {});

    /// UTC of time 0 of this file. A later run's times are counted from here too.
    std::int64_t utcEpochNs() const { return m_utcEpochNs; }

    /// The StringIds id of `text`, made when new. Invalid UTF-8 is stored as it is.
    Result<std::int64_t> intern(std::string_view text);

    Result<std::int64_t> add(const HostRow& row);
    Result<std::int64_t> add(const ModelRow& row);
    Result<std::int64_t> add(const GraphRow& row);
    Result<void> add(const NodeRow& row);
    Result<void> add(const NodeOriginRow& row);
    Result<void> add(const ValueRow& row);
    Result<void> add(const ThreadRow& row);
    Result<void> add(const StepRow& row); ///< `id` is the caller's: nextStepId() and up
    Result<void> add(const OpEventRow& row);
    Result<void> add(const AllocEventRow& row);
    Result<void> add(const TensorStatsRow& row);
    Result<void> add(const CounterRow& row);
    Result<void> addClockPair(std::int64_t runId, std::int64_t ticks, std::int64_t ns);

    /// The first step id that is free.
    Result<std::int64_t> nextStepId() const;
    /// Writes the run with state 0 and commits it. Returns its id.
    Result<std::int64_t> beginRun(const RunRow& row);
    /// State 1, end and drop counts.
    Result<void> endRun(
        std::int64_t runId, std::int64_t end, std::int64_t droppedEvents, std::int64_t droppedGpuRecords);

    /// Commits when the open transaction is older than the time limit. Call it when idle.
    Result<void> commitIfDue();
    /// Commits: what was added before is acknowledged, it survives kill -9.
    Result<void> flush();
    /// Commits, builds indexes and statistics, turns the file into one plain file. The writer is empty afterwards.
    Result<void> close();

    /// Why rows are refused, empty while they are not.
    const std::string& refusal() const { return m_refusal; }

private:
    enum Insert {
        kString,
        kNode,
        kOrigin,
        kValue,
        kThread,
        kStep,
        kOpEvent,
        kAlloc,
        kStats,
        kCounter,
        kClockPair,
        kInsertCount
    };

    RecordingWriter(Database database, const std::filesystem::path& path, const WriterOptions& options)
        : m_database(std::move(database))
        , m_path(path)
        , m_options(options) { }

    static Result<RecordingWriter> create(const std::filesystem::path& path, const WriterOptions& options);
    static Result<RecordingWriter> append(const std::filesystem::path& path, const WriterOptions& options);
    Result<void> beginWriting();
    Result<Statement*> insert(Insert which);
    template <typename... Args> Result<void> write(Insert which, const Args&... args);
    Result<void> beginTransaction();
    Result<void> checkSpace();
    Error refuse(std::string why);

    Database m_database;
    std::filesystem::path m_path;
    WriterOptions m_options;
    std::int64_t m_utcEpochNs = 0;
    std::unordered_map<std::string, std::int64_t> m_strings;
    std::array<std::optional<Statement>, kInsertCount> m_inserts;
    std::size_t m_rowsInTransaction = 0;
    bool m_inTransaction = false;
    std::chrono::steady_clock::time_point m_transactionStart;
    std::chrono::steady_clock::time_point m_lastDiskCheck;
    std::string m_refusal;
};

} // namespace nabla::profiler
