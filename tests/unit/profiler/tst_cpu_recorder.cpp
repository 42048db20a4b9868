// From the executor's hooks to rows in the file.
#include <thread>

#include <QTemporaryDir>
#include <QTest>

#include "profiler/cpu/cpu_recorder.h"
#include "profiler/cpu/host_facts.h"
#include "profiler/store/recording.h"

using namespace nabla::profiler;
using nabla::engine::ExecutionObserver;
using nabla::engine::Phase;
using nabla::engine::RunScope;
using nabla::engine::StepScope;

namespace {

template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

RecordingMeta twoNodes() {
    RecordingMeta meta;
    meta.model.path = "m.onnx";
    meta.nodes = {NodeRow{1, 0, 0, "conv1", "Conv", "", RowPhase::Forward, {}, {}, {}, {}},
        NodeRow{2, 0, 1, "relu1", "Relu", "", RowPhase::Forward, {}, {}, {}, {}}};
    meta.values = {ValueRow{4, 0, "y", 1, 1, "[4]", 16, 0}};
    meta.kernelNames = {"reference", "onednn"};
    meta.mode = "compiled";
    return meta;
}

void execute(ExecutionObserver* observer, double loss) {
    RunScope run(observer, Phase::None);
    run.allocated(4, 128, 16);
    { StepScope step(run, 1, 0, 1, Phase::Forward); }
    { StepScope step(run, 2, 1, 0, Phase::Backward); }
    run.freed(4, 128, 16);
    run.counter(nabla::engine::kLossCounter, loss);
}

} // namespace

class TestCpuRecorder : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::filesystem::path file(const char* name) const {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

private slots:
    void aThousandRunsAreOneSliceAStepAndRun() {
        const auto path = file("thousand.nabla");
        ExecutionObserver observer;
        auto recorder = must(CpuRecorder::start(path, observer, twoNodes()));
        for (int i = 1; i <= 1000; ++i)
            execute(&observer, 1.0 / i);
        TensorStatsRow stats;
        stats.stepId = 1000; // the iteration
        stats.valueId = 4;
        recorder->addTensorStats({stats});
        const auto report = must(recorder->stop());
        QCOMPARE(report.iterations, std::int64_t{1000});
        QCOMPARE(report.events, std::int64_t{2000});
        QCOMPARE(report.dropped, std::int64_t{0});
        QVERIFY(report.refusal.empty());

        const auto recording = must(Recording::open(path));
        const auto run = must(recording.runs()).at(0);
        QVERIFY(run.state == RunState::Complete);
        const auto steps = must(recording.steps(run.id));
        QCOMPARE(steps.size(), std::size_t{1000});
        QCOMPARE(steps[9].idx, std::int64_t{10});
        QCOMPARE(steps[9].loss.value(), 0.1);
        // Every step holds its two events, in order, inside its own time; times increase.
        const auto table
            = must(recording.sql("SELECT count(*) FROM NABLA_OP_EVENT e JOIN NABLA_STEP t ON t.id = e.stepId "
                                 "WHERE e.start >= t.start AND e.end <= t.end AND e.end >= e.start"));
        QCOMPARE(std::get<std::int64_t>(table.rows[0][0]), std::int64_t{2000});
        for (std::size_t i = 1; i < steps.size(); ++i)
            QVERIFY(steps[i].start >= steps[i - 1].end);
        QVERIFY(steps.front().start >= run.start && steps.back().end <= run.end.value());
        std::vector<Slice> slices;
        must(recording.slices(SliceSource::OpEvent, [&](const Slice& s) {
            slices.push_back(s);
            return slices.size() < 2;
        }));
        QCOMPARE(slices[0].name, std::string_view("conv1"));
        QCOMPARE(recording.string(slices[0].kernelId), std::string_view("onednn"));
        QVERIFY(slices[1].phase == RowPhase::Backward);
        QCOMPARE(slices[1].planStep, std::int64_t{1});
        const auto blocks = must(recording.allocEvents(steps[0].id));
        QCOMPARE(blocks.size(), std::size_t{2});
        QCOMPARE(blocks[0].nodeId.value(), std::int64_t{1}); // the value's producer
        QVERIFY(blocks[1].action == AllocAction::Free);
        QCOMPARE(must(recording.tensorStats(steps[999].id)).size(), std::size_t{1});
        QCOMPARE(must(recording.counters()).size(), std::size_t{1000});
        QVERIFY(!must(recording.hosts()).at(0).cpuModel.empty());
        QCOMPARE(must(recording.threads()).size(), std::size_t{1});
    }

