// The whole path by clicks and keys: open the CNN sample, run, record, differentiate, step forward and back, across the border of the passes.
#include <cmath>

#include <QDockWidget>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QWheelEvent>

#include "engine/importers/values/npz.h"
#include "tests/gui/window_fixture.h"
#include "views/inspector/inspector_view.h"
#include "views/memory_map/memory_map_view.h"
#include "views/timeline/timeline_view.h"

using namespace nabla;
using namespace nabla::app;
using nabla::tests::kPatience;

namespace {

/// Largest difference over the largest expected entry. f32 sums in another order differ by a few units in the last place.
double differenceOfMax(const engine::Tensor& expected, const engine::Tensor& actual) {
    if (expected.elementCount() != actual.elementCount())
        return HUGE_VAL;
    double difference = 0, scale = 0;
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        difference = std::max(difference, std::fabs(expected.asDouble(i) - actual.asDouble(i)));
        scale = std::max(scale, std::fabs(expected.asDouble(i)));
    }
    return scale > 0 ? difference / scale : difference;
}

} // namespace

class TestCnnSession : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    engine::NamedTensors m_forward, m_cotangents;

    views::InspectorView* inspector() const { return qobject_cast<views::InspectorView*>(m_window->view("inspector")); }

    /// The value that the inspector shows, against the stored one of that name.
    void compareShown(const engine::NamedTensors& stored, const std::string& name, double limit) {
        const auto it = stored.find(name);
        QVERIFY2(it != stored.end(), name.c_str());
        const engine::RuntimeValue& shown = inspector()->model().value;
        QVERIFY2(shown.isTensor(), name.c_str());
        const double difference = differenceOfMax(it->second, shown.tensor());
        QVERIFY2(difference <= limit, qPrintable(QString("%1 differs by %2 of its largest entry").arg(QString::fromStdString(name)).arg(difference)));
        // The table shows the first elements of the plane exactly.
        if (shown.tensor().elementCount() > 0)
            QCOMPARE(inspector()->valueTable()->item(0, 0)->text(), QString::fromStdString(shown.tensor().asText(0)));
    }

    engine::NodeId nodeMaking(const std::string& value) const {
        engine::NodeId out;
        state().graph.forEachValue([&](const engine::Value& each) {
            if (each.name == value)
                out = each.producer;
        });
        return out;
    }

    void checkSelectionEverywhere() {
        const engine::NodeId node = state().selection.node;
        QVERIFY(node);
        const int scene = m_window->graphPanel()->sceneNode(node);
        QVERIFY(scene >= 0);
        QTRY_VERIFY(m_window->graphPanel()->canvas()->selection() == std::vector<int>{scene});
        auto* outline = qobject_cast<views::OutlineView*>(m_window->view("outline"));
        const views::OutlineItem* item = outline->model()->item(outline->tree()->currentIndex());
        QVERIFY(item);
        QCOMPARE(item->node.value, node.value);
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeTest");
        const std::string folder = std::string(NABLA_TEST_DATA) + "/samples/digits_cnn/";
        auto forward = engine::readNpz(folder + "forward.npz");
        auto cotangents = engine::readNpz(folder + "cotangents.npz");
        QVERIFY2(forward.has_value() && cotangents.has_value(), "the stored values of the sample");
        m_forward = *forward;
        m_cotangents = *cotangents;
        makeWindow();
    }

    void opensTheSampleFromTheStartPage() {
        openSample("digits_cnn");
        QCOMPARE(state().graph.nodeCount(), std::size_t(36)); // sample_models/digits_cnn/README.md
        QVERIFY(m_window->graphPanel()->canvas()->scenePtr());
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
    }

    /// The standard writes Tensor<T>: angle brackets are no tags.
    void inspectorShowsTheWholeDocumentation() {
        engine::NodeId relu;
        state().graph.forEachNode([&](const engine::Node& node) { relu = node.is("Relu") ? node.id : relu; });
        QVERIFY(relu);
        m_window->controller().select({relu, state().graph.node(relu)->output(0)});
        settle();
        const QString shown = inspector()->findChild<QTextBrowser*>()->toPlainText();
        QVERIFY2(shown.contains("Tensor<T>") && shown.contains("elementwise"), qPrintable(shown));
    }

    void runGivesOnnxRuntimesValues() {
        click("run");
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        QVERIFY(state().step.has_value());
        QCOMPARE(state().step->position, state().step->count);
        int compared = 0;
        for (const auto& [id, value] : *state().values) {
            const auto it = m_forward.find(state().graph.value(id)->name);
            if (it == m_forward.end() || !value.isTensor())
                continue;
            const double difference = differenceOfMax(it->second, value.tensor());
            QVERIFY2(difference < 1e-5, qPrintable(QString("%1: %2").arg(QString::fromStdString(it->first)).arg(difference)));
            ++compared;
        }
        QVERIFY2(compared >= 20, qPrintable(QString::number(compared)));
    }

    void recordFillsTheTimeline() {
        click("record");
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        QVERIFY(state().timeline);
        QVERIFY(state().timeline->slices() >= 100 * 20);
        QVERIFY(state().plan);
        QCOMPARE(state().plan->arena.arenaBytes, state().plan->arena.lowerBoundBytes);
    }

    void stepsTenForwardAndThreeBack() {
        click("differentiate");
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        QVERIFY(state().graph.nodeCount() > 36);
        for (int i = 0; i < 10; ++i) {
            press(Qt::Key_F8);
            QCOMPARE(state().step->position, std::size_t(i + 1));
        }
        checkSelectionEverywhere();
        const std::string name = state().graph.value(state().selection.value)->name;
        if (m_forward.contains(name))
            compareShown(m_forward, name, 1e-5);
        for (int i = 0; i < 3; ++i)
            press(Qt::Key_F8, Qt::ShiftModifier);
        QCOMPARE(state().step->position, std::size_t(7));
        // What step 9 had made is gone again.
        const engine::NodeId undone = state().step->order[8];
        QVERIFY(!state().values->contains(state().graph.node(undone)->output(0)));
        checkSelectionEverywhere();
    }

    void forwardValuesAtEachStepAreRight() {
        int compared = 0;
        while (state().step->position < state().step->backwardStart) {
            press(Qt::Key_F8);
            const std::string name = state().graph.value(state().selection.value)->name;
            if (m_forward.contains(name) && engine::isFloat(m_forward.at(name).dtype())) {
                compareShown(m_forward, name, 1e-5);
                ++compared;
            }
        }
        QVERIFY2(compared >= 10, qPrintable(QString::number(compared)));
    }

    void backwardValuesAreTorchsGradients() {
        QVERIFY(state().step->backwardStart < state().step->count);
        press(Qt::Key_F8);
        QVERIFY(state().step->position > state().step->backwardStart);
        checkSelectionEverywhere();
        click("continue"); // no breakpoint: to the end
        QCOMPARE(state().step->position, state().step->count);
        int compared = 0;
        for (const auto& [forward, cotangent] : state().gradientOf) {
            const engine::Value* value = state().graph.value(forward);
            const auto stored = value ? m_cotangents.find(value->name) : m_cotangents.end();
            const auto shown = state().values->find(cotangent);
            if (stored == m_cotangents.end() || shown == state().values->end())
                continue;
            const double difference = differenceOfMax(stored->second, shown->second.tensor());
            QVERIFY2(difference < 1e-4, qPrintable(QString("%1: %2").arg(QString::fromStdString(value->name)).arg(difference)));
            ++compared;
        }
        QVERIFY2(compared >= 15, qPrintable(QString::number(compared)));
    }

    void inspectorShowsTheGradientOfTheFirstConvolution() {
        for (const auto& [forward, cotangent] : state().gradientOf) {
            const engine::Value* value = state().graph.value(forward);
            if (!value || value->name != "conv1")
                continue;
            const engine::Node* maker = state().graph.producer(cotangent);
            m_window->controller().select({maker ? maker->id : engine::NodeId{}, cotangent});
            compareShown(m_cotangents, "conv1", 1e-4);
            return;
        }
        QFAIL("the gradient of conv1 is in the joint graph");
    }

    void stepsBackAcrossTheBorder() {
        const std::size_t border = state().step->backwardStart;
        while (state().step->position >= border) {
            const std::size_t before = state().step->position;
            press(Qt::Key_F8, Qt::ShiftModifier);
            QCOMPARE(state().step->position, before - 1);
        }
        QVERIFY(state().step->position < border);
        checkSelectionEverywhere();
        // No cotangent is there any more.
        for (const auto& [forward, cotangent] : state().gradientOf) {
            const engine::Node* maker = state().graph.producer(cotangent);
            if (maker && maker->gradientOf)
                QVERIFY(!state().values->contains(cotangent));
        }
    }

    void selectionFollowsInMemoryMapAndTimeline() {
        auto* map = qobject_cast<views::MemoryMapView*>(m_window->view("memory_map"));
        auto* timeline = qobject_cast<views::TimelineView*>(m_window->view("timeline"));
        QVERIFY(map && timeline);
        const engine::NodeId conv3 = nodeMaking("conv3"), conv2 = nodeMaking("conv2");
        m_window->controller().select({conv2, state().graph.node(conv2)->output(0)});
        m_window->findChild<QDockWidget*>("memory_map")->raise();
        // From the memory map: a click on a block selects the node that made it, everywhere.
        QTRY_VERIFY(map->rectOfValue(state().graph.node(conv3)->output(0)).has_value());
        const QRectF block = *map->rectOfValue(state().graph.node(conv3)->output(0));
        QTest::mouseClick(map->canvas(), Qt::LeftButton, Qt::NoModifier, block.center().toPoint());
        QTRY_COMPARE(state().selection.node.value, conv3.value);
        checkSelectionEverywhere();
        QVERIFY(inspector()->model().title.find("conv3") != std::string::npos);
        // From the timeline: the selected node is brought into view; a click on another one's slice selects that.
        m_window->findChild<QDockWidget*>("timeline")->raise();
        QTRY_VERIFY(timeline->rectOfNode(conv3).has_value());
        m_window->controller().select({conv2, state().graph.node(conv2)->output(0)});
        QTRY_VERIFY(timeline->rectOfNode(conv2).has_value());
        m_window->controller().select({});
        // One stalled run makes the whole recording long and the slice narrower than a pixel: zoom in about it first.
        for (int i = 0; i < 200 && timeline->rectOfNode(conv2)->width() < 8; ++i) {
            const QPointF at = timeline->rectOfNode(conv2)->center();
            QWheelEvent wheel(at, timeline->canvas()->viewport()->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase, false);
            QCoreApplication::sendEvent(timeline->canvas()->viewport(), &wheel);
            QVERIFY(timeline->rectOfNode(conv2).has_value());
        }
        const QRectF slice = *timeline->rectOfNode(conv2);
        QVERIFY(slice.width() >= 8);
        QTest::mouseClick(timeline->canvas()->viewport(), Qt::LeftButton, Qt::NoModifier, slice.center().toPoint());
        QTRY_COMPARE(state().selection.node.value, conv2.value);
        checkSelectionEverywhere();
    }

    void passesShowBeforeAndAfter() {
        m_window->controller().showState(1);
        settle();
        click("passes");
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        QVERIFY(state().history.size() >= 5);
        QVERIFY(state().graph.nodeCount() < 36);
        for (const auto& entry : state().history) {
            if (!entry.pass || !entry.pass->differences)
                continue;
            for (const auto& difference : *entry.pass->differences)
                QVERIFY2(difference.relativeToLargestEntry <= 1e-6, difference.output.c_str());
        }
        click("compare");
        QVERIFY(state().comparedState != 0);
        QTRY_VERIFY(m_window->graphPanel()->beforeCanvas()->isVisible());
        QVERIFY(m_window->graphPanel()->beforeCanvas()->scenePtr());
        click("compare");
        QTRY_VERIFY(!m_window->graphPanel()->beforeCanvas()->isVisible());
    }

    void aFileThatIsNoModelIsRefusedInWords() {
        m_window->openFile(QString(NABLA_TEST_DATA) + "/bad/onnx_is_text/m.onnx");
        QTRY_VERIFY_WITH_TIMEOUT(!m_window->errorText().isEmpty(), kPatience);
        settle();
        QCOMPARE(state().documentTitle, std::string("model.onnx")); // the open document stays
    }
};

QTEST_MAIN(TestCnnSession)
#include "tst_cnn_session.moc"
