// The memory map driven by real clicks and keys. With NABLA_SHOTS set to a folder it also leaves pictures there.
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "engine/graph/graph_editor.h"
#include "views/memory_map/memory_map_view.h"
#include "views/theme/nabla_style.h"

using namespace nabla::views;
using namespace nabla::engine;

namespace {

struct Fixture {
    ViewState state;
    std::vector<NodeId> nodes;
    std::vector<ValueId> values;
};

void place(Plan& plan, ValueId value, std::int64_t mib, std::int64_t offsetMib, std::uint32_t first, std::uint32_t last, std::uint32_t aliasOf = kNoSlot) {
    PlanSlot slot;
    slot.value = value;
    slot.place = PlanSlot::Place::Arena;
    slot.bytes = mib << 20;
    slot.offset = offsetMib << 20;
    slot.firstStep = first;
    slot.lastStep = last;
    slot.aliasOf = aliasOf;
    plan.slotTable.push_back(slot);
}

/// Four steps by hand: conv 4 MiB [0,3], relu 2 MiB [1,2] with a view of it to step 3, add 1 MiB [3,3]; the peak is 7 MiB at step 3.
Fixture fourSteps() {
    Fixture f;
    GraphEditor editor = GraphEditor::empty("g", std::make_shared<ModelInfo>(), std::make_shared<IdSource>());
    ValueId last = editor.addInput("x", {});
    NodeId forward;
    for (const char* op : {"Conv", "Relu", "Reshape", "Add"}) {
        NodeSpec spec{.opType = op, .inputs = {last}, .name = std::string(op) + "_1"};
        if (std::string(op) == "Add")
            spec.gradientOf = forward;
        const NodeId node = editor.add(spec);
        forward = forward ? forward : node;
        f.nodes.push_back(node);
        f.values.push_back(last = editor.outputs(node)[0]);
    }
    editor.setOutputs({last});
    auto plan = std::make_shared<Plan>();
    plan->graph = editor.finish();
    for (const NodeId node : f.nodes) {
        PlanStep step;
        step.node = node;
        step.graphNode = plan->graph.node(node);
        plan->steps.push_back(std::move(step));
    }
    place(*plan, f.values[0], 4, 0, 0, 3);
    place(*plan, f.values[1], 2, 4, 1, 2);
    place(*plan, f.values[2], 2, 4, 2, 3, 1);
    place(*plan, f.values[3], 1, 6, 3, 3);
    plan->arena = {7 << 20, 7 << 20, 3, "by hand"};
    plan->heapSlots = 2;
    f.state.documentTitle = "model.onnx";
    f.state.graph = plan->graph;
    f.state.plan = plan;
    return f;
}

void clickAt(MemoryMapCanvas* canvas, const QPointF& at) { QTest::mouseClick(canvas, Qt::LeftButton, {}, at.toPoint()); }

} // namespace

class TestMemoryMapView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { applyTheme(m_theme); }
    void init();
    void sharedPlacesAreOneBlock();
    void tableShowsThePeakThenThePickedStep();
    void clickOnABlockSelectsItsValue();
    void selectionOutlinesTheBlock();
    void stripGoesToAStepOnlyWhileStepping();
    void keysWalkStepsAndBlocks();
    void zoomKeepsThePlaceAndFitReturns();
    void heapIsSaidInWords();
    void emptyStateOffersToRun();
    void leavesPictures();

private:
    ThemeSource m_theme;
    std::unique_ptr<MemoryMapView> m_view;
    Fixture m_fixture;
};

void TestMemoryMapView::init() {
    m_theme.setKind(ThemeKind::Light);
    m_fixture = fourSteps();
    m_view = std::make_unique<MemoryMapView>(m_theme);
    new QAbstractItemModelTester(m_view->table()->model(), QAbstractItemModelTester::FailureReportingMode::QtTest, m_view.get());
    m_view->resize(1000, 420);
    m_view->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_view.get()));
    m_view->setState(m_fixture.state, Changes::all());
    QTest::qWait(20);
}

void TestMemoryMapView::sharedPlacesAreOneBlock() {
    const MemoryMap& map = m_view->canvas()->map();
    QCOMPARE(map.blocks.size(), std::size_t{3});
    const auto shared = map.blockOf(m_fixture.values[2]);
    QVERIFY(shared);
    QCOMPARE(map.blockOf(m_fixture.values[1]), shared);
    QCOMPARE(map.blocks[*shared].firstStep, 1u);
    QCOMPARE(map.blocks[*shared].lastStep, 3u);
    QCOMPARE(map.liveBytes(3), std::int64_t{7} << 20);
    QCOMPARE(map.liveBytes(0), std::int64_t{4} << 20);
    QCOMPARE(map.phases.size(), std::size_t{2});
    QCOMPARE(map.phases[1].firstStep, 3u);
}

void TestMemoryMapView::tableShowsThePeakThenThePickedStep() {
    QCOMPARE(m_view->table()->model()->rowCount(), 3);
    QCOMPARE(m_view->table()->model()->index(0, 2).data().toString(), QString("4.00 MiB"));
    const QRectF picture = m_view->canvas()->picture();
    clickAt(m_view->canvas(), {picture.left() + picture.width() / 8, picture.top() + 6}); // step 0, above its only block
    QCOMPARE(m_view->canvas()->shownStep(), 0u);
    QCOMPARE(m_view->table()->model()->rowCount(), 1);
}

