// Bodies of Loop, If and Scan by clicks and keys: opening and leaving them, stepping in, through iterations and out.
// Expected values: tests/data/samples/*/iterations.npz, by onnxruntime on models that are cut after k iterations.
#include <cmath>

#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QTableWidget>
#include <QToolButton>

#include "engine/importers/values/npz.h"
#include "tests/gui/window_fixture.h"
#include "views/inspector/inspector_view.h"

using namespace nabla;
using namespace nabla::app;

namespace {

constexpr double kFloatTolerance = 1e-5; // of the largest entry: float32, at most 24 iterations of a few operations

} // namespace

class TestBodies : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    engine::NamedTensors m_stored;

    const views::StepLevel& level() const { return state().step->levels.back(); }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) { WindowFixture::press(m_window->graphPanel()->canvas(), key, modifiers); }
    template <typename T> T* part(const char* name) const { return m_window->findChild<T*>(name); }
    QString badge() const { return part<QLabel>("stepBadge")->text(); }
    QString crumb(const char* name) const {
        auto* button = part<QToolButton>(name);
        return button && button->isVisible() ? button->text() : QString();
    }

    void begin(const char* name) {
        makeWindow();
        openSample(name);
        auto stored = engine::readNpz(std::string(NABLA_TEST_DATA) + "/samples/" + name + "/iterations.npz");
        QVERIFY2(stored.has_value(), "the stored iterations");
        m_stored = *stored;
    }

    const engine::Node* nodeNamed(const std::string& name) const {
        const engine::Node* out = nullptr;
        state().graph.forEachNode([&](const engine::Node& node) { out = node.name == name ? &node : out; });
        return out;
    }
    void selectNode(const std::string& name) {
        const engine::Node* node = nodeNamed(name);
        QVERIFY2(node, name.c_str());
        m_window->controller().select({node->id, node->output(0)});
    }
    /// The step that comes is this node's.
    void stepTo(const std::string& name) {
        for (int i = 0; i < 200 && !(nodeNamed(name) && state().step && state().step->next == nodeNamed(name)->id); ++i)
            press(Qt::Key_F8);
        QVERIFY2(nodeNamed(name) && state().step->next == nodeNamed(name)->id, name.c_str());
    }
    void stepToTheEndOfTheIteration() {
        while (level().position < level().order.size())
            press(Qt::Key_F8);
    }

    /// What the inspector shows for a value of the body, against the stored one of iteration k.
    void compareShown(std::int64_t k, const std::string& name) {
        const auto stored = m_stored.find(std::to_string(k) + "." + name);
        QVERIFY2(stored != m_stored.end(), name.c_str());
        views::Selection wanted;
        state().graph.forEachValue([&](const engine::Value& value) {
            if (value.name == name)
                wanted = {value.producer, value.id};
        });
        QVERIFY2(wanted.value, name.c_str());
        m_window->controller().select(wanted);
        settle();
        auto* inspector = qobject_cast<views::InspectorView*>(m_window->view("inspector"));
        QVERIFY(inspector && inspector->model().value.isTensor());
        const engine::Tensor& shown = inspector->model().value.tensor();
        QCOMPARE(shown.elementCount(), stored->second.elementCount());
        double largest = 0, off = 0;
        for (std::int64_t i = 0; i < shown.elementCount(); ++i) {
            largest = std::max(largest, std::fabs(stored->second.asDouble(i)));
            off = std::max(off, std::fabs(stored->second.asDouble(i) - shown.asDouble(i)));
        }
        QVERIFY2(off <= kFloatTolerance * largest + 1e-12, qPrintable(QString("%1 in iteration %2 differs by %3").arg(QString::fromStdString(name)).arg(k).arg(off)));
        QCOMPARE(inspector->valueTable()->item(0, 0)->text(), QString::fromStdString(shown.asText(0)));
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeTestBodies");
        begin("control_flow");
    }

    void enterAndBackspaceOpenAndLeaveABody() {
        auto* canvas = m_window->graphPanel()->canvas();
        canvas->setFocus();
        selectNode("/Loop");
        press(Qt::Key_Return);
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QVERIFY(nodeNamed("/trip/If")); // sample_models/make_control_flow.py
        QTRY_COMPARE(crumb("crumb0"), QString("model.onnx"));
        QCOMPARE(crumb("owner1"), QString("Loop"));
        QCOMPARE(crumb("crumb1"), QString("body"));
        QVERIFY(m_window->graphPanel()->sceneNode(nodeNamed("/trip/If")->id) >= 0);
        auto* outline = qobject_cast<views::OutlineView*>(m_window->view("outline"));
        QVERIFY(outline->model()->indexOf(nodeNamed("/trip/If")->id).isValid());
        selectNode("/trip/If");
        press(Qt::Key_Return);
        QCOMPARE(state().bodies.size(), std::size_t(2));
        QCOMPARE(crumb("crumb2"), QString("else_branch")); // the first in the file
        QVERIFY(nodeNamed("/newton/Div"));
        press(Qt::Key_Backspace);
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QCOMPARE(state().selection.node, nodeNamed("/trip/If")->id);
        press(Qt::Key_Backspace);
        QVERIFY(state().bodies.empty());
        QCOMPARE(state().selection.node, nodeNamed("/Loop")->id);
        QVERIFY(crumb("crumb0").isEmpty());
    }

    void doubleClickOpensAndTheBreadcrumbLeadsBack() {
        auto* canvas = m_window->graphPanel()->canvas();
        canvas->fitAll();
        const int card = m_window->graphPanel()->sceneNode(nodeNamed("/Loop")->id);
        QVERIFY(card >= 0);
        const QPoint at = canvas->widgetRect(canvas->scenePtr()->scene().nodes[static_cast<std::size_t>(card)].box).center().toPoint();
        QTest::mouseDClick(canvas, Qt::LeftButton, Qt::NoModifier, at);
        settle();
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QTest::mouseClick(part<QToolButton>("crumb0"), Qt::LeftButton);
        settle();
        QVERIFY(state().bodies.empty());
        QVERIFY(nodeNamed("/Loop"));
    }

    void selectingWhatIsInABodyShowsIt() {
        selectNode("/Loop");
        const auto bodies = nodeNamed("/Loop")->bodies();
        engine::NodeId div;
        bodies.at(0).second->forEachNode([&](const engine::Node& node) { div = node.name == "/trip/Div" ? node.id : div; });
        m_window->controller().select({div, {}});
        settle();
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QCOMPARE(state().selection.node, div);
        m_window->controller().leaveBodies(0);
        settle();
    }

    void searchFindsInTheShownBody() {
        selectNode("/Loop");
        press(Qt::Key_Return);
        QTest::keyClick(m_window.get(), Qt::Key_F, Qt::ControlModifier);
        auto* search = m_window->graphPanel()->searchField();
        QTRY_VERIFY(search->hasFocus());
        QTest::keyClicks(search, "ReduceMaxx");
        QTest::keyClick(search, Qt::Key_Backspace); // edits, and does not leave the body
        QCOMPARE(search->text(), QString("ReduceMax"));
        QTest::keyClick(search, Qt::Key_Return);
        settle();
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QCOMPARE(state().selection.node, nodeNamed("/trip/ReduceMax")->id);
        search->clear();
        m_window->graphPanel()->canvas()->setFocus();
        press(Qt::Key_Backspace);
        QVERIFY(state().bodies.empty());
    }

    void stepsThroughEveryIterationOfTheLoop() {
        stepTo("/Loop");
        press(Qt::Key_F11);
        QCOMPARE(state().bodies.size(), std::size_t(1));
        for (std::int64_t k = 0; k < 8; ++k) { // the sample's README: 8 trips
            QCOMPARE(level().iteration, k);
            QCOMPARE(level().position, std::size_t(0));
            QCOMPARE(badge(), QString("Iteration %1 of at most 30, step 0 of %2").arg(k + 1).arg(level().order.size()));
            QCOMPARE(part<QSpinBox>("iterationBox")->value(), static_cast<int>(k + 1));
            const int marked = m_window->graphPanel()->sceneNode(state().step->next);
            QVERIFY(marked >= 0);
            QCOMPARE(m_window->graphPanel()->canvas()->currentStep(), marked);
            compareShown(k, "x");
            stepToTheEndOfTheIteration();
            compareShown(k, "next_x");
            compareShown(k, "error");
            press(Qt::Key_F8); // over the border
        }
        QVERIFY(state().step->levels.empty());
        QVERIFY(state().bodies.empty());
        QCOMPARE(state().selection.node, nodeNamed("/Loop")->id);
    }

    void stepsBackOverTheBorderAndOutOfTheBody() {
        press(Qt::Key_F8, Qt::ShiftModifier);
        QCOMPARE(state().step->next, nodeNamed("/Loop")->id);
        press(Qt::Key_F11);
        stepToTheEndOfTheIteration();
        press(Qt::Key_F8);
        QCOMPARE(level().iteration, std::int64_t(1));
        press(Qt::Key_F8, Qt::ShiftModifier);
        QCOMPARE(level().iteration, std::int64_t(0));
        QCOMPARE(level().position, level().order.size() - 1);
        compareShown(0, "x");
        while (!state().bodies.empty())
            press(Qt::Key_F8, Qt::ShiftModifier);
        QCOMPARE(state().step->next, nodeNamed("/Loop")->id);
    }

    void goesToAnIterationByNumberAndKeys() {
        press(Qt::Key_F11);
        auto* box = part<QSpinBox>("iterationBox");
        QVERIFY(box->isVisible());
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, "6");
        QTest::keyClick(box, Qt::Key_Return);
        settle();
        QCOMPARE(level().iteration, std::int64_t(5));
        compareShown(5, "x");
        m_window->graphPanel()->canvas()->setFocus();
        press(Qt::Key_F12, Qt::ShiftModifier);
        QCOMPARE(level().iteration, std::int64_t(4));
        compareShown(4, "x");
        press(Qt::Key_F12);
        QCOMPARE(level().iteration, std::int64_t(5));
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, "20"); // the loop ends after 8
        QTest::keyClick(box, Qt::Key_Return);
        settle();
        QCOMPARE(level().iteration, std::int64_t(5));
        QCOMPARE(box->value(), 6);
        QCOMPARE(state().step->note, std::string("there is no iteration 20"));
        m_window->graphPanel()->canvas()->setFocus();
    }

    void goesIntoTheBranchThatIsTaken() {
        stepTo("/trip/If"); // iteration 6 of 8: Newton's, by the README
        press(Qt::Key_F11);
        QCOMPARE(state().bodies.size(), std::size_t(2));
        QTRY_COMPARE(crumb("crumb2"), QString("else_branch"));
        QVERIFY(nodeNamed("/newton/Div"));
        QVERIFY(!part<QSpinBox>("iterationBox")->isVisible());
        QCOMPARE(badge(), QString("Step 0 of %1").arg(level().order.size()));
        press(Qt::Key_F8);
        QVERIFY(state().values->contains(nodeNamed("/newton/Div")->output(0)));
        // Looking at the outer body meanwhile: the node that is open is the current one.
        press(Qt::Key_Backspace);
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QCOMPARE(m_window->graphPanel()->canvas()->currentStep(), m_window->graphPanel()->sceneNode(nodeNamed("/trip/If")->id));
        press(Qt::Key_F11, Qt::ShiftModifier);
        QCOMPARE(state().step->levels.size(), std::size_t(1));
        compareShown(5, "next_x");
        press(Qt::Key_F11, Qt::ShiftModifier);
        QVERIFY(state().step->levels.empty() && state().bodies.empty());
        QCOMPARE(state().selection.node, nodeNamed("/Loop")->id);
    }

    void breakpointsInABodyStop() {
        selectNode("/Loop");
        press(Qt::Key_Return);
        selectNode("/trip/If");
        press(Qt::Key_F9);
        m_window->controller().goToStep(0);
        settle();
        press(Qt::Key_F5);
        QCOMPARE(state().bodies.size(), std::size_t(1));
        QCOMPARE(state().step->next, nodeNamed("/trip/If")->id);
        QCOMPARE(level().iteration, std::int64_t(0));
        press(Qt::Key_F5);
        QCOMPARE(level().iteration, std::int64_t(1));
        press(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(!state().step.has_value());
    }

    void stepsThroughEveryTimeOfBothScans() {
        begin("scan_filter");
        press(Qt::Key_F11); // starts stepping and goes into the first node, /Scan_forward
        for (std::int64_t k = 0; k < 24; ++k) { // 24 times, by its README
            QCOMPARE(badge(), QString("Iteration %1 of 24, step 0 of %2").arg(k + 1).arg(level().order.size()));
            stepToTheEndOfTheIteration();
            compareShown(k, "next_level");
            compareShown(k, "next_p");
            press(Qt::Key_F8);
        }
        QVERIFY(state().bodies.empty());
        stepTo("/Scan_backward");
        press(Qt::Key_F11);
        for (std::int64_t k = 0; k < 24; ++k) {
            QCOMPARE(level().iteration, k);
            stepToTheEndOfTheIteration();
            compareShown(k, "smooth_here");
            press(Qt::Key_F12);
        }
        press(Qt::Key_F11, Qt::ShiftModifier);
        QCOMPARE(state().step->position, state().step->count);
    }
};

QTEST_MAIN(TestBodies)
#include "tst_bodies.moc"
