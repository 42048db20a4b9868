// From a path to an open Recording: what it is, whether it needs recovery, which tables and columns it has.
#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profiler/store/file_kind.h"
#include "profiler/store/recording.h"
#include "profiler/store/recording_writer.h"
#include "profiler/store/schema.h"
#include "profiler/store/slice_sources.h"

namespace nabla::profiler {

namespace {

/// What the first page says without SQLite, so that nothing is opened in a mode that would write beside the file.
struct Header {
    std::int64_t applicationId = 0;
    bool wal = false;
};

Header readHeader(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 100> bytes{};
    file.read(bytes.data(), bytes.size());
    if (file.gcount() != static_cast<std::streamsize>(bytes.size()))
        return {};
    std::int64_t id = 0;
    for (std::size_t i = 68; i < 72; ++i)
        id = (id << 8) | static_cast<unsigned char>(bytes[i]);
    return {id, bytes[18] == 2 || bytes[19] == 2};
}

bool holdsBytes(const std::filesystem::path& path, const char* suffix) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path.string() + suffix, error);
    return !error && size > 0;
}

} // namespace

/// The steps of Recording::open(); a struct because each needs Recording's members.
struct RecordingOpener {
    Recording recording;
    Header header;

    Result<void> run(const std::filesystem::path& path, const engine::JobControl& job) {
        recording.m_path = path;
        NABLA_TRY(const FileKind kind, fileKind(path));
        if (kind == FileKind::Empty)
            return openEmpty("the file is empty: no events were recorded");
        if (kind != FileKind::Sqlite)
            return engine::readError("{}", refusalOf(kind));
        header = readHeader(path);
        const bool own = header.applicationId == kApplicationId;
        NABLA_CHECK(own ? openOwn() : openForeign());
        NABLA_CHECK(job.check());
        NABLA_CHECK(readTables());
        if (own) {
            recording.m_kind = RecordingKind::Own;
            NABLA_CHECK(checkOwnVersion());
        } else {
            NABLA_CHECK(classifyForeign());
            if (recording.m_kind == RecordingKind::Empty)
                return {};
        }
        NABLA_CHECK(resolveSources());
        NABLA_CHECK(job.check());
        NABLA_CHECK(readMeta());
        return noticeWhatIsMissing();
    }

    Result<void> openEmpty(std::string why) {
        NABLA_TRY(recording.m_database, Database::open({}, OpenMode::Memory));
        recording.m_mode = OpenMode::Memory;
        recording.m_kind = RecordingKind::Empty;
        recording.m_notices.push_back(std::move(why));
        return {};
    }

    Result<void> openIn(OpenMode mode) {
        NABLA_TRY(recording.m_database, Database::open(recording.m_path, mode));
        recording.m_mode = mode;
        return {};
    }

    /// Another program's file is read without locks and without a -shm beside it, unless a -wal holds part of its rows.
    Result<void> openForeign() {
        if (holdsBytes(recording.m_path, "-wal")) {
            NABLA_CHECK(openIn(OpenMode::ReadOnly));
            if (recording.m_database->integer("SELECT count(*) FROM sqlite_schema"))
                return {};
            recording.m_notices.push_back(
                "the rows in the file's -wal could not be read; what was written last is missing");
        }
        return openIn(OpenMode::Immutable);
    }

    Result<void> openOwn() {
        if (header.wal || holdsBytes(recording.m_path, "-wal") || holdsBytes(recording.m_path, "-journal"))
            recover();
        const bool plain = !readHeader(recording.m_path).wal && !holdsBytes(recording.m_path, "-journal");
        if (plain || holdsBytes(recording.m_path, "-wal"))
            return openIn(OpenMode::ReadOnly);
        return openIn(OpenMode::Immutable);
    }