void TestMemoryMapView::clickOnABlockSelectsItsValue() {
    Selection got;
    connect(m_view.get(), &View::selectionWanted, this, [&](const Selection& s) { got = s; });
    const auto rect = m_view->rectOfValue(m_fixture.values[0]);
    QVERIFY(rect);
    clickAt(m_view->canvas(), rect->center());
    QCOMPARE(got.node.value, m_fixture.nodes[0].value);
    QCOMPARE(got.value.value, m_fixture.values[0].value);
    QTest::mouseClick(m_view->table()->viewport(), Qt::LeftButton, {}, m_view->table()->visualRect(m_view->table()->model()->index(2, 0)).center());
    QCOMPARE(got.node.value, m_fixture.nodes[3].value);
}

void TestMemoryMapView::selectionOutlinesTheBlock() {
    ViewState state = m_fixture.state;
    state.selection = {m_fixture.nodes[0], {}};
    Changes changes;
    changes.selection = true;
    m_view->setState(state, changes);
    const QImage image = m_view->canvas()->grab().toImage();
    const QPointF edge = (m_view->rectOfValue(m_fixture.values[0])->topLeft() + QPointF(30, -1)) * image.devicePixelRatio();
    QCOMPARE(image.pixelColor(edge.toPoint()).rgb(), m_theme.theme().focus.rgb());
    QCOMPARE(m_view->table()->currentIndex().row(), 0);
}

void TestMemoryMapView::stripGoesToAStepOnlyWhileStepping() {
    QSignalSpy steps(m_view.get(), &View::stepWanted);
    const QRectF picture = m_view->canvas()->picture();
    const QPointF at(picture.left() + picture.width() * 0.4, picture.bottom() + 12); // step 1 of 4
    clickAt(m_view->canvas(), at);
    QCOMPARE(steps.count(), 0);
    ViewState state = m_fixture.state;
    state.step = StepState{};
    state.step->count = 4;
    Changes changes;
    changes.step = true;
    m_view->setState(state, changes);
    clickAt(m_view->canvas(), at);
    QCOMPARE(steps.count(), 1);
    QCOMPARE(steps[0][0].toULongLong(), 1ull);
}

void TestMemoryMapView::keysWalkStepsAndBlocks() {
    MemoryMapCanvas* canvas = m_view->canvas();
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_Left);
    QCOMPARE(canvas->shownStep(), 2u);
    QTest::keyClick(canvas, Qt::Key_Home);
    QCOMPARE(canvas->shownStep(), 3u);
    Selection got;
    connect(m_view.get(), &View::selectionWanted, this, [&](const Selection& s) { got = s; });
    QTest::keyClick(canvas, Qt::Key_Up);
    QCOMPARE(got.node.value, m_fixture.nodes[0].value); // the largest at the peak
}

void TestMemoryMapView::zoomKeepsThePlaceAndFitReturns() {
    MemoryMapCanvas* canvas = m_view->canvas();
    const QRectF before = *m_view->rectOfValue(m_fixture.values[3]);
    QTest::mouseDClick(canvas, Qt::LeftButton, {}, before.center().toPoint());
    const QRectF near = *m_view->rectOfValue(m_fixture.values[3]);
    QVERIFY(near.width() > before.width() * 2);
    canvas->setFocus();
    QTest::keyClick(canvas, Qt::Key_F);
    QCOMPARE(*m_view->rectOfValue(m_fixture.values[3]), before);
}

void TestMemoryMapView::heapIsSaidInWords() {
    QVERIFY(m_view->findChild<QLabel*>("memoryMapOutside")->text().contains("on the heap: 2"));
    QVERIFY(m_view->findChild<QLabel*>("memoryMapTitle")->text().startsWith("7.00 MiB at step"));
}

void TestMemoryMapView::emptyStateOffersToRun() {
    ViewState state = m_fixture.state;
    state.plan = nullptr;
    m_view->setState(state, Changes::all());
    QVERIFY(m_view->emptyPanel()->isVisible());
    QSignalSpy actions(m_view.get(), &View::actionWanted);
    QTest::mouseClick(m_view->emptyPanel()->button(), Qt::LeftButton);
    QCOMPARE(actions.value(0).value(0).toString(), QString("run"));
}

void TestMemoryMapView::leavesPictures() {
    const QString folder = qEnvironmentVariable("NABLA_SHOTS");
    if (folder.isEmpty())
        QSKIP("NABLA_SHOTS names no folder");
    m_fixture.state.selection = {m_fixture.nodes[1], {}};
    m_fixture.state.step = StepState{};
    m_fixture.state.step->position = 2;
    m_view->setState(m_fixture.state, Changes::all());
    for (const auto& [kind, name] : {std::pair{ThemeKind::Light, "light"}, std::pair{ThemeKind::Dark, "dark"}}) {
        m_theme.setKind(kind);
        QTest::qWait(20);
        QVERIFY(m_view->grab().save(QStringLiteral("%1/memory-%2.png").arg(folder, name)));
    }
}

QTEST_MAIN(TestMemoryMapView)
#include "tst_memory_map_view.moc"
