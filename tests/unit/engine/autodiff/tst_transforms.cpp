// jvp, hvp and vmap: closed forms, u . (J v) = (vjp u) . v on every case of tests/data/grad, vmap as a loop over examples.
#include <cmath>

#include <QTest>

#include "engine/autodiff/grad.h"
#include "engine/autodiff/hvp.h"
#include "engine/autodiff/jvp.h"
#include "engine/autodiff/vmap.h"
#include "engine/schema/text_form.h"
#include "tests/unit/engine/autodiff/transform_cases.h"

using namespace nabla::engine;
using namespace nabla::tests;

namespace {

#define KEEP(variable, ...)                                                                                            \
    const auto variable = (__VA_ARGS__);                                                                               \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())

void addCases() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : gradCaseNames())
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

void compareElements(const NamedValues& values, const std::string& name, const std::vector<double>& expected) {
    const auto it = values.find(name);
    QVERIFY2(it != values.end(), name.c_str());
    QCOMPARE(it->second.tensor().elementCount(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double actual = it->second.tensor().asDouble(static_cast<std::int64_t>(i));
        QVERIFY2(std::abs(actual - expected[i]) <= 1e-12 * std::max(1.0, std::abs(expected[i])),
            fmt::format("{}[{}]: {} against {}", name, i, actual, expected[i]).c_str());
    }
}

Tensor doubles(const std::vector<double>& values) {
    return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

} // namespace

class TstTransforms : public QObject {
    Q_OBJECT

private slots:
    void jvpOfAProductIsTheProductRule() {
        KEEP(graph, parseGraphText("g (double[2] a, double[2] b) => (double[2] y) { s = Sin (a) y = Mul (s, b) }"));
        KEEP(forward, jvp(*graph, {}));
        const auto outputs = forward->graph.outputs();
        QCOMPARE(outputs.size(), std::size_t{2});
        QCOMPARE(nameOf(forward->graph, outputs[1]), std::string("tangent:y"));
        KEEP(values,
            runInDouble(forward->graph,
                {{"a", doubles({0.5, 1})}, {"b", doubles({2, -3})}, {"tangent:a", doubles({1, 0.25})},
                    {"tangent:b", doubles({-1, 4})}}));
        // d(sin(a) b) = cos(a) b da + sin(a) db
        compareElements(*values, "tangent:y",
            {std::cos(0.5) * 2 * 1 - std::sin(0.5), std::cos(1.0) * -3 * 0.25 + std::sin(1.0) * 4});
    }

    void hvpOfACubicIsSixXTimesV() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[2] y) { s = Mul (x, x) y = Mul (s, x) }"));
        KEEP(second, hvp(*graph, {}));
        KEEP(values, runInDouble(second->graph, {{"x", doubles({0.5, -2})}, {"direction:x", doubles({3, 1})}}));
        compareElements(*values, "hvp:x", {6 * 0.5 * 3, 6 * -2.0});
        compareElements(*values, "grad:x", {3 * 0.25, 3 * 4.0});
    }

    void jvpOfAJvpIsTheSecondDerivative() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[2] y) { y = Sin (x) }"));
        KEEP(once, jvp(*graph, {}));
        JvpOptions options;
        options.of = {named(once->graph, "tangent:y")};
        options.wrt = {named(once->graph, "x")};
        KEEP(twice, jvp(once->graph, options));
        const std::string second = nameOf(twice->graph, twice->tangentInput.at(options.wrt[0]));
        const std::string result = nameOf(twice->graph, twice->tangentOf.at(options.of[0]));
        KEEP(values,
            runInDouble(twice->graph, {{"x", doubles({0.3, 2})}, {"tangent:x", doubles({1, 2})}, {second, doubles({5, 1})}}));
        compareElements(*values, result, {-std::sin(0.3) * 5, -std::sin(2.0) * 2});
    }

    void forwardIsTheTransposeOfReverse_data() { addCases(); }
    void forwardIsTheTransposeOfReverse() {
        QFETCH(QString, name);
        KEEP(loaded, loadGradCase(gradCasesFolder() / name.toStdString()));
        KEEP(forward, jvp(loaded->graph, {loaded->of, loaded->wrt, {}}));
        GradOptions reverseOptions;
        reverseOptions.of = loaded->of;
        reverseOptions.wrt = loaded->wrt;
        KEEP(reverse, grad(loaded->graph, reverseOptions));
        std::mt19937_64 random(7);
        NamedValues inputs = loaded->inputs;
        for (const auto& [value, input] : forward->tangentInput)
            inputs[nameOf(forward->graph, input)]
                = randomLike(loaded->inputs.at(nameOf(loaded->graph, value)).tensor(), random);
        KEEP(tangents, runInDouble(forward->graph, inputs));
        NamedValues backInputs = loaded->inputs;
        double left = 0, right = 0, size = 1e-3;
        for (const auto& [value, tangent] : forward->tangentOf) {
            const Tensor& jv = tangents->at(nameOf(forward->graph, tangent)).tensor();
            QCOMPARE(jv.shape(), tangents->at(nameOf(loaded->graph, value)).tensor().shape());
            const Tensor u = randomLike(jv, random);
            backInputs[nameOf(reverse->graph, reverse->cotangentInput.at(value))] = u;
            left += dot(u, jv);
            size += sizeOf(u, jv);
        }
        KEEP(gradients, runInDouble(reverse->graph, backInputs));
        for (const auto& [value, input] : forward->tangentInput) {
            const Tensor& g = gradients->at(nameOf(reverse->graph, reverse->gradientOf.at(value))).tensor();
            const Tensor& v = inputs.at(nameOf(forward->graph, input)).tensor();
            right += dot(g, v);
            size += sizeOf(g, v);
        }
        if (left == right || (std::isnan(left) && std::isnan(right)))
            return; // edge cases: infinite or not a number either way
        if (name == "where_nan_in_unselected_branch") {
            // Reverse mode multiplies the zero cotangent of the branch by an infinite slope; forward mode selects afterwards.
            QVERIFY(std::isfinite(left) && std::isnan(right));
            return;
        }
        QVERIFY2(std::abs(left - right) <= 1e-10 * size,
            fmt::format("u.(Jv) = {:.17g}, (vjp u).v = {:.17g}", left, right).c_str());
    }

    void vmapIsALoopOverTheExamples() {
        KEEP(graph,
            parseGraphText("g (double[2,3] x, double[3] w) => (double[2] y, double[3] k) { p = Mul (x, w) axes = Constant "
                           "<value_ints = [1]> () y = ReduceSum <keepdims = 0> (p, axes) k = Neg (w) }"));
        VmapOptions options;
        options.over = {named(*graph, "x")};
        KEEP(mapped, vmap(*graph, options));
        QCOMPARE(nameOf(mapped->graph, mapped->graph.inputs()[0]), std::string("x"));
        QVERIFY(!mapped->notes.empty());
        std::vector<double> x;
        for (int i = 0; i < 24; ++i)
            x.push_back(0.25 * i - 1);
        const NamedValues shared{{"w", doubles({1, -2, 3})}};
        NamedValues all = shared;
        all["x"] = Tensor::of<double>({4, 2, 3}, x);
        KEEP(batch, runInDouble(mapped->graph, all));
        const Tensor& y = batch->at("y").tensor();
        QCOMPARE(y.shape(), (Shape{4, 2}));
        QCOMPARE(batch->at("k").tensor().shape(), (Shape{4, 3}));
        for (std::size_t example = 0; example < 4; ++example) {
            NamedValues one = shared;
            const auto first = x.begin() + static_cast<std::ptrdiff_t>(6 * example);
            one["x"] = Tensor::of<double>({2, 3}, std::vector<double>(first, first + 6));
            KEEP(single, runInDouble(*graph, one));
            for (std::int64_t i = 0; i < 2; ++i)
                QCOMPARE(y.asDouble(static_cast<std::int64_t>(example) * 2 + i), single->at("y").tensor().asDouble(i));
        }
    }

    void vmapComposesWithGrad() {
        KEEP(graph, parseGraphText("g (double[2] x, double[2] w) => (double[2] y) { p = Mul (x, w) y = Mul (p, p) }"));
        GradOptions ones;
        ones.cotangents = GradOptions::Cotangents::Ones;
        ones.wrt = {named(*graph, "w")};
        // Gradient of every example alone, and the gradient of the whole batch through the Scan.
        KEEP(joint, grad(*graph, ones));
        VmapOptions options;
        options.over = {named(joint->graph, "x")};
        KEEP(each, vmap(joint->graph, options));
        const NamedValues inputs{{"x", Tensor::of<double>({2, 2}, std::vector<double>{1, 2, 3, 4})}, {"w", doubles({0.5, -1})}};
        KEEP(perExample, runInDouble(each->graph, inputs));
        compareElements(*perExample, "grad:w", {2 * 1 * 0.5, 2 * 4 * -1.0, 2 * 9 * 0.5, 2 * 16 * -1.0}); // 2 x^2 w
        VmapOptions over;
        over.over = {named(*graph, "x")};
        KEEP(mapped, vmap(*graph, over));
        ones.wrt = {named(mapped->graph, "w")};
        KEEP(back, grad(mapped->graph, ones));
        KEEP(summed, runInDouble(back->graph, inputs));
        compareElements(*summed, "grad:w", {2 * (1 + 9) * 0.5, 2 * (4 + 16) * -1.0});
    }

    void vmapRefusesWhatIsNoInput() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[2] y) { y = Neg (x) }"));
        VmapOptions options;
        QVERIFY(!vmap(*graph, options));
        options.over = {named(*graph, "y")};
        const auto refused = vmap(*graph, options);
        QVERIFY(!refused);
        QVERIFY(refused.error().message().find("is no input") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TstTransforms)
#include "tst_transforms.moc"
