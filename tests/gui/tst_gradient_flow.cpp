// Training live by clicks and keys: start, pause, one step, another rate, stop; dead units of a net made to die are found and named.
#include <cmath>

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include "app/main_window/main_window.h"
#include "engine/exporters/exporter.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/values/npz.h"
#include "engine/schema/schema.h"
#include "tests/support/must.h"
#include "views/gradient_flow/flow_map.h"
#include "views/gradient_flow/gradient_flow_view.h"
#include "views/theme/nabla_style.h"

using namespace nabla;
using namespace nabla::app;
using engine::DType;
using engine::Shape;
using engine::Tensor;
using engine::ValueType;
using nabla::tests::must;
using Phase = views::TrainingState::Phase;

namespace {

constexpr int kPatience = 60'000; // for a loaded machine

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

class TestGradientFlow : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::unique_ptr<views::ThemeSource> m_theme;
    std::unique_ptr<MainWindow> m_window;

    const views::ViewState& state() const { return m_window->controller().state(); }
    void settle() { QTRY_VERIFY_WITH_TIMEOUT(!m_window->controller().jobs().busy() && !m_window->graphPanel()->building(), kPatience); }
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
    void waitForEnd() {
        QTRY_VERIFY_WITH_TIMEOUT(state().training && state().training->phase == Phase::Ended, kPatience);
        settle();
    }

private Q_SLOTS:
    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName("NablascopeTest");
        QCoreApplication::setApplicationName("NablascopeTrainingTest");
        QSettings().clear();
        const std::string model = m_folder.filePath("model.onnx").toStdString();
        must(engine::saveOnnx(dyingNet(), model, {}));
        std::vector<float> x, t;
        for (int i = 0; i < 8; ++i) {
            x.push_back(static_cast<float>(i) / 8);
            x.push_back(static_cast<float>(i % 3) / 3);
            t.push_back(0.3F * static_cast<float>(i) / 8 + 0.1F);
        }
        must(engine::writeNpz(m_folder.filePath("inputs.npz").toStdString(), {{"x", Tensor::of<float>({8, 2}, x)}, {"t", Tensor::of<float>({8, 1}, t)}}));
        m_theme = std::make_unique<views::ThemeSource>(views::ThemeKind::Light);
        views::applyTheme(*m_theme);
        m_window = std::make_unique<MainWindow>(*m_theme);
        m_window->resize(1600, 1000);
        m_window->show();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }

    void findsDeadUnits() {
        open(m_folder.filePath("model.onnx"));
        train("adam", "0.01", 8, 60);
        waitForEnd();
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        const views::TrainingState& training = *state().training;
        QCOMPARE(training.steps.size(), std::size_t(60));
        QVERIFY(training.steps.back()->loss < training.steps.front()->loss);
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
        QCOMPARE(state().history.back().title, std::string("trained 60 steps"));
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
