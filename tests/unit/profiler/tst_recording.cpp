// Opening: hostile and damaged files, other tools' exports and traces, user's SQL, copies.
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "profiler/store/file_kind.h"
#include "profiler/store/recording.h"
#include "profiler/store/recording_writer.h"
#include "profiler/store/schema.h"

using namespace nabla::profiler;

namespace {

const QString kData = NABLA_TEST_DATA;

template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

constexpr const char* kGzippedTrace = "H4sIAAAAAAACA6tWKk7OSM1NDEstKs7Mz1OyMtRRSkosTg3JzE31S8zLL05Nzs9LKQaLlxQlJqe6lqXm"
                                      "lQD50dVKBRlKVkoRSrWxtQCDJLRiRgAAAA==";

std::filesystem::path pathOf(const QString& text) {
    return text.toStdString();
}

/// Walks over everything that a summary or a timeline would read.
Result<std::int64_t> readAll(const Recording& recording) {
    std::int64_t slices = 0;
    for (const SliceSource source : kAllSliceSources)
        NABLA_CHECK(recording.slices(source, [&](const Slice& slice) {
            slices += slice.name.empty() ? 1 : 1;
            return true;
        }));
    NABLA_TRY(const auto threads, recording.threads());
    static_cast<void>(threads);
    return slices;
}

struct Totals {
    std::int64_t count = 0, sum = 0, longest = 0;
    std::string longestName;
};
Totals totals(const Recording& recording, SliceSource source) {
    Totals t;
    must(recording.slices(source, [&](const Slice& slice) {
        const std::int64_t duration = slice.end.value_or(0) - slice.start.value_or(0);
        ++t.count;
        t.sum += duration;
        if (duration > t.longest) {
            t.longest = duration;
            t.longestName = slice.name;
        }
        return true;
    }));
    return t;
}

} // namespace

class TestRecording : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString file(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& bytes) const {
        QFile out(file(name));
        if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size())
            qFatal("cannot write %s", qPrintable(name));
        return file(name);
    }

