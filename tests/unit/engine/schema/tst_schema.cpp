// The standard behind our interface: schemas by opset, defaults, function bodies, inference of one node.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include <QTest>

#include "engine/schema/arity.h"
#include "engine/schema/schema.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

Graph parse(const std::string& text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

const Node& only(const Graph& graph) {
    const Node* found = nullptr;
    graph.forEachNode([&](const Node& node) { found = &node; });
    return *found;
}

std::vector<std::string> operators(const Graph& graph) {
    std::vector<std::string> out;
    graph.forEachNode([&](const Node& node) { out.push_back(node.opType); });
    return out;
}

} // namespace

class tst_schema : public QObject {
    Q_OBJECT
private slots:
    void versionInForceAtAnOpset_data();
    void versionInForceAtAnOpset();
    void newestSchemas();
    void defaultsAreFound();
    void variadicParameters();
    void staticFunctionBody();
    void contextDependentFunctionBody();
    void operatorWithoutBodyHasNone();
    void inferenceSaysWhatClashes();
    void whatIsMissingIsSaid_data();
    void whatIsMissingIsSaid();
    void threadsMayAskAtOnce();
    void textErrorsNameThePlace();
};

void tst_schema::versionInForceAtAnOpset_data() {
    QTest::addColumn<QString>("op");
    QTest::addColumn<qint64>("opset");
    QTest::addColumn<qint64>("since"); // 0: not there
    // ONNX Changelog.md
    QTest::newRow("Softmax at 12") << "Softmax" << qint64(12) << qint64(11);
    QTest::newRow("Softmax at 13") << "Softmax" << qint64(13) << qint64(13);
    QTest::newRow("Relu at 5") << "Relu" << qint64(5) << qint64(1);
    QTest::newRow("Gelu at 19") << "Gelu" << qint64(19) << qint64(0);
    QTest::newRow("Gelu at 20") << "Gelu" << qint64(20) << qint64(20);
    QTest::newRow("nobody's") << "Frobnicate" << qint64(21) << qint64(0);
    QTest::newRow("no opset") << "Relu" << qint64(0) << qint64(0);
}

void tst_schema::versionInForceAtAnOpset() {
    QFETCH(const QString, op);
    QFETCH(const qint64, opset);
    QFETCH(const qint64, since);
    const OperatorSchema* schema = findSchema(op.toStdString(), "", opset);
    QCOMPARE(schema ? schema->sinceVersion : 0, since);
    QCOMPARE(schema, findSchema(op.toStdString(), "ai.onnx", opset));
}

void tst_schema::newestSchemas() {
    // ONNX 1.23.2: opset 28; ai.onnx 203 operators, ai.onnx.ml 19, preview.training 4, preview 1.
    QCOMPARE(newestOpset(""), 28);
    QCOMPARE(newestOpset("ai.onnx.ml"), 5);
    QCOMPARE(newestOpset("com.example"), 0);
    std::map<std::string, int> counts;
    for (const OperatorSchema* schema : nabla::engine::newestSchemas()) {
        ++counts[schema->domain];
        QVERIFY(!schema->name.empty());
    }
    QCOMPARE(counts[""], 204); // and SimplifiedLayerNormalization, which onnxruntime puts there
    QCOMPARE(newestOpset("com.microsoft"), 1);
    QCOMPARE(counts["com.microsoft"], 40); // tests/data/contrib/README.md
    QCOMPARE(counts["ai.onnx.ml"], 19);
    QCOMPARE(counts["ai.onnx.preview.training"], 4);
}

void tst_schema::defaultsAreFound() {
    const Graph graph = parse("g (float[2,3] x) => (y) { y = LeakyRelu (x) }");
    const auto alpha = attributeOrDefault(only(graph), "alpha", 16);
    QVERIFY(alpha && std::get<float>(*alpha) == 0.01F);
    QVERIFY(!attributeOrDefault(only(graph), "nothing", 16));
    const Graph given = parse("g (float[2,3] x) => (y) { y = LeakyRelu <alpha = 0.5> (x) }");
    QCOMPARE(std::get<float>(*attributeOrDefault(only(given), "alpha", 16)), 0.5F);
}

void tst_schema::variadicParameters() {
    const OperatorSchema* concat = findSchema("Concat", "", 21);
    QCOMPARE(concat->input(7)->name, std::string("inputs"));
    QVERIFY(!concat->output(1));
    const OperatorSchema* clip = findSchema("Clip", "", 21);
    QVERIFY(clip->input(1)->kind == FormalParameter::Kind::Optional);
    QVERIFY(!clip->input(3));
    QVERIFY(concat->attribute("axis")->required);
}

