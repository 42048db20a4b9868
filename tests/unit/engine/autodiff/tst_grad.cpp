// The joint graph: names, links, cut paths, functions, control flow, second derivatives. Expected numbers are closed
// forms.
#include <algorithm>
#include <cmath>

#include <QTest>

#include "engine/autodiff/grad.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

ValueId named(const Graph& graph, std::string_view name) {
    ValueId found;
    graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = value.id;
    });
    return found;
}

std::vector<std::string> names(const Graph& graph, std::span<const ValueId> values) {
    std::vector<std::string> out;
    for (const ValueId id : values)
        out.push_back(graph.value(id)->name);
    return out;
}

Result<NamedValues> run(const Graph& graph, const NamedValues& inputs) {
    SessionOptions options;
    options.mode = ExecutorMode::Eager;
    options.threads = 1;
    options.optimisedKernels = false;
    auto session = Session::create(graph, options);
    if (!session)
        return session.error();
    return (*session)->run(inputs);
}

Tensor doubles(const std::vector<double>& values) {
    return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

GradOptions ones() {
    GradOptions options;
    options.cotangents = GradOptions::Cotangents::Ones;
    return options;
}

void compareElements(const NamedValues& values, const std::string& name, const std::vector<double>& expected) {
    const auto it = values.find(name);
    QVERIFY2(it != values.end(), name.c_str());
    const Tensor& tensor = it->second.tensor();
    QCOMPARE(tensor.elementCount(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double actual = tensor.asDouble(static_cast<std::int64_t>(i));
        QVERIFY2(std::abs(actual - expected[i]) <= 1e-12 * std::max(1.0, std::abs(expected[i])),
            fmt::format("{}[{}]: {} against {}", name, i, actual, expected[i]).c_str());
    }
}

} // namespace

// A failed QVERIFY inside a helper must end the case too.
#define RUN_AND_KEEP(variable, graph, ...)                                                                             \
    const auto variable = run(graph, __VA_ARGS__);                                                                     \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())
#define KEEP(variable, ...)                                                                                            \
    const auto variable = (__VA_ARGS__);                                                                               \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())

class TstGrad : public QObject {
    Q_OBJECT

private slots:
    void outputsAndInputsAreNamed() {
        KEEP(graph,
            parseGraphText("g (double[2] a, double[2] b, double[2] \"cotangent:y\") => (double[2] y) { s = Add (a, b) "
                           "y = Mul (s, \"cotangent:y\") }"));
        GradOptions options;
        options.wrt = {named(*graph, "a"), named(*graph, "b")};
        KEEP(joint, grad(*graph, options));
        QCOMPARE(names(joint->graph, joint->graph.outputs()), (std::vector<std::string>{"y", "grad:a", "grad:b"}));
        QCOMPARE(names(joint->graph, joint->graph.inputs()),
            (std::vector<std::string>{"a", "b", "cotangent:y", "cotangent:y_2"}));
        QCOMPARE(joint->cotangentInput.size(), std::size_t{1});
    }

