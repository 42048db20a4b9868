// Order of execution, readers, and structural faults.
#include <QTest>

#include "engine/analysis/topology.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/importer.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

Graph open(const char* name) {
    ImportContext context;
    auto model = openModel(std::filesystem::path(NABLA_TEST_DATA) / "bugs" / name, context);
    if (!model)
        qFatal("%s", model.error().message().c_str());
    return model->graph;
}

std::vector<std::string> names(const Graph& graph, const std::vector<NodeId>& ids) {
    std::vector<std::string> out;
    for (const NodeId id : ids)
        out.push_back(graph.node(id)->opType);
    return out;
}

QString said(const std::vector<Diagnostic>& list) {
    QString all;
    for (const Diagnostic& d : list)
        all += QString::fromStdString(d.message) + '\n';
    return all;
}

} // namespace

class tst_topology : public QObject {
    Q_OBJECT
private slots:
    void sortedFileKeepsItsOrder();
    void unsortedNodesAreOrderedAndReported();
    void ringIsNamed();
    void deepChainNeedsNoStack();
    void readersAreListedOnceEach();
    void sharedFunctionsThatEndAreFine();
};

void tst_topology::sortedFileKeepsItsOrder() {
    const auto graph = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { a = Neg(x) b = Abs(x) y = Add(b, a) })");
    QCOMPARE(names(*graph, topologicalOrder(*graph)->order), (std::vector<std::string>{"Neg", "Abs", "Add"}));
    QVERIFY(problems(*graph).empty());
}

void tst_topology::unsortedNodesAreOrderedAndReported() {
    const Graph graph = open("open-unsorted-and-cycle/unsorted.onnx");
    const auto order = topologicalOrder(graph);
    QVERIFY(order->inCycle.empty());
    QCOMPARE(order->order.size(), graph.nodeCount());
    std::vector<NodeId> done;
    for (const NodeId id : order->order) {
        for (const ValueId input : graph.node(id)->inputs) {
            const Node* producer = graph.producer(input);
            QVERIFY(!producer || std::find(done.begin(), done.end(), producer->id) != done.end());
        }
        done.push_back(id);
    }
    QVERIFY2(said(graph.diagnostics()).contains("order"), qPrintable(said(graph.diagnostics())));
}

void tst_topology::ringIsNamed() {
    const Graph graph = open("open-unsorted-and-cycle/cycle.onnx");
    const QString text = said(problems(graph));
    QVERIFY2(text.contains("cycle") && text.contains("loop_head") && text.contains("loop_tail"), qPrintable(text));
}

void tst_topology::deepChainNeedsNoStack() {
    auto info = std::make_shared<ModelInfo>();
    info->opsets[""] = 21;
    GraphEditor editor = GraphEditor::empty("deep", info, std::make_shared<IdSource>());
    // Made back to front, so that ids descend along the edges and the queue is used.
    constexpr int kDepth = 100'000;
    std::vector<ValueId> values;
    for (int i = 0; i <= kDepth; ++i)
        values.push_back(i == 0 ? editor.addInput("x", ValueType::tensor(DType::Float32)) : editor.declareValue("v" + std::to_string(i)));
    for (int i = kDepth; i > 0; --i)
        editor.addWithOutputs({.opType = "Relu", .inputs = {values[static_cast<std::size_t>(i) - 1]}}, {values[static_cast<std::size_t>(i)]});
    editor.setOutputs({values.back()});
    const Graph graph = editor.finish();
    const auto order = topologicalOrder(graph);
    QCOMPARE(order->order.size(), static_cast<std::size_t>(kDepth));
    QCOMPARE(graph.node(order->order.front())->inputs[0], values[0]);
}

void tst_topology::readersAreListedOnceEach() {
    const auto graph = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, bool c) => (float[2] y) {
        a = Add(x, x)
        y = If <then_branch = t () => (r) { r = Neg(x) }, else_branch = e () => (r) { r = Abs(a) }> (c) })");
    QCOMPARE(names(*graph, uses(*graph)->of(graph->inputs()[0])), (std::vector<std::string>{"Add", "If"}));
    QVERIFY(uses(*graph)->of(graph->outputs()[0]).empty());
}

void tst_topology::sharedFunctionsThatEndAreFine() {
    const auto graph = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21, "f" : 1]> g (float[2] x) => (float[2] y) { a = f.A(x) y = f.B(a) }
        <domain: "f", opset_import: ["" : 21, "f" : 1]> A (a) => (b) { c = f.B(a) b = f.B(c) }
        <domain: "f", opset_import: ["" : 21]> B (a) => (b) { b = Neg(a) })");
    QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
    QVERIFY2(problems(*graph).empty(), qPrintable(said(problems(*graph))));
}

QTEST_GUILESS_MAIN(tst_topology)
#include "tst_topology.moc"
