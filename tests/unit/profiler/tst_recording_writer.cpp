// Writing: every row comes back, limits and crashes keep what was acknowledged, foreign files are left alone.
#include <csignal>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>

#include "profiler/store/document_store.h"
#include "profiler/store/recording.h"
#include "profiler/store/recording_writer.h"

using namespace nabla::profiler;

namespace {

/// Stops the test with the message of a failed Result.
template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

std::int64_t single(const Recording& recording, const char* query) {
    return std::get<std::int64_t>(must(recording.sql(query)).rows.at(0).at(0));
}
std::string singleText(const Recording& recording, const char* query) {
    return std::get<std::string>(must(recording.sql(query)).rows.at(0).at(0));
}

OpEventRow opEvent(std::int64_t step, std::int64_t node, std::int64_t start, std::int64_t end) {
    OpEventRow row;
    row.start = start;
    row.end = end;
    row.stepId = step;
    row.nodeId = node;
    row.globalTid = globalTid(10, 11);
    return row;
}

/// Opens, begins a run and writes `count` op events a step for ever; a child process that is killed in the middle.
[[noreturn]] void writeForEver(const std::filesystem::path& path, int reportTo) {
    WriterOptions options;
    options.rowsPerTransaction = 100;
    auto writer = RecordingWriter::open(path, options);
    if (!writer || !writer->beginRun({}))
        _exit(1);
    for (std::int64_t n = 1;; ++n) {
        // Every 100th row ends a transaction: it is acknowledged once add() has returned.
        if (!writer->add(opEvent(1, 5, n, n + 1)))
            _exit(2);
        if (n % 100 == 0 && write(reportTo, &n, sizeof n) != sizeof n)
            _exit(3);
    }
}

} // namespace

