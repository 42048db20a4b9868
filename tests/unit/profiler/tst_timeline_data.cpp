// Lanes, levels and what a frame asks, each against a slow and obvious computation.
#include <random>

#include <QTemporaryDir>
#include <QTest>

#include "profiler/analysis/timeline_data.h"
#include "profiler/store/recording_writer.h"

using namespace nabla::profiler;

namespace {

template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

struct Span {
    std::int64_t start, end, node;
};

TimelineData timelineOf(const std::filesystem::path& path, const std::vector<Span>& spans) {
    {
        auto writer = must(RecordingWriter::open(path));
        const auto run = must(writer.beginRun({}));
        for (const Span& span : spans) {
            OpEventRow row;
            row.start = span.start;
            row.end = span.end;
            row.stepId = 1;
            row.nodeId = span.node;
            row.globalTid = globalTid(1, 2);
            must(writer.add(row));
        }
        const auto counter = must(writer.intern("loss"));
        for (int i = 0; i < 10; ++i)
            must(writer.add(CounterRow{i * 10, counter, i % 2 == 0 ? double(i) : -double(i)}));
        must(writer.endRun(run, 0, 0, 0));
        must(writer.close());
    }
    return must(buildTimeline(must(Recording::open(path))));
}

/// Slices one behind the other with gaps, from 1 ns to 60 us, some of no length.
std::vector<Span> randomSpans(std::size_t count) {
    std::mt19937_64 random(7);
    std::vector<Span> spans;
    std::int64_t time = 1'000;
    for (std::size_t i = 0; i < count; ++i) {
        const auto length = static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 17)));
        spans.push_back({time, time + length, static_cast<std::int64_t>(i % 13 + 1)});
        time += length + static_cast<std::int64_t>(1 + random() % 20'000);
    }
    return spans;
}

} // namespace

class TestTimelineData : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_files = 0;
    std::filesystem::path nextFile() {
        return std::filesystem::path(m_folder.path().toStdString()) / (std::to_string(m_files++) + ".nabla");
    }

