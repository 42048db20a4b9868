// Thin wrappers; every return code of SQLite ends here.
#include "profiler/store/sqlite.h"

#include <sqlite3.h>

namespace nabla::profiler {

namespace {

// A kernel name of a megabyte is real (templates); hundreds of megabytes in one value are an attack.
constexpr int kMaxValueBytes = 64 << 20;
constexpr int kBusyTimeoutMs = 2000;

void harden(sqlite3* handle) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
    sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
    // Mapped pages of a file that shrinks meanwhile would end in SIGBUS.
    sqlite3_exec(handle, "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON;", nullptr, nullptr, nullptr);
    sqlite3_busy_timeout(handle, kBusyTimeoutMs);
}

/// A file: URI of an absolute path; `?`, `#` and `%` of a file name must not become URI syntax.
std::string uriOf(const std::filesystem::path& path, std::string_view parameters) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(path).string()) {
        if (c == '?' || c == '#' || c == '%')
            uri += fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            uri += c;
    }
    return uri.append(parameters);
}

} // namespace

Error sqliteError(sqlite3* database) {
    const auto kind
        = sqlite3_errcode(database) == SQLITE_INTERRUPT ? engine::ErrorKind::Cancelled : engine::ErrorKind::Read;
    return {kind, sqlite3_errmsg(database)};
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const {
    sqlite3_finalize(handle);
}

void Statement::bind(int index, std::int64_t value) {
    sqlite3_bind_int64(m_handle.get(), index, value);
}
void Statement::bind(int index, double value) {
    sqlite3_bind_double(m_handle.get(), index, value);
}
void Statement::bind(int index, std::string_view text) {
    sqlite3_bind_text64(
        m_handle.get(), index, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void Statement::bind(int index, std::span<const std::byte> blob) {
    sqlite3_bind_blob64(
        m_handle.get(), index, blob.empty() ? "" : static_cast<const void*>(blob.data()), blob.size(), SQLITE_STATIC);
}
void Statement::bindNull(int index) {
    sqlite3_bind_null(m_handle.get(), index);
}

Result<bool> Statement::step() {
    switch (sqlite3_step(m_handle.get())) {
    case SQLITE_ROW:
        return true;
    case SQLITE_DONE:
        return false;
    default:
        return sqliteError(m_database);
    }
}

void Statement::reset() {
    sqlite3_reset(m_handle.get());
}

Result<void> Statement::finish() {
    int rc = sqlite3_step(m_handle.get());
    while (rc == SQLITE_ROW)
        rc = sqlite3_step(m_handle.get());
    if (rc != SQLITE_DONE) {
        Error error = sqliteError(m_database);
        reset();
        return error;
    }
    reset();
    return {};
}

int Statement::columns() const {
    return sqlite3_column_count(m_handle.get());
}
std::string Statement::columnName(int column) const {
    const char* name = sqlite3_column_name(m_handle.get(), column);
    return name ? name : "";
}
bool Statement::isNull(int column) const {
    return type(column) == SQLITE_NULL;
}
int Statement::type(int column) const {
    return sqlite3_column_type(m_handle.get(), column);
}
std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(m_handle.get(), column);
}
std::optional<std::int64_t> Statement::optionalInteger(int column) const {
    return isNull(column) ? std::nullopt : std::optional(integer(column));
}
double Statement::real(int column) const {
    return sqlite3_column_double(m_handle.get(), column);
}
std::string_view Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(m_handle.get(), column));
    return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(m_handle.get(), column))) : "";
}
std::span<const std::byte> Statement::blob(int column) const {
    const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(m_handle.get(), column));
    return {bytes, bytes ? static_cast<std::size_t>(sqlite3_column_bytes(m_handle.get(), column)) : 0};
}

void Database::Close::operator()(sqlite3* handle) const {
    sqlite3_close_v2(handle);
}

Result<Database> Database::open(const std::filesystem::path& path, OpenMode mode) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    std::string name;
    switch (mode) {
    case OpenMode::ReadOnly:
        name = uriOf(path, "?mode=ro");
        break;
    case OpenMode::Immutable:
        name = uriOf(path, "?mode=ro&immutable=1");
        break;
    case OpenMode::ReadWrite:
        name = uriOf(path, "?mode=rw");
        break;
    case OpenMode::Create:
        name = uriOf(path, "?mode=rwc");
        break;
    case OpenMode::Memory:
        name = "file::memory:";
        break;
    }
    flags |= mode == OpenMode::ReadOnly || mode == OpenMode::Immutable ? SQLITE_OPEN_READONLY
        : mode == OpenMode::ReadWrite                                  ? SQLITE_OPEN_READWRITE
                                                                       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3* handle = nullptr;
    const int rc = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
    if (!handle)
        return engine::readError("SQLite has no memory to open {}", path.string());
    Database database(handle);
    if (rc != SQLITE_OK)
        return sqliteError(handle);
    harden(handle);
    return database;
}

Result<void> Database::execute(const char* sql) {
    if (sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        return sqliteError(handle());
    return {};
}

Result<Statement> Database::prepare(std::string_view sql, std::string_view* rest) const {
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    if (sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()), 0, &statement, &tail) != SQLITE_OK)
        return sqliteError(handle());
    if (rest)
        *rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
    return Statement(handle(), statement);
}

Result<std::optional<std::int64_t>> Database::integer(std::string_view sql) const {
    NABLA_TRY(Statement statement, prepare(sql));
    NABLA_TRY(const bool row, statement.step());
    return row ? statement.optionalInteger(0) : std::nullopt;
}

Result<std::string> Database::text(std::string_view sql) const {
    NABLA_TRY(Statement statement, prepare(sql));
    NABLA_TRY(const bool row, statement.step());
    return row ? std::string(statement.text(0)) : std::string();
}

std::int64_t Database::lastRowId() const {
    return sqlite3_last_insert_rowid(handle());
}
bool Database::wasBusy() const {
    const int code = sqlite3_errcode(handle());
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}
bool Database::wasFull() const {
    return sqlite3_errcode(handle()) == SQLITE_FULL;
}
void Database::allowViews() {
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_ENABLE_VIEW, 1, nullptr);
}

} // namespace nabla::profiler