class TestRecordingWriter : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::filesystem::path file(const char* name) const {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

private slots:
    void everyRowComesBack() {
        const auto path = file("all.nabla");
        {
            WriterOptions options;
            options.utcEpochNs = 1'700'000'000'000'000'000;
            auto writer = must(RecordingWriter::open(path, options));
            HostRow host;
            host.cpuModel = "a processor";
            host.cores = 2;
            host.tscInvariant = true;
            const auto hostId = must(writer.add(host));
            const auto modelId = must(writer.add(ModelRow{0, "m.onnx", "ONNX", "ab", 17, 5}));
            const auto graphId = must(
                writer.add(GraphRow{0, modelId, std::nullopt, "foldConstants", GraphKind::AfterPass, 2, 1, "ff"}));
            must(writer.add(
                NodeRow{7, graphId, 0, "conv1", "Conv", "", RowPhase::Forward, std::nullopt, 100, 8, std::nullopt}));
            must(writer.add(
                NodeRow{8, graphId, 1, "", "Relu", "", RowPhase::Backward, 7, std::nullopt, std::nullopt, 4}));
            must(writer.add(NodeOriginRow{8, 7}));
            must(writer.add(ValueRow{3, graphId, "y", 7, 1, "[batch,3]", 12, 2}));
            must(writer.add(ThreadRow{globalTid(10, 11), "worker"}));
            RunRow run;
            run.graphId = graphId;
            run.hostId = hostId;
            run.device = "cpu";
            run.mode = "compiled";
            run.label = "first";
            run.threads = 2;
            run.warmup = 1;
            const auto runId = must(writer.beginRun(run));
            QCOMPARE(must(writer.nextStepId()), std::int64_t{1});
            must(writer.add(StepRow{1, runId, 1, RowPhase::None, 100, 200, 0.5}));
            auto event = opEvent(1, 7, 110, 150);
            event.kernelId = must(writer.intern("onednn"));
            event.flags = 1;
            event.planStep = 4;
            must(writer.add(event));
            must(writer.add(opEvent(1, 8, 150, 155)));
            must(writer.add(AllocEventRow{111, 1, 3, 7, AllocAction::Alloc, 0, 64, 12}));
            TensorStatsRow stats;
            stats.stepId = 1;
            stats.valueId = 3;
            stats.nan = 2;
            stats.l2 = 1.5;
            stats.histogram = {std::byte{1}, std::byte{2}};
            must(writer.add(stats));
            must(writer.add(CounterRow{120, must(writer.intern("loss")), 0.25}));
            must(writer.endRun(runId, 300, 9, 0));
            must(writer.close());
        }
        QVERIFY(!std::filesystem::exists(path.string() + "-wal"));
        QVERIFY(!std::filesystem::exists(path.string() + "-shm"));

        const auto recording = must(Recording::open(path));
        QVERIFY(recording.kind() == RecordingKind::Own);
        QCOMPARE(recording.utcEpochNs().value(), std::int64_t{1'700'000'000'000'000'000});
        const auto run = must(recording.runs()).at(0);
        QVERIFY(run.state == RunState::Complete);
        QCOMPARE(run.label, std::string("first"));
        QCOMPARE(run.end.value(), std::int64_t{300});
        QCOMPARE(run.droppedEvents, std::int64_t{9});
        QCOMPARE(must(recording.hosts()).at(0).cpuModel, std::string("a processor"));
        QCOMPARE(must(recording.models()).at(0).opset, std::int64_t{17});
        const auto graph = must(recording.graphs()).at(0);
        QCOMPARE(graph.passName, std::string("foldConstants"));
        const auto nodes = must(recording.nodes(graph.id));
        QCOMPARE(nodes.size(), std::size_t{2});
        QCOMPARE(nodes[0].name, std::string("conv1"));
        QCOMPARE(nodes[0].flops.value(), std::int64_t{100});
        QVERIFY(!nodes[0].bytesWritten);
        QCOMPARE(nodes[1].forwardNodeId.value(), std::int64_t{7});
        QCOMPARE(must(recording.nodeOrigins()).at(0).originNodeId, std::int64_t{7});
        QCOMPARE(must(recording.values(graph.id)).at(0).shape, std::string("[batch,3]"));
        QCOMPARE(must(recording.threads()).at(0).name, std::string("worker"));
        const auto step = must(recording.steps(run.id)).at(0);
        QCOMPARE(step.loss.value(), 0.5);
        QCOMPARE(must(recording.allocEvents(1)).at(0).offset, std::int64_t{64});
        const auto stats = must(recording.tensorStats(1)).at(0);
        QCOMPARE(stats.histogram.size(), std::size_t{2});
        QCOMPARE(stats.nan, std::int64_t{2});
        QCOMPARE(must(recording.counters()).at(0).value, 0.25);

        std::vector<Slice> slices;
        must(recording.slices(SliceSource::OpEvent, [&](const Slice& s) {
            slices.push_back(s);
            return true;
        }));
        QCOMPARE(slices.size(), std::size_t{2});
        QCOMPARE(slices[0].name, std::string_view("conv1"));
        QCOMPARE(slices[1].name, std::string_view("Relu")); // a node without a name
        QCOMPARE(slices[0].planStep, std::int64_t{4});
        QVERIFY(slices[0].phase == RowPhase::Forward);
        QCOMPARE(recording.string(slices[0].kernelId), std::string_view("onednn"));
        const auto sums = must(recording.opSums(Recording::SumBy::Operator, run.id));
        QCOMPARE(sums.at(0).name, std::string("Conv"));
        QCOMPARE(sums.at(0).sumNs, std::int64_t{40});
        QCOMPARE(must(recording.opSums(Recording::SumBy::Node)).at(0).name, std::string("conv1"));
        QCOMPARE(must(recording.opSums(Recording::SumBy::Kernel)).at(0).name, std::string("onednn"));
        // Other tools find the steps under Nsight Systems' name.
        QCOMPARE(singleText(recording, "SELECT text FROM NVTX_EVENTS WHERE start = 110"), std::string("conv1"));
        QCOMPARE(singleText(recording, "PRAGMA integrity_check"), std::string("ok"));
        QCOMPARE(single(recording, "PRAGMA user_version"), std::int64_t{1});
        QCOMPARE(single(recording, "PRAGMA application_id"), std::int64_t{0x4E42534C});
    }

