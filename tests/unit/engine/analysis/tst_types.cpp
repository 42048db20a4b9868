// Types and shapes without running: against ONNX's own inference, and where that knows no arithmetic on names, against closed forms.
#include <nlohmann/json.hpp>

#include <QFile>
#include <QTest>

#include "engine/analysis/input_shapes.h"
#include "engine/analysis/types.h"
#include "engine/importers/importer.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

Graph parse(const std::string& text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

const Value* find(const Graph& graph, std::string_view name) {
    const Value* found = nullptr;
    graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = &value;
    });
    return found;
}

QString typeText(const Graph& graph, std::string_view name, const DimBindings& dims = {}) {
    const Value* value = find(graph, name);
    return value ? QString::fromStdString(types(graph, dims)->of(value->id).text()) : "no such value";
}

} // namespace

class tst_types : public QObject {
    Q_OBJECT
private slots:
    void agreesWithOnnx_data();
    void agreesWithOnnx();
    void symbolicDimensions_data();
    void symbolicDimensions();
    void bindingsFlowThrough();
    void sizesLeftOpenHaveNames();
    void namesOfInnerValuesAreNotKnown();
    void functionsAreInferredThroughTheirBodies();
    void bodiesSeeCapturedValues();
    void constantsOfShapeArithmeticAreKnown();
    void clashesAreDiagnostics_data();
    void clashesAreDiagnostics();
    void resultsAreKept();
};

void tst_types::agreesWithOnnx_data() {
    QTest::addColumn<QString>("path");
    QFile file(NABLA_TEST_DATA "/types/expected.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto expected = nlohmann::json::parse(file.readAll().toStdString());
    for (const auto& [path, values] : expected.at("models").items())
        QTest::newRow(path.c_str()) << QString::fromStdString(path);
}

/// Every dimension that ONNX knows must be known here, and numbers must be equal. Knowing more is fine.
void tst_types::agreesWithOnnx() {
    QFETCH(const QString, path);
    static const auto expected = [] {
        QFile file(NABLA_TEST_DATA "/types/expected.json");
        return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString()) : nlohmann::json();
    }();
    ImportContext context;
    const auto root = std::filesystem::path(NABLA_TEST_DATA).parent_path().parent_path();
    const auto model = openModel(root / path.toStdString(), context);
    QVERIFY2(model, qPrintable(QString::fromStdString(model ? "" : model.error().message())));
    const auto map = types(model->graph);
    for (const Diagnostic& d : map->diagnostics)
        QVERIFY2(!d.blocksRun, d.message.c_str());
    for (const auto& [name, entry] : expected.at("models").at(path.toStdString()).items()) {
        const Value* value = find(model->graph, name);
        if (!value)
            continue; // a value of a body: the tool lists some of them beside those of the graph
        const ValueType& type = map->of(value->id);
        const QByteArray where = QByteArray::fromStdString(name + ": " + type.text() + " against " + entry.dump());
        QVERIFY2(type.isTensor(), where);
        QVERIFY2(static_cast<int>(type.elementType) == entry[0].get<int>(), where);
        if (entry[1].is_null())
            continue;
        QVERIFY2(type.shape && type.shape->size() == entry[1].size(), where);
        for (std::size_t i = 0; i < type.shape->size(); ++i) {
            const Dim& dim = (*type.shape)[i];
            if (entry[1][i].is_number())
                QVERIFY2(dim.constant() == entry[1][i].get<std::int64_t>(), where);
            else if (entry[1][i].is_string())
                QVERIFY2(!dim.isUnknown(), where);
        }
    }
}