private slots:
    void nestedSlicesGoBelowEachOther() {
        // A child that outlasts its parent by a rounding stays one below; lanes never overlap.
        const TimelineData data = timelineOf(
            nextFile(), {{12, 20, 3}, {10, 30, 2}, {0, 100, 1}, {90, 101, 4}, {100, 110, 5}, {200, 200, 6}});
        QCOMPARE(data.lanes.size(), std::size_t{3});
        QCOMPARE(data.lanes[0].start, (std::vector<std::int64_t>{0, 200}));
        QCOMPARE(data.lanes[1].start, (std::vector<std::int64_t>{10, 90}));
        QCOMPARE(data.lanes[2].start, (std::vector<std::int64_t>{12, 100}));
        QCOMPARE(data.lanes[1].nodeId, (std::vector<std::uint32_t>{2, 4}));
        QCOMPARE(data.range.begin, std::int64_t{0});
        QCOMPARE(data.range.end, std::int64_t{200});
        QCOMPARE(data.slices(), std::size_t{6});
        QVERIFY(!data.lanes[0].name.empty());
        for (const TimelineLane& lane : data.lanes) {
            for (std::size_t i = 1; i < lane.size(); ++i)
                QVERIFY(lane.start[i] >= lane.endOf(i - 1));
        }
        QCOMPARE(slicesOfNode(data, 4), (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}}));
        QCOMPARE(data.names.at(data.lanes[2].nameId[0]), std::string("node 3"));
        QCOMPARE(sliceAt(data.lanes[0], 99).value(), std::size_t{0});
        QVERIFY(!sliceAt(data.lanes[0], 100));
        QCOMPARE(sliceAt(data.lanes[0], 200).value(), std::size_t{1}); // of no length
        QVERIFY(!sliceAt(data.lanes[1], 5));
    }

    void overlappingKernelsOfAStreamGetSiblingLanes() {
        const auto data = must(buildTimeline(must(
            Recording::open(std::filesystem::path(NABLA_TEST_DATA) / "bugs/profile-bad-kernel-times/report.sqlite"))));
        // Kernels without a usable time are in no lane: the timeline does not begin at 0 (case.json).
        QCOMPARE(data.untimed, std::int64_t{2});
        QCOMPARE(data.range.begin, std::int64_t{990'000});
        QCOMPARE(data.range.end, std::int64_t{2'240'000});
    }

    void aSliceOfSecondsKeepsItsLength() {
        const std::int64_t long1 = 5'000'000'000; // more than 32 bits of ns
        const TimelineData data = timelineOf(nextFile(), {{0, long1, 1}, {long1, long1 + 5, 2}});
        QCOMPARE(data.lanes.at(0).durationOf(0), long1);
        QCOMPARE(data.lanes.at(0).durationOf(1), std::int64_t{5});
        std::vector<float> busy;
        busyColumns(data.lanes[0], {0, long1}, 10, busy);
        QCOMPARE(busy[5], 1.0f);
    }

    void everySliceIsInExactlyOneBar() {
        const auto spans = randomSpans(20'000);
        const TimelineData data = timelineOf(nextFile(), spans);
        const TimelineLane& lane = data.lanes.at(0);
        QCOMPARE(lane.size(), spans.size());
        std::vector<VisibleSlice> bars;
        for (const std::int64_t minNs : {1, 100, 5'000, 300'000, 50'000'000}) {
            const TimeRange range{spans[500].start + 1, spans[15'000].start};
            visibleSlices(lane, range, minNs, bars);
            std::size_t next = 500; // touches: it begins before the range and ends within, or has no length
            while (spans[next].end <= range.begin)
                ++next;
            for (const VisibleSlice& bar : bars) {
                QCOMPARE(std::size_t{bar.first}, next);
                next = bar.last + std::size_t{1};
                QCOMPARE(bar.start, spans[bar.first].start);
                QCOMPARE(bar.end, spans[bar.last].end);
                for (std::size_t i = bar.first; i <= bar.last && bar.first != bar.last; ++i)
                    QVERIFY(spans[i].end - spans[i].start < minNs); // a wide one is never hidden in a merged bar
                QVERIFY(spans[bar.last].start - bar.start < std::max<std::int64_t>(minNs, 1));
            }
            QCOMPARE(next, std::size_t{15'000});
        }
    }

    void busyColumnsAgreeWithASum() {
        const auto spans = randomSpans(20'000);
        const TimelineData data = timelineOf(nextFile(), spans);
        const TimelineLane& lane = data.lanes.at(0);
        QVERIFY(!lane.mips.empty());
        std::vector<float> busy;
        for (const std::size_t columns : {7, 100, 1920}) {
            const TimeRange range{data.range.begin - 5'000'000, data.range.end + 5'000'000};
            busyColumns(lane, range, columns, busy);
            const double width = static_cast<double>(range.end - range.begin) / static_cast<double>(columns);
            double total = 0;
            for (std::size_t c = 0; c < columns; ++c) {
                const double begin = static_cast<double>(range.begin) + width * static_cast<double>(c);
                double exact = 0;
                for (const Span& span : spans)
                    exact += std::max(0.0,
                        std::min(begin + width, static_cast<double>(span.end))
                            - std::max(begin, static_cast<double>(span.start)));
                // A level is at most half a column wide, and only its two border buckets are shared out.
                QVERIFY2(std::abs(busy[c] - exact / width) < 0.5,
                    qPrintable(QString("%1: %2 %3").arg(c).arg(double(busy[c])).arg(exact / width)));
                total += busy[c] * width;
            }
            double all = 0;
            for (const Span& span : spans)
                all += static_cast<double>(span.end - span.start);
            QVERIFY2(std::abs(total - all) < 1e-3 * all,
                qPrintable(QString("%1 columns: %2 of %3").arg(columns).arg(total).arg(all)));
        }
        // Narrow columns are exact.
        const TimeRange narrow{spans[100].start, spans[100].start + 10'000};
        busyColumns(lane, narrow, 100, busy);
        for (std::size_t c = 0; c < 100; ++c) {
            std::int64_t exact = 0;
            const auto begin = narrow.begin + static_cast<std::int64_t>(c) * 100;
            for (const Span& span : spans)
                exact += std::max<std::int64_t>(0, std::min(begin + 100, span.end) - std::max(begin, span.start));
            QVERIFY(std::abs(busy[c] - static_cast<float>(exact) / 100.0f) < 1e-5f);
        }
    }

    void selectionSumsAreClipped() {
        const TimelineData data = timelineOf(nextFile(), {{0, 100, 1}, {100, 200, 2}, {200, 300, 1}, {400, 500, 3}});
        const auto sums = selectionSums(data, {50, 250});
        QCOMPARE(sums.size(), std::size_t{2});
        QCOMPARE(data.names[sums[0].nameId], std::string("node 1"));
        QCOMPARE(sums[0].count, std::int64_t{2});
        QCOMPARE(sums[0].sumNs, std::int64_t{100}); // 50 of the first, 50 of the third
        QCOMPARE(sums[1].sumNs, std::int64_t{100});
        const std::size_t lane = 0;
        QCOMPARE(selectionSums(data, {450, 460}, std::span(&lane, 1)).at(0).sumNs, std::int64_t{10});
        QVERIFY(selectionSums(data, {300, 400}).empty());
    }

    void countersKeepTheirExtremes() {
        const TimelineData data = timelineOf(nextFile(), {{0, 1, 1}});
        QCOMPARE(data.counters.size(), std::size_t{1});
        QCOMPARE(data.counters[0].name, std::string("loss"));
        // Samples 0, -1, 2, -3, 4 | -5, 6, -7, 8, -9 at 0, 10, ... 90.
        const auto columns = counterColumns(data.counters[0], {0, 100}, 2);
        QCOMPARE(columns[0].min, -3.0);
        QCOMPARE(columns[0].max, 4.0);
        QCOMPARE(columns[1].min, -9.0);
        QCOMPARE(columns[1].max, 8.0); // 4, the last before, is smaller
        QVERIFY(!counterColumns(data.counters[0], {-100, -50}, 1)[0].any);
    }

    void cancelStops() {
        const auto path = nextFile();
        timelineOf(path, randomSpans(100));
        std::stop_source stop;
        stop.request_stop();
        nabla::engine::JobControl job;
        job.stop = stop.get_token();
        const auto data = buildTimeline(must(Recording::open(path)), job);
        QVERIFY(!data && data.error().kind() == nabla::engine::ErrorKind::Cancelled);
    }
};

QTEST_APPLESS_MAIN(TestTimelineData)
#include "tst_timeline_data.moc"
