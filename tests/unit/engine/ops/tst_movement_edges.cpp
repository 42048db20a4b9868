// Arithmetic and data movement at their edges: hostile arguments are refused by a sentence, never undefined; old forms are lifted.
#include <limits>

#include <QtTest>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"
#include "mini_evaluator.h"

using namespace nabla;
using namespace nabla::engine;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(), kHighest = std::numeric_limits<std::int64_t>::max();

Tensor ints(const std::vector<std::int64_t>& values) { return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values); }
Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of<float>(std::move(shape), values); }

/// One node over these inputs, at an opset.
Result<std::vector<RuntimeValue>> run(const char* opType, std::vector<RuntimeValue> inputs, std::vector<Attribute> attributes = {}, std::int64_t opset = 28) {
    auto info = std::make_shared<ModelInfo>();
    info->opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty("g", info, std::make_shared<IdSource>());
    NodeSpec spec;
    spec.opType = opType;
    spec.attributes = std::move(attributes);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        spec.inputs.push_back(editor.addInput("x" + std::to_string(i), {}));
    editor.setOutputs({editor.addValue(std::move(spec))});
    NABLA_TRY(const Graph graph, tests::upgradeAll(editor.finish(), inputs));
    return tests::evaluate(graph, inputs);
}

} // namespace

class MovementEdges : public QObject {
    Q_OBJECT
private slots:
    void hostileArgumentsAreRefused_data();
    void hostileArgumentsAreRefused();
    void sliceTakesTheExtremesOfInt64();
    void integersWrapAround();
    void broadcastingBeforeOpset7();
    void emptyTensors();
};

Q_DECLARE_METATYPE(std::vector<nabla::engine::RuntimeValue>)
Q_DECLARE_METATYPE(std::vector<nabla::engine::Attribute>)

