// The cost of every operator: hand arithmetic for the usual ones, and a rule that can be followed for all.
#include <QTest>

#include "engine/analysis/cost.h"
#include "engine/schema/text_form.h"
#include "tests/unit/engine/analysis/cost_cases.h"

using namespace nabla::engine;
using namespace nabla::engine::test;

class TstCosts : public QObject {
    Q_OBJECT

private slots:
    void handArithmetic_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("flops");
        QTest::addColumn<qint64>("read");
        QTest::addColumn<qint64>("written");
        for (const auto table : {costCases(), compoundCostCases()}) {
            for (const CostCase& each : table) {
                const auto text = QString::fromUtf8(each.text.data(), static_cast<qsizetype>(each.text.size()));
                QTest::newRow(each.name.data()) << text << qint64{each.flops} << qint64{each.read} << qint64{each.written};
            }
        }
    }
    void handArithmetic() {
        QFETCH(QString, text);
        QFETCH(qint64, flops);
        QFETCH(qint64, read);
        QFETCH(qint64, written);
        const auto graph = parseGraphText(text.toStdString());
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto total = cost(*graph);
        if (flops == kUnknown) {
            QVERIFY(total->unknownNodes > 0);
            return;
        }
        QCOMPARE(total->unknownNodes, std::size_t{0});
        QCOMPARE(qint64{total->flops}, flops);
        qint64 nodesRead = 0, nodesWritten = 0;
        graph->forEachNode([&](const Node& node) {
            nodesRead += total->nodes.at(node.id).bytesRead;
            nodesWritten += total->nodes.at(node.id).bytesWritten;
        });
        QCOMPARE(nodesRead, read);
        QCOMPARE(nodesWritten, written);
        QCOMPARE(qint64{total->bytesMoved}, read + written);
    }

    void everyOperatorStatesACost() {
        for (const OpDef* op : allOps()) {
            const std::string name = std::string(op->domain) + ":" + std::string(op->name);
            if (op->flops.function())
                continue;
            if (op->flops.countsIterations()) {
                QVERIFY2(op->run.isControlFlow(), name.c_str());
                continue;
            }
            const OperatorSchema* schema = findSchema(std::string(op->name), std::string(op->domain), op->since);
            QVERIFY2(op->body || (schema && schema->hasFunctionBody), name.c_str());
        }
    }

    void bodiesAreCountedForOneIteration() {
        const auto graph = parseGraphText("g (float[3] x) => (y) <int64 m = {5}> { y = Loop (m, , x) <body = b (int64 i, bool on, float[3] v) => (bool again, float[3] w)"
                                          "{ again = Identity (on) w = Mul (v, v) }> }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto total = cost(*graph);
        graph->forEachNode([&](const Node& loop) {
            loop.graphAttribute("body")->forEachNode([&](const Node& inner) {
                QCOMPARE(qint64{total->nodes.at(inner.id).flops}, inner.is("Mul") ? qint64{3} : qint64{0});
            });
            QCOMPARE(qint64{total->nodes.at(loop.id).flops}, qint64{15});
        });
    }

    void parametersAreLearnedNumbers() {
        // 2 x 3 weights twice used and a bias of 2; the scalar and the axis are none.
        const auto graph = parseGraphText("g (float[4,3] x) => (y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float s = {2}, int64[1] a = {0}> {"
                                          "b = Constant <value = float[2] {1, 2}> () m = MatMul (x, w) n = MatMul (x, w) p = Add (m, b) q = Mul (n, s) r = Add (p, q) y = ReduceSum (r, a) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto total = cost(*graph);
        QCOMPARE(qint64{total->parameters}, qint64{8});
        QCOMPARE(qint64{total->parameterBytes}, qint64{32});
        qint64 ofNodes = 0;
        graph->forEachNode([&](const Node& node) { ofNodes += total->nodes.at(node.id).parameters; });
        QCOMPARE(ofNodes, qint64{6 + 6 + 2}); // each node its own
    }

    void parametersOfQuantizedModels() {
        // int8 weights and their scales; axes and sizes are of 64 bits. The default of an input counts too, a function that nobody calls does not.
        const auto graph = parseGraphText("<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]> g (float[1,4] x, float[2] d = {1, 2}) => (float[1,2] y)"
                                          "<int8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {1, 2}, int64[1] a = {0}>"
                                          "{ f = DequantizeLinear <axis = 1> (w, s) m = MatMul (x, f) y = Add (m, d) }"
                                          "<domain: \"my\", opset_import: [\"\" : 21]> h (a) => (c) { b = Constant <value = float[3] {1, 2, 3}> () c = Add (a, b) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto total = cost(*graph);
        QCOMPARE(qint64{total->parameters}, qint64{8 + 2 + 2});
        QCOMPARE(qint64{total->parameterBytes}, qint64{8 + 8 + 8});
    }

    void learnedNumbersOfMlStandInAttributes() {
        const auto graph = parseGraphText("<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]> g (float[5,3] x) => (float[5,2] y)"
                                          "{ y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], intercepts = [1.0, 2.0], targets = 2> (x) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        QCOMPARE(qint64{cost(*graph)->parameters}, qint64{6 + 2});
        const auto tree = parseGraphText("<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]> g (double[5,3] x) => (double[5,1] y)"
                                         "{ y = ai.onnx.ml.TreeEnsemble <n_targets = 1, tree_roots = [0], nodes_featureids = [0], nodes_modes = uint8[1] {0},"
                                         "nodes_splits = double[1] {1}, nodes_truenodeids = [0], nodes_trueleafs = [1], nodes_falsenodeids = [1], nodes_falseleafs = [1],"
                                         "leaf_targetids = [0, 0], leaf_weights = double[2] {1, 2}> (x) }");
        QVERIFY2(tree, tree ? "" : tree.error().message().c_str());
        QCOMPARE(qint64{cost(*tree)->parameters}, qint64{3});
        QCOMPARE(qint64{cost(*tree)->parameterBytes}, qint64{3 * 8});
    }

    void hostileAttributesGiveNumbers() {
        const auto pool = parseGraphText("g (float[1,1,8,8] x) => (float[1,1,1,1] y) { y = LRN <size = 4611686018427387904> (x) }");
        QVERIFY2(pool, pool ? "" : pool.error().message().c_str());
        QCOMPARE(cost(*pool)->flops, std::numeric_limits<std::int64_t>::max());
        // Nodes without the inputs that their rules look at.
        for (const char* op : {"ReduceSum", "Gemm", "Conv", "LSTM", "Gather", "Resize", "TopK", "DFT", "Attention", "QLinearConv"}) {
            const auto graph = parseGraphText("g () => (float[2] y) { y = " + std::string(op) + " () }");
            QVERIFY2(graph, op);
            QVERIFY2(cost(*graph)->flops >= 0, op);
        }
    }
};

QTEST_APPLESS_MAIN(TstCosts)
#include "tst_costs.moc"