    void backwardNodesKnowTheirForwardNode() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[2] y) { s = Sin (x) y = Mul (s, x) }"));
        KEEP(joint, grad(*graph, {}));
        std::size_t backward = 0;
        joint->graph.forEachNode([&](const Node& node) {
            if (graph->node(node.id)) {
                QVERIFY(graph->node(node.id) == joint->graph.node(node.id)); // the very same object
                return;
            }
            ++backward;
            QVERIFY2(graph->node(node.gradientOf), describe(node).c_str());
            QVERIFY(node.createdBy && node.createdBy->starts_with("grad/"));
            QVERIFY(!node.origins.empty() && graph->node(node.origins.front()));
        });
        QVERIFY(backward >= 3);
    }

    void cotangentsOfSeveralReadersAdd() {
        KEEP(graph,
            parseGraphText(
                "g (double[2] x) => (double[2] y) { a = Mul (x, x) b = Mul (a, x) c = Add (a, b) y = Add (c, x) }"));
        KEEP(joint, grad(*graph, ones()));
        RUN_AND_KEEP(values, joint->graph, {{"x", doubles({2, -3})}});
        compareElements(*values, "grad:x", {2 * 2.0 + 3 * 4.0 + 1, 2 * -3.0 + 3 * 9.0 + 1}); // x^2 + x^3 + x
    }

    void unreachedInputGetsZeros() {
        KEEP(graph,
            parseGraphText("g (double[2] x, double[3] z) => (double[2] y, double[3] w) { y = Sin (x) w = Cos (z) }"));
        GradOptions options = ones();
        options.of = {named(*graph, "y")};
        options.wrt = {named(*graph, "z")};
        KEEP(joint, grad(*graph, options));
        QCOMPARE(joint->notes.size(), std::size_t{1});
        RUN_AND_KEEP(values, joint->graph, {{"x", doubles({1, 2})}, {"z", doubles({1, 2, 3})}});
        compareElements(*values, "grad:z", {0, 0, 0});
    }

    void integersCutThePath() {
        KEEP(graph,
            parseGraphText(
                "g (double[2] x) => (double[2] y) { i = Cast <to = 7> (x) f = Cast <to = 11> (i) y = Mul (f, x) }"));
        KEEP(joint, grad(*graph, ones()));
        RUN_AND_KEEP(values, joint->graph, {{"x", doubles({2.5, -3.5})}});
        compareElements(*values, "grad:x", {2, -3}); // trunc(x) * x, the first factor constant
    }

    void unknownOperatorOnTheWayIsNamed() {
        KEEP(graph,
            parseGraphText("<ir_version: 10, opset_import: [\"\" : 28, \"other\" : 1]> g (double[2] x) => (double[2] "
                           "y) { a = other.Strange (x) y = Sin (a) }"));
        GradOptions options = ones();
        options.wrt = {named(*graph, "x")};
        const auto joint = grad(*graph, options);
        QVERIFY(!joint);
        QVERIFY2(joint.error().message().find("other.Strange") != std::string::npos, joint.error().message().c_str());
    }

    void integerValueIsRefused() {
        KEEP(graph, parseGraphText("g (double[2] x, int64[2] i) => (double[2] y) { y = Sin (x) }"));
        GradOptions options;
        options.wrt = {named(*graph, "i")};
        const auto joint = grad(*graph, options);
        QVERIFY(!joint);
        QCOMPARE(joint.error().kind(), ErrorKind::Usage);
    }

    void modelFunctionIsInlined() {
        KEEP(graph,
            parseGraphText(
                "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (double[2] x) => (double[2] y) { y = "
                "my.cube (x) }"
                "<domain: \"my\", opset_import: [\"\" : 28]> cube (a) => (c) { b = Mul (a, a) c = Mul (a, b) }"));
        KEEP(joint, grad(*graph, ones()));
        QVERIFY(joint->graph.value(graph->outputs()[0])); // the output keeps its id
        RUN_AND_KEEP(values, joint->graph, {{"x", doubles({2, -1})}});
        compareElements(*values, "grad:x", {12, 3});
    }

    void gradientOfTheGradient() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[2] y) { a = Mul (x, x) b = Mul (a, x) y = Sin (b) }"));
        KEEP(first, grad(*graph, ones()));
        GradOptions options = ones();
        options.of = {first->graph.outputs()[1]};
        options.wrt = {named(first->graph, "x")};
        KEEP(second, grad(first->graph, options));
        RUN_AND_KEEP(values, second->graph, {{"x", doubles({0.5, -1.25})}});
        const auto expected
            = [](double x) { return 6 * x * std::cos(x * x * x) - 9 * x * x * x * x * std::sin(x * x * x); };
        compareElements(*values, "grad:x_2", {expected(0.5), expected(-1.25)});
    }

    void branchThatIsTaken() {
        KEEP(graph, parseGraphText(R"(g (bool c, double[2] x, double[2] w) => (double[2] y) {
            u = Mul (x, w)
            y = If (c) <then_branch = t () => (double[2] a) { s = Sin (u) a = Mul (s, x) }, else_branch = e () => (double[2] b) { b = Neg (u) }> })"));
        KEEP(joint, grad(*graph, ones()));
        for (const bool taken : {true, false}) {
            RUN_AND_KEEP(values, joint->graph,
                {{"c", Tensor::scalar(taken)}, {"x", doubles({0.5, 2})}, {"w", doubles({3, -1})}});
            const auto dw = [&](double x, double w) { return taken ? x * x * std::cos(x * w) : -x; };
            const auto dx = [&](double x, double w) { return taken ? std::sin(x * w) + x * w * std::cos(x * w) : -w; };
            compareElements(*values, "grad:w", {dw(0.5, 3), dw(2, -1)});
            compareElements(*values, "grad:x", {dx(0.5, 3), dx(2, -1)});
        }
    }

    /// y = x^(1 + n) by n multiplications with a captured x, and the powers on the way as scan output; twice
    /// differentiated.
    void loopTwice() {
        KEEP(graph, parseGraphText(R"(g (int64 n, double[2] x) => (double[2] y, double[k,2] all) {
            yes = Constant <value = bool {1}> ()
            y, all = Loop (n, yes, x) <body = b (int64 i, bool go, double[2] p) => (bool go_on, double[2] q, double[2] each) { go_on = Identity (go) q = Mul (p, x) each = Identity (p) }> })"));
        GradOptions options = ones();
        options.wrt = {named(*graph, "x")};
        options.of = {named(*graph, "y")};
        KEEP(first, grad(*graph, options));
        RUN_AND_KEEP(values, first->graph, {{"n", Tensor::scalar<std::int64_t>(3)}, {"x", doubles({2, -1})}});
        compareElements(*values, "grad:x", {4 * 8, 4 * -1}); // x^4
        RUN_AND_KEEP(none, first->graph, {{"n", Tensor::scalar<std::int64_t>(0)}, {"x", doubles({2, -1})}});
        compareElements(*none, "grad:x", {1, 1});

        GradOptions again = ones();
        again.of = {named(first->graph, "grad:x")};
        again.wrt = {named(first->graph, "x")};
        KEEP(second, grad(first->graph, again));
        RUN_AND_KEEP(curved, second->graph, {{"n", Tensor::scalar<std::int64_t>(3)}, {"x", doubles({2, -1})}});
        compareElements(*curved, "grad:x_2", {12 * 4, 12});
    }

    void longChainIsNoTrouble() {
        std::string text = "g (double[1] x) => (double[1] y) {\n";
        constexpr int kNodes = 20000;
        for (int i = 0; i < kNodes; ++i)
            text += fmt::format("{} = {} ({})\n", i + 1 == kNodes ? "y" : fmt::format("v{}", i), i % 2 ? "Neg" : "Sin",
                i == 0 ? "x" : fmt::format("v{}", i - 1));
        KEEP(graph, parseGraphText(text + "}"));
        KEEP(joint, grad(*graph, {}));
        QVERIFY(joint->graph.nodeCount() >= 2 * kNodes);
        QVERIFY(joint->graph.nodeCount() <= 4 * kNodes);
    }
};

QTEST_APPLESS_MAIN(TstGrad)
#include "tst_grad.moc"
