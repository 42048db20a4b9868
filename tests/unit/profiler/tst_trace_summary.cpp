// Summaries against figures that other programs or arithmetic give; JSON, text, export, check.
#include <fstream>

#include <nlohmann/json.hpp>

#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "profiler/analysis/chrome_export.h"
#include "profiler/analysis/trace_summary.h"
#include "profiler/store/recording_writer.h"

using namespace nabla::profiler;
using nlohmann::json;

namespace {

const std::filesystem::path kData = NABLA_TEST_DATA;

template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

json expectedOf(const char* name) {
    std::ifstream file(kData / "bugs" / name / "case.json");
    return json::parse(file)["expected"];
}

const NamedTimes* find(const TraceSummary& summary, SliceSource source, const std::string& name) {
    for (const NamedTimes& times : summary.names) {
        if (times.source == source && times.name == name)
            return &times;
    }
    return nullptr;
}

/// One run of two executions: [0,100] with conv [10,40] and relu [40,50], [200,260] with conv [200,260].
void writeSmall(const std::filesystem::path& path) {
    auto writer = must(RecordingWriter::open(path));
    GraphRow graph;
    const auto graphId = must(writer.add(graph));
    must(writer.add(NodeRow{1, graphId, 0, "conv1", "Conv", "", RowPhase::Forward, {}, {}, {}, {}}));
    must(writer.add(NodeRow{2, graphId, 1, "relu\x1b[31m", "Relu", "", RowPhase::Forward, {}, {}, {}, {}}));
    RunRow run;
    run.graphId = graphId;
    run.label = "small";
    const auto runId = must(writer.beginRun(run));
    must(writer.add(StepRow{1, runId, 1, RowPhase::None, 0, 100, {}}));
    must(writer.add(StepRow{2, runId, 2, RowPhase::None, 200, 260, {}}));
    const auto add = [&](std::int64_t step, std::int64_t node, std::int64_t start, std::int64_t end) {
        OpEventRow row;
        row.start = start;
        row.end = end;
        row.stepId = step;
        row.nodeId = node;
        row.globalTid = globalTid(1, 2);
        row.flags = 1;
        must(writer.add(row));
    };
    add(1, 1, 10, 40);
    add(1, 2, 40, 50);
    add(2, 1, 200, 260);
    must(writer.endRun(runId, 300, 0, 0));
    must(writer.close());
}

} // namespace

class TestTraceSummary : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::filesystem::path file(const char* name) const {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

private slots:
    void busyIsAUnionAndSelfIsWithoutChildren() {
        // [0,10] and [5,20] and [30,40] cover 30 of 35 ns of slices.
        std::vector<Interval> overlapping = {{30, 40}, {0, 10}, {5, 20}, {6, 7}};
        QCOMPARE(busyNs(overlapping), std::int64_t{30});
        std::vector<Interval> none;
        QCOMPARE(busyNs(none), std::int64_t{0});
        // parent [0,100] with [10,30] (which has [12,20]) and [30,40]; a later root.
        const auto self = selfTimesNs({{0, 100}, {10, 30}, {12, 20}, {30, 40}, {100, 110}});
        QCOMPARE(self, (std::vector<std::int64_t>{70, 12, 8, 10, 10}));
        // A child of the same start is the shorter one, one that outlasts its parent counts up to its end.
        QCOMPARE(selfTimesNs({{0, 10}, {0, 4}, {8, 12}}), (std::vector<std::int64_t>{4, 4, 4}));
        std::vector<std::int64_t> even = {4, 1, 3, 2};
        QCOMPARE(medianNs(even), std::int64_t{2}); // (2 + 3) / 2, rounded down
        std::vector<std::int64_t> odd = {9, 1, 5};
        QCOMPARE(medianNs(odd), std::int64_t{5});
    }

