// RAII over the SQLite C API; the only folder that knows it. Used by the store's own sources, not by its callers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nabla::profiler {

using engine::Error;
using engine::Result;

/// A prepared statement. Text and blobs that are bound or read live until the next step() or reset().
class Statement {
public:
    Statement() = default;
    Statement(sqlite3* database, sqlite3_stmt* handle)
        : m_database(database)
        , m_handle(handle) { }

    void bind(int index, std::int64_t value);
    void bind(int index, int value) { bind(index, static_cast<std::int64_t>(value)); }
    void bind(int index, double value);
    void bind(int index, std::string_view text);
    void bind(int index, const char* text) { bind(index, std::string_view(text)); }
    void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
    void bind(int index, std::span<const std::byte> blob);
    void bindNull(int index);
    template <typename T> void bind(int index, const std::optional<T>& value) {
        if (value)
            bind(index, *value);
        else
            bindNull(index);
    }
    /// Binds all arguments from 1 on, runs the statement to its end and resets it.
    template <typename... Args> Result<void> run(const Args&... args) {
        int index = 0;
        (bind(++index, args), ...);
        return finish();
    }

    /// True while there is a row.
    Result<bool> step();
    void reset();

    int columns() const;
    std::string columnName(int column) const;
    bool isNull(int column) const;
    /// SQLITE_INTEGER 1, SQLITE_FLOAT 2, SQLITE_TEXT 3, SQLITE_BLOB 4, SQLITE_NULL 5.
    int type(int column) const;
    std::int64_t integer(int column) const;
    std::optional<std::int64_t> optionalInteger(int column) const;
    double real(int column) const;
    std::string_view text(int column) const;
    std::span<const std::byte> blob(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* handle) const;
    };
    Result<void> finish();

    sqlite3* m_database = nullptr;
    std::unique_ptr<sqlite3_stmt, Finalize> m_handle;
};

enum class OpenMode {
    ReadOnly, ///< mode=ro: takes part in locking, may use an existing -wal
    Immutable, ///< no locks, no -wal or -shm looked at or made
    ReadWrite, ///< must exist
    Create, ///< made when missing
    Memory, ///< an empty one that no file holds
};

/// A connection. Every one is hardened: no triggers, no views, no extensions, no memory mapping, sizes limited, since
/// the file may come from anywhere.
class Database {
public:
    static Result<Database> open(const std::filesystem::path& path, OpenMode mode);

    Result<void> execute(const char* sql);
    /// Prepares the first statement of `sql`; `rest`, if given, receives what follows it.
    Result<Statement> prepare(std::string_view sql, std::string_view* rest = nullptr) const;
    /// The first column of the first row; empty when there is none.
    Result<std::optional<std::int64_t>> integer(std::string_view sql) const;
    Result<std::string> text(std::string_view sql) const;

    std::int64_t lastRowId() const;
    /// SQLITE_BUSY or SQLITE_LOCKED was the last thing that happened.
    bool wasBusy() const;
    /// SQLITE_FULL was.
    bool wasFull() const;
    /// Lets a user's own query see views; typed queries never do.
    void allowViews();
    sqlite3* handle() const { return m_handle.get(); }

private:
    struct Close {
        void operator()(sqlite3* handle) const;
    };
    explicit Database(sqlite3* handle)
        : m_handle(handle) { }

    std::unique_ptr<sqlite3, Close> m_handle;
};

/// The connection's last failure as an Error (Read, or Cancelled after an interrupt).
Error sqliteError(sqlite3* database);

} // namespace nabla::profiler