private slots:
    void hostileDatabasesEndAsListed_data() {
        QTest::addColumn<QJsonObject>("row");
        QFile list(kData + "/bad/list.json");
        QVERIFY(list.open(QIODevice::ReadOnly));
        int rows = 0;
        for (const QJsonValue& value : QJsonDocument::fromJson(list.readAll()).array()) {
            if (value["kind"].toString() != "sqlite")
                continue;
            QTest::newRow(qPrintable(value["case"].toString())) << value.toObject();
            ++rows;
        }
        QVERIFY(rows >= 9);
    }
    void hostileDatabasesEndAsListed() {
        QFETCH(QJsonObject, row);
        const QString name = row["case"].toString();
        QDir(m_folder.path()).mkpath(name);
        const QString path = file(name + "/p.sqlite");
        QVERIFY(QFile::copy(kData + "/bad/" + row["open"].toString(), path));
        if (row.contains("setup"))
            QVERIFY(QFile::setPermissions(path, QFileDevice::ReadOwner)
                && QFile::setPermissions(file(name), QFileDevice::ReadOwner | QFileDevice::ExeOwner));
        QElapsedTimer time;
        time.start();
        auto recording = Recording::open(pathOf(path));
        Result<std::int64_t> read = recording ? readAll(*recording) : Result<std::int64_t>(recording.error());
        QVERIFY2(time.elapsed() < 10'000, "over the time limit of list.json");
        QFile::setPermissions(file(name), QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
        QCOMPARE(QDir(file(name)).entryList(QDir::Files | QDir::Hidden), QStringList("p.sqlite"));

        const QString outcome = row["outcome"].toString();
        const QString message = read ? QString() : QString::fromStdString(read.error().message());
        if (outcome == "view")
            QVERIFY2(read.has_value(), qPrintable(message));
        if (outcome == "error")
            QVERIFY(!read.has_value());
        if (!read) {
            bool named = false;
            for (const QJsonValue& word : row["message"].toArray())
                named = named || message.contains(word.toString());
            QVERIFY2(named, qPrintable(message));
            QVERIFY(read.error().kind() == nabla::engine::ErrorKind::Read);
        }
    }

    void validSmallHasItsKernels() {
        const auto recording = must(Recording::open(pathOf(kData + "/bad/sqlite_valid_small/p.sqlite")));
        QVERIFY(recording.kind() == RecordingKind::Nsight);
        // The numbers are what `sqlite3 p.sqlite "select count(*) from CUPTI_ACTIVITY_KIND_KERNEL"` prints.
        const auto rows
            = must(recording.sql("SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL")).rows.at(0);
        const Totals kernels = totals(recording, SliceSource::Kernel);
        QCOMPARE(kernels.count, std::get<std::int64_t>(rows[0]));
        QCOMPARE(kernels.sum, std::get<std::int64_t>(rows[1]));
        QVERIFY(kernels.count > 0);
    }

    void missingColumnIsNamed() {
        const auto recording = Recording::open(pathOf(kData + "/bad/sqlite_missing_columns/p.sqlite"));
        QVERIFY(!recording);
        QVERIFY(QString::fromStdString(recording.error().message())
                    .contains("CUPTI_ACTIVITY_KIND_KERNEL has no column \"end\""));
    }

    void nsightExportsGiveTheFiguresOfTheirSource_data() {
        // Figures: tests/data/traces/SOURCES.md, computed there by Python's sqlite3, not by a profiler.
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("product");
        QTest::addColumn<qint64>("kernels");
        QTest::addColumn<qint64>("sumNs");
        QTest::addColumn<qint64>("longestNs");
        QTest::addColumn<QString>("longest");
        QTest::addColumn<qint64>("calls");
        QTest::addColumn<qint64>("copies");
        QTest::addColumn<qint64>("memsets");
        QTest::newRow("2024.6 H100") << "nsys_2024.6_nvfuser_h100_a.sqlite"
                                     << "2024.6.2" << qint64(19) << qint64(393539) << qint64(135137)
                                     << "nvfuser_none_f0_c0_r0_g0" << qint64(968) << qint64(1) << qint64(1);
        QTest::newRow("2026.1 RTX 3080") << "nsys_2026.1_small_rtx3080.sqlite"
                                         << "2026.1.1" << qint64(2) << qint64(4129) << qint64(2689) << "reduce_kernel"
                                         << qint64(9) << qint64(1) << qint64(0);
    }
    void nsightExportsGiveTheFiguresOfTheirSource() {
        QFETCH(QString, path);
        QFETCH(QString, product);
        const auto recording = must(Recording::open(pathOf(kData + "/traces/" + path)));
        QVERIFY(recording.kind() == RecordingKind::Nsight);
        QVERIFY2(QString::fromStdString(recording.product()).contains(product), recording.product().c_str());
        const Totals kernels = totals(recording, SliceSource::Kernel);
        QTEST(qint64(kernels.count), "kernels");
        QTEST(qint64(kernels.sum), "sumNs");
        QTEST(qint64(kernels.longest), "longestNs");
        QTEST(QString::fromStdString(kernels.longestName), "longest");
        QTEST(qint64(must(recording.count(SliceSource::RuntimeCall))), "calls");
        QTEST(qint64(must(recording.count(SliceSource::Memcpy))), "copies");
        QTEST(qint64(must(recording.count(SliceSource::Memset))), "memsets");
    }

    void slicesTouchingARangeIncludeTheLongOneThatBeganFarBefore() {
        const auto path = pathOf(file("touch.nabla"));
        {
            auto writer = must(RecordingWriter::open(path));
            const auto run = must(writer.beginRun({}));
            for (const auto& [start, end] : {std::pair{0, 1000}, {10, 20}, {500, 510}, {600, 600}, {700, 710}}) {
                OpEventRow row;
                row.start = start;
                row.end = end;
                row.stepId = 1;
                row.globalTid = 5;
                must(writer.add(row));
            }
            must(writer.endRun(run, 1000, 0, 0));
            must(writer.close());
        }
        const auto recording = must(Recording::open(path));
        const auto touching = must(recording.slicesTouching(SliceSource::OpEvent, 5, {505, 700}));
        QCOMPARE(touching.size(), std::size_t{3}); // [0,1000], [500,510], [600,600]; 700 begins where the range ends
        QCOMPARE(touching[0].end.value(), std::int64_t{1000});
        QVERIFY(must(recording.slicesTouching(SliceSource::OpEvent, 6, {0, 1000})).empty());
        QCOMPARE(must(recording.tracks(SliceSource::OpEvent)).at(5), std::int64_t{5});
    }

    void otherTracesAreRefusedByName_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("words");
        QTest::newRow("Kineto")
            << "k.json"
            << QByteArray(
                   R"({"schemaVersion":1,"deviceProperties":[],"traceEvents":[{"ph":"X","cat":"cpu_op","ts":1}]})")
            << "Kineto trace: not read yet";
        QTest::newRow("Chrome") << "c.json" << QByteArray(R"([{"ph":"X","ts":1,"dur":2,"name":"a"}])")
                                << "Chrome trace: not read yet";
        QTest::newRow("ORT") << "o.json"
                             << QByteArray(R"([{"cat":"Session","ph":"X","ts":3,"name":"model_loading_uri"}])")
                             << "ONNX Runtime profile: not read yet";
        QTest::newRow("nsys-rep") << "r.nsys-rep" << QByteArray("NVIDIA Tegra Profiler Report 2026")
                                  << "nsys export --type sqlite";
        QTest::newRow("gzip") << "g.json.gz" << QByteArray("\x1f\x8b\x08\x00", 4)
                              << "gzip-compressed trace: not read yet";
        QTest::newRow("Perfetto") << "p.pftrace" << QByteArray("\x0a\x10\x40\x01", 4) << "Perfetto trace: not read yet";
        QTest::newRow("XSpace") << "x.xplane.pb" << QByteArray("\x0a\x10\x12\x09/host:CPU", 13)
                                << "XSpace (TensorFlow, JAX) trace: not read yet";
        QTest::newRow("pickle") << "s.pickle" << QByteArray("\x80\x04\x95", 3)
                                << "pickle (PyTorch memory snapshot): not read yet";
        QTest::newRow("nvvp") << "s.nvvp" << QByteArray("<?xml version='1.0'?>") << "nvprof recording: not read yet";
        QTest::newRow("memory timeline") << "m.json" << QByteArray("[[-1, 1, 5, 2]]")
                                         << "PyTorch memory timeline: not read yet";
        QTest::newRow("unknown") << "u.bin" << QByteArray("hello") << "not a recording";
        QTest::newRow("deep JSON") << "d.json" << QByteArray(60'000, '[') << "not read yet";
    }
    void otherTracesAreRefusedByName() {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, words);
        const auto recording = Recording::open(pathOf(write(name, bytes)));
        QVERIFY(!recording);
        QVERIFY2(
            QString::fromStdString(recording.error().message()).contains(words), recording.error().message().c_str());
        QVERIFY(recording.error().kind() == nabla::engine::ErrorKind::Read);
    }

    void aCompressedTraceIsNamedByWhatIsInside() {
        // gzip of {"schemaVersion":1,"baseTimeNanoseconds":1,"traceEvents":[{"ph":"X"}]}, made by Python's
        // gzip.compress(mtime=0).
        const QByteArray bytes = QByteArray::fromBase64(kGzippedTrace);
        const auto recording = Recording::open(pathOf(write("inside.json.gz", bytes)));
        QVERIFY(!recording);
        QVERIFY2(QString::fromStdString(recording.error().message()).endsWith("Kineto trace: not read yet"),
            recording.error().message().c_str());
        const auto cut = Recording::open(pathOf(write("cut.json.gz", bytes.left(12))));
        QVERIFY(!cut);
        QVERIFY(QString::fromStdString(cut.error().message()).contains("gzip-compressed trace: not read yet"));
    }

    void anOwnFileWithAViewForATableIsRefused() {
        const auto path = pathOf(file("hostile.nabla"));
        must(must(RecordingWriter::open(path)).close());
        must(must(Database::open(path, OpenMode::ReadWrite))
                 .execute("DROP VIEW NVTX_EVENTS; DROP TABLE NABLA_STEP; CREATE VIEW NABLA_STEP AS SELECT 1 AS id, 1 "
                          "AS runId, 1 AS idx, "
                          "0 AS phase, 1 AS start, 2 AS end, NULL AS loss; PRAGMA journal_mode=WAL"));
        const auto recording = Recording::open(path);
        QVERIFY(!recording);
        QVERIFY(QString::fromStdString(recording.error().message())
                    .contains("NABLA_STEP is a view where a table should be"));
        QVERIFY(QDir(m_folder.path()).entryList({"hostile.nabla-*"}, QDir::Files).isEmpty());
    }

    void otherDatabasesAreRefusedByName() {
        const auto nvprof = pathOf(file("nvprof.sqlite"));
        must(must(Database::open(nvprof, OpenMode::Create))
                 .execute("CREATE TABLE StringTable(_id_, value); CREATE TABLE Version(version)"));
        QVERIFY(QString::fromStdString(Recording::open(nvprof).error().message())
                    .contains("nvprof recording: not read yet"));
        const auto other = pathOf(file("bookmarks.sqlite"));
        must(must(Database::open(other, OpenMode::Create))
                 .execute("CREATE TABLE bookmarks(a); CREATE TABLE cookies(b)"));
        QVERIFY(QString::fromStdString(Recording::open(other).error().message())
                    .contains("not a recording: it has the tables bookmarks, cookies"));
        QVERIFY(!Recording::open(pathOf(m_folder.path())));
        QVERIFY(!Recording::open("/dev/zero"));
        QVERIFY(!Recording::open(pathOf(file("nothing"))));
    }

    void emptyThingsOpenAndSayIt_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("cpu_only") << "cpu_only.sqlite";
        QTest::newRow("no_tables") << "no_tables.sqlite";
        QTest::newRow("zero_bytes") << "zero_bytes.sqlite";
        QTest::newRow("no_events") << "no_events.json";
    }
    void emptyThingsOpenAndSayIt() {
        QFETCH(QString, name);
        QFile description(kData + "/bugs/profile-no-gpu/case.json");
        QVERIFY(description.open(QIODevice::ReadOnly));
        const auto words = QJsonDocument::fromJson(description.readAll())["expected"][name]["message_any_of"].toArray();
        QVERIFY(!words.isEmpty());
        const auto recording = must(Recording::open(pathOf(kData + "/bugs/profile-no-gpu/" + name)));
        QString notices;
        for (const std::string& notice : recording.notices())
            notices += QString::fromStdString(notice);
        bool said = false;
        for (const QJsonValue& word : words)
            said = said || notices.contains(word.toString());
        QVERIFY2(said, qPrintable(notices));
        must(readAll(recording));
    }

    void walFileOfAnotherToolIsReadWithoutFilesBesideIt() {
        QDir(m_folder.path()).mkpath("wal");
        const auto path = pathOf(file("wal/p.sqlite"));
        must(must(Database::open(path, OpenMode::Create))
                 .execute(
                     "PRAGMA journal_mode=WAL; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); "
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, shortName INTEGER); "
                     "INSERT INTO StringIds VALUES(1, 'k'); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1, 5, 1)"));
        const auto recording = must(Recording::open(path));
        const Totals kernels = totals(recording, SliceSource::Kernel);
        QCOMPARE(kernels.sum, std::int64_t{4});
        QCOMPARE(kernels.longestName, std::string("k"));
        QCOMPARE(QDir(file("wal")).entryList(QDir::Files | QDir::Hidden), QStringList("p.sqlite"));
    }

    void aNewerSchemaOpensWithANotice() {
        const auto path = pathOf(file("newer.nabla"));
        must(must(RecordingWriter::open(path)).close());
        must(must(Database::open(path, OpenMode::ReadWrite))
                 .execute("PRAGMA user_version=9; ALTER TABLE NABLA_RUN ADD COLUMN future TEXT"));
        const auto recording = must(Recording::open(path));
        QVERIFY(QString::fromStdString(recording.notices().at(0))
                    .contains("newer version (schema 9, this program knows 1)"));
        QVERIFY(must(recording.runs()).empty());
        QVERIFY(!RecordingWriter::open(path));
    }

    void userSqlReadsOnly_data() {
        QTest::addColumn<QString>("query");
        QTest::newRow("insert") << "INSERT INTO StringIds VALUES(99, 'x')";
        QTest::newRow("delete") << "DELETE FROM StringIds";
        QTest::newRow("attach") << "ATTACH 'other.db' AS o";
        QTest::newRow("vacuum into") << "VACUUM INTO 'copy.db'";
        QTest::newRow("pragma") << "PRAGMA journal_mode=OFF";
        QTest::newRow("temp table") << "CREATE TEMP TABLE t(a)";
        QTest::newRow("extension") << "SELECT load_extension('x')";
        QTest::newRow("two") << "SELECT 1; SELECT 2";
        QTest::newRow("nothing") << "  ";
        QTest::newRow("wrong") << "SELEC 1";
        QTest::newRow("set version") << "PRAGMA user_version=3";
    }
    void userSqlReadsOnly() {
        QFETCH(QString, query);
        const auto recording = must(Recording::open(pathOf(kData + "/bad/sqlite_valid_small/p.sqlite")));
        const auto answer = recording.sql(query.toStdString());
        QVERIFY(!answer);
        QVERIFY(answer.error().kind() == nabla::engine::ErrorKind::Usage);
    }

    void userSqlIsLimitedAndCancelled() {
        const auto recording = must(Recording::open(pathOf(kData + "/bad/sqlite_valid_small/p.sqlite")));
        const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        SqlLimits limits;
        limits.time = std::chrono::milliseconds(100);
        auto answer = recording.sql(endless, limits);
        QVERIFY(!answer && QString::fromStdString(answer.error().message()).contains("limit of 100 ms"));
        std::stop_source stop;
        stop.request_stop();
        nabla::engine::JobControl job;
        job.stop = stop.get_token();
        answer = recording.sql(endless, {}, job);
        QVERIFY(!answer && answer.error().kind() == nabla::engine::ErrorKind::Cancelled);
        limits.rows = 3;
        const auto table = must(
            recording.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", limits));
        QCOMPARE(table.rows.size(), std::size_t{3});
        QVERIFY(table.truncated);
        const auto kinds = must(recording.sql("SELECT NULL AS a, 1, 1.5, 'x', x'00ff'")).rows.at(0);
        QCOMPARE(kinds.size(), std::size_t{5});
        for (std::size_t i = 0; i < 5; ++i)
            QCOMPARE(kinds[i].index(), i);
        QVERIFY(!recording.sql("SELECT hex(zeroblob(400000000))"));
    }

    void saveAsMakesOneFileWithEverything() {
        const auto path = pathOf(file("original.nabla"));
        auto writer = must(RecordingWriter::open(path));
        must(writer.beginRun({}));
        must(writer.intern("a text"));
        must(writer.flush());
        // Part of the rows is still in the -wal: copying the one file would lose them.
        const auto copy = pathOf(file("copy.nabla"));
        must(must(Recording::open(path)).saveAs(copy));
        const auto recording = must(Recording::open(copy));
        QVERIFY(recording.kind() == RecordingKind::Own);
        QCOMPARE(
            std::get<std::string>(must(recording.sql("SELECT value FROM StringIds WHERE id = 1")).rows.at(0).at(0)),
            std::string("a text"));
        QVERIFY(!recording.saveAs(copy));
    }

    void cutFilesNeverCrash() {
        QFile whole(kData + "/traces/nsys_2026.1_small_rtx3080.sqlite");
        QVERIFY(whole.open(QIODevice::ReadOnly));
        const QByteArray bytes = whole.readAll();
        for (int i = 1; i <= 40; ++i) {
            const QString path = write("cut.sqlite", bytes.left(bytes.size() * i / 41));
            const auto recording = Recording::open(pathOf(path));
            if (recording)
                static_cast<void>(readAll(*recording));
        }
        // Bytes flipped at a fixed stride: every page of the file is hit by some round.
        for (int round = 0; round < 40; ++round) {
            QByteArray damaged = bytes;
            for (qsizetype at = 100 + round * 97; at < damaged.size(); at += 4096 + round)
                damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
            const auto recording = Recording::open(pathOf(write("flipped.sqlite", damaged)));
            if (recording)
                static_cast<void>(readAll(*recording));
        }
    }
};

QTEST_APPLESS_MAIN(TestRecording)
#include "tst_recording.moc"
