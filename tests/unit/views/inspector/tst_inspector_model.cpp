// The inspector's view-model: facts of the operator, parameters among the costs.
#include <QTest>

#include "engine/analysis/cost.h"
#include "engine/schema/text_form.h"
#include "views/inspector/inspector_view_model.h"

using namespace nabla;
using namespace nabla::engine;
using Rows = std::vector<std::pair<std::string, std::string>>;

class TstInspectorModel : public QObject {
    Q_OBJECT

    static views::InspectorModel modelOf(const char* text) {
        const auto graph = parseGraphText(text);
        if (!graph)
            return {};
        views::ViewState state;
        state.graph = *graph;
        state.types = types(*graph);
        state.cost = cost(*graph);
        graph->forEachNode([&](const Node& node) { state.selection.node = node.id; });
        return views::inspectorModel(state);
    }
    static QString row(const Rows& rows, const std::string& key) {
        for (const auto& [name, value] : rows) {
            if (name == key)
                return QString::fromStdString(value);
        }
        return QStringLiteral("(none)");
    }

private slots:
    // Versions, types and gradients: onnx/docs/Operators.md (Conv 1, 11, 22; Softmax 1, 11, 13; ArgMax 1, 11, 12, 13).
    void factsOfTheOperator_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("versions");
        QTest::addColumn<QString>("types");
        QTest::addColumn<QString>("gradient");
        QTest::addColumn<QString>("kernel");
        QTest::newRow("ruleAndKernel") << "g (float[1,1,4,4] x, float[1,1,2,2] w) => (y) { y = Conv (x, w) }" << "1, 11, 22" << "float"
                                       << "rule" << "onednn.conv";
        QTest::newRow("olderNode") << "<ir_version: 8, opset_import: [\"\" : 11]> g (float[2,3] x) => (y) { y = Softmax (x) }" << "1, 11, 13; this node has 11, lifted to 13 to run"
                                   << "float" << "rule" << "onednn.softmax";
        QTest::newRow("reasonAndReference") << "g (float[2,3] x) => (y) { y = ArgMax (x) }" << "1, 11, 12, 13" << "float int uint"
                                            << "none: its result is an index" << "reference";
        QTest::newRow("body") << "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,6] v) => (y) { y = Attention (q, k, v) }" << "23, 24, 25" << "float"
                              << "through its body" << "by its body";
        QTest::newRow("controlFlow") << "g (float[3] x, bool c) => (y) { y = If (c) <then_branch = t () => (float[3] a) { a = Mul (x, x) }, else_branch = e () => (float[3] b)"
                                        " { b = Exp (x) }> }"
                                     << "1, 11, 13, 16, 19, 21, 23, 24, 25" << "bool" << "rule" << "runs its bodies";
        QTest::newRow("sequence") << "g (seq(float[2]) s, int64 i) => (y) { y = SequenceAt (s, i) }" << "11" << "sequences" << "rule" << "reference";
    }
    void factsOfTheOperator() {
        QFETCH(QString, text);
        QFETCH(QString, versions);
        QFETCH(QString, types);
        QFETCH(QString, gradient);
        QFETCH(QString, kernel);
        const views::InspectorModel model = modelOf(text.toUtf8().constData());
        QCOMPARE(row(model.facts, "Versions"), versions);
        QCOMPARE(row(model.facts, "Types"), types);
        QCOMPARE(row(model.facts, "Gradient"), gradient);
        QCOMPARE(row(model.facts, "Kernel"), kernel);
        QVERIFY(!model.documentation.empty());
    }

    void unknownOperatorsHaveNoFacts() {
        const views::InspectorModel model = modelOf("<ir_version: 10, opset_import: [\"\" : 21, \"foreign\" : 1]> g (float[5] x) => (float[5] y) { y = foreign.Thing (x) }");
        QVERIFY(model.facts.empty());
        QCOMPARE(row(model.cost, "Work"), QStringLiteral("not known before running"));
    }

    void costsNameTheParameters() {
        const views::InspectorModel model = modelOf("g (float[4,3] x) => (y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul (x, w) }");
        QCOMPARE(row(model.cost, "Parameters"), QStringLiteral("6"));
        QCOMPARE(row(model.cost, "Work"), QStringLiteral("48 FLOP")); // 2 * (4 * 2) * 3
        QCOMPARE(row(model.cost, "Written"), QStringLiteral("32 B"));
    }
};

QTEST_APPLESS_MAIN(TstInspectorModel)
#include "tst_inspector_model.moc"
