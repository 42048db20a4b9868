// The timeline driven by real clicks, drags, wheel turns and keys. With NABLA_SHOTS set to a folder it also leaves
// pictures there to look at.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "engine/graph/graph_editor.h"
#include "views/theme/nabla_style.h"
#include "views/timeline/timeline_view.h"

using namespace nabla::views;
using namespace nabla::engine;
using nabla::profiler::SliceSource;
using nabla::profiler::TimelineData;
using nabla::profiler::TimelineLane;
using nabla::profiler::TimeRange;

namespace {

struct Fixture {
    ViewState state;
    NodeId conv, relu;
};

void put(TimelineLane& lane, std::int64_t start, std::uint32_t duration, std::uint32_t name, NodeId node) {
    lane.start.push_back(start);
    lane.duration.push_back(duration);
    lane.nameId.push_back(name);
    lane.nodeId.push_back(node.value);
    lane.rowId.push_back(static_cast<std::uint32_t>(lane.rowId.size()));
}

/// One run of 1 ms: conv 0-600 us, relu 650-700 us and 800-900 us, below them an arena counter.
Fixture oneRun() {
    Fixture f;
    GraphEditor editor = GraphEditor::empty("g", std::make_shared<ModelInfo>(), std::make_shared<IdSource>());
    const ValueId x = editor.addInput("x", {});
    f.conv = editor.add({.opType = "Conv", .inputs = {x}, .name = "conv1"});
    f.relu = editor.add({.opType = "Relu", .inputs = {editor.outputs(f.conv)[0]}, .name = "relu1"});
    editor.setOutputs({editor.outputs(f.relu)[0]});
    TimelineData data;
    data.names = {"run", "conv1", "relu1"};
    data.range = {0, 1'000'000};
    TimelineLane run;
    run.name = "Main";
    run.source = SliceSource::Step;
    put(run, 0, 1'000'000, 0, {});
    TimelineLane ops;
    ops.name = "Main";
    ops.source = SliceSource::OpEvent;
    put(ops, 0, 600'000, 1, f.conv);
    put(ops, 650'000, 50'000, 2, f.relu);
    put(ops, 800'000, 100'000, 2, f.relu);
    data.lanes = {run, ops};
    data.counters = {{"Arena bytes", {0, 300'000, 900'000}, {1 << 20, 4 << 20, 2 << 20}}};
    f.state.documentTitle = "model.onnx";
    f.state.graph = editor.finish();
    f.state.timeline = std::make_shared<const TimelineData>(std::move(data));
    f.state.medianNs = {{f.relu, 75'000}};
    return f;
}

QString cell(const QTableView* table, int row, int column) { return table->model()->index(row, column).data().toString(); }

void drag(QWidget* widget, QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(widget, Qt::LeftButton, modifiers, from);
    for (const QPoint at : {(from + to) / 2, to}) {
        QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, modifiers);
        QApplication::sendEvent(widget, &move);
    }
    QTest::mouseRelease(widget, Qt::LeftButton, modifiers, to);
}

} // namespace

class TestTimelineView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { applyTheme(m_theme); }
    void init();
    void tableIsFilledWithoutASelection();
    void dragSelectsAndSums();
    void clickOnASliceSelectsItsNode();
    void selectionElsewhereIsBroughtIntoView();
    void wheelKeepsTheTimeUnderTheCursor();
    void keysZoomPanAndGoBack();
    void shiftDragPans();
    void kindColoursArePainted();
    void emptyStateOffersToRecord();
    void leavesPictures();

private:
    ThemeSource m_theme;
    std::unique_ptr<TimelineView> m_view;
    Fixture m_fixture;

    QWidget* area() const { return m_view->canvas()->viewport(); }
};

void TestTimelineView::init() {
    m_theme.setKind(ThemeKind::Light);
    m_fixture = oneRun();
    m_view = std::make_unique<TimelineView>(m_theme);
    new QAbstractItemModelTester(m_view->table()->model(), QAbstractItemModelTester::FailureReportingMode::QtTest, m_view.get());
    m_view->resize(1000, 420);
    m_view->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_view.get()));
    m_view->setState(m_fixture.state, Changes::all());
    QTest::qWait(20);
}

