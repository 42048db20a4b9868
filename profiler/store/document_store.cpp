// Saving a document in place: SQLite's own transaction is what makes it atomic.
#include "profiler/store/document_store.h"

#include <chrono>

#include "profiler/store/schema.h"

namespace nabla::profiler {

namespace {

Result<void> writeRows(Database& database, std::span<const StateRow> states, std::span<const ViewRow> views) {
    NABLA_CHECK(database.execute("DELETE FROM NABLA_STATE"));
    NABLA_TRY(
        Statement state, database.prepare("INSERT INTO NABLA_STATE(id, parentId, passId, graph) VALUES(?,?,?,?)"));
    for (const StateRow& row : states)
        NABLA_CHECK(state.run(row.id, row.parentId, row.passId, std::span<const std::byte>(row.graph)));
    NABLA_TRY(Statement view, database.prepare("INSERT OR REPLACE INTO NABLA_VIEW(key, json) VALUES(?,?)"));
    for (const ViewRow& row : views)
        NABLA_CHECK(view.run(row.key, row.json));
    return database.execute("COMMIT");
}

Result<void> save(const std::filesystem::path& path, std::span<const StateRow> states, std::span<const ViewRow> views) {
    NABLA_TRY(Database database, Database::open(path, OpenMode::Create));
    NABLA_TRY(const auto tables, database.integer("SELECT count(*) FROM sqlite_schema"));
    if (tables == 0) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        NABLA_CHECK(createSchema(database, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    }
    NABLA_TRY(const auto id, database.integer("PRAGMA application_id"));
    NABLA_TRY(const auto version, database.integer("PRAGMA user_version"));
    if (id != kApplicationId)
        return engine::usageError("is not a Nablascope file; another program's file is never written to");
    if (version != kSchemaVersion)
        return engine::usageError("has schema version {}, this program writes {}", version.value_or(0), kSchemaVersion);
    NABLA_CHECK(database.execute("BEGIN IMMEDIATE"));
    if (auto written = writeRows(database, states, views); !written) {
        static_cast<void>(database.execute("ROLLBACK"));
        return written;
    }
    return {};
}

} // namespace

Result<void> saveDocument(
    const std::filesystem::path& path, std::span<const StateRow> states, std::span<const ViewRow> views) {
    return save(path, states, views).in(path.string());
}

} // namespace nabla::profiler