    void aSecondRecordingGoesBehindTheFirst() {
        const auto path = file("append.nabla");
        ExecutionObserver observer;
        for (int n = 0; n < 2; ++n) {
            auto recorder = must(CpuRecorder::start(path, observer, twoNodes()));
            execute(&observer, 1);
            must(recorder->stop());
        }
        const auto recording = must(Recording::open(path));
        const auto runs = must(recording.runs());
        QCOMPARE(runs.size(), std::size_t{2});
        QVERIFY(runs[1].start >= runs[0].end.value());
        QCOMPARE(must(recording.steps(runs[1].id)).size(), std::size_t{1});
        QVERIFY(must(recording.steps(runs[1].id))[0].start >= runs[1].start);
    }

    void oneObserverRecordsOneThingAtATime() {
        ExecutionObserver observer;
        auto recorder = must(CpuRecorder::start(file("first.nabla"), observer, twoNodes()));
        const auto second = CpuRecorder::start(file("second.nabla"), observer, twoNodes());
        QVERIFY(!second);
        QVERIFY(!std::filesystem::exists(file("second.nabla")));
    }

    void anExecutionThatIsStillOpenGetsItsRow() {
        const auto path = file("open.nabla");
        ExecutionObserver observer;
        auto recorder = must(CpuRecorder::start(path, observer, twoNodes()));
        RunScope run(&observer, Phase::None);
        { StepScope step(run, 1, 0, 0, Phase::Forward); }
        must(recorder->stop());
        const auto recording = must(Recording::open(path));
        const auto steps = must(recording.steps(1));
        QCOMPARE(steps.size(), std::size_t{1});
        QVERIFY(steps[0].end >= steps[0].start);
    }

    void threadsOfOneRunComeTogether() {
        const auto path = file("threads.nabla");
        ExecutionObserver observer;
        auto recorder = must(CpuRecorder::start(path, observer, twoNodes()));
        {
            RunScope run(&observer, Phase::None);
            std::vector<std::jthread> workers;
            for (int t = 0; t < 3; ++t) {
                workers.emplace_back([&run] {
                    for (int i = 0; i < 5000; ++i)
                        StepScope step(run, 1, 0, 0, Phase::Forward);
                });
            }
        }
        const auto report = must(recorder->stop());
        QCOMPARE(report.events, std::int64_t{15'000});
        const auto recording = must(Recording::open(path));
        QCOMPARE(must(recording.steps(1)).size(), std::size_t{1});
        QCOMPARE(must(recording.tracks(SliceSource::OpEvent)).size(), std::size_t{3});
        for (const auto& [track, count] : must(recording.tracks(SliceSource::OpEvent)))
            QCOMPARE(count, std::int64_t{5000});
    }

    void theSizeLimitStopsRecordingAndSaysSo() {
        ExecutionObserver observer;
        WriterOptions options;
        options.maxFileBytes = 300'000;
        auto recorder = must(CpuRecorder::start(file("limit.nabla"), observer, twoNodes(), options));
        for (int i = 0; i < 200'000 && observer.recording(); ++i) {
            execute(&observer, 1);
            if (i % 100 == 0)
                QTest::qSleep(1); // lets the drain thread have the processor
        }
        QTRY_VERIFY(!observer.recording());
        const auto report = must(recorder->stop());
        QVERIFY2(QString::fromStdString(report.refusal).contains("limit of 300000 bytes"), report.refusal.c_str());
        const auto recording = must(Recording::open(file("limit.nabla")));
        QVERIFY(must(recording.runs()).at(0).state == RunState::Complete);
    }

    void hostFactsAreThere() {
        const HostRow host = hostFacts();
        QVERIFY(!host.cpuModel.empty());
        QVERIFY(host.cores > 0);
        QVERIFY(host.memBytes > 0);
        QVERIFY(!host.os.empty());
    }
};

QTEST_APPLESS_MAIN(TestCpuRecorder)
#include "tst_cpu_recorder.moc"