void tst_types::symbolicDimensions_data() {
    QTest::addColumn<QString>("body");
    QTest::addColumn<QString>("type");
    // x: [N, C, H, W] with C = 4; formulas: ONNX Operators.md
    QTest::newRow("concat adds") << "y = Concat <axis = 2> (x, x)" << "float32[N,4,2*H,W]";
    QTest::newRow("flatten multiplies") << "y = Flatten (x)" << "float32[N,4*H*W]";
    QTest::newRow("convolution of stride 1 and pad 1 keeps") << "y = Conv <pads = [1, 1, 1, 1]> (x, k)" << "float32[N,8,H,W]";
    QTest::newRow("convolution without pad") << "y = Conv (x, k)" << "float32[N,8,H-2,W-2]";
    QTest::newRow("pool halves") << "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)" << "float32[N,4,floor((H-2)/(2))+1,floor((W-2)/(2))+1]";
    QTest::newRow("reshape with the rest") << "s = Constant <value_ints = [0, -1]> () y = Reshape (x, s)" << "float32[N,4*H*W]";
    QTest::newRow("reshape by shape arithmetic")
        << "sh = Shape <start = 0, end = 1> (x) rest = Constant <value_ints = [4, -1]> () s = Concat <axis = 0> (sh, rest) y = Reshape (x, s)" << "float32[N,4,H*W]";
    QTest::newRow("slice from one on")
        << "a = Constant <value_ints = [1]> () e = Constant <value_ints = [9223372036854775807]> () ax = Constant <value_ints = [2]> () y = Slice (x, a, e, ax)"
        << "float32[N,4,H-1,W]";
    QTest::newRow("pad adds") << "p = Constant <value_ints = [0, 0, 1, 0, 0, 0, 2, 0]> () y = Pad (x, p)" << "float32[N,4,H+3,W]";
    QTest::newRow("tile multiplies") << "r = Constant <value_ints = [1, 1, 2, 3]> () y = Tile (x, r)" << "float32[N,4,2*H,3*W]";
    QTest::newRow("space to depth and back") << "d = DepthToSpace <blocksize = 2> (x) y = SpaceToDepth <blocksize = 2> (d)" << "float32[N,4,H,W]";
    QTest::newRow("transposed convolution") << "y = ConvTranspose <strides = [2, 2]> (x, t)" << "float32[N,8,2*H+1,2*W+1]";
    QTest::newRow("slice to an end that means all")
        << "a = Constant <value_ints = [0]> () e = Constant <value_ints = [2147483647]> () ax = Constant <value_ints = [0]> () y = Slice (x, a, e, ax)" << "float32[N,4,H,W]";
    QTest::newRow("slice by steps of two") // ceil(2 * W / 2)
        << "a = Constant <value_ints = [0]> () e = Constant <value_ints = [2147483647]> () ax = Constant <value_ints = [3]> () st = Constant <value_ints = [2]> () d = Slice (x, a, e, ax) z = Concat <axis = 3> (d, d) y = Slice (z, a, e, ax, st)"
        << "float32[N,4,H,W]";
    QTest::newRow("range of a size") << "i = Constant <value_int = 2> () s = Shape (x) n = Gather (s, i) o = Constant <value_int = 0> () d = Constant <value_int = 1> () y = Range (o, n, d)" << "int64[H]";
    QTest::newRow("expand to a size") << "one = Constant <value_ints = [1]> () s = Shape <start = 2, end = 3> (x) w = Concat <axis = 0> (s, one) y = Expand (one, w)" << "int64[H,1]";
    QTest::newRow("pads that went through a matrix") // [0 0 1 2 0 0 3 4] by rows, columns swapped and read by columns: begins 0 1 0 3, ends 0 2 0 4
        << "p = Constant <value_ints = [0, 0, 1, 2, 0, 0, 3, 4]> () m = Constant <value_ints = [-1, 2]> () v = Constant <value_ints = [-1]> () "
           "a = Reshape (p, m) b = Transpose <perm = [1, 0]> (a) c = Reshape (b, v) y = Pad (x, c)"
        << "float32[N,7,H,W+7]";
    QTest::newRow("branch that a rank decides")
        << "s = Shape (x) r = Size (s) four = Constant <value_int = 4> () same = Equal (r, four) other = Not (same) y = If <then_branch = t () => (u) { u = Flatten (x) }, else_branch = e () => (u) { u = Identity (x) }> (other)"
        << "float32[N,4,H,W]";
    QTest::newRow("branches that agree")
        << "m = ReduceMax <keepdims = 0> (x) z = Constant <value_float = 0.0> () c = Greater (m, z) y = If <then_branch = t () => (u) { u = Relu (x) }, else_branch = e () => (u) { u = Neg (x) }> (c)"
        << "float32[N,4,H,W]";
    QTest::newRow("branches that differ")
        << "m = ReduceMax <keepdims = 0> (x) z = Constant <value_float = 0.0> () c = Greater (m, z) y = If <then_branch = t () => (u) { u = Concat <axis = 3> (x, x) }, else_branch = e () => (u) { u = Neg (x) }> (c)"
        << "float32[N,4,H,?]";
    QTest::newRow("what depends on data") << "y = NonZero (x)" << "int64[4,?]";
    QTest::newRow("product of a matrix") << "y = MatMul (x, x)" << "float32[N,4,H,W]";
}

void tst_types::symbolicDimensions() {
    QFETCH(const QString, body);
    QFETCH(const QString, type);
    const Graph graph = parse(("<ir_version: 10, opset_import: [\"\" : 21]> g (float[N,4,H,W] x, float[8,4,3,3] k, float[4,8,3,3] t) => (y) { " + body + " }").toStdString());
    QCOMPARE(typeText(graph, "y"), type);
}

