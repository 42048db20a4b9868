// From "the result is NaN" to the node that made it and the input elements that caused it, by clicks and keys: a public bug report
// (tests/data/bugs/run-first-nan) with the place its case.json names, and small graphs with closed forms.
#include <cmath>
#include <fstream>
#include <limits>

#include <QLabel>
#include <QListView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include <nlohmann/json.hpp>

#include "app/main_window/trouble_bar.h"
#include "engine/exporters/exporter.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/values/npz.h"
#include "engine/schema/schema.h"
#include "tests/gui/window_fixture.h"
#include "tests/support/must.h"
#include "views/inspector/inspector_view.h"
#include "views/problems/problems_view.h"
#include "views/theme/row_delegate.h"

using namespace nabla;
using namespace nabla::app;
using engine::DType;
using engine::Shape;
using engine::Tensor;
using engine::ValueId;
using engine::ValueType;
using nabla::tests::must;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

engine::Graph graphOf(const std::function<ValueId(engine::GraphEditor&)>& build) {
    auto info = std::make_shared<engine::ModelInfo>();
    info->opsets[""] = engine::newestOpset("");
    info->irVersion = 10;
    auto editor = engine::GraphEditor::empty("trouble", info, std::make_shared<engine::IdSource>());
    editor.setOutputs({build(editor)});
    return editor.finish();
}

} // namespace

