// The passes view: what its rows say, and what clicks and keys ask for. With NABLA_SHOTS set to a folder it also leaves
// pictures there to look at.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "engine/graph/graph_editor.h"
#include "views/passes/passes_view.h"
#include "views/theme/nabla_style.h"

using namespace nabla::views;
using namespace nabla::engine;

namespace {

struct Fixture {
    ViewState state;
    NodeId conv, relu, fused;
};

/// conv -> relu fused into one node, with prices on both sides; then a pass that found nothing and was not measured.
Fixture twoPasses() {
    Fixture f;
    GraphEditor first = GraphEditor::empty("g", std::make_shared<ModelInfo>(), std::make_shared<IdSource>());
    const ValueId x = first.addInput("x", {});
    f.conv = first.add({.opType = "Conv", .inputs = {x}, .name = "conv1"});
    f.relu = first.add({.opType = "Relu", .inputs = {first.outputs(f.conv)[0]}, .name = "relu1"});
    first.setOutputs({first.outputs(f.relu)[0]});
    const Graph before = first.finish();
    GraphEditor second(before);
    f.fused = second.add({.opType = "FusedConv", .inputs = {x}, .domain = "nabla", .name = "conv1+relu1"});
    second.setOutputs({second.outputs(f.fused)[0]});
    second.removeNode(f.relu);
    second.removeNode(f.conv);
    const Graph after = second.finish();
    PassRecord record;
    record.pass = "fuse-conv-epilogue";
    record.before = before;
    record.after = after;
    record.rewrites = {{"conv-relu", {f.conv, f.relu}, {f.fused}, "relu1 is the only reader of conv1"}};
    record.nearMisses = {{"conv-add", f.fused, "the result has one reader: it has 2"}};
    record.milliseconds = 0.4;
    record.priceBefore = GraphPrice{2, 1'000'000, 4 << 20, 3 << 20, {}, {}};
    record.priceAfter = GraphPrice{1, 1'000'000, 2 << 20, 1 << 20, {}, {}};
    record.differences = {{"y", 2.4e-7, 1e-7}};
    PassRecord idle;
    idle.pass = "fold-constants";
    idle.before = idle.after = after;
    f.state.documentTitle = "model.onnx";
    f.state.graph = after;
    f.state.history = {{1, 0, HistoryEntry::Kind::Imported, "model.onnx", "", nullptr},
        {2, 1, HistoryEntry::Kind::Pass, "Fuse conv epilogue", "", std::make_shared<const PassRecord>(record)},
        {3, 2, HistoryEntry::Kind::Pass, "Fold constants", "", std::make_shared<const PassRecord>(idle)}};
    f.state.currentState = 2;
    return f;
}

QString cell(const QTableView* table, int row, int column) { return table->model()->index(row, column).data().toString(); }

void clickRow(QTableView* table, int row) {
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(row, 0)).center());
}

} // namespace

class TestPassesView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { applyTheme(m_theme); }
    void init();
    void rowsCarryChangesWithUnitsAndSigns();
    void unmeasuredIsSaid();
    void clickOnAPassShowsItsState();
    void compareAsksForBothStates();
    void clickOnARewriteSelectsItsNode();
    void removedNodeIsShownInTheStateBefore();
    void keysReachEverything();
    void emptyStateOffersToOptimise();
    void longerTextDoesNotWidenTheView();
    void leavesPictures();

private:
    ThemeSource m_theme;
    std::unique_ptr<PassesView> m_view;
    Fixture m_fixture;
};

void TestPassesView::init() {
    m_theme.setKind(ThemeKind::Light);
    m_fixture = twoPasses();
    m_view = std::make_unique<PassesView>(m_theme);
    for (QTableView* table : {m_view->passTable(), m_view->rewriteTable(), m_view->nearMissTable()})
        new QAbstractItemModelTester(table->model(), QAbstractItemModelTester::FailureReportingMode::QtTest, m_view.get());
    m_view->resize(1100, 420);
    m_view->setState(m_fixture.state, Changes::all());
    m_view->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_view.get()));
}

void TestPassesView::rowsCarryChangesWithUnitsAndSigns() {
    QCOMPARE(m_view->passTable()->model()->rowCount(), 2);
    const QStringList expected{"Fuse conv epilogue", "1", "−1", "±0", "−2.00 MiB", "−2.00 MiB", "0.40 ms", "2.40e−7"};
    for (int c = 0; c < 8; ++c)
        QCOMPARE(cell(m_view->passTable(), 0, c), expected[c]);
    const QVariant alignment = m_view->passTable()->model()->index(0, 4).data(Qt::TextAlignmentRole);
    QVERIFY(alignment.toInt() & Qt::AlignRight);
}

void TestPassesView::unmeasuredIsSaid() {
    for (const int column : {3, 4, 5, 7})
        QCOMPARE(cell(m_view->passTable(), 1, column), QString("not measured"));
}

