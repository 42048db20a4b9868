// Opens a recording and asks it: our own files and Nsight Systems' SQLite exports. Everything that shows times reads
// here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engine/base/stop.h"
#include "profiler/store/rows.h"
#include "profiler/store/sqlite.h"

namespace nabla::profiler {

enum class RecordingKind {
    Own,
    Nsight, ///< an SQLite export of Nsight Systems
    Empty, ///< a file without bytes, tables or events
};

/// Where slices come from. Each has its own tracks: threads for the CPU's, device and stream for the GPU's.
enum class SliceSource { Step, OpEvent, Range, RuntimeCall, Kernel, Memcpy, Memset, Synchronization, GraphTrace };
inline constexpr SliceSource kAllSliceSources[]
    = {SliceSource::Step, SliceSource::OpEvent, SliceSource::Range, SliceSource::RuntimeCall, SliceSource::Kernel,
        SliceSource::Memcpy, SliceSource::Memset, SliceSource::Synchronization, SliceSource::GraphTrace};
const char* sliceSourceName(SliceSource source);
bool isGpu(SliceSource source);

/// One row with a start and an end, whatever its table. Times are as written: ns since the session's start, an end of
/// nothing as nullopt, and neither is promised to make sense.
struct Slice {
    std::optional<std::int64_t> start, end;
    std::int64_t rowId = 0;
    std::int64_t track = 0; ///< globalTid, or deviceId << 32 | streamId
    std::string_view name; ///< valid while the recording lives
    std::int64_t nodeId = 0; ///< OpEvent: engine node id
    std::int64_t stepId = 0; ///< Step, OpEvent
    std::int64_t kernelId = 0; ///< OpEvent: StringIds id
    RowPhase phase = RowPhase::None; ///< Step, OpEvent
    std::int64_t planStep = 0; ///< OpEvent
    std::int64_t correlationId = 0; ///< RuntimeCall and GPU; 0 none
    std::int64_t process = 0; ///< pid (with vm id) for joining RuntimeCall and GPU by correlation
    std::int64_t bytes = 0; ///< Memcpy, Memset
};
inline std::int64_t deviceOf(std::int64_t gpuTrack) {
    return gpuTrack >> 32;
}
inline std::int64_t streamOf(std::int64_t gpuTrack) {
    return gpuTrack & 0xffffffff;
}

/// Slices that touch [begin, end).
struct TimeRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// count, sum, min and max of durations, by what `key` is in the query that gave it.
struct DurationSum {
    std::int64_t key = 0;
    std::string name;
    std::int64_t count = 0;
    std::int64_t sumNs = 0;
    std::int64_t minNs = 0;
    std::int64_t maxNs = 0;
};

/// An answer to a user's own SQL.
struct SqlTable {
    using Cell = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
    bool truncated = false; ///< there were more rows than the limit
};
struct SqlLimits {
    std::size_t rows = 100'000;
    std::size_t bytes = 64u << 20;
    std::chrono::milliseconds time{10'000};
};

/// An open recording; movable, used by one thread at a time. Open it again for another thread: connections are cheap.
class Recording {
public:
    /// Own files left behind by a crash are recovered first (state 2); when their folder cannot be written they are
    /// shown as they are, with a notice. Foreign files are never written, nor anything beside them. Errors (Read): not
    /// a recording, refused by name, malformed, a table that is a view or lacks start or end.
    static Result<Recording> open(const std::filesystem::path& path, const engine::JobControl& job = {});

    RecordingKind kind() const { return m_kind; }
    const std::filesystem::path& path() const { return m_path; }
    /// "Nablascope", "NVIDIA Nsight Systems 2024.5.1.113", or "unknown program".
    const std::string& product() const { return m_product; }
    /// What the user should know: "recording was interrupted", "no GPU rows", ...
    const std::vector<std::string>& notices() const { return m_notices; }
    /// UTC of time 0, ns since 1970; nullopt when the file does not say.
    std::optional<std::int64_t> utcEpochNs() const { return m_utcEpochNs; }