class TestNumericWalk : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    TroubleBar* bar() const { return m_window->findChild<TroubleBar*>("troubleBar"); }
    views::ProblemsView* problems() const { return qobject_cast<views::ProblemsView*>(m_window->view("problems")); }
    QListView* list() const { return problems()->list(); }
    QString row(int index) const { return list()->model()->index(index, 0).data().toString(); }
    QString detail(int index) const { return list()->model()->index(index, 0).data(views::kSecondRole).toString(); }
    int rowOf(const QString& title) const {
        for (int i = 0; i < list()->model()->rowCount(); ++i) {
            if (row(i) == title)
                return i;
        }
        return -1;
    }
    void clickRow(int index) {
        const QModelIndex at = list()->model()->index(index, 0);
        list()->scrollTo(at);
        QTest::mouseClick(list()->viewport(), Qt::LeftButton, {}, list()->visualRect(at).center());
        settle();
    }
    /// Saves a graph and its inputs in a folder of its own, opens it and clicks Run.
    void runGraph(const char* name, const engine::Graph& graph, const engine::NamedTensors& inputs) {
        const QString folder = m_folder.filePath(name);
        QVERIFY(QDir().mkpath(folder));
        must(engine::saveOnnx(graph, (folder + "/model.onnx").toStdString(), {}));
        must(engine::writeNpz((folder + "/inputs.npz").toStdString(), inputs));
        open(folder + "/model.onnx");
        click("run");
    }
    std::string nodeName() const {
        const engine::Node* node = state().graph.node(state().selection.node);
        return node ? node->name : std::string();
    }
    std::string valueName() const {
        const engine::Value* value = state().graph.value(state().selection.value);
        return value ? value->name : std::string();
    }
    QString elementShown() const {
        const auto* label = m_window->view("inspector")->findChild<QLabel*>("inspectorElement");
        return label->isVisibleTo(m_window->view("inspector")) ? label->text() : QString();
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeWalkTest");
        makeWindow();
    }

    void saysWhatIsTheFirst() {
        const QString folder = QStringLiteral(NABLA_TEST_DATA "/bugs/run-first-nan");
        const auto expected = nlohmann::json::parse(std::ifstream((folder + "/case.json").toStdString())).at("expected").at("first_nan");
        const auto node = expected.at("node").get<std::string>(), tensor = expected.at("tensor").get<std::string>();
        open(folder + "/model.onnx");
        QVERIFY(bar()->text().isEmpty());
        click("run");
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        const QString words = bar()->text();
        QVERIFY2(words.contains(QString::fromStdString("First NaN: " + tensor + "[1, 0], made by " + node)), qPrintable(words));
        QVERIFY2(words.contains(QString("%1 elements of %2 are NaN").arg(expected.at("count").get<int>()).arg(QString::fromStdString(tensor))), qPrintable(words));
        QCOMPARE(row(0), words.left(words.indexOf(". ")));
        // The canvas marks the nodes whose values have NaN, and no others.
        const auto scene = m_window->graphPanel()->canvas()->scenePtr();
        QStringList marked;
        for (const views::SceneNode& each : scene->scene().nodes) {
            if (each.hasNan)
                marked << QString::fromStdString(each.name);
        }
        marked.sort();
        QVERIFY2(marked.contains("attn_softmax") && !marked.contains("attn_masked"), qPrintable(marked.join(' ')));
    }

    /// One click walks back; the row where NaN begins is chosen, its node and element are selected and shown.
    void oneClickEndsAtTheNodeAndElement() {
        QTest::mouseClick(bar()->findChild<QPushButton*>("troubleFind"), Qt::LeftButton);
        settle();
        QCOMPARE(nodeName(), std::string("attn_softmax"));
        QCOMPARE(valueName(), std::string("p"));
        QCOMPARE(state().selection.element, std::int64_t{3}); // row 1 of 3 columns: [1, 0]
        QVERIFY2(elementShown() == "[1, 0] = nan", qPrintable(elementShown()));
        const auto* table = qobject_cast<views::InspectorView*>(m_window->view("inspector"))->valueTable();
        QCOMPARE(table->currentRow(), 1);
        QCOMPARE(table->currentColumn(), 0);
        const int birth = list()->currentIndex().row();
        QCOMPARE(row(birth), QString("p[1, 0] = NaN"));
        QVERIFY2(detail(birth).startsWith("NaN is born here: attn_softmax (Softmax)"), qPrintable(detail(birth)));
        QVERIFY(list()->isVisible());
    }

    /// The three masked elements of the row are causes; the walk ends at the mask, a graph input. Each row selects its place.
    void everyStopLeadsToItsPlace() {
        for (const char* cause : {"[1, 0] = -inf", "[1, 1] = -inf", "[1, 2] = -inf"}) {
            bool found = false;
            for (int i = 0; i < list()->model()->rowCount(); ++i)
                found = found || (row(i).endsWith(cause) && detail(i).startsWith("read by attn_softmax (Softmax)"));
            QVERIFY2(found, cause);
        }
        const int last = list()->model()->rowCount() - 1;
        QCOMPARE(row(last), QString("mask[1, 0] = -inf"));
        QCOMPARE(detail(last), QString("comes in by a graph input"));
        clickRow(last);
        QVERIFY(!state().selection.node);
        QCOMPARE(valueName(), std::string("mask"));
        QCOMPARE(state().selection.element, std::int64_t{3});
        QVERIFY2(elementShown().startsWith("[1, 0] = -inf"), qPrintable(elementShown()));
        // The same by keys: upwards to the stop before.
        QTest::keyClick(list(), Qt::Key_Up);
        settle();
        QVERIFY(row(last - 1).contains("[1, "));
        QCOMPARE(elementShown().section(" = ", 0, 0), row(last - 1).mid(row(last - 1).indexOf('[')).section(" = ", 0, 0));
        const int birth = rowOf("p[1, 0] = NaN");
        clickRow(birth);
        QCOMPARE(nodeName(), std::string("attn_softmax"));
    }

    void staysAwayOnceClosedAndGoesWithTheValues() {
        QTest::mouseClick(bar()->findChild<QToolButton*>("troubleClose"), Qt::LeftButton);
        QVERIFY(bar()->text().isEmpty());
        click("run");
        QVERIFY(bar()->text().isEmpty());
        QVERIFY(state().trouble != nullptr);
        click("stop");
        QVERIFY(!state().trouble);
        QCOMPARE(list()->model()->rowCount(), 0);
        click("run");
        QVERIFY(!bar()->text().isEmpty());
    }

    /// Stepping: nothing is said before the node that makes it has run, and stepping back takes it away again.
    void followsTheSteps() {
        click("stop");
        int steps = 0;
        while (!state().trouble || !std::isnan(state().trouble->first.number)) {
            QVERIFY(bar()->text().isEmpty());
            click("step");
            ++steps;
            QVERIFY(steps <= 20);
        }
        QCOMPARE(nodeName(), std::string("attn_softmax"));
        QVERIFY(!bar()->text().isEmpty());
        click("back");
        QVERIFY(bar()->text().isEmpty());
    }

    /// y = sum over axis 1 of log(x), x[37, 15] = -1: from the sum, which is selected after the run, to the one element of x.
    void fromACarrierToFiniteInput() {
        std::vector<float> x(40 * 20, 2.0F);
        x[37 * 20 + 15] = -1;
        runGraph("log", graphOf([](engine::GraphEditor& e) {
            const ValueId in = e.addInput("x", ValueType::tensor(DType::Float32, Shape{40, 20}));
            const ValueId l = e.addValue({.opType = "Log", .inputs = {in}, .name = "log", .outputNames = {"l"}});
            return e.addValue({.opType = "ReduceSum", .inputs = {l, e.addInitializer("axes", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({1}, {1})))},
                .name = "sum", .outputNames = {"y"}});
        }), {{"x", Tensor::of<float>({40, 20}, x)}});
        QCOMPARE(nodeName(), std::string("sum"));
        QTest::keyClick(m_window.get(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
        settle();
        QCOMPARE(nodeName(), std::string("log"));
        QCOMPARE(state().selection.element, std::int64_t{37 * 20 + 15});
        QCOMPARE(rowOf("y[37, 0] = NaN"), 1);
        QVERIFY2(detail(2).endsWith("log (Log) read finite elements only"), qPrintable(detail(2)));
        QVERIFY2(elementShown().startsWith("[37, 15] = ") && elementShown().endsWith("(table from row 14, column 4)"), qPrintable(elementShown()));
        const int cause = rowOf("x[37, 15] = -1");
        QVERIFY(cause > 0);
        clickRow(cause);
        QCOMPARE(valueName(), std::string("x"));
        QVERIFY2(elementShown().startsWith("[37, 15] = -1"), qPrintable(elementShown()));
    }

    /// exp(100) in float32 is beyond the largest number, about 3.4e38: an infinity that a node made.
    void anInfinityThatANodeMade() {
        runGraph("exp", graphOf([](engine::GraphEditor& e) {
            return e.addValue({.opType = "Exp", .inputs = {e.addInput("x", ValueType::tensor(DType::Float32, Shape{3}))}, .name = "exp", .outputNames = {"y"}});
        }), {{"x", Tensor::of<float>({3}, {1, 100, 2})}});
        QVERIFY2(bar()->text().startsWith("First infinity: y[1], made by exp (Exp)"), qPrintable(bar()->text()));
        showTab("Problems");
        QTest::mouseClick(problems()->findChild<QPushButton*>("problemsFind"), Qt::LeftButton);
        settle();
        QCOMPARE(nodeName(), std::string("exp"));
        QCOMPARE(state().selection.element, std::int64_t{1});
        QVERIFY(rowOf("x[1] = 100") > 0);
    }

    /// tests/data/half_range/README.md: how many elements of a float16 value stand at its ends, under its numbers.
    void endsOfFloat16AreCounted() {
        open(QStringLiteral(NABLA_TEST_DATA "/half_range/model.onnx"));
        click("run");
        m_window->controller().select({{}, state().graph.outputs().front()});
        settle();
        const QString note = m_window->view("inspector")->findChild<QLabel*>("inspectorValueNote")->text();
        QVERIFY2(note.endsWith("2 (25 %) at the largest number 65504, 2 (25 %) below the smallest normal one"), qPrintable(note));
    }

    /// Softmax of a row that is masked in part is finite: the mask's infinity is meant, and no bar is in the way.
    void aMaskIsNoTrouble() {
        runGraph("mask", graphOf([](engine::GraphEditor& e) {
            const ValueId s = e.addInput("s", ValueType::tensor(DType::Float32, Shape{2, 2})), m = e.addInput("m", ValueType::tensor(DType::Float32, Shape{2, 2}));
            const ValueId masked = e.addValue({.opType = "Add", .inputs = {s, m}, .name = "add", .outputNames = {"sm"}});
            return e.addValue({.opType = "Softmax", .inputs = {masked}, .name = "softmax", .outputNames = {"p"}});
        }), {{"s", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}, {"m", Tensor::of<float>({2, 2}, {0, -kInf, 0, 0})}});
        QVERIFY2(bar()->text().isEmpty(), qPrintable(bar()->text()));
        QCOMPARE(row(0), QString("First infinity: m[0, 1], in a graph input"));
        QCOMPARE(list()->model()->index(0, 0).data(views::kMarkRole).toString(), QString("info"));
    }
};

QTEST_MAIN(TestNumericWalk)
#include "tst_numeric_walk.moc"