void TestPassesView::clickOnAPassShowsItsState() {
    QSignalSpy states(m_view.get(), &View::historyStateWanted);
    QCOMPARE(m_view->passTable()->currentIndex().row(), 0); // the state shown
    QCOMPARE(m_view->rewriteTable()->model()->rowCount(), 1);
    clickRow(m_view->passTable(), 1);
    QCOMPARE(states.count(), 1);
    QCOMPARE(states[0][0].toUInt(), 3u);
    QCOMPARE(m_view->rewriteTable()->model()->rowCount(), 0);
}

void TestPassesView::compareAsksForBothStates() {
    QSignalSpy comparisons(m_view.get(), &View::comparisonWanted);
    QTest::mouseClick(m_view->compareButton(), Qt::LeftButton);
    QCOMPARE(comparisons.count(), 1);
    QCOMPARE(comparisons[0][0].toUInt(), 1u);
    QCOMPARE(comparisons[0][1].toUInt(), 2u);
}

void TestPassesView::clickOnARewriteSelectsItsNode() {
    QCOMPARE(cell(m_view->rewriteTable(), 0, 1), QString("conv1, relu1 → conv1+relu1"));
    QCOMPARE(cell(m_view->rewriteTable(), 0, 2), QString("relu1 is the only reader of conv1"));
    Selection got;
    connect(m_view.get(), &View::selectionWanted, this, [&](const Selection& s) { got = s; });
    clickRow(m_view->rewriteTable(), 0);
    QCOMPARE(got.node.value, m_fixture.fused.value);
    QCOMPARE(got.value.value, m_fixture.state.graph.node(m_fixture.fused)->output(0).value);
    got = {};
    QCOMPARE(cell(m_view->nearMissTable(), 0, 2), QString("the result has one reader: it has 2"));
    clickRow(m_view->nearMissTable(), 0);
    QCOMPARE(got.node.value, m_fixture.fused.value);
}

void TestPassesView::removedNodeIsShownInTheStateBefore() {
    PassRecord record = *m_fixture.state.history[1].pass;
    record.rewrites = {{"drop", {m_fixture.relu}, {}, "nobody reads it"}};
    m_fixture.state.history[1].pass = std::make_shared<const PassRecord>(record);
    m_view->setState(m_fixture.state, Changes::all());
    QSignalSpy states(m_view.get(), &View::historyStateWanted);
    Selection got;
    connect(m_view.get(), &View::selectionWanted, this, [&](const Selection& s) { got = s; });
    clickRow(m_view->rewriteTable(), 0);
    QCOMPARE(states.count(), 1);
    QCOMPARE(states[0][0].toUInt(), 1u);
    QCOMPARE(got.node.value, m_fixture.relu.value);
}

void TestPassesView::keysReachEverything() {
    QSignalSpy states(m_view.get(), &View::historyStateWanted);
    m_view->passTable()->setFocus();
    QTest::keyClick(m_view->passTable(), Qt::Key_Down);
    QCOMPARE(states.count(), 1);
    for (const QWidget* w : m_view->findChildren<QWidget*>()) {
        if (w->focusPolicy() != Qt::NoFocus && w->isVisible() && w->inherits("QAbstractButton"))
            QVERIFY2(!w->accessibleName().isEmpty(), qPrintable(w->objectName()));
    }
    for (const QTableView* table : m_view->findChildren<QTableView*>())
        QVERIFY(!table->accessibleName().isEmpty());
}

void TestPassesView::emptyStateOffersToOptimise() {
    ViewState state = m_fixture.state;
    state.history.resize(1);
    m_view->setState(state, Changes::all());
    QVERIFY(m_view->emptyPanel()->isVisible());
    QSignalSpy actions(m_view.get(), &View::actionWanted);
    QTest::mouseClick(m_view->emptyPanel()->button(), Qt::LeftButton);
    QCOMPARE(actions.count(), 1);
    QCOMPARE(actions[0][0].toString(), QString("passes"));
}

void TestPassesView::longerTextDoesNotWidenTheView() {
    const int before = m_view->minimumSizeHint().width();
    ViewState state = m_fixture.state;
    state.history[1].title = std::string(400, 'w');
    m_view->setState(state, Changes::all());
    m_view->resize(500, 300);
    QVERIFY(m_view->width() <= 700);
    QVERIFY(m_view->minimumSizeHint().width() <= before + 400);
    QCOMPARE(m_view->findChild<QLabel*>("passSummary")->text().isEmpty(), false);
}

void TestPassesView::leavesPictures() {
    const QString folder = qEnvironmentVariable("NABLA_SHOTS");
    if (folder.isEmpty())
        QSKIP("NABLA_SHOTS names no folder");
    for (const auto& [kind, name] : {std::pair{ThemeKind::Light, "light"}, std::pair{ThemeKind::Dark, "dark"}}) {
        m_theme.setKind(kind);
        QTest::qWait(20);
        QVERIFY(m_view->grab().save(QStringLiteral("%1/passes-%2.png").arg(folder, name)));
    }
}

QTEST_MAIN(TestPassesView)
#include "tst_passes_view.moc"