    void badKernelTimesAreCountedNeverSummed() {
        const json expected = expectedOf("profile-bad-kernel-times");
        const TraceSummary s = must(traceSummary(kData / "bugs/profile-bad-kernel-times/report.sqlite"));
        QCOMPARE(s.kernels, expected["kernels_in_file"].get<std::int64_t>());
        QCOMPARE(s.kernelsTimed, expected["kernels_timed"].get<std::int64_t>());
        QCOMPARE(s.gpuSumNs, expected["gpu_time_ns_sum"].get<std::int64_t>());
        for (const auto& [name, ns] : expected["by_kernel_ns"].items()) {
            const NamedTimes* times = find(s, SliceSource::Kernel, name);
            QVERIFY2(times, name.c_str());
            QCOMPARE(times->sumNs, ns.get<std::int64_t>());
        }
        const json& flagged = expected["flagged"];
        QCOMPARE(s.noTime.names, flagged["no_time"].get<std::vector<std::string>>());
        QCOMPARE(s.negativeTime.names, flagged["negative_time"].get<std::vector<std::string>>());
        QCOMPARE(s.beforeLaunch.names, flagged["before_launch"].get<std::vector<std::string>>());
        QCOMPARE(s.noLaunch.names, flagged["no_launch"].get<std::vector<std::string>>());
        QCOMPARE(s.range->start, expected["timeline_range_ns"][0].get<std::int64_t>());
        QCOMPARE(s.range->end, expected["timeline_range_ns"][1].get<std::int64_t>());
        QCOMPARE(s.devices.size(), std::size_t{1});
        QCOMPARE(s.devices[0].busyNs, expected["gpu_busy_ns_union"].get<std::int64_t>());
        // Listed although untimed.
        QCOMPARE(find(s, SliceSource::Kernel, "norm_rows_b")->untimed, std::int64_t{1});
        const auto problems = must(checkRecording(must(Recording::open(s.path))));
        QCOMPARE(problems.size(), std::size_t{3});
        const json out = json::parse(summaryJson(s));
        QCOMPARE(out["kernels"]["flagged"]["no_time"]["names"][0].get<std::string>(), std::string("norm_rows_b"));
        QVERIFY(QString::fromStdString(summaryText(s)).contains("1 without a time: norm_rows_b"));
        QVERIFY(QString::fromStdString(summaryText(s)).contains(QRegularExpression("softmax_c +1 +no time")));
    }

    void rangesOfARecordingWithoutGpu() {
        const json expected = expectedOf("profile-no-gpu")["cpu_only.sqlite"];
        const TraceSummary s = must(traceSummary(kData / "bugs/profile-no-gpu/cpu_only.sqlite"));
        for (const auto& [name, ns] : expected["ranges"].items()) {
            const NamedTimes* times = find(s, SliceSource::Range, name);
            QVERIFY2(times, name.c_str());
            QCOMPARE(times->sumNs, ns.get<std::int64_t>());
            QCOMPARE(times->selfNs, expected["self_ns"][name].get<std::int64_t>());
        }
        const QString text = QString::fromStdString(summaryText(s));
        QVERIFY(text.contains("no GPU"));
        QVERIFY(!text.contains("nan"));
    }