    /// Failing to recover is no failure to open: the folder may be read-only, the recorder still at work.
    void recover() {
        bool busy = false;
        const auto recovered = recoverInterruptedRuns(recording.m_path, &busy);
        if (busy)
            recording.m_notices.push_back(
                "the recording is still running; what is shown is what was written until now");
        else if (!recovered)
            recording.m_notices.push_back(
                fmt::format("an interrupted recording could not be completed: {}", recovered.error().message()));
    }

    Result<void> checkOwnVersion() {
        NABLA_TRY(const auto version, recording.m_database->integer("PRAGMA user_version"));
        if (version.value_or(0) > kSchemaVersion)
            recording.m_notices.push_back(fmt::format("made by a newer version (schema {}, this program knows {}): "
                                                      "opened read-only, what is new is not shown",
                *version, kSchemaVersion));
        if (!recording.hasTable("NABLA_RUN"))
            return engine::readError("has no table NABLA_RUN although it is marked as a Nablascope file");
        recording.m_product = "Nablascope";
        return {};
    }

    /// Names and columns of every table that we know; a view in the place of one could compute without end, so it is
    /// refused.
    Result<void> readTables() {
        NABLA_TRY(Statement list,
            recording.m_database->prepare("SELECT name, type, sql FROM sqlite_schema WHERE type IN ('table', 'view')"));
        std::vector<std::string> names;
        while (true) {
            NABLA_TRY(const bool row, list.step());
            if (!row)
                break;
            const std::string name(list.text(0));
            if (list.type(0) != 3 || name.starts_with("sqlite_"))
                continue;
            const bool ours = name == "NVTX_EVENTS" && header.applicationId == kApplicationId;
            if (list.text(1) == "view" || std::string_view(list.text(2)).starts_with("CREATE VIRTUAL")) {
                if (isKnownTable(name) && !ours)
                    return engine::readError("{} is a view where a table should be; it is not run", name);
                continue;
            }
            names.push_back(name);
        }
        for (const std::string& name : names) {
            // PRAGMA table_info leaves generated columns out: their value can cost any amount of time and memory.
            NABLA_TRY(Statement info, recording.m_database->prepare("SELECT name FROM pragma_table_info(?)"));
            info.bind(1, name);
            auto& columns = recording.m_tables[name];
            while (true) {
                NABLA_TRY(const bool row, info.step());
                if (!row)
                    break;
                columns.emplace_back(info.text(0));
            }
        }
        return {};
    }

    Result<void> classifyForeign() {
        const auto& tables = recording.m_tables;
        if (tables.empty())
            return openEmpty("the database has no tables: no events were recorded");
        if (tables.contains("StringTable") && tables.contains("Version"))
            return engine::readError("{}", refusalOf(FileKind::NvprofSession));
        const bool meta = tables.contains("META_DATA_EXPORT") || tables.contains("EXPORT_META_DATA");
        const bool events
            = std::any_of(tables.begin(), tables.end(), [](const auto& table) { return isKnownTable(table.first); });
        if (meta || events) {
            recording.m_kind = RecordingKind::Nsight;
            return {};
        }
        std::vector<std::string> some;
        for (const auto& [name, columns] : tables) {
            if (some.size() < 5)
                some.push_back(name);
        }
        return engine::readError("an SQLite database, but not a recording: it has the tables {}{}",
            fmt::join(some, ", "), tables.size() > some.size() ? ", ..." : "");
    }

    Result<void> resolveSources() {
        for (const SliceSource source : kAllSliceSources) {
            for (const auto& [table, columns] : recording.m_tables) {
                if (!isTableOf(source, table, recording.m_kind == RecordingKind::Own))
                    continue;
                NABLA_TRY(const SourceSql sql, sourceSql(source, table, columns));
                recording.m_sources[source] = {table, sql.select, sql.track, sql.filter, {}};
            }
        }
        return {};
    }

