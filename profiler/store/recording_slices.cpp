// Slices of every source, tracks and sums.
#include <limits>

#include <fmt/format.h>

#include "profiler/store/recording.h"
#include "profiler/store/slice_sources.h"

namespace nabla::profiler {

namespace {

constexpr std::int64_t kCancelCheckRows = 65'536;
/// globalPid of Nsight Systems carries the pid in bits 24 and up; hand-made files have the bare pid.
std::int64_t processFrom(SliceSource source, std::int64_t value) {
    return source == SliceSource::RuntimeCall || value < (1 << 24) ? value : value >> 24;
}

const char* memcpyName(std::int64_t kind) {
    switch (kind) {
    case 1:
        return "memcpy host to device";
    case 2:
        return "memcpy device to host";
    case 8:
        return "memcpy device to device";
    case 9:
        return "memcpy host to host";
    case 10:
        return "memcpy peer to peer";
    default:
        return "memcpy";
    }
}
const char* syncName(std::int64_t type) {
    switch (type) {
    case 1:
        return "event synchronize";
    case 2:
        return "stream wait event";
    case 3:
        return "stream synchronize";
    case 4:
        return "context synchronize";
    default:
        return "synchronize";
    }
}
const char* phaseName(std::int64_t phase) {
    switch (phase) {
    case 1:
        return "forward";
    case 2:
        return "backward";
    case 3:
        return "optimizer";
    default:
        return "run";
    }
}

} // namespace

const char* sliceSourceName(SliceSource source) {
    switch (source) {
    case SliceSource::Step:
        return "runs";
    case SliceSource::OpEvent:
        return "operators";
    case SliceSource::Range:
        return "ranges";
    case SliceSource::RuntimeCall:
        return "CUDA calls";
    case SliceSource::Kernel:
        return "kernels";
    case SliceSource::Memcpy:
        return "copies";
    case SliceSource::Memset:
        return "memsets";
    case SliceSource::Synchronization:
        return "waits";
    case SliceSource::GraphTrace:
        return "CUDA graphs";
    }
    return "";
}

bool isGpu(SliceSource source) {
    return source >= SliceSource::Kernel;
}

std::string_view Recording::string(std::int64_t id) const {
    const auto found = m_strings.find(id);
    return found == m_strings.end() ? std::string_view() : found->second;
}

std::string_view Recording::keepName(std::string_view text) const {
    auto& kept = m_ownNames[std::string(text)];
    if (!kept)
        kept = std::make_unique<std::string>(text);
    return *kept;
}

Slice Recording::sliceFrom(SliceSource source, const Statement& row) const {
    Slice slice;
    slice.start = row.optionalInteger(kStart);
    slice.end = row.optionalInteger(kEnd);
    slice.rowId = row.integer(kRowId);
    slice.track = row.integer(kTrackColumn);
    // A column costs a call into SQLite, so each source reads only its own: that is half of the time of loading.
    if (isGpu(source) || source == SliceSource::RuntimeCall) {
        slice.correlationId = row.integer(kCorrelation);
        slice.process = processFrom(source, row.integer(kProcess));
    }
    switch (source) {
    case SliceSource::Step:
        slice.stepId = row.integer(kStep);
        slice.phase = static_cast<RowPhase>(row.integer(kDetail) & 3);
        slice.name = phaseName(row.integer(kDetail));
        break;
    case SliceSource::OpEvent: {
        slice.nodeId = row.integer(kNode);
        slice.stepId = row.integer(kStep);
        slice.kernelId = row.integer(kKernelId);
        slice.planStep = row.integer(kPlanStep);
        slice.phase = static_cast<RowPhase>(row.integer(kFlags) & 3);
        const auto name = m_nodeNames.find(slice.nodeId);
        slice.name = name != m_nodeNames.end() ? string(name->second) : keepName(fmt::format("node {}", slice.nodeId));
        break;
    }
    case SliceSource::Range:
        slice.name = row.isNull(kNameText) ? string(row.integer(kNameId)) : keepName(row.text(kNameText));
        break;
    case SliceSource::RuntimeCall:
    case SliceSource::Kernel:
        slice.name = string(row.integer(kNameId));
        break;
    case SliceSource::Memcpy:
        slice.bytes = row.integer(kBytes);
        slice.name = memcpyName(row.integer(kDetail));
        break;
    case SliceSource::Memset:
        slice.bytes = row.integer(kBytes);
        slice.name = "memset";
        break;
    case SliceSource::Synchronization:
        slice.name = syncName(row.integer(kDetail));
        break;
    case SliceSource::GraphTrace:
        slice.name = keepName(fmt::format("CUDA graph {}", row.integer(kDetail)));
        break;
    }
    return slice;
}

bool Recording::has(SliceSource source) const {
    const auto found = m_sources.find(source);
    if (found == m_sources.end())
        return false;
    const auto any = m_database->integer(
        fmt::format("SELECT 1 FROM [{}] WHERE {} LIMIT 1", found->second.table, found->second.filter));
    // A table that cannot be read is reported by the query that wants its rows.
    return !any || *any;
}

Result<std::int64_t> Recording::count(SliceSource source) const {
    const auto found = m_sources.find(source);
    if (found == m_sources.end())
        return 0;
    NABLA_TRY(const auto count,
        m_database->integer(
            fmt::format("SELECT count(*) FROM [{}] WHERE {}", found->second.table, found->second.filter)));
    return count.value_or(0);
}

Result<void> Recording::slices(
    SliceSource source, const std::function<bool(const Slice&)>& visit, const engine::JobControl& job) const {
    const auto found = m_sources.find(source);
    if (found == m_sources.end())
        return {};
    NABLA_TRY(Statement rows, m_database->prepare(found->second.select + " WHERE " + found->second.filter));
    for (std::int64_t n = 0;; ++n) {
        if (n % kCancelCheckRows == 0)
            NABLA_CHECK(job.check());
        NABLA_TRY(const bool row, rows.step());
        if (!row || !visit(sliceFrom(source, rows)))
            return {};
    }
}

Result<std::vector<Slice>> Recording::slicesTouching(SliceSource source, std::int64_t track, TimeRange range) const {
    std::vector<Slice> slices;
    const auto found = m_sources.find(source);
    if (found == m_sources.end())
        return slices;
    const Source& from = found->second;
    if (!from.longest) {
        NABLA_TRY(from.longest,
            m_database->integer(
                fmt::format("SELECT max([end] - [start]) FROM [{}] WHERE {}", from.table, from.filter)));
        from.longest = std::max<std::int64_t>(from.longest.value_or(0), 0);
    }
    // No slice that begins more than the longest one before the range can reach it: that bounds the scan of the index.
    const bool underflow = range.begin < std::numeric_limits<std::int64_t>::min() + *from.longest;
    const std::int64_t earliest = underflow ? std::numeric_limits<std::int64_t>::min() : range.begin - *from.longest;
    NABLA_TRY(Statement rows,
        m_database->prepare(fmt::format("{} WHERE {} AND {} = ?1 AND [start] < ?3 AND [start] >= ?4 AND [end] >= ?2 "
                                        "ORDER BY [start]",
            from.select, from.filter, from.track)));
    rows.bind(1, track);
    rows.bind(2, range.begin);
    rows.bind(3, range.end);
    rows.bind(4, earliest);
    while (true) {
        NABLA_TRY(const bool row, rows.step());
        if (!row)
            return slices;
        slices.push_back(sliceFrom(source, rows));
    }
}

Result<std::map<std::int64_t, std::int64_t>> Recording::tracks(SliceSource source) const {
    std::map<std::int64_t, std::int64_t> tracks;
    const auto found = m_sources.find(source);
    if (found == m_sources.end())
        return tracks;
    const Source& from = found->second;
    NABLA_TRY(Statement rows,
        m_database->prepare(fmt::format(
            "SELECT {0}, count(*) FROM [{1}] WHERE {2} GROUP BY {0}", from.track, from.table, from.filter)));
    while (true) {
        NABLA_TRY(const bool row, rows.step());
        if (!row)
            return tracks;
        tracks[rows.integer(0)] += rows.integer(1);
    }
}

Result<std::vector<DurationSum>> Recording::opSums(SumBy by, std::optional<std::int64_t> runId) const {
    std::vector<DurationSum> sums;
    if (!m_sources.contains(SliceSource::OpEvent))
        return sums;
    // One node id means one operator in every graph of the document, so any of its rows will do.
    const char* key = by == SumBy::Node ? "e.nodeId"
        : by == SumBy::Kernel
        ? "e.kernelId"
        : "(SELECT n.opTypeId FROM NABLA_NODE n JOIN NABLA_STEP t ON t.id = e.stepId JOIN NABLA_RUN r "
          "ON r.id = t.runId WHERE n.graphId = r.graphId AND n.id = e.nodeId)";
    NABLA_TRY(Statement rows,
        m_database->prepare(fmt::format(
            "SELECT {}, count(*), sum(e.[end] - e.start), min(e.[end] - e.start), max(e.[end] - e.start) "
            "FROM NABLA_OP_EVENT e WHERE ?1 IS NULL OR e.stepId IN (SELECT id FROM NABLA_STEP WHERE runId = ?1) "
            "GROUP BY 1 ORDER BY 3 DESC",
            key)));
    rows.bind(1, runId);
    while (true) {
        NABLA_TRY(const bool row, rows.step());
        if (!row)
            return sums;
        DurationSum sum{rows.integer(0), {}, rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4)};
        const auto node = m_nodeNames.find(sum.key);
        sum.name = by != SumBy::Node ? string(sum.key) : node == m_nodeNames.end() ? "" : string(node->second);
        sums.push_back(std::move(sum));
    }
}

} // namespace nabla::profiler
