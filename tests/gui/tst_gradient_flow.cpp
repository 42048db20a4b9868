// Training live by clicks and keys: start, pause, one step, another rate, stop; dead units of a net made to die are found and named.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTimer>

#include "engine/exporters/exporter.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/values/npz.h"
#include "engine/schema/schema.h"
#include "tests/gui/window_fixture.h"
#include "tests/support/must.h"
#include "views/gradient_flow/flow_histograms.h"
#include "views/gradient_flow/flow_map.h"
#include "views/gradient_flow/gradient_flow_view.h"
#include "views/theme/units.h"

using namespace nabla;
using namespace nabla::app;
using engine::DType;
using engine::Shape;
using engine::Tensor;
using engine::ValueType;
using nabla::tests::kPatience;
using nabla::tests::must;
using Phase = views::TrainingState::Phase;

namespace {

engine::TensorPtr floats(Shape shape, std::vector<float> values) { return std::make_shared<const Tensor>(Tensor::of<float>(std::move(shape), values)); }

/// mean((relu(x W + b) V - t)^2) of 2 inputs and 4 hidden units, three of which have a bias of -100: they never fire, so their gradient is zero.
engine::Graph dyingNet() {
    auto info = std::make_shared<engine::ModelInfo>();
    info->opsets[""] = engine::newestOpset("");
    info->irVersion = 10;
    auto editor = engine::GraphEditor::empty("dying", info, std::make_shared<engine::IdSource>());
    const auto x = editor.addInput("x", ValueType::tensor(DType::Float32, Shape{8, 2})), t = editor.addInput("t", ValueType::tensor(DType::Float32, Shape{8, 1}));
    const auto w = editor.addInitializer("hidden.weight", floats({2, 4}, {0.5F, 0.3F, -0.2F, 0.4F, 0.1F, 0.2F, 0.3F, -0.4F}));
    const auto b = editor.addInitializer("hidden.bias", floats({4}, {0.5F, -100, -100, -100}));
    const auto v = editor.addInitializer("out.weight", floats({4, 1}, {0.5F, 0.5F, 0.5F, 0.5F}));
    const auto op = [&](const char* type, std::vector<engine::ValueId> inputs, const char* name) {
        return editor.addValue({.opType = type, .inputs = std::move(inputs), .name = name, .outputNames = {std::string(name) + "_out"}});
    };
    const auto hidden = op("Relu", {op("Add", {op("MatMul", {x, w}, "hidden"), b}, "bias")}, "relu");
    const auto error = op("Sub", {op("MatMul", {hidden, v}, "out"), t}, "error");
    const auto square = op("Mul", {error, error}, "square");
    editor.setOutputs({editor.addValue({.opType = "ReduceMean", .inputs = {square}, .attributes = {{"keepdims", std::int64_t{0}}}, .name = "mean", .outputNames = {"loss"}})});
    return editor.finish();
}

} // namespace