    void aSecondRunIsAppended() {
        const auto path = file("two.nabla");
        for (int n = 0; n < 2; ++n) {
            auto writer = must(RecordingWriter::open(path));
            const auto run = must(writer.beginRun({}));
            must(writer.add(StepRow{must(writer.nextStepId()), run, 1, RowPhase::None, n, n + 1, {}}));
            must(writer.intern("same text"));
            must(writer.endRun(run, 5, 0, 0));
            must(writer.close());
        }
        const auto recording = must(Recording::open(path));
        QCOMPARE(must(recording.runs()).size(), std::size_t{2});
        QCOMPARE(must(recording.steps(2)).at(0).id, std::int64_t{2});
        QCOMPARE(single(recording, "SELECT count(*) FROM StringIds WHERE value = 'same text'"), std::int64_t{1});
    }

    void readersSeeCommittedRowsWhileRecording() {
        const auto path = file("live.nabla");
        auto writer = must(RecordingWriter::open(path));
        const auto run = must(writer.beginRun({}));
        must(writer.add(opEvent(1, 1, 0, 1)));
        must(writer.flush());
        must(writer.add(opEvent(1, 1, 2, 3))); // not committed
        const auto recording = must(Recording::open(path));
        QCOMPARE(must(recording.count(SliceSource::OpEvent)), std::int64_t{1});
        QVERIFY(must(recording.runs()).at(0).state == RunState::Recording);
        QVERIFY(QString::fromStdString(recording.notices().at(0)).contains("still running"));
        // Nor can a second writer come in between.
        const auto second = RecordingWriter::open(path);
        QVERIFY(!second);
        QVERIFY(QString::fromStdString(second.error().message()).contains("another program"));
        must(writer.endRun(run, 4, 0, 0));
        must(writer.close()); // with a reader on it
        QCOMPARE(must(recording.count(SliceSource::OpEvent)), std::int64_t{2});
    }

    void killedWriterLosesNothingAcknowledged() {
        for (int round = 0; round < 6; ++round) {
            const auto path = file(qPrintable(QString("killed%1.nabla").arg(round)));
            int pipes[2];
            QCOMPARE(pipe(pipes), 0);
            const pid_t child = fork();
            if (child == 0)
                writeForEver(path, pipes[1]);
            ::close(pipes[1]);
            std::int64_t acknowledged = 0;
            for (int n = 0; n < 5 + 40 * round; ++n)
                QCOMPARE(read(pipes[0], &acknowledged, sizeof acknowledged), static_cast<ssize_t>(sizeof acknowledged));
            kill(child, SIGKILL);
            // What it reported between our last read and its death is still in the pipe.
            std::int64_t later = 0;
            while (read(pipes[0], &later, sizeof later) == static_cast<ssize_t>(sizeof later))
                acknowledged = later;
            ::close(pipes[0]);
            int status = 0;
            QCOMPARE(waitpid(child, &status, 0), child);
            QVERIFY(WIFSIGNALED(status));

            const auto recording = must(Recording::open(path));
            const auto rows = must(recording.count(SliceSource::OpEvent));
            QVERIFY(rows >= acknowledged);
            QCOMPARE(rows % 100, std::int64_t{0});
            QCOMPARE(singleText(recording, "PRAGMA integrity_check"), std::string("ok"));
            const auto run = must(recording.runs()).at(0);
            QVERIFY(run.state == RunState::Recovered);
            QCOMPARE(run.end.value(), rows + 1); // the end of the last row
            QCOMPARE(must(recording.steps(1)).at(0).idx, std::int64_t{1});
            QVERIFY(QString::fromStdString(recording.notices().at(0))
                        .contains(QString("interrupted; %1 events").arg(rows)));
            QVERIFY(!std::filesystem::exists(path.string() + "-wal"));
        }
    }

    void sizeLimitStopsWithAMessageAndAGoodFile() {
        const auto path = file("limit.nabla");
        WriterOptions options;
        options.maxFileBytes = 400'000;
        options.rowsPerTransaction = 1000;
        auto writer = must(RecordingWriter::open(path, options));
        const auto run = must(writer.beginRun({}));
        std::int64_t n = 0;
        Result<void> added;
        for (; n < 1'000'000 && added; ++n)
            added = writer.add(opEvent(1, 1, n, n + 1));
        QVERIFY(!added);
        QVERIFY(QString::fromStdString(added.error().message()).contains("limit of 400000 bytes"));
        QVERIFY(!writer.add(opEvent(1, 1, 0, 1)));
        must(writer.endRun(run, n, 0, 0));
        must(writer.close());
        const auto recording = must(Recording::open(path));
        QCOMPARE(must(recording.count(SliceSource::OpEvent)) % 1000, std::int64_t{0});
        QVERIFY(must(recording.runs()).at(0).state == RunState::Complete);
        QCOMPARE(singleText(recording, "PRAGMA integrity_check"), std::string("ok"));
    }