void TestTimelineView::tableIsFilledWithoutASelection() {
    // By hand: 600 of 750 us and 150 of 750 us; the run itself is no work of its own.
    QCOMPARE(m_view->table()->model()->rowCount(), 2);
    QCOMPARE(cell(m_view->table(), 0, 0), QString("conv1"));
    QCOMPARE(cell(m_view->table(), 1, 1), QString("2"));
    QCOMPARE(cell(m_view->table(), 0, 4), QString("80.0 %"));
    QCOMPARE(cell(m_view->table(), 1, 4), QString("20.0 %"));
}

void TestTimelineView::dragSelectsAndSums() {
    const TimeWindow& w = m_view->canvas()->window();
    const QPoint from(static_cast<int>(w.xOf(620'000)), 100), to(static_cast<int>(w.xOf(750'000)), 100);
    drag(area(), from, to);
    QVERIFY(m_view->canvas()->selectedRange());
    QCOMPARE(m_view->table()->model()->rowCount(), 1);
    QCOMPARE(cell(m_view->table(), 0, 0), QString("relu1"));
    QCOMPARE(cell(m_view->table(), 0, 2), QString("50.0 µs"));
    m_view->canvas()->setFocus();
    QTest::keyClick(m_view->canvas(), Qt::Key_Escape);
    QCOMPARE(m_view->table()->model()->rowCount(), 2);
}

void TestTimelineView::clickOnASliceSelectsItsNode() {
    Selection got;
    connect(m_view.get(), &View::selectionWanted, this, [&](const Selection& s) { got = s; });
    const auto rect = m_view->rectOfNode(m_fixture.conv);
    QVERIFY(rect);
    QTest::mouseClick(area(), Qt::LeftButton, {}, rect->center().toPoint());
    QCOMPARE(got.node.value, m_fixture.conv.value);
    QCOMPARE(got.value.value, m_fixture.state.graph.node(m_fixture.conv)->output(0).value);
    // A row of the table selects too.
    const QRect row = m_view->table()->visualRect(m_view->table()->model()->index(1, 0));
    QTest::mouseClick(m_view->table()->viewport(), Qt::LeftButton, {}, row.center());
    QCOMPARE(got.node.value, m_fixture.relu.value);
}