class TestGradientFlow : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    views::GradientFlowView* flow() const { return qobject_cast<views::GradientFlowView*>(m_window->view("gradient_flow")); }
    template <typename T> T* part(const char* name) const { return flow()->findChild<T*>(name); }
    void click(const char* name) { QTest::mouseClick(part<QPushButton>(name), Qt::LeftButton); }
    void open(const QString& path) {
        m_window->openFile(path);
        settle();
        if (auto* question = m_window->findChild<QMessageBox*>("unsavedQuestion")) { // the trained state is in no file
            QTest::mouseClick(question->button(QMessageBox::Discard), Qt::LeftButton);
            settle();
        }
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
    }
    /// Ctrl+T, the form filled by keys, Train clicked.
    void train(const QString& optimizer, const QString& rate, int batch, int steps) {
        QTimer::singleShot(200, this, [=, this] {
            auto* dialog = m_window->findChild<QDialog*>("trainDialog");
            QVERIFY(dialog);
            dialog->findChild<QComboBox*>("trainOptimizer")->setCurrentText(optimizer);
            auto* field = dialog->findChild<QLineEdit*>("trainRate");
            field->selectAll();
            QTest::keyClicks(field, rate);
            dialog->findChild<QSpinBox*>("trainBatch")->setValue(batch);
            dialog->findChild<QSpinBox*>("trainSteps")->setValue(steps);
            for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
                if (button->text() == "Train") {
                    QVERIFY(button->isEnabled());
                    QTest::mouseClick(button, Qt::LeftButton);
                }
            }
        });
        m_window->activateWindow(); // a dialog that closed may have taken the activation with it
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        QTest::keyClick(m_window.get(), Qt::Key_T, Qt::ControlModifier);
    }
    void saveAs(const QString& path) {
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        QTest::keyClick(m_window.get(), Qt::Key_S, Qt::ControlModifier);
        QFileDialog* dialog = nullptr;
        QTRY_VERIFY((dialog = m_window->findChild<QFileDialog*>("saveSessionDialog")) && dialog->isVisible());
        dialog->findChild<QLineEdit*>("fileNameEdit")->setText(path);
        QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save), Qt::LeftButton);
        QTRY_VERIFY(!m_window->findChild<QFileDialog*>("saveSessionDialog"));
        settle();
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
    }
    static void compareTrainings(const views::TrainingState& got, const views::TrainingState& wanted) {
        QCOMPARE(got.title, wanted.title);
        QCOMPARE(got.weights, wanted.weights);
        QCOMPARE(got.steps.size(), wanted.steps.size());
        QCOMPARE(got.phase, Phase::Ended);
        for (std::size_t i = 0; i < got.steps.size(); ++i) {
            const views::TrainingStep &a = *got.steps[i], &b = *wanted.steps[i];
            QCOMPARE(a.step, b.step);
            QCOMPARE(a.loss, b.loss);
            QCOMPARE(a.rate, b.rate);
            QCOMPARE(a.gradientNorm, b.gradientNorm);
            QCOMPARE(a.endUtcNs, b.endUtcNs);
            QVERIFY(std::fabs(a.milliseconds - b.milliseconds) < 1e-5);
            QCOMPARE(a.cells.size(), b.cells.size());
            for (std::size_t w = 0; w < a.cells.size(); ++w) {
                const views::TrainingCell &x = a.cells[w], &y = b.cells[w];
                QVERIFY(x.updateL2 == y.updateL2 && x.units == y.units && x.deadUnits == y.deadUnits);
                for (const auto& [one, other] : {std::pair{x.gradient, y.gradient}, std::pair{x.weight, y.weight}})
                    QVERIFY(one.count == other.count && one.zero == other.zero && one.l2 == other.l2 && one.min == other.min && one.std == other.std && one.histogram == other.histogram);
            }
        }
    }
    void waitForEnd() {
        QTRY_VERIFY_WITH_TIMEOUT(state().training && state().training->phase == Phase::Ended, kPatience);
        settle();
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeTrainingTest");
        const std::string model = m_folder.filePath("model.onnx").toStdString();
        must(engine::saveOnnx(dyingNet(), model, {}));
        std::vector<float> x, t;
        for (int i = 0; i < 8; ++i) {
            x.push_back(static_cast<float>(i) / 8);
            x.push_back(static_cast<float>(i % 3) / 3);
            t.push_back(0.3F * static_cast<float>(i) / 8 + 0.1F);
        }
        must(engine::writeNpz(m_folder.filePath("inputs.npz").toStdString(), {{"x", Tensor::of<float>({8, 2}, x)}, {"t", Tensor::of<float>({8, 1}, t)}}));
        makeWindow();
    }

    /// Live, stopped by the button: the diagnosis is there, and names the units that died.
    void findsDeadUnits() {
        open(m_folder.filePath("model.onnx"));
        train("adam", "0.001", 8, 1'000'000); // slow: it must not be done before it is stopped
        for (QElapsedTimer waited; !state().training || state().training->steps.size() < 60;) {
            if (!waited.isValid())
                waited.start();
            QVERIFY(waited.elapsed() < kPatience);
            QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
        }
        QCOMPARE(state().training->phase, Phase::Running);
        click("flowStop");
        waitForEnd();
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        const views::TrainingState& training = *state().training;
        QVERIFY(training.steps.size() < 1'000'000);
        QVERIFY(training.steps.at(59)->loss < training.steps.front()->loss);
        auto* list = part<QListWidget>("flowFindings");
        QStringList texts;
        for (int i = 0; i < list->count(); ++i)
            texts << list->item(i)->text();
        const int dead = static_cast<int>(texts.indexOf(QRegularExpression("^Dead units in hidden\\.weight, since step 0\\n3 of 4 units.*")));
        QVERIFY2(dead >= 0, qPrintable(texts.join(" | ")));
        // A click on it leads to the weight.
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(dead)).center());
        settle();
        QCOMPARE(state().graph.value(state().selection.value)->name, std::string("hidden.weight"));
        QVERIFY2(part<QLabel>("flowCell")->text().contains("dead 3 of 4"), qPrintable(part<QLabel>("flowCell")->text()));
        QCOMPARE(state().history.back().title, "trained " + std::to_string(training.steps.size()) + " steps");
    }

    /// The first cell of the first weight, clicked: histograms of its gradient and of the weight itself, which is known before the first step.
    void showsHistogramsOfTheCell() {
        const auto* map = flow()->map();
        QTest::mouseClick(const_cast<views::FlowMap*>(map), Qt::LeftButton, {}, map->cellRect(0, 0).center().toPoint() + QPoint(0, 0));
        settle();
        const auto& cell = flow()->histograms()->cell();
        QVERIFY(cell.has_value());
        QVERIFY2(flow()->histograms()->title().startsWith("hidden.weight \u00b7 step "), qPrintable(flow()->histograms()->title()));
        if (flow()->histograms()->title() == "hidden.weight \u00b7 step 0") { // a pixel may hold more than one step
            QVERIFY(std::fabs(cell->weight.l2 - std::sqrt(0.84)) < 1e-6); // of 0.5 0.3 -0.2 0.4 0.1 0.2 0.3 -0.4
            QVERIFY(std::fabs(cell->weight.min + 0.4) < 1e-6 && std::fabs(cell->weight.max - 0.5) < 1e-6);
        }
        for (const engine::TensorStatistics* tensor : {&cell->weight, &cell->gradient}) {
            QCOMPARE(std::accumulate(tensor->histogram.begin(), tensor->histogram.end(), std::uint32_t{0}), 8U);
            QCOMPARE(tensor->count, std::int64_t{8});
        }
        QCOMPARE(cell->gradient.zero, std::int64_t{6}); // three of the four columns are dead
        QVERIFY(flow()->histograms()->isVisible() && flow()->histograms()->height() > 60);
    }

    /// A layer selected elsewhere is the one whose histograms are shown: a click on its row in the outline.
    void histogramsFollowTheSelectedLayer() {
        clickInOutline("out");
        const auto last = state().training->steps.back();
        QCOMPARE(flow()->histograms()->title(), QString("out.weight \u00b7 step %1").arg(last->step));
        const auto place = static_cast<std::size_t>(std::find(state().training->weights.begin(), state().training->weights.end(), "out.weight") - state().training->weights.begin());
        QCOMPARE(flow()->histograms()->cell()->gradient.l2, last->cells.at(place).gradient.l2);
    }

    /// The overlay, chosen by keys: the number on a layer is the norm of its weights' gradients in the last step.
    void overlayShowsTheTrainingStep() {
        auto* box = m_window->graphPanel()->overlayBox();
        box->setFocus();
        QTest::keyClick(box, Qt::Key_End);
        settle();
        QCOMPARE(box->currentText(), QString("Overlay: gradient"));
        const auto prepared = m_window->graphPanel()->canvas()->scenePtr();
        const auto last = state().training->steps.back();
        QCOMPARE(prepared->scene().overlayTitle, "Gradient norm of weights, step " + std::to_string(last->step));
        int compared = 0;
        state().graph.forEachNode([&](const engine::Node& node) {
            double squares = 0;
            for (std::size_t w = 0; w < state().training->values.size(); ++w) {
                if (std::find(node.inputs.begin(), node.inputs.end(), state().training->values[w]) != node.inputs.end())
                    squares += std::pow(last->cells[w].gradient.l2, 2);
            }
            const views::SceneNode& card = prepared->scene().nodes.at(static_cast<std::size_t>(m_window->graphPanel()->sceneNode(node.id)));
            QCOMPARE(std::isnan(card.overlay), squares == 0);
            if (squares > 0)
                QCOMPARE(card.rightText, "\u2207 " + views::formatNumber(std::sqrt(squares)));
            compared += squares > 0 ? 1 : 0;
        });
        QCOMPARE(compared, 3); // hidden, its bias, out
        QTest::keyClick(box, Qt::Key_Home);
        settle();
    }

    /// Saved with the session and opened again: the curve, the rates and the statistics are there, number by number.
    void trainingIsKeptInTheSession() {
        open(m_folder.filePath("model.onnx"));
        train("adam", "0.01", 8, 40);
        waitForEnd();
        const auto before = state().training;
        QCOMPARE(before->steps.size(), std::size_t(40));
        const QString path = m_folder.filePath("trained.nabla");
        saveAs(path);
        train("sgd", "0.02", 8, 10); // a second one, and Ctrl+S
        waitForEnd();
        const auto second = state().training;
        QVERIFY(m_window->isWindowModified());
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        QTest::keyClick(m_window.get(), Qt::Key_S, Qt::ControlModifier);
        settle();
        QVERIFY(!m_window->isWindowModified());
        QCOMPARE(must(loadTrainings(path.toStdString())).size(), std::size_t(2));
        compareTrainings(*must(loadTrainings(path.toStdString())).front(), *before);
        open(m_folder.filePath("model.onnx"));
        QVERIFY(!state().training);
        open(path);
        QTRY_VERIFY(state().training != nullptr);
        compareTrainings(*state().training, *second);
        QVERIFY2(part<QLabel>("flowTitle")->text().startsWith("sgd, batch 8 \u00b7 step 10 of 10"), qPrintable(part<QLabel>("flowTitle")->text()));
        QCOMPARE(part<QPushButton>("flowStop")->text(), QString("Train again"));
        QVERIFY(!m_window->isWindowModified());
    }

    void pausesStepsAndGoesOn() {
        open(QStringLiteral(NABLA_SAMPLE_MODELS "/digits_cnn/model.onnx"));
        train("sgd", "0.01", 4, 100000);
        QTRY_VERIFY_WITH_TIMEOUT(state().training && state().training->steps.size() > 3, kPatience);
        click("flowPause");
        QTRY_COMPARE_WITH_TIMEOUT(state().training->phase, Phase::Paused, kPatience);
        QTest::qWait(400); // a step that was running may still come in
        const std::size_t before = state().training->steps.size();
        QTest::qWait(300);
        QCOMPARE(state().training->steps.size(), before);
        click("flowOnce");
        QTRY_COMPARE_WITH_TIMEOUT(state().training->steps.size(), before + 1, kPatience);
        QTest::qWait(300);
        QCOMPARE(state().training->steps.size(), before + 1);
        auto* rate = part<QLineEdit>("flowRate");
        rate->setFocus();
        rate->selectAll();
        QTest::keyClicks(rate, "0.002");
        QTest::keyClick(rate, Qt::Key_Return);
        click("flowPause"); // "Go on"
        QTRY_VERIFY_WITH_TIMEOUT(state().training->steps.size() > before + 3, kPatience);
        QCOMPARE(state().training->steps.back()->rate, 0.002);
        QCOMPARE(state().training->steps.at(before)->rate, 0.01);
        click("flowStop");
        waitForEnd();
        QVERIFY(state().training->steps.size() < 100000);
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
    }

    /// A rate far too large: the loss runs away, and the view says since when.
    void saysWhenItExplodes() {
        train("sgd", "1e6", 4, 30);
        waitForEnd();
        QVERIFY(state().training);
        const auto findings = views::diagnose(*state().training);
        QVERIFY(findings.front().kind == views::Finding::Kind::NotFinite || findings.front().kind == views::Finding::Kind::Exploding);
    }

    void refusesDataThatDoesNotFit() {
        must(engine::writeNpz(m_folder.filePath("inputs.npz").toStdString(), {{"y", Tensor::of<float>({1}, {1})}}));
        open(m_folder.filePath("model.onnx"));
        train("adam", "0.01", 8, 5);
        waitForEnd();
        QVERIFY(state().training->steps.empty());
        QVERIFY2(m_window->errorText().contains("x"), qPrintable(m_window->errorText()));
    }
};

QTEST_MAIN(TestGradientFlow)
#include "tst_gradient_flow.moc"