void MovementEdges::hostileArgumentsAreRefused_data() {
    QTest::addColumn<QString>("opType");
    QTest::addColumn<std::vector<RuntimeValue>>("inputs");
    QTest::addColumn<std::vector<Attribute>>("attributes");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* tag, const char* op, std::vector<RuntimeValue> inputs, std::vector<Attribute> attributes, const char* message) {
        QTest::newRow(tag) << QString(op) << inputs << attributes << QString(message);
    };
    const Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
    row("concat axis", "Concat", {x, x}, {{"axis", kLowest}}, "out of range");
    row("gather axis", "Gather", {x, ints({0})}, {{"axis", kHighest}}, "out of range");
    row("gather index", "Gather", {x, ints({kLowest})}, {}, "out of range");
    row("transpose perm twice", "Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 0}}}, "named twice");
    row("transpose perm out", "Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2}}}, "out of range");
    row("expand bomb", "Expand", {x, ints({std::int64_t{1} << 50, 2, 3})}, {}, "too large");
    row("tile bomb", "Tile", {x, ints({kHighest, kHighest})}, {}, "too large");
    row("constant of shape bomb", "ConstantOfShape", {ints({kHighest, kHighest})}, {}, "too large");
    row("range bomb", "Range", {Tensor::scalar(kLowest), Tensor::scalar(kHighest), Tensor::scalar(std::int64_t{1})}, {}, "too large");
    row("range delta 0", "Range", {Tensor::scalar(0.0F), Tensor::scalar(1.0F), Tensor::scalar(0.0F)}, {}, "delta is 0");
    row("reshape count", "Reshape", {x, ints({4, -1})}, {}, "do not divide");
    row("reshape negative", "Reshape", {x, ints({kLowest})}, {}, "dimension");
    row("slice step 0", "Slice", {x, ints({0}), ints({1}), ints({0}), ints({0})}, {}, "step 0");
    row("pad huge", "Pad", {x, ints({kHighest, 0, 0, 0})}, {}, "too many");
    row("split sizes", "Split", {x, ints({kHighest})}, {{"axis", std::int64_t{1}}}, "do not fit");
    row("top k", "TopK", {x, ints({7})}, {}, "the axis has 3");
    row("scatter index", "ScatterND", {x, Tensor::of<std::int64_t>({1, 2}, {0, 3}), floats({1}, {9})}, {}, "out of range");
    row("division by zero", "Div", {ints({1, 2}), ints({1, 0})}, {}, "division by zero");
    row("resize scale", "Resize", {x, RuntimeValue(), floats({2}, {1e30F, 1})}, {}, "scale");
    row("shapes", "Add", {x, floats({2}, {1, 2})}, {}, "do not broadcast");
    row("types", "Add", {x, ints({1})}, {}, "one type");
}

void MovementEdges::hostileArgumentsAreRefused() {
    QFETCH(QString, opType);
    QFETCH(std::vector<RuntimeValue>, inputs);
    QFETCH(std::vector<Attribute>, attributes);
    QFETCH(QString, message);
    const auto result = run(opType.toUtf8().constData(), inputs, attributes);
    QVERIFY(!result);
    QVERIFY2(QString::fromStdString(result.error().message()).contains(message), result.error().message().c_str());
}

void MovementEdges::sliceTakesTheExtremesOfInt64() {
    const Tensor x = ints({0, 1, 2, 3, 4});
    const auto backwards = run("Slice", {x, ints({kHighest}), ints({kLowest}), ints({0}), ints({-2})}); // NumPy: x[::-2]
    QVERIFY(backwards);
    QCOMPARE((*backwards)[0].tensor().toInt64s(), (std::vector<std::int64_t>{4, 2, 0}));
    const auto once = run("Slice", {x, ints({1}), ints({kHighest}), ints({0}), ints({kHighest})}); // NumPy: x[1::huge]
    QVERIFY(once);
    QCOMPARE((*once)[0].tensor().toInt64s(), (std::vector<std::int64_t>{1}));
}

void MovementEdges::integersWrapAround() {
    const auto sum = run("Add", {Tensor::scalar(kHighest), Tensor::scalar(std::int64_t{1})});
    QCOMPARE((*sum)[0].tensor().asInt64(0), kLowest); // two's complement
    const auto quotient = run("Div", {Tensor::scalar(kLowest), Tensor::scalar(std::int64_t{-1})});
    QCOMPARE((*quotient)[0].tensor().asInt64(0), kLowest);
    const auto negative = run("Neg", {Tensor::scalar(std::int8_t{-128})});
    QCOMPARE((*negative)[0].tensor().asInt64(0), std::int64_t{-128});
}

void MovementEdges::broadcastingBeforeOpset7() {
    // Add-6 with axis 0: b runs along the rows. [[0,1,2],[3,4,5]] + [10,20] = [[10,11,12],[23,24,25]]
    const auto y = run("Add", {floats({2, 3}, {0, 1, 2, 3, 4, 5}), floats({2}, {10, 20})}, {{"axis", std::int64_t{0}}, {"broadcast", std::int64_t{1}}}, 6);
    QVERIFY2(y, y ? "" : y.error().message().c_str());
    const std::string wrong = tests::difference((*y)[0].tensor(), floats({2, 3}, {10, 11, 12, 23, 24, 25}), 0, 0);
    QVERIFY2(wrong.empty(), wrong.c_str());
}

void MovementEdges::emptyTensors() {
    const Tensor empty = floats({0, 3}, {});
    for (const char* op : {"Relu", "Exp", "Neg", "Transpose", "NonZero", "Shape", "Identity", "Flatten"})
        QVERIFY2(run(op, {empty}), op);
    const auto sum = run("ReduceSum", {empty, ints({0})}, {{"keepdims", std::int64_t{0}}}); // an empty sum is 0
    QVERIFY(tests::difference((*sum)[0].tensor(), floats({3}, {0, 0, 0}), 0, 0).empty());
    const auto joined = run("Concat", {empty, floats({1, 3}, {1, 2, 3})}, {{"axis", std::int64_t{0}}});
    QCOMPARE((*joined)[0].tensor().shape(), (Shape{1, 3}));
}

QTEST_APPLESS_MAIN(MovementEdges)
#include "tst_movement_edges.moc"
