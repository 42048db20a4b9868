// The layout process: answers, is killed by a newer request, by its budget and by a crash, and comes back.
#include <csignal>

#include <QSignalSpy>
#include <QTest>

#include "app/jobs/layout_worker.h"
#include "layout_graphs.h"

using namespace nabla;
using namespace nabla::views::test;

class TestLayoutWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void answersWithDotsLayout();
    void groupsAreClusters();
    void newerRequestReplacesOlder();
    void budgetEndsALongLayout();
    void crashFailsAndNextRequestWorks();
    void missingProgramFails();
    void nonsenseEndsTheWorker();

private:
    static QString program() { return QStringLiteral(NABLA_BINARY_DIR "/nablascope-layout"); }
    static constexpr int kPatient = 20'000; // a loaded machine; the budget itself has its own test
};

void TestLayoutWorker::answersWithDotsLayout() {
    app::LayoutWorker worker(program());
    worker.setBudgetMs(kPatient);
    QSignalSpy done(&worker, &app::LayoutWorker::done);
    const auto request = residual(10);
    const std::uint32_t id = worker.request(request);
    QTRY_COMPARE_WITH_TIMEOUT(done.size(), 1, kPatient);
    QCOMPARE(done[0][0].value<std::uint32_t>(), id);
    const auto result = done[0][1].value<views::LayoutResult>();
    QCOMPARE(result.nodes.size(), request.nodes.size());
    for (std::size_t e = 0; e < request.edges.size(); ++e) {
        const views::Box& from = result.nodes[request.edges[e].from];
        const views::Box& to = result.nodes[request.edges[e].to];
        QVERIFY(from.bottom() < to.y);
        QVERIFY(std::abs(result.route(e).front().y - from.bottom()) < 2);
        QVERIFY(std::abs(result.route(e).back().y - to.y) < 2);
    }
    const qint64 pid = worker.processId();
    worker.request(request);
    QTRY_COMPARE_WITH_TIMEOUT(done.size(), 2, kPatient);
    QCOMPARE(worker.processId(), pid); // kept for the next request
}

void TestLayoutWorker::groupsAreClusters() {
    app::LayoutWorker worker(program());
    worker.setBudgetMs(kPatient);
    QSignalSpy done(&worker, &app::LayoutWorker::done);
    const auto request = transformer(3);
    worker.request(request);
    QTRY_COMPARE_WITH_TIMEOUT(done.size(), 1, kPatient);
    const auto result = done[0][1].value<views::LayoutResult>();
    for (std::size_t n = 0; n < request.nodes.size(); ++n) {
        if (const int g = request.nodes[n].group; g >= 0) {
            const views::Box& box = result.groups[g];
            const views::Box& node = result.nodes[n];
            QVERIFY(box.x < node.x && node.right() < box.right() && node.bottom() < box.bottom());
            QVERIFY2(node.y - box.y >= request.spacing.groupHeader, qPrintable(QString::number(node.y - box.y)));
        }
    }
    QVERIFY(!result.ports.empty());
}

void TestLayoutWorker::newerRequestReplacesOlder() {
    app::LayoutWorker worker(program());
    worker.setBudgetMs(kPatient);
    QSignalSpy done(&worker, &app::LayoutWorker::done);
    QSignalSpy failed(&worker, &app::LayoutWorker::failed);
    worker.request(irregularSkips(3000)); // minutes for dot
    const qint64 first = worker.processId();
    const std::uint32_t second = worker.request(chain(5));
    QTRY_COMPARE_WITH_TIMEOUT(done.size(), 1, kPatient);
    QCOMPARE(done[0][0].value<std::uint32_t>(), second);
    QCOMPARE(failed.size(), 0);
    QVERIFY(worker.processId() != first);
    QTRY_VERIFY(::kill(static_cast<pid_t>(first), 0) != 0); // reaped
}

void TestLayoutWorker::budgetEndsALongLayout() {
    app::LayoutWorker worker(program());
    worker.setBudgetMs(50);
    QSignalSpy failed(&worker, &app::LayoutWorker::failed);
    const std::uint32_t id = worker.request(irregularSkips(3000));
    QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, kPatient);
    QCOMPARE(failed[0][0].value<std::uint32_t>(), id);
    QCOMPARE(failed[0][1].toString(), QStringLiteral("Graphviz took longer than 50 ms"));
    QVERIFY(!worker.isBusy());
    QCOMPARE(worker.processId(), 0);
}

void TestLayoutWorker::crashFailsAndNextRequestWorks() {
    app::LayoutWorker worker(program());
    worker.setBudgetMs(kPatient);
    QSignalSpy done(&worker, &app::LayoutWorker::done);
    QSignalSpy failed(&worker, &app::LayoutWorker::failed);
    worker.request(irregularSkips(3000));
    QTRY_VERIFY(worker.processId() > 0);
    ::kill(static_cast<pid_t>(worker.processId()), SIGSEGV);
    QTRY_COMPARE_WITH_TIMEOUT(failed.size(), 1, kPatient);
    QCOMPARE(failed[0][1].toString(), QStringLiteral("The layout process crashed"));
    worker.request(chain(5));
    QTRY_COMPARE_WITH_TIMEOUT(done.size(), 1, kPatient);
}

void TestLayoutWorker::missingProgramFails() {
    app::LayoutWorker worker(QStringLiteral("/nonexistent/nablascope-layout"));
    QSignalSpy failed(&worker, &app::LayoutWorker::failed);
    worker.request(chain(5));
    QTRY_COMPARE(failed.size(), 1);
    QVERIFY(failed[0][1].toString().startsWith(QStringLiteral("Cannot start /nonexistent/nablascope-layout")));
}

void TestLayoutWorker::nonsenseEndsTheWorker() {
    QProcess process;
    process.start(program(), {});
    QVERIFY(process.waitForStarted());
    process.write("\xff\xff\xff\xff");
    QVERIFY(process.waitForFinished(kPatient));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 1);
    QProcess idle;
    idle.start(program(), {});
    QVERIFY(idle.waitForStarted());
    idle.closeWriteChannel();
    QVERIFY(idle.waitForFinished(kPatient));
    QCOMPARE(idle.exitCode(), 0);
}

QTEST_GUILESS_MAIN(TestLayoutWorker)
#include "tst_layout_worker.moc"
