// ai.onnx.preview.training.Gradient: cuts at intermediate values, values of its own, nodes on top of nodes, faults. Expected
// numbers are closed forms.
#include <cmath>

#include <QTest>

#include "engine/passes/pass.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

const std::string kHeader = "<ir_version: 10, opset_import: [\"\" : 12, \"ai.onnx.preview.training\" : 1]> ";

Result<Graph> legalizedText(const std::string& text) {
    NABLA_TRY(const Graph graph, parseGraphText(kHeader + text));
    return legalized(graph);
}

Result<NamedValues> run(const Graph& graph, const NamedValues& inputs) {
    SessionOptions options;
    options.threads = 1;
    NABLA_TRY(const auto session, Session::create(graph, options));
    return session->run(inputs);
}

Tensor doubles(const std::vector<double>& values) {
    return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

void compare(const NamedValues& values, const std::string& name, const std::vector<double>& expected) {
    const auto it = values.find(name);
    QVERIFY2(it != values.end(), name.c_str());
    QCOMPARE(it->second.tensor().elementCount(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
        QVERIFY(std::abs(it->second.tensor().asDouble(static_cast<std::int64_t>(i)) - expected[i]) <= 1e-12);
}

} // namespace

#define KEEP(variable, ...)                                                                                            \
    const auto variable = (__VA_ARGS__);                                                                               \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())

class TstGradientNodes : public QObject {
    Q_OBJECT

private slots:
    /// y = h x with h = x^2: cut at h, the slope in h is x; cut nowhere, the slope in x is 3 x^2.
    void cutAtAnIntermediateValue() {
        KEEP(graph,
            legalizedText("g (double[2] x) => (double[2] dh, double[2] dx) { h = Mul (x, x) y = Mul (h, x) "
                          "dh = ai.onnx.preview.training.Gradient <xs = [\"h\"], zs = [\"x\"], y = \"y\"> (h, x) "
                          "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }"));
        graph->forEachNode([&](const Node& node) { QVERIFY(node.domain.empty()); });
        KEEP(values, run(*graph, {{"x", doubles({2, -3})}}));
        compare(*values, "dh", {2, -3});
        compare(*values, "dx", {12, 27});
    }

    /// The gradient is taken at the values that the node gets.
    void atOtherValues() {
        KEEP(graph,
            legalizedText("g (double[2] x, double[2] at) => (double[2] y, double[2] d) { y = Sin (x) "
                          "d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (at) }"));
        KEEP(values, run(*graph, {{"x", doubles({2, -3})}, {"at", doubles({0.5, 1})}}));
        compare(*values, "y", {std::sin(2.0), std::sin(-3.0)});
        compare(*values, "d", {std::cos(0.5), std::cos(1.0)});
    }

    /// y of the second node is the result of the first; an output that is not wanted; one variable y does not depend on.
    void secondDerivative() {
        KEEP(graph,
            legalizedText("g (double[2] w, double[2] x) => (double[2] dw, double[2] dwdw, double[2] dwdx) { "
                          "p = Mul (w, w) q = Mul (p, w) y = Mul (q, x) "
                          ", dw = ai.onnx.preview.training.Gradient <xs = [\"x\", \"w\"], y = \"y\"> (x, w) "
                          "dwdx, dwdw = ai.onnx.preview.training.Gradient <xs = [\"x\", \"w\"], y = \"dw\"> (x, w) }"));
        KEEP(values, run(*graph, {{"w", doubles({2, -1})}, {"x", doubles({0.5, 3})}}));
        compare(*values, "dw", {3 * 4 * 0.5, 3 * 1 * 3.0}); // 3 w^2 x
        compare(*values, "dwdw", {6 * 2 * 0.5, 6 * -1 * 3.0}); // 6 w x
        compare(*values, "dwdx", {3 * 4, 3 * 1}); // 3 w^2
    }

    void insideABodyAndAFunction() {
        KEEP(graph,
            parseGraphText("<ir_version: 10, opset_import: [\"\" : 12, \"my\" : 1, \"ai.onnx.preview.training\" : 1]> "
                           "g (bool c, double[2] x) => (double[2] d, double[2] e) { d = If (c) <then_branch = t () => (double[2] a) { "
                           "h = Identity (x) s = Sin (h) a = ai.onnx.preview.training.Gradient <xs = [\"h\"], y = \"s\"> (h) }, "
                           "else_branch = f () => (double[2] b) { b = Neg (x) }> e = my.slope (x) } "
                           "<domain: \"my\", opset_import: [\"\" : 12, \"ai.onnx.preview.training\" : 1]> slope (u) => (v) { w = Mul (u, u) "
                           "v = ai.onnx.preview.training.Gradient <xs = [\"u\"], y = \"w\"> (u) }"));
        KEEP(legal, legalized(*graph));
        KEEP(values, run(*legal, {{"c", Tensor::scalar(true)}, {"x", doubles({0.5, 1})}}));
        compare(*values, "d", {std::cos(0.5), std::cos(1.0)});
        compare(*values, "e", {1, 2});
    }

    void faults_data() {
        QTest::addColumn<QString>("node");
        QTest::addColumn<QString>("message");
        QTest::newRow("name") << "<xs = [\"nobody\"], y = \"y\"> (x)" << "names \"nobody\", which is no value";
        QTest::newRow("count") << "<xs = [\"x\"], y = \"y\"> (x, x)" << "name 1 values, and 2 are given";
        QTest::newRow("twice") << "<xs = [\"x\", \"x\"], y = \"y\"> (x, x)" << "stands twice";
        QTest::newRow("no y") << "<xs = [\"x\"]> (x)" << "have to name";
        QTest::newRow("itself") << "<xs = [\"x\"], y = \"d\"> (x)" << "no earlier node";
    }
    void faults() {
        QFETCH(QString, node);
        QFETCH(QString, message);
        const auto graph = legalizedText("g (double[2] x) => (double[2] y, double[2] d) { y = Sin (x) d = ai.onnx.preview.training.Gradient "
            + node.toStdString() + " }");
        QVERIFY(!graph);
        QVERIFY2(graph.error().message().find(message.toStdString()) != std::string::npos, graph.error().message().c_str());
    }
};

QTEST_APPLESS_MAIN(TstGradientNodes)
#include "tst_gradient_nodes.moc"