    void lowDiskStopsWithAMessage() {
        WriterOptions options;
        options.minFreeBytes = std::uint64_t{1} << 62; // no disk has that
        auto writer = must(RecordingWriter::open(file("disk.nabla"), options));
        const auto run = writer.beginRun({});
        QVERIFY(!run);
        QVERIFY(QString::fromStdString(run.error().message()).contains("kept free"));
        must(writer.close());
    }

    void writesThatFailInTheMiddleAreAPlainError() {
        // A file that may not grow beyond 300 KB stands in for a full disk: write(2) fails in the middle of a
        // transaction.
        const auto path = file("full.nabla");
        const pid_t child = fork();
        if (child == 0) {
            std::signal(SIGXFSZ, SIG_IGN);
            auto writer = RecordingWriter::open(path);
            if (!writer || !writer->beginRun({}))
                _exit(1);
            const rlimit limit{300'000, 300'000};
            setrlimit(RLIMIT_FSIZE, &limit);
            Result<void> added;
            for (std::int64_t n = 0; n < 1'000'000 && added; ++n)
                added = writer->add(opEvent(1, 1, n, n + 1));
            _exit(!added && !added.error().message().empty() ? 0 : 2);
        }
        int status = 0;
        QCOMPARE(waitpid(child, &status, 0), child);
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
        const auto recording = must(Recording::open(path));
        QCOMPARE(singleText(recording, "PRAGMA integrity_check"), std::string("ok"));
    }

    void foreignAndNewerFilesAreNotWritten() {
        const auto foreign = std::filesystem::path(NABLA_TEST_DATA) / "bad/sqlite_valid_small/p.sqlite";
        const auto copy = file("foreign.sqlite");
        std::filesystem::copy_file(foreign, copy);
        std::filesystem::permissions(copy, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
        const auto before = std::filesystem::last_write_time(copy);
        const auto writer = RecordingWriter::open(copy);
        QVERIFY(!writer);
        QVERIFY(QString::fromStdString(writer.error().message()).contains("not a Nablascope file"));
        QVERIFY(!saveDocument(copy, {}, {}));
        QCOMPARE(std::filesystem::last_write_time(copy), before);
        QCOMPARE(std::filesystem::file_size(copy), std::filesystem::file_size(foreign));
    }

    void documentRowsComeBackAndStatesAreReplaced() {
        const auto path = file("document.nabla");
        const std::vector<StateRow> states
            = {{1, {}, "import", {std::byte{0}, std::byte{255}}}, {2, 1, "foldConstants", {}}};
        const std::vector<ViewRow> views = {{"canvas", "{\"zoom\":1}"}, {"docks", "[]"}};
        must(saveDocument(path, states, views));
        must(saveDocument(path, std::span(states).first(1), std::vector<ViewRow>{{"canvas", "{}"}}));
        const auto recording = must(Recording::open(path));
        const auto loaded = must(recording.loadStates());
        QCOMPARE(loaded.size(), std::size_t{1});
        QCOMPARE(loaded[0].passId, std::string("import"));
        QVERIFY(loaded[0].graph == states[0].graph);
        QVERIFY(!loaded[0].parentId);
        QCOMPARE(must(recording.loadView("canvas")).value(), std::string("{}"));
        QCOMPARE(must(recording.loadView("docks")).value(), std::string("[]"));
        QVERIFY(!must(recording.loadView("nothing")));
        // A recording goes into the same file, and the states stay.
        auto writer = must(RecordingWriter::open(path));
        must(writer.beginRun({}));
        must(writer.close());
        QCOMPARE(must(must(Recording::open(path)).loadStates()).size(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(TestRecordingWriter)
#include "tst_recording_writer.moc"