    Result<std::vector<RunRow>> runs() const;
    Result<std::vector<HostRow>> hosts() const;
    Result<std::vector<ModelRow>> models() const;
    Result<std::vector<GraphRow>> graphs() const;
    Result<std::vector<StepRow>> steps(std::int64_t runId) const;
    Result<std::vector<NodeRow>> nodes(std::int64_t graphId) const;
    Result<std::vector<ValueRow>> values(std::int64_t graphId) const;
    Result<std::vector<NodeOriginRow>> nodeOrigins() const;
    Result<std::vector<AllocEventRow>> allocEvents(std::int64_t stepId) const;
    Result<std::vector<TensorStatsRow>> tensorStats(std::int64_t stepId) const;
    Result<std::vector<CounterRow>> counters(std::optional<std::int64_t> counterId = {}) const;
    Result<std::vector<ThreadRow>> threads() const;
    /// The text of a StringIds id; empty when there is none.
    std::string_view string(std::int64_t id) const;

    bool has(SliceSource source) const;
    Result<std::int64_t> count(SliceSource source) const;
    /// Calls visit for every slice of a source in the order of the rows, until it returns false.
    Result<void> slices(
        SliceSource source, const std::function<bool(const Slice&)>& visit, const engine::JobControl& job = {}) const;
    /// Only those of one track that touch `range`, ascending by start.
    Result<std::vector<Slice>> slicesTouching(SliceSource source, std::int64_t track, TimeRange range) const;
    /// The tracks of a source and how many slices each has.
    Result<std::map<std::int64_t, std::int64_t>> tracks(SliceSource source) const;

    /// Sums of op events over one run (nullopt: all), keyed by node id, by operator type or by kernel (StringIds id).
    enum class SumBy { Node, Operator, Kernel };
    Result<std::vector<DurationSum>> opSums(SumBy by, std::optional<std::int64_t> runId = {}) const;

    /// Runs one read-only SELECT of the user's. Everything that writes, attaches or sets something is refused.
    /// Errors: Usage for SQL that is wrong or not allowed, Cancelled, Run when a limit is met before the first row.
    Result<SqlTable> sql(std::string_view text, const SqlLimits& limits = {}, const engine::JobControl& job = {}) const;

    /// Writes a copy as one plain file (VACUUM INTO). `target` must not exist.
    Result<void> saveAs(const std::filesystem::path& target) const;

    /// The document part. Empty for files that are not ours.
    Result<std::vector<StateRow>> loadStates() const;
    Result<std::optional<std::string>> loadView(std::string_view key) const;

private:
    friend struct RecordingOpener;

    /// The columns of a table that is a plain table, by name.
    using Columns = std::vector<std::string>;
    struct Source {
        std::string table;
        std::string
            select; // "SELECT rowid, start, end, ... FROM table", columns in a fixed order, NULL for missing ones
        std::string track; // SQL expression
        std::string filter; // condition that every query adds
        mutable std::optional<std::int64_t> longest;
    };

    Recording() = default;
    Result<void> loadStrings();
    bool hasTable(const char* name) const { return m_tables.contains(name); }
    Slice sliceFrom(SliceSource source, const Statement& row) const;
    std::string_view keepName(std::string_view text) const;

    RecordingKind m_kind = RecordingKind::Empty;
    std::filesystem::path m_path;
    std::optional<Database> m_database;
    OpenMode m_mode = OpenMode::Memory;
    std::string m_product = "unknown program";
    std::vector<std::string> m_notices;
    std::optional<std::int64_t> m_utcEpochNs;
    std::map<std::string, Columns> m_tables;
    std::map<SliceSource, Source> m_sources;
    std::unordered_map<std::int64_t, std::string> m_strings;
    // Names that stand in rows instead of StringIds (NVTX text), and node names; stable addresses.
    mutable std::unordered_map<std::string, std::unique_ptr<std::string>> m_ownNames;
    std::unordered_map<std::int64_t, std::int64_t> m_nodeNames; // node id -> StringIds id
};

} // namespace nabla::profiler
