// Rings, scopes and the clock: what reaches the one who drains.
#include <thread>

#include <QTest>

#include "engine/events/execution_observer.h"

using namespace nabla::engine;

namespace {

std::vector<EventRecord> drainAll(ExecutionObserver& observer) {
    std::vector<EventRecord> all;
    observer.drain([&](const ThreadRing&, std::span<const EventRecord> records) {
        all.insert(all.end(), records.begin(), records.end());
    });
    return all;
}

} // namespace

class TestEvents : public QObject {
    Q_OBJECT

private slots:
    void nothingIsRecordedWithoutObserverOrWhenOff() {
        {
            RunScope run(nullptr, Phase::None);
            StepScope step(run, 1, 0, 0, Phase::Forward);
            QVERIFY(!run.recording());
            QCOMPARE(run.iteration(), 0u);
        }
        ExecutionObserver observer(8);
        {
            RunScope run(&observer, Phase::None);
            StepScope step(run, 1, 0, 0, Phase::Forward);
            run.allocated(1, 0, 4);
        }
        QVERIFY(drainAll(observer).empty());
    }

    void everyFieldArrives() {
        ExecutionObserver observer(64);
        observer.start();
        {
            RunScope run(&observer, Phase::Backward);
            QCOMPARE(run.iteration(), 1u);
            { StepScope step(run, 70000, 12, 9, Phase::Forward); }
            // 2^40 + 5 bytes: more than 32 bits hold.
            run.allocated(3, std::uint64_t{1} << 45, (std::uint64_t{1} << 40) + 5);
            run.freed(3, 64, 128);
            run.counter(kLossCounter, 0.1);
        }
        const auto records = drainAll(observer);
        QCOMPARE(records.size(), std::size_t{5});
        QCOMPARE(records[0].node, 70000u);
        QCOMPARE(records[0].planStep, 12u);
        QCOMPARE(records[0].kernel, std::uint16_t{9});
        QVERIFY(records[0].phase == Phase::Forward && records[0].kind == RecordKind::Step);
        QVERIFY(records[0].start <= records[0].end);
        QVERIFY(records[1].kind == RecordKind::Alloc);
        QCOMPARE(records[1].end, std::uint64_t{1} << 45);
        QCOMPARE(records[1].bytes(), (std::uint64_t{1} << 40) + 5);
        QVERIFY(records[2].kind == RecordKind::Free);
        QCOMPARE(records[2].bytes(), std::uint64_t{128});
        QCOMPARE(records[3].counterValue(), 0.1);
        QVERIFY(records[4].kind == RecordKind::Run && records[4].phase == Phase::Backward);
        QVERIFY(records[4].start <= records[0].start && records[4].end >= records[0].end);
        for (const EventRecord& record : records)
            QCOMPARE(record.iteration, 1u);
    }

    void fullRingDropsTheNewestAndCounts() {
        ExecutionObserver observer(8);
        observer.start();
        RunScope run(&observer, Phase::None);
        for (std::uint32_t i = 0; i < 20; ++i)
            StepScope step(run, i, i, 0, Phase::Forward);
        QCOMPARE(observer.dropped(), std::uint64_t{12}); // 20 - 8
        auto records = drainAll(observer);
        QCOMPARE(records.size(), std::size_t{8});
        QCOMPARE(records.back().node, 7u);
        StepScope(run, 99, 0, 0, Phase::Forward);
        records = drainAll(observer);
        QCOMPARE(records.size(), std::size_t{1});
        QCOMPARE(records.back().node, 99u);
        observer.stop();
        observer.start();
        QCOMPARE(observer.dropped(), std::uint64_t{0});
    }

    void startForgetsWhatWasLeft() {
        ExecutionObserver observer(8);
        observer.start();
        { RunScope run(&observer, Phase::None); }
        observer.stop();
        observer.start();
        QVERIFY(drainAll(observer).empty());
        {
            RunScope run(&observer, Phase::None);
            QCOMPARE(run.iteration(), 1u);
        }
        QCOMPARE(drainAll(observer).size(), std::size_t{1});
    }

    void twoObserversOnOneThreadKeepApart() {
        ExecutionObserver first(64);
        ExecutionObserver second(64);
        first.start();
        second.start();
        for (int i = 0; i < 3; ++i) {
            { RunScope run(&first, Phase::None); }
            { RunScope run(&second, Phase::None); }
        }
        QCOMPARE(drainAll(first).size(), std::size_t{3});
        QCOMPARE(drainAll(second).size(), std::size_t{3});
    }

    void threadsHaveRingsAndEndedOnesServeAgain() {
        ExecutionObserver observer(1024);
        observer.start();
        for (int round = 0; round < 5; ++round) {
            std::thread worker([&] {
                RunScope run(&observer, Phase::None);
                StepScope step(run, 1, 0, 0, Phase::Forward);
            });
            worker.join();
            std::size_t rings = 0;
            std::size_t records = 0;
            observer.drain([&](const ThreadRing&, std::span<const EventRecord> part) {
                ++rings;
                records += part.size();
            });
            QCOMPARE(rings, std::size_t{1});
            QCOMPARE(records, std::size_t{2});
        }
    }

    void allRecordsOfFourThreadsArriveInOrder() {
        constexpr std::uint32_t kCount = 50'000;
        ExecutionObserver observer(1u << 17);
        observer.start();
        RunScope run(&observer, Phase::None);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (std::uint32_t i = 0; i < kCount; ++i)
                    StepScope step(run, i, 0, 0, Phase::Forward);
            });
        }
        // By thread too: the ring of one that has ended serves a later one.
        std::map<std::pair<const ThreadRing*, std::int32_t>, std::uint32_t> next;
        std::size_t total = 0;
        bool inOrder = true;
        const auto sink = [&](const ThreadRing& thread, std::span<const EventRecord> records) {
            total += records.size();
            for (const EventRecord& record : records)
                inOrder = inOrder && record.node == next[{&thread, thread.threadId}]++;
        };
        while (total < std::size_t{4} * kCount && observer.dropped() == 0)
            observer.drain(sink);
        threads.clear();
        QCOMPARE(observer.dropped(), std::uint64_t{0});
        QVERIFY(inOrder);
        QCOMPARE(total, std::size_t{4} * kCount);
    }

    void ticksConvertToTheMonotonicClock() {
        ClockConversion clock(trustedClockSource());
        const std::uint64_t originNs = monotonicNs();
        QTest::qWait(20);
        const std::uint64_t ticks = readTicks(clock.source());
        const std::uint64_t ns = monotonicNs();
        clock.refresh();
        // Both clocks are read one after the other; a preempted test gets 100 us of slack.
        const auto expected = static_cast<std::int64_t>(ns - originNs);
        QVERIFY2(std::abs(clock.toNs(ticks) - expected) < 100'000,
            qPrintable(QString::number(clock.toNs(ticks) - expected)));
        QVERIFY(clock.toNs(clock.pairs().front().ticks) == 0);
        QVERIFY(clock.toNs(clock.pairs().front().ticks - 1000) <= 0);
        QVERIFY(clock.ticksPerSecond() > 1e6);
    }
};

QTEST_APPLESS_MAIN(TestEvents)
#include "tst_events.moc"
