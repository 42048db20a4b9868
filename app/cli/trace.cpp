// trace FILE: what a recording holds, in numbers; SQL over it; export.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/verbs.h"
#include "profiler/analysis/chrome_export.h"
#include "profiler/analysis/trace_summary.h"

namespace nabla::app::cli {

using namespace nabla::engine;
using namespace nabla::profiler;

namespace {

struct TraceVerbOptions {
    std::string file, sql, exportFormat, output;
    bool check = false;
};

std::string cellText(const SqlTable::Cell& cell) {
    if (const auto* i = std::get_if<std::int64_t>(&cell))
        return fmt::format("{}", *i);
    if (const auto* d = std::get_if<double>(&cell))
        return fmt::format("{}", *d);
    if (const auto* s = std::get_if<std::string>(&cell))
        return *s;
    if (const auto* b = std::get_if<std::vector<std::byte>>(&cell))
        return fmt::format("<{} bytes>", b->size());
    return "";
}

nlohmann::json cellJson(const SqlTable::Cell& cell) {
    if (const auto* i = std::get_if<std::int64_t>(&cell))
        return *i;
    if (const auto* d = std::get_if<double>(&cell))
        return *d;
    if (std::holds_alternative<std::monostate>(cell))
        return nullptr;
    return cellText(cell);
}

Result<void> query(const Recording& recording, const TraceVerbOptions& options, Context& context) {
    NABLA_TRY(const SqlTable table, recording.sql(options.sql, {}, context.job));
    if (context.json) {
        nlohmann::json rows = nlohmann::json::array();
        for (const auto& row : table.rows) {
            nlohmann::json cells = nlohmann::json::array();
            for (const auto& cell : row)
                cells.push_back(cellJson(cell));
            rows.push_back(std::move(cells));
        }
        context.printJson(nlohmann::json{{"schema", 1}, {"columns", table.columns}, {"rows", rows}, {"truncated", table.truncated}});
        return {};
    }
    context.print(fmt::format("{}", fmt::join(table.columns, "\t")));
    for (const auto& row : table.rows) {
        std::vector<std::string> cells;
        for (const auto& cell : row)
            cells.push_back(cellText(cell));
        context.print(fmt::format("{}", fmt::join(cells, "\t")));
    }
    if (table.truncated)
        context.say(fmt::format("only the first {} rows are shown", table.rows.size()));
    return {};
}

Result<void> trace(const TraceVerbOptions& options, Context& context) {
    NABLA_TRY(const Recording recording, Recording::open(options.file, context.job));
    if (!options.sql.empty())
        return query(recording, options, context);
    if (!options.exportFormat.empty()) {
        if (options.exportFormat != "chrome")
            return usageError("--export {}: only chrome is there", options.exportFormat);
        if (options.output.empty())
            return usageError("--export wants -o FILE");
        NABLA_TRY(const std::int64_t events, exportChromeTrace(recording, options.output, context.job));
        context.say(fmt::format("{} events written to {}", events, options.output));
        return {};
    }
    if (options.check) {
        NABLA_TRY(const auto faults, checkRecording(recording, context.job));
        if (context.json)
            context.printJson(nlohmann::json{{"schema", 1}, {"faults", faults}});
        else
            for (const std::string& fault : faults)
                context.print(fault);
        if (!faults.empty())
            return Error{ErrorKind::Check, fmt::format("{} faults found", faults.size())};
        context.say("nothing wrong found");
        return {};
    }
    NABLA_TRY(const TraceSummary summary, summarize(recording, {}, context.job));
    const std::string text = context.json ? summaryJson(summary) : summaryText(summary);
    context.print(std::string_view(text));
    return {};
}

} // namespace

void addTrace(::CLI::App& app, Context& context) {
    auto options = std::make_shared<TraceVerbOptions>();
    auto* verb = app.add_subcommand("trace", "what a recording holds: counts, sums, longest, per track");
    verb->add_option("FILE", options->file, "recording")->required();
    verb->add_option("--sql", options->sql, "one read-only SELECT over the recording");
    verb->add_option("--export", options->exportFormat, "chrome");
    verb->add_option("-o,--output", options->output, "file for --export");
    verb->add_flag("--check", options->check, "look for damage; exit 1 when there is some");
    verb->callback([options, &context] {
        if (auto result = trace(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
