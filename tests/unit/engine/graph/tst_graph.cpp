// The value graph: copies are snapshots, edits stay in the editor, differences are exact.
#include <QTest>

#include "engine/graph/graph_diff.h"
#include "engine/graph/graph_editor.h"
#include "engine/graph/verifier.h"

using namespace nabla::engine;

namespace {

/// x -> Neg -> a -> Abs -> y, with the weight w unused.
struct Chain {
    Graph graph;
    ValueId x, w, a, y;
    NodeId neg, abs;
};

Chain chain() {
    Chain c;
    auto info = std::make_shared<ModelInfo>();
    info->opsets[""] = 21;
    GraphEditor editor = GraphEditor::empty("chain", info, std::make_shared<IdSource>());
    c.x = editor.addInput("x", ValueType::tensor(DType::Float32, SymbolicShape{Dim::symbol("n")}));
    c.w = editor.addInitializer("w", std::make_shared<const Tensor>(Tensor::scalar(1.0F)));
    c.neg = editor.add({.opType = "Neg", .inputs = {c.x}, .name = "first", .outputNames = {"a"}});
    c.a = editor.outputs(c.neg)[0];
    c.abs = editor.add({.opType = "Abs", .inputs = {c.a}, .outputNames = {"y"}});
    c.y = editor.outputs(c.abs)[0];
    editor.setOutputs({c.y});
    c.graph = editor.finish();
    return c;
}

} // namespace

class tst_graph : public QObject {
    Q_OBJECT
private slots:
    void nodesAndValuesKnowEachOther();
    void copyIsASnapshot();
    void untouchedNodesStayShared();
    void tableOfManyChunksIsCopiedOnWrite();
    void namesAreMadeUnique();
    void replacingUsesKeepsTheNameOfAnOutput();
    void outputsThatCannotTakeTheNameAreRefused();
    void removedNodeTakesItsOutputsAlong();
    void idsAreNeverReused();
    void verifierFindsFaults();
    void memoStartsAfreshWithEveryState();
    void inputWithDefaultIsNoConstant();
    void typesPrintAndCompare();
    void patchFromADifferenceGivesTheSameState();
};

void tst_graph::nodesAndValuesKnowEachOther() {
    const Chain c = chain();
    QCOMPARE(c.graph.producer(c.a)->id, c.neg);
    QCOMPARE(c.graph.producer(c.x), nullptr);
    QCOMPARE(c.graph.nodeCount(), 2U);
    QCOMPARE(c.graph.valueCount(), 4U);
    QCOMPARE(c.graph.node(c.neg)->origins, std::vector<NodeId>{c.neg});
    QCOMPARE(QString::fromStdString(describe(*c.graph.node(c.neg))), QString("node \"first\" (Neg)"));
    QVERIFY(verify(c.graph).empty());
}

void tst_graph::copyIsASnapshot() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    editor.renameValue(c.a, "b");
    editor.removeValue(c.w);
    const Graph after = editor.finish();
    QCOMPARE(c.graph.value(c.a)->name, std::string("a"));
    QVERIFY(c.graph.value(c.w));
    QCOMPARE(after.value(c.a)->name, std::string("b"));
    QVERIFY(!after.value(c.w));
    const GraphDiff d = diff(c.graph, after);
    QVERIFY(d.added.empty() && d.removed.empty() && d.changed.empty());
    QCOMPARE(d.removedValues, std::vector<ValueId>{c.w});
    QCOMPARE(d.changedValues, std::vector<ValueId>{c.a});
}

void tst_graph::untouchedNodesStayShared() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    const ValueId extra = editor.addValue({.opType = "Exp", .inputs = {c.a}});
    const Graph after = editor.finish();
    QCOMPARE(after.nodePtr(c.neg).get(), c.graph.nodePtr(c.neg).get());
    const GraphDiff d = diff(c.graph, after);
    QCOMPARE(d.added, std::vector<NodeId>{after.producer(extra)->id});
    QVERIFY(d.changed.empty() && d.removed.empty());
    QVERIFY(diff(after, after).empty());
}

void tst_graph::tableOfManyChunksIsCopiedOnWrite() {
    CowTable<Node> table;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        Node node;
        node.id = NodeId{i};
        table.set(i, std::make_shared<const Node>(node));
    }
    CowTable<Node> copy = table;
    Node changed;
    changed.id = NodeId{500};
    copy.set(500, std::make_shared<const Node>(changed));
    copy.erase(7);
    QCOMPARE(table.size(), 1000U);
    QCOMPARE(copy.size(), 999U);
    std::vector<std::uint32_t> different;
    CowTable<Node>::forEachDifference(table, copy, [&](std::uint32_t id, const auto&, const auto&) { different.push_back(id); });
    QCOMPARE(different, (std::vector<std::uint32_t>{7, 500}));
    QVERIFY(!copy.find(7) && table.find(7) && !table.find(5000));
}

void tst_graph::namesAreMadeUnique() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    const ValueId first = editor.addInitializer("a", std::make_shared<const Tensor>(Tensor::scalar(1.0F)));
    const ValueId second = editor.addInitializer("a", std::make_shared<const Tensor>(Tensor::scalar(1.0F)));
    const Graph after = editor.finish();
    QCOMPARE(after.value(first)->name, std::string("a_2"));
    QCOMPARE(after.value(second)->name, std::string("a_3"));
}

void tst_graph::replacingUsesKeepsTheNameOfAnOutput() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    const ValueId exp = editor.addValue({.opType = "Exp", .inputs = {c.a}, .outputNames = {"e"}});
    QVERIFY(editor.canReplace(c.y, exp));
    editor.replaceUses(c.y, exp);
    editor.removeNode(c.abs);
    const Graph after = editor.finish();
    QCOMPARE(after.outputs().size(), 1U);
    QCOMPARE(after.outputs()[0], exp);
    QCOMPARE(after.value(exp)->name, std::string("y"));
}

