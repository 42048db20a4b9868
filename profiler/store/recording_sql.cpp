// A user's own SQL, fenced in, and copies of the file.
#include <fmt/format.h>
#include <sqlite3.h>

#include "profiler/store/recording.h"

namespace nabla::profiler {

namespace {

/// What a query may do: select, read, call functions, recurse, and ask for columns. Nothing that writes or opens.
int authorize(void*, int action, const char* name, const char* function, const char*, const char*) {
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return function && std::string_view(function) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: {
        const std::string_view pragma = name ? name : "";
        const bool reads = pragma == "table_info" || pragma == "table_xinfo" || pragma == "table_list"
            || pragma == "index_list" || pragma == "index_info" || pragma == "application_id"
            || pragma == "user_version" || pragma == "integrity_check" || pragma == "quick_check";
        // A third argument would set the pragma, except where it names a table.
        const bool names = pragma.starts_with("table_") || pragma.starts_with("index_");
        return reads && (names || !function) ? SQLITE_OK : SQLITE_DENY;
    }
    default:
        return SQLITE_DENY;
    }
}

struct Budget {
    std::chrono::steady_clock::time_point deadline;
    std::stop_token stop;
    bool timedOut = false;
};

int onProgress(void* data) {
    auto& budget = *static_cast<Budget*>(data);
    if (budget.stop.stop_requested())
        return 1;
    budget.timedOut = std::chrono::steady_clock::now() >= budget.deadline;
    return budget.timedOut ? 1 : 0;
}

SqlTable::Cell cellOf(const Statement& row, int column) {
    switch (row.type(column)) {
    case SQLITE_INTEGER:
        return row.integer(column);
    case SQLITE_FLOAT:
        return row.real(column);
    case SQLITE_TEXT:
        return std::string(row.text(column));
    case SQLITE_BLOB: {
        const auto blob = row.blob(column);
        return std::vector<std::byte>(blob.begin(), blob.end());
    }
    default:
        return std::monostate();
    }
}

std::size_t bytesOf(const SqlTable::Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell))
        return sizeof cell + text->size();
    if (const auto* blob = std::get_if<std::vector<std::byte>>(&cell))
        return sizeof cell + blob->size();
    return sizeof cell;
}

Error queryError(const Error& error, const Budget& budget, const SqlLimits& limits) {
    if (error.kind() == engine::ErrorKind::Cancelled && budget.timedOut)
        return engine::runError("the query ran longer than its limit of {} ms", limits.time.count());
    if (error.kind() == engine::ErrorKind::Cancelled)
        return {engine::ErrorKind::Cancelled, "cancelled"};
    return engine::usageError("SQL: {}", error.message());
}

} // namespace

Result<SqlTable> Recording::sql(std::string_view text, const SqlLimits& limits, const engine::JobControl& job) const {
    // A connection of its own: the fence must not come into the way of typed queries, nor stay.
    NABLA_TRY(Database database, Database::open(m_path, m_mode));
    database.allowViews();
    Budget budget{std::chrono::steady_clock::now() + limits.time, job.stop};
    sqlite3_limit(
        database.handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(std::min<std::size_t>(limits.bytes, 64u << 20)));
    sqlite3_progress_handler(database.handle(), 1000, onProgress, &budget);
    sqlite3_set_authorizer(database.handle(), authorize, nullptr);

    std::string_view rest;
    auto prepared = database.prepare(text, &rest);
    if (!prepared)
        return queryError(prepared.error(), budget, limits);
    if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
        return engine::usageError("SQL: one statement at a time, something follows the first: {}", rest.substr(0, 40));
    Statement& statement = *prepared;
    SqlTable table;
    for (int column = 0; column < statement.columns(); ++column)
        table.columns.push_back(statement.columnName(column));
    if (table.columns.empty())
        return engine::usageError("SQL: not a query");
    std::size_t bytes = 0;
    while (true) {
        auto row = statement.step();
        if (!row) {
            if (table.rows.empty() || !budget.timedOut)
                return queryError(row.error(), budget, limits);
            table.truncated = true;
            return table;
        }
        if (!*row)
            return table;
        if (table.rows.size() >= limits.rows || bytes >= limits.bytes) {
            table.truncated = true;
            return table;
        }
        auto& cells = table.rows.emplace_back();
        for (int column = 0; column < statement.columns(); ++column) {
            cells.push_back(cellOf(statement, column));
            bytes += bytesOf(cells.back());
        }
    }
}

Result<void> Recording::saveAs(const std::filesystem::path& target) const {
    std::error_code error;
    if (std::filesystem::exists(target, error))
        return engine::usageError("{}: exists already", target.string());
    NABLA_TRY(Statement vacuum, m_database->prepare("VACUUM INTO ?"));
    return vacuum.run(target.string()).in(target.string());
}

} // namespace nabla::profiler