void TestTimelineView::selectionElsewhereIsBroughtIntoView() {
    const auto rect = m_view->rectOfNode(m_fixture.conv);
    QVERIFY(rect);
    QTest::mouseDClick(area(), Qt::LeftButton, {}, QPoint(static_cast<int>(rect->left()) + 5, static_cast<int>(rect->center().y())));
    QVERIFY(!m_view->rectOfNode(m_fixture.relu) || m_view->canvas()->window().range().end > 650'000);
    for (int i = 0; i < 6; ++i)
        QTest::keyClick(m_view->canvas(), Qt::Key_W);
    QVERIFY(!m_view->rectOfNode(m_fixture.relu));
    ViewState state = m_fixture.state;
    state.selection = {m_fixture.relu, {}};
    Changes changes;
    changes.selection = true;
    m_view->setState(state, changes);
    QVERIFY(m_view->rectOfNode(m_fixture.relu));
    const QImage image = m_view->canvas()->grab().toImage();
    const QPointF edge = m_view->rectOfNode(m_fixture.relu)->topLeft() * image.devicePixelRatio();
    QCOMPARE(image.pixelColor(edge.toPoint()).rgb(), m_theme.theme().text.rgb());
}

void TestTimelineView::wheelKeepsTheTimeUnderTheCursor() {
    const QPointF at(600, 60);
    const std::int64_t before = m_view->canvas()->window().timeAt(at.x());
    QWheelEvent wheel(at, area()->mapToGlobal(at), {}, {0, 360}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
    QApplication::sendEvent(area(), &wheel);
    const TimeWindow& w = m_view->canvas()->window();
    QVERIFY(w.range().end - w.range().begin < 600'000);
    QVERIFY(std::abs(static_cast<double>(w.timeAt(at.x()) - before)) <= 2 * w.nsPerPixel());
}

void TestTimelineView::keysZoomPanAndGoBack() {
    TimelineCanvas* canvas = m_view->canvas();
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_W);
    const TimeRange near = canvas->window().range();
    QVERIFY(near.end - near.begin < 700'000);
    QTest::keyClick(canvas, Qt::Key_D);
    QVERIFY(canvas->window().range().begin > near.begin);
    QTest::keyClick(canvas, Qt::Key_A);
    QCOMPARE(canvas->window().range().begin, near.begin);
    QTest::keyClick(canvas, Qt::Key_F);
    QCOMPARE(canvas->window().range().end, std::int64_t{1'000'000});
    const auto rect = m_view->rectOfNode(m_fixture.conv);
    QVERIFY(rect);
    QTest::mouseDClick(area(), Qt::LeftButton, {}, rect->center().toPoint());
    QVERIFY(canvas->window().range().end < 700'000);
    QTest::keyClick(canvas, Qt::Key_Backspace);
    QCOMPARE(canvas->window().range().end, std::int64_t{1'000'000});
}

void TestTimelineView::shiftDragPans() {
    QTest::keyClick(m_view->canvas(), Qt::Key_W);
    const std::int64_t before = m_view->canvas()->window().range().begin;
    drag(area(), {600, 60}, {500, 60}, Qt::ShiftModifier);
    QVERIFY(m_view->canvas()->window().range().begin > before);
    QVERIFY(!m_view->canvas()->selectedRange());
}

void TestTimelineView::kindColoursArePainted() {
    for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark, ThemeKind::Contrast}) {
        m_theme.setKind(kind);
        const QImage image = m_view->canvas()->grab().toImage();
        const QPointF at = QPointF(m_view->rectOfNode(m_fixture.conv)->right() - 20, m_view->rectOfNode(m_fixture.conv)->center().y());
        QCOMPARE(image.pixelColor((at * image.devicePixelRatio()).toPoint()).rgb(), m_theme.theme().slice(OperatorKind::Convolution).rgb());
    }
}

void TestTimelineView::emptyStateOffersToRecord() {
    ViewState state = m_fixture.state;
    state.timeline = nullptr;
    m_view->setState(state, Changes::all());
    QVERIFY(m_view->emptyPanel()->isVisible());
    QSignalSpy actions(m_view.get(), &View::actionWanted);
    QTest::mouseClick(m_view->emptyPanel()->button(), Qt::LeftButton);
    QCOMPARE(actions.value(0).value(0).toString(), QString("record"));
}

void TestTimelineView::leavesPictures() {
    const QString folder = qEnvironmentVariable("NABLA_SHOTS");
    if (folder.isEmpty())
        QSKIP("NABLA_SHOTS names no folder");
    m_fixture.state.selection = {m_fixture.relu, {}};
    m_view->setState(m_fixture.state, Changes::all());
    const TimeWindow& w = m_view->canvas()->window();
    drag(area(), {static_cast<int>(w.xOf(200'000)), 100}, {static_cast<int>(w.xOf(750'000)), 100});
    for (const auto& [kind, name] : {std::pair{ThemeKind::Light, "light"}, std::pair{ThemeKind::Dark, "dark"}}) {
        m_theme.setKind(kind);
        QTest::qWait(20);
        QVERIFY(m_view->grab().save(QStringLiteral("%1/timeline-%2.png").arg(folder, name)));
    }
}

QTEST_MAIN(TestTimelineView)
#include "tst_timeline_view.moc"