    Result<void> readMeta() {
        NABLA_CHECK(recording.loadStrings());
        for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
            const auto columns = recording.m_tables.find(table);
            if (columns == recording.m_tables.end() || recording.m_kind == RecordingKind::Own
                || std::count(columns->second.begin(), columns->second.end(), "name") == 0
                || std::count(columns->second.begin(), columns->second.end(), "value") == 0)
                continue;
            const auto value = [&](const char* name) {
                return recording.m_database->text(fmt::format("SELECT value FROM {} WHERE name = '{}'", table, name));
            };
            NABLA_TRY(const std::string product, value("EXPORT_PRODUCT_NAME"));
            NABLA_TRY(const std::string version, value("EXPORT_PRODUCT_VERSION"));
            if (!product.empty())
                recording.m_product = version.empty() ? product : product + " " + version;
        }
        const auto start = recording.m_tables.find("TARGET_INFO_SESSION_START_TIME");
        if (start != recording.m_tables.end()
            && std::count(start->second.begin(), start->second.end(), "utcEpochNs") != 0) {
            NABLA_TRY(recording.m_utcEpochNs,
                recording.m_database->integer("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"));
        }
        return {};
    }

    Result<void> noticeWhatIsMissing() {
        if (recording.m_kind == RecordingKind::Own) {
            NABLA_TRY(const auto runs, recording.runs());
            for (const RunRow& run : runs) {
                if (run.state == RunState::Recovered)
                    NABLA_CHECK(noticeRecovered(run));
                if (run.droppedEvents > 0)
                    recording.m_notices.push_back(fmt::format(
                        "run {}: {} events were dropped, the recorder could not keep up", run.id, run.droppedEvents));
            }
        }
        bool any = false;
        for (const SliceSource source : kAllSliceSources)
            any = any || recording.has(source);
        if (!any)
            recording.m_notices.push_back("no events were recorded");
        else if (!recording.has(SliceSource::Kernel) && !recording.has(SliceSource::GraphTrace))
            recording.m_notices.push_back("no GPU rows: the recording holds no kernel");
        return {};
    }

    Result<void> noticeRecovered(const RunRow& run) {
        NABLA_TRY(Statement events,
            recording.m_database->prepare(
                "SELECT count(*) FROM NABLA_OP_EVENT WHERE stepId IN (SELECT id FROM NABLA_STEP WHERE runId = ?)"));
        events.bind(1, run.id);
        NABLA_TRY(const bool row, events.step());
        recording.m_notices.push_back(fmt::format(
            "run {}: the recording was interrupted; {} events are kept", run.id, row ? events.integer(0) : 0));
        return {};
    }
};

Result<Recording> Recording::open(const std::filesystem::path& path, const engine::JobControl& job) {
    RecordingOpener opener;
    if (auto opened = opener.run(path, job); !opened)
        return std::move(opened).error().in(path.string());
    return std::move(opener.recording);
}

Result<void> Recording::loadStrings() {
    const auto table = m_tables.find("StringIds");
    if (table == m_tables.end())
        return {};
    for (const char* needed : {"id", "value"}) {
        if (std::count(table->second.begin(), table->second.end(), needed) == 0)
            return engine::readError("StringIds has no column \"{}\"", needed);
    }
    NABLA_TRY(Statement strings, m_database->prepare("SELECT id, value FROM StringIds"));
    while (true) {
        NABLA_TRY(const bool row, strings.step());
        if (!row)
            break;
        m_strings.insert_or_assign(strings.integer(0), std::string(strings.text(1)));
    }
    if (m_kind != RecordingKind::Own || !hasTable("NABLA_NODE"))
        return {};
    NABLA_TRY(Statement nodes, m_database->prepare("SELECT id, nameId, opTypeId FROM NABLA_NODE"));
    while (true) {
        NABLA_TRY(const bool row, nodes.step());
        if (!row)
            return {};
        // A node without a name shows its operator.
        m_nodeNames[nodes.integer(0)] = string(nodes.integer(1)).empty() ? nodes.integer(2) : nodes.integer(1);
    }
}

} // namespace nabla::profiler