void tst_types::bindingsFlowThrough() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[batch,3] x) => (y) { y = Flatten <axis = 0> (x) })");
    QCOMPARE(typeText(graph, "y"), QString("float32[1,3*batch]"));
    QCOMPARE(typeText(graph, "y", {{"batch", 8}}), QString("float32[1,24]"));
}

void tst_types::sizesLeftOpenHaveNames() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[?,3] x, float[n,?] z) => (y, w) { y = Flatten <axis = 0> (x) w = NonZero (z) })");
    QCOMPARE(typeText(graph, "x"), QString("float32[x.dim0,3]"));
    QCOMPARE(typeText(graph, "y"), QString("float32[1,3*x.dim0]"));
    QCOMPARE(typeText(graph, "z"), QString("float32[n,z.dim1]"));
    QCOMPARE(typeText(graph, "y", {{"x.dim0", 8}}), QString("float32[1,24]"));
    const ShapeCoverage coverage = shapeCoverage(graph, *types(graph));
    QCOMPARE(coverage.dims, 8);
    QCOMPARE(coverage.knownDims, 7); // all but the count of nonzero elements
    QCOMPARE(coverage.untyped, 0);
    QCOMPARE(coverage.unknownRanks, 0);
}

/// A name that the file gives the size of an inner value only is no knowledge.
void tst_types::namesOfInnerValuesAreNotKnown() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (int64[1,count] y) { y = NonZero (x) })");
    QCOMPARE(typeText(graph, "y"), QString("int64[1,count]"));
    const ShapeCoverage coverage = shapeCoverage(graph, *types(graph));
    QCOMPARE(coverage.dims, 3);
    QCOMPARE(coverage.knownDims, 2);
}

void tst_types::functionsAreInferredThroughTheirBodies() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21, "f" : 1]> g (float[N,3] x) => (y) { y = f.Twice <axis = 1> (x) }
        <domain: "f", opset_import: ["" : 21]> Twice <axis> (a) => (b) { b = Concat <axis: int = @axis> (a, a) })");
    QCOMPARE(typeText(graph, "y"), QString("float32[N,6]"));
}

void tst_types::bodiesSeeCapturedValues() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[N,3] x, bool c) => (y) <int64[2] s = {3, -1}> {
        y = If <then_branch = t () => (r) { r = Reshape (x, s) }, else_branch = e () => (r) { r = Transpose (x) }> (c) })");
    QCOMPARE(typeText(graph, "y"), QString("float32[3,N]"));
}

void tst_types::constantsOfShapeArithmeticAreKnown() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[4,6] x) => (y) <int64 one = {1}, int64 two = {2}> {
        s = Shape (x) w = Gather (s, one) h = Div (w, two) y = Mul (h, h) })");
    const TensorPtr constant = types(graph)->constants.at(find(graph, "y")->id);
    QCOMPARE(constant->rank(), 0U);
    QCOMPARE(constant->asInt64(0), 9); // (6 / 2)^2
}

void tst_types::clashesAreDiagnostics_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("word");
    QTest::newRow("matrix sizes") << "g (float[2,3] x, float[4,5] z) => (y) { y = MatMul (x, z) }" << "ncompatible";
    QTest::newRow("axis") << "g (float[2,3] x) => (y) { y = Softmax <axis = 7> (x) }" << "axis";
    QTest::newRow("declared otherwise") << "g (float[2,3] x) => (float[5,3] y) { y = Relu (x) }" << "[5,3]";
    QTest::newRow("index") << "g (float[2,3] x) => (y) <int64[1] i = {5}> { y = Gather (x, i) }" << "out of range";
}

void tst_types::clashesAreDiagnostics() {
    QFETCH(const QString, text);
    QFETCH(const QString, word);
    const Graph graph = parse("<ir_version: 10, opset_import: [\"\" : 21]> " + text.toStdString());
    const auto map = types(graph);
    QVERIFY(!map->diagnostics.empty());
    QVERIFY2(QString::fromStdString(map->diagnostics[0].message).contains(word), map->diagnostics[0].message.c_str());
}

void tst_types::resultsAreKept() {
    const Graph graph = parse(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu (x) })");
    const Graph copy = graph;
    QCOMPARE(types(graph).get(), types(copy).get());
    QVERIFY(types(graph).get() != types(graph, {{"N", 2}}).get());
}

QTEST_GUILESS_MAIN(tst_types)
#include "tst_types.moc"
