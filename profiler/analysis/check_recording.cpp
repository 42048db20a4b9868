// `trace --check`: the file's own consistency, and that of the rows with each other.
#include <fmt/format.h>

#include "profiler/analysis/trace_summary.h"

namespace nabla::profiler {

namespace {

Result<std::int64_t> countOf(const Recording& recording, const char* query, const engine::JobControl& job) {
    SqlLimits limits;
    limits.time = std::chrono::minutes(5);
    NABLA_TRY(const SqlTable table, recording.sql(query, limits, job));
    if (table.rows.empty() || !std::holds_alternative<std::int64_t>(table.rows[0][0]))
        return 0;
    return std::get<std::int64_t>(table.rows[0][0]);
}

struct RowCheck {
    const char* query;
    const char* sentence; // {} is the count
};
constexpr RowCheck kOwnChecks[] = {
    {"SELECT count(*) FROM NABLA_OP_EVENT WHERE end < start", "{} operator events end before they start"},
    {"SELECT count(*) FROM NABLA_OP_EVENT WHERE stepId NOT IN (SELECT id FROM NABLA_STEP)",
        "{} operator events belong to no execution"},
    {"SELECT count(*) FROM NABLA_OP_EVENT e JOIN NABLA_STEP t ON t.id = e.stepId WHERE e.start < t.start OR e.end > "
     "t.end",
        "{} operator events reach out of their execution"},
    {"SELECT count(*) FROM NABLA_STEP WHERE runId NOT IN (SELECT id FROM NABLA_RUN)", "{} executions belong to no run"},
    {"SELECT coalesce(sum(droppedEvents), 0) FROM NABLA_RUN", "{} events were dropped while recording"},
    {"SELECT count(*) FROM NABLA_RUN WHERE state = 2", "{} runs were interrupted"},
};

} // namespace

Result<std::vector<std::string>> checkRecording(const Recording& recording, const engine::JobControl& job) {
    std::vector<std::string> problems;
    SqlLimits limits;
    limits.time = std::chrono::minutes(5);
    NABLA_TRY(const SqlTable integrity, recording.sql("PRAGMA integrity_check", limits, job));
    for (const auto& row : integrity.rows) {
        const auto* text = std::get_if<std::string>(&row[0]);
        if (text && *text != "ok")
            problems.push_back(fmt::format("SQLite: {}", *text));
    }
    if (recording.kind() == RecordingKind::Own) {
        for (const RowCheck& check : kOwnChecks) {
            NABLA_TRY(const std::int64_t count, countOf(recording, check.query, job));
            if (count > 0)
                problems.push_back(fmt::format(fmt::runtime(check.sentence), count));
        }
    }
    NABLA_TRY(const TraceSummary summary, summarize(recording, {}, job));
    const auto report = [&](const Flagged& flagged, const char* what) {
        if (flagged.count > 0)
            problems.push_back(fmt::format("{} kernels {}", flagged.count, what));
    };
    report(summary.noTime, "have no time");
    report(summary.negativeTime, "end before they start");
    report(summary.beforeLaunch, "start before their launch");
    return problems;
}

} // namespace nabla::profiler
