// Copying and inlining graphs, and the edits that keep the ids of outputs.
#include <QTest>

#include "engine/graph/copy_graph.h"
#include "engine/graph/dead_nodes.h"

using namespace nabla::engine;

namespace {

GraphEditor fresh(const IdSourcePtr& ids) {
    return GraphEditor::empty("g", std::make_shared<const ModelInfo>(), ids);
}

} // namespace

class TstCopyGraph : public QObject {
    Q_OBJECT

private slots:
    /// A count taken in 32 bits grew by 2^32 with every erased entry.
    void countsStayRightWhenEntriesGo() {
        CowTable<int> table;
        table.set(3, std::make_shared<const int>(1));
        table.set(70, std::make_shared<const int>(2));
        table.set(3, std::make_shared<const int>(4));
        QCOMPARE(table.size(), std::size_t{2});
        table.erase(3);
        QCOMPARE(table.size(), std::size_t{1});
        table.erase(3);
        QCOMPARE(table.size(), std::size_t{1});
    }

    void inlinedCallKeepsTheIdOfItsOutput() {
        const auto ids = std::make_shared<IdSource>();
        GraphEditor inner = fresh(ids);
        const ValueId a = inner.addInput("a", {});
        const ValueId b = inner.addValue({.opType = "Neg", .inputs = {a}});
        inner.setOutputs({inner.addValue({.opType = "Abs", .inputs = {b}})});
        const Graph body = inner.finish();

        GraphEditor editor = fresh(ids);
        const ValueId x = editor.addInput("x", {});
        const NodeId call
            = editor.add({.opType = "F", .inputs = {x}, .domain = "my", .name = "call", .outputNames = {"y"}});
        const ValueId y = editor.outputs(call).front();
        editor.setOutputs({y});
        const CopiedGraph copied
            = inlineCall(editor, call, body, nullptr, std::make_shared<const std::string>("test/inline"));
        const Graph graph = editor.finish();
        QCOMPARE(graph.nodeCount(), std::size_t{2});
        QVERIFY(!graph.node(call));
        QCOMPARE(copied.outputs, std::vector<ValueId>{y});
        QCOMPARE(graph.producer(y)->opType, std::string("Abs"));
        QCOMPARE(graph.producer(y)->origins, std::vector<NodeId>{call});
        QCOMPARE(graph.value(y)->name, std::string("y"));
        QVERIFY(!graph.node(body.producer(b)->id)); // ids are fresh
    }

    void outputsMoveUpWhenOneGoes() {
        GraphEditor editor = fresh(std::make_shared<IdSource>());
        const ValueId x = editor.addInput("x", {});
        const NodeId split = editor.add({.opType = "Split", .inputs = {x}, .outputCount = 3});
        const std::vector<ValueId> parts = editor.outputs(split);
        editor.setOutputs({parts[0], parts[2]});
        editor.removeOutput(split, 1);
        const Graph graph = editor.finish();
        QCOMPARE(graph.node(split)->outputs, (std::vector<ValueId>{parts[0], parts[2]}));
        QCOMPARE(graph.value(parts[2])->outputIndex, 1U);
        QVERIFY(!graph.value(parts[1]));
    }

    void deadRingGoes() {
        GraphEditor editor = fresh(std::make_shared<IdSource>());
        const ValueId x = editor.addInput("x", {});
        const ValueId y = editor.addValue({.opType = "Relu", .inputs = {x}});
        const ValueId first = editor.declareValue("first"), second = editor.declareValue("second");
        const NodeId a = editor.addWithOutputs({.opType = "Neg", .inputs = {second}}, {first});
        const NodeId b = editor.addWithOutputs({.opType = "Neg", .inputs = {first}}, {second});
        editor.setOutputs({y});
        const Unneeded gone = removeUnneeded(editor);
        QCOMPARE(gone.nodes, (std::vector<NodeId>{a, b}));
        QCOMPARE(editor.finish().nodeCount(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(TstCopyGraph)
#include "tst_copy_graph.moc"