void tst_graph::outputsThatCannotTakeTheNameAreRefused() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    QVERIFY(!editor.canReplace(c.y, c.x)); // an input keeps its own name
    QVERIFY(!editor.canReplace(c.y, c.w));
    QVERIFY(editor.canReplace(c.y, c.a));
    QVERIFY(editor.canReplace(c.a, c.x)); // not an output: no name to keep
}

void tst_graph::removedNodeTakesItsOutputsAlong() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    editor.setOutputs({c.a});
    editor.removeNode(c.abs);
    const Graph after = editor.finish();
    QVERIFY(!after.node(c.abs) && !after.value(c.y));
    QVERIFY(editor.consumers(c.a).empty());
}

void tst_graph::idsAreNeverReused() {
    const Chain c = chain();
    GraphEditor one(c.graph), two(c.graph);
    const NodeId a = one.add({.opType = "Exp", .inputs = {c.a}}), b = two.add({.opType = "Exp", .inputs = {c.a}});
    QVERIFY(a != b); // two branches of one document draw from one source
    one.removeNode(a);
    QVERIFY(one.add({.opType = "Exp", .inputs = {c.a}}) != a);
}

void tst_graph::verifierFindsFaults() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    Node broken = *c.graph.node(c.abs);
    broken.inputs = {ValueId{9999}};
    editor.replaceNode(broken);
    const auto faults = verify(editor.graph());
    QCOMPARE(faults.size(), 1U);
    QVERIFY(faults[0].find("9999") != std::string::npos);
    GraphEditor captured(c.graph);
    Node withBody = *c.graph.node(c.abs);
    withBody.attributes = {{"body", std::make_shared<const Graph>(c.graph)}};
    withBody.captures = {c.x};
    captured.replaceNode(withBody);
    QCOMPARE(verify(captured.graph()).size(), 1U); // one capture here, none in the body
}

void tst_graph::memoStartsAfreshWithEveryState() {
    const Chain c = chain();
    int computed = 0;
    const auto ask = [&](const Graph& graph) { return graph.memo().get<int>("answer", [&] { return ++computed; }); };
    QCOMPARE(*ask(c.graph), 1);
    const Graph copy = c.graph;
    QCOMPARE(*ask(copy), 1);
    QVERIFY(copy.sameStateAs(c.graph));
    const Graph after = GraphEditor(c.graph).finish();
    QCOMPARE(*ask(after), 2);
    QVERIFY(!after.sameStateAs(c.graph));
}

void tst_graph::inputWithDefaultIsNoConstant() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    editor.setDefault(c.x, std::make_shared<const Tensor>(Tensor::of<float>({1}, {2})));
    const Graph after = editor.finish();
    QVERIFY(after.value(c.x)->constant && !after.constant(c.x));
    QVERIFY(after.constant(c.w));
}

void tst_graph::typesPrintAndCompare() {
    const ValueType t = ValueType::sequence(ValueType::tensor(DType::Int64, SymbolicShape{Dim(2), Dim()}));
    QCOMPARE(QString::fromStdString(t.text()), QString("seq(int64[2,?])"));
    QVERIFY(t == ValueType::sequence(ValueType::tensor(DType::Int64, SymbolicShape{Dim(2), Dim()})));
    QVERIFY(!(t == ValueType::sequence(ValueType::tensor(DType::Int64))));
    QVERIFY(!t.element->concreteShape());
    QCOMPARE(*ValueType::tensor(DType::Bool, Shape{2, 3}).concreteShape(), (Shape{2, 3}));
}

void tst_graph::patchFromADifferenceGivesTheSameState() {
    const Chain c = chain();
    GraphEditor editor(c.graph);
    editor.renameValue(c.a, "b");
    editor.removeValue(c.w);
    const NodeId relu = editor.add({.opType = "Relu", .inputs = {c.y}, .outputNames = {"z"}});
    editor.setOutputs(editor.outputs(relu));
    const Graph after = editor.finish();
    const GraphDiff change = diff(c.graph, after);

    GraphPatch patch;
    patch.name = after.name();
    patch.info = after.infoPtr();
    patch.inputs.assign(after.inputs().begin(), after.inputs().end());
    patch.outputs.assign(after.outputs().begin(), after.outputs().end());
    patch.removedValues = change.removedValues;
    for (const NodeId id : change.added)
        patch.nodes.push_back(after.nodePtr(id));
    for (const auto& list : {change.addedValues, change.changedValues}) {
        for (const ValueId id : list)
            patch.values.push_back(std::make_shared<const Value>(*after.value(id)));
    }
    const Graph again = GraphDiff::patched(c.graph, patch, c.graph.ids());
    QVERIFY(verify(again).empty());
    QVERIFY(!again.sameStateAs(c.graph));
    QVERIFY(!again.value(c.w));
    QCOMPARE(again.value(c.a)->name, std::string("b"));
    QCOMPARE(again.nodePtr(c.neg), c.graph.nodePtr(c.neg));
    QCOMPARE(again.outputs().front(), after.outputs().front());
    // Nodes are the very same objects; the values were copied above, and only those differ.
    const GraphDiff rest = diff(after, again);
    QVERIFY(rest.added.empty() && rest.removed.empty() && rest.changed.empty() && rest.addedValues.empty() && rest.removedValues.empty());
    QCOMPARE(rest.changedValues, (std::vector<ValueId>{c.a, after.outputs().front()}));
    QVERIFY(diff(c.graph, c.graph).empty());
}

QTEST_GUILESS_MAIN(tst_graph)
#include "tst_graph.moc"