    void emptyFilesHaveASummary_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"no_tables.sqlite", "zero_bytes.sqlite", "no_events.json"})
            QTest::newRow(name) << name;
    }
    void emptyFilesHaveASummary() {
        QFETCH(QString, name);
        const TraceSummary s = must(traceSummary(kData / "bugs/profile-no-gpu" / name.toStdString()));
        QCOMPARE(s.slices, std::int64_t{0});
        QVERIFY(!s.range);
        QVERIFY(QString::fromStdString(summaryText(s)).contains("no events"));
        QVERIFY(json::parse(summaryJson(s))["range_ns"].is_null());
        QVERIFY(must(checkRecording(must(Recording::open(s.path)))).empty());
    }

    void nsightFigures() {
        // tests/data/traces/SOURCES.md.
        const TraceSummary s = must(traceSummary(kData / "traces/nsys_2024.6_nvfuser_h100_a.sqlite"));
        QCOMPARE(s.kernels, std::int64_t{19});
        QCOMPARE(s.kernelsLaunched, std::int64_t{19});
        QCOMPARE(s.gpuSumNs, std::int64_t{393'539});
        QCOMPARE(s.devices.at(0).busyNs, std::int64_t{393'539});
        std::int64_t copies = 0;
        for (const NamedTimes& times : s.names) {
            if (times.source == SliceSource::Memcpy)
                copies += times.sumNs;
        }
        QCOMPARE(copies, std::int64_t{1'632});
        const TraceSummary small = must(traceSummary(kData / "traces/nsys_2026.1_small_rtx3080.sqlite"));
        QCOMPARE(small.gpuSumNs, std::int64_t{4'129});
        QCOMPARE(small.kernelsLaunched, std::int64_t{2});
    }

    void ownRecording() {
        writeSmall(file("small.nabla"));
        const TraceSummary s = must(traceSummary(file("small.nabla")));
        QCOMPARE(s.runs.at(0).steps, std::int64_t{2});
        QCOMPARE(s.runs.at(0).medianNs, std::int64_t{80}); // (100 + 60) / 2
        const NamedTimes* conv = find(s, SliceSource::OpEvent, "conv1");
        QVERIFY(conv);
        QCOMPARE(conv->count, std::int64_t{2});
        QCOMPARE(conv->sumNs, std::int64_t{90});
        QCOMPARE(conv->minNs, std::int64_t{30});
        QCOMPARE(conv->maxNs, std::int64_t{60});
        QCOMPARE(conv->medianNs, std::int64_t{45});
        QCOMPARE(s.longest.at(0).durationNs, std::int64_t{100});
        QCOMPARE(s.longest.size(), std::size_t{5});
        const QString text = QString::fromStdString(summaryText(s));
        QVERIFY(!text.contains(QChar(0x1b))); // names cannot steer the terminal
        const auto nodes = must(nodeTimes(must(Recording::open(file("small.nabla"))), 1));
        QCOMPARE(nodes.size(), std::size_t{2});
        QCOMPARE(nodes[0].nodeId, std::int64_t{1});
        QVERIFY(nodes[0].phase == RowPhase::Forward);
        QCOMPARE(nodes[0].medianNs, std::int64_t{45});
        QVERIFY(must(checkRecording(must(Recording::open(file("small.nabla"))))).empty());
    }

    void chromeExportKeepsNanoseconds() {
        writeSmall(file("export.nabla"));
        const auto recording = must(Recording::open(file("export.nabla")));
        QCOMPARE(must(exportChromeTrace(recording, file("export.json"))), std::int64_t{5});
        std::ifstream in(file("export.json"));
        std::string text((std::istreambuf_iterator<char>(in)), {});
        const json trace = json::parse(text);
        std::int64_t complete = 0;
        for (const json& event : trace["traceEvents"])
            complete += event["ph"] == "X" ? 1 : 0;
        QCOMPARE(complete, std::int64_t{5});
        QVERIFY(text.find("\"ts\":0.010,\"dur\":0.030") != std::string::npos); // conv1 [10, 40] ns
        QVERIFY(!exportChromeTrace(recording, file("missing/folder.json")));
    }

    void aFileOfARefusedKindIsAReadError() {
        std::ofstream(file("kineto.json")) << R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","ts":1}]})";
        const auto s = traceSummary(file("kineto.json"));
        QVERIFY(!s && s.error().kind() == nabla::engine::ErrorKind::Read);
        QVERIFY(QString::fromStdString(s.error().message()).endsWith("kineto.json: Kineto trace: not read yet"));
    }
};

QTEST_APPLESS_MAIN(TestTraceSummary)
#include "tst_trace_summary.moc"