void tst_schema::staticFunctionBody() {
    const Graph graph = parse("g (float[2,3] x) => (y) { y = Softplus (x) }");
    const auto body = functionBody(only(graph), graph.opset(""), {}, graph.ids());
    QVERIFY2(body && *body, body ? "" : body.error().message().c_str());
    QCOMPARE((*body)->inputs().size(), 1U); // ln(exp(x) + 1)
    const auto ops = operators(**body);
    QVERIFY(std::find(ops.begin(), ops.end(), "Exp") != ops.end() && std::find(ops.begin(), ops.end(), "Log") != ops.end());
    QVERIFY((*body)->opset("") > 0);
}

void tst_schema::contextDependentFunctionBody() {
    const Graph graph = parse("g (float[2,3] x) => (y) { y = LogSoftmax <axis = 0> (x) }");
    const auto body = functionBody(only(graph), graph.opset(""), {ValueType::tensor(DType::Float32, Shape{2, 3})}, graph.ids());
    QVERIFY2(body && *body, body ? "" : body.error().message().c_str());
    bool refers = false;
    (*body)->forEachNode([&](const Node& node) {
        for (const Attribute& attribute : node.attributes)
            refers = refers || std::holds_alternative<AttributeReference>(attribute.value);
        const Value* output = (*body)->value(node.outputs[0]);
        QVERIFY(output && output->id.value > graph.outputs()[0].value); // ids of the same document
    });
    QVERIFY(!refers);
}

void tst_schema::operatorWithoutBodyHasNone() {
    const Graph graph = parse("g (float[2,3] x) => (y) { y = Exp (x) }");
    const auto body = functionBody(only(graph), graph.opset(""), {}, graph.ids());
    QVERIFY(body && !*body);
}

void tst_schema::inferenceSaysWhatClashes() {
    const Graph graph = parse("g (float[2,3] x, float[4,5] z) => (y) { y = MatMul (x, z) }");
    InferenceInputs inputs;
    inputs.types = {ValueType::tensor(DType::Float32, Shape{2, 3}), ValueType::tensor(DType::Float32, Shape{4, 5})};
    const auto clash = inferNodeTypes(graph, only(graph), inputs, {});
    QVERIFY(!clash && clash.error().kind() == ErrorKind::Run);
    QVERIFY2(!clash.error().message().starts_with('['), clash.error().message().c_str());
    inputs.types[1] = ValueType::tensor(DType::Float32, SymbolicShape{Dim(3), Dim::symbol("a") + Dim(1)});
    const auto fine = inferNodeTypes(graph, only(graph), inputs, {});
    QVERIFY(fine);
    QCOMPARE(QString::fromStdString((*fine)[0].text()), QString("float32[2,a+1]")); // the expression comes back as one
    QVERIFY(((*(*fine)[0].shape)[1] - Dim::symbol("a")).constant() == 1);
}

void tst_schema::whatIsMissingIsSaid_data() {
    QTest::addColumn<QString>("nodes");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const char* nodes, const char* message) { QTest::newRow(name) << nodes << message; };
    row("complete", "y = Relu (x)", "");
    row("optional ones left out", "y = Clip (x)", "");
    row("none where one is demanded", "y = ReduceMax ()", "input 1 \"data\" is missing");
    row("left out by an empty name", "y = EyeLike (\"\")", "input 1 \"input\" is missing");
    row("the second", "y = Add (x)", "input 2 \"B\" is missing");
    row("no part of a variadic one", "y = Concat <axis = 0> ()", "it has 0 inputs, the operator at least 1");
    row("too many", "y = Relu (x, x)", "it has 2 inputs, the operator 1");
    row("too many outputs", "y, z = Relu (x)", "it has 2 outputs, the operator 1");
    row("unknown operator", "y = Frobnicate (x, x)", "");
}

void tst_schema::whatIsMissingIsSaid() {
    QFETCH(QString, nodes);
    QFETCH(QString, message);
    const Graph graph = parse(QStringLiteral("g (float[2] x) => (y) { %1 }").arg(nodes).toUtf8().constData());
    const auto checked = checkArity(only(graph), graph.opset(""));
    QCOMPARE(checked ? QString() : QString::fromStdString(checked.error().message()), message);
    InferenceInputs inputs; // the library's own inference would read what is not there
    inputs.types.assign(only(graph).inputs.size(), ValueType::tensor(DType::Float32, Shape{2}));
    QCOMPARE(inferNodeTypes(graph, only(graph), inputs, {}).has_value(), message.isEmpty());
}

void tst_schema::threadsMayAskAtOnce() {
    std::vector<std::jthread> threads;
    std::atomic<int> found = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (std::int64_t opset = 1; opset <= 28; ++opset)
                found += findSchema("Add", "", opset) != nullptr;
        });
    }
    threads.clear();
    QCOMPARE(found.load(), 4 * 28);
}

void tst_schema::textErrorsNameThePlace() {
    const auto graph = parseGraphText("g (float[2] x) => (float[2] y) { y = Relu x }");
    QVERIFY(!graph);
    QVERIFY2(graph.error().message().find("line") != std::string::npos, graph.error().message().c_str());
}

QTEST_GUILESS_MAIN(tst_schema)
#include "tst_schema.moc"
