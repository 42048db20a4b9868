// Transforms over transforms, on the sample models and the control-flow cases: the gradient of the gradient against central differences, forward
// mode against the transposed reverse mode, whole Jacobians and Hessians against torch and closed forms.
#include <cmath>

#include <QTest>

#include <fmt/format.h>

#include "engine/autodiff/grad.h"
#include "engine/autodiff/hvp.h"
#include "engine/autodiff/jacobian.h"
#include "engine/autodiff/jvp.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/importer.h"
#include "engine/importers/values/npz.h"
#include "engine/passes/pass.h"
#include "engine/schema/text_form.h"
#include "tests/unit/engine/autodiff/transform_cases.h"

using namespace nabla::engine;
using namespace nabla::tests;

namespace {

#define KEEP(variable, ...)                                                                                            \
    const auto variable = (__VA_ARGS__);                                                                               \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())

struct Sample {
    const char *name, *of;
};
constexpr Sample kSamples[] = {{"digits_mlp", "loss"}, {"digits_cnn", "loss"}, {"control_flow", "root"}, {"rnn_loop", "loss"},
    {"scan_filter", "smooth"}, {"karate_gnn", "loss"}, {"two_tower", "loss"}, {"cart_pole", "loss"}, {"tiny_gpt", "loss"}};

/// Samples, then the cases of tests/data/grad whose names say that they have control flow.
void addModels() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("of");
    for (const Sample& each : kSamples)
        QTest::newRow(each.name) << each.name << each.of;
    for (const std::string& name : gradCaseNames()) {
        if (name.starts_with("if_") || name.starts_with("loop_") || name.starts_with("scan_"))
            QTest::newRow(name.c_str()) << QString::fromStdString(name) << "";
    }
}

Result<TransformCase> load(const QString& name, const QString& of) {
    return of.isEmpty() ? loadGradCase(gradCasesFolder() / name.toStdString()) : loadSample(name.toStdString(), of.toStdString());
}

Tensor valueOf(const TransformCase& model, ValueId id) {
    const auto it = model.inputs.find(nameOf(model.graph, id));
    return it != model.inputs.end() ? it->second.tensor() : *model.graph.value(id)->constant;
}

/// The values `wrt` of the graph moved by step * direction.
Result<NamedValues> runMoved(const Graph& graph, NamedValues inputs, const TransformCase& model, const std::vector<ValueId>& wrt,
    const std::vector<Tensor>& directions, double step) {
    GraphEditor editor(graph);
    for (std::size_t k = 0; k < wrt.size(); ++k) {
        const Tensor base = valueOf(model, wrt[k]);
        std::vector<double> moved(static_cast<std::size_t>(base.elementCount()));
        for (std::size_t i = 0; i < moved.size(); ++i)
            moved[i] = base.asDouble(static_cast<std::int64_t>(i)) + step * directions[k].asDouble(static_cast<std::int64_t>(i));
        const Tensor at = Tensor::of<double>(base.shape(), moved);
        const std::string name = nameOf(model.graph, wrt[k]);
        if (inputs.contains(name))
            inputs[name] = at;
        else
            editor.setConstant(wrt[k], std::make_shared<const Tensor>(at));
    }
    return runInDouble(editor.finish(), inputs);
}

/// In proportion to each element, so that a divisor of 16 and a weight of 0.01 both move by a part of themselves; a zero moves as a thousandth of the
/// largest would.
Tensor directionFor(const Tensor& base, std::mt19937_64& random) {
    double largest = 1e-3;
    for (std::int64_t i = 0; i < base.elementCount(); ++i)
        largest = std::max(largest, std::abs(base.asDouble(i)));
    Tensor direction = randomLike(base, random);
    const auto elements = direction.mutableData<double>();
    for (std::size_t i = 0; i < elements.size(); ++i)
        elements[i] *= std::max(std::abs(base.asDouble(static_cast<std::int64_t>(i))), 1e-3 * largest);
    return direction;
}

void compareWithArrays(const NamedValues& made, const NamedTensors& right, const std::string& prefix, double tolerance) {
    std::size_t compared = 0;
    for (const auto& [name, expected] : right) {
        if (!name.starts_with(prefix))
            continue;
        ++compared;
        QVERIFY2(made.contains(name), name.c_str());
        const Tensor& actual = made.at(name).tensor();
        QCOMPARE(actual.shape(), expected.shape());
        double largest = 1e-30, apart = 0;
        for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
            largest = std::max(largest, std::abs(expected.asDouble(i)));
            apart = std::max(apart, std::abs(actual.asDouble(i) - expected.asDouble(i)));
        }
        QVERIFY2(apart <= tolerance * largest, fmt::format("{}: {} of the largest entry", name, apart / largest).c_str());
    }
    QVERIFY(compared > 0);
}

} // namespace

class TstComposed : public QObject {
    Q_OBJECT

private slots:
    void gradientOfTheGradient_data() { addModels(); }
    /// H v against (g(x + h v) - g(x - h v)) / 2h. The error is about h^2 from the third derivative and 1e-16 / h of the gradient from rounding.
    void gradientOfTheGradient() {
        QFETCH(QString, name);
        QFETCH(QString, of);
        KEEP(model, load(name, of));
        HvpOptions options;
        options.of = model->of;
        options.wrt = model->wrt;
        KEEP(second, hvp(model->graph, options));
        GradOptions first;
        first.of = model->of;
        first.wrt = second->wrt;
        first.cotangents = GradOptions::Cotangents::Ones;
        KEEP(joint, grad(model->graph, first));
        std::mt19937_64 random(3);
        std::vector<Tensor> directions;
        NamedValues inputs = model->inputs;
        for (const ValueId value : second->wrt) {
            directions.push_back(directionFor(valueOf(*model, value), random));
            inputs[nameOf(second->graph, second->directionInput.at(value))] = directions.back();
        }
        KEEP(products, runInDouble(second->graph, inputs));
        constexpr double h = 1e-6;
        KEEP(up, runMoved(joint->graph, model->inputs, *model, second->wrt, directions, h));
        KEEP(down, runMoved(joint->graph, model->inputs, *model, second->wrt, directions, -h));
        KEEP(here, runInDouble(joint->graph, model->inputs));
        for (const ValueId value : second->wrt) {
            const std::string gradient = nameOf(joint->graph, joint->gradientOf.at(value));
            const Tensor& product = products->at(nameOf(second->graph, second->productOf.at(value))).tensor();
            const Tensor &a = up->at(gradient).tensor(), &b = down->at(gradient).tensor();
            double largest = 1e-12, size = 1e-12, apart = 0;
            for (std::int64_t i = 0; i < product.elementCount(); ++i) {
                largest = std::max(largest, std::abs(product.asDouble(i)));
                size = std::max(size, std::abs(here->at(gradient).tensor().asDouble(i)));
                apart = std::max(apart, std::abs((a.asDouble(i) - b.asDouble(i)) / (2 * h) - product.asDouble(i)));
            }
            QVERIFY2(apart <= 1e-5 * largest + 1e-9 * size,
                fmt::format("{}: {:.3g} apart, largest entry {:.3g}, gradient {:.3g}", nameOf(model->graph, value), apart, largest, size).c_str());
        }
    }

    void forwardIsTheTransposeOfReverse_data() { addModels(); }
    void forwardIsTheTransposeOfReverse() {
        QFETCH(QString, name);
        QFETCH(QString, of);
        KEEP(model, load(name, of));
        JvpOptions options;
        options.of = model->of;
        options.wrt = model->wrt;
        KEEP(forward, jvp(model->graph, options));
        GradOptions reverseOptions;
        reverseOptions.of = model->of;
        reverseOptions.wrt = forward->wrt;
        KEEP(reverse, grad(model->graph, reverseOptions));
        std::mt19937_64 random(7);
        NamedValues inputs = model->inputs, backInputs = model->inputs;
        for (const auto& [value, input] : forward->tangentInput)
            inputs[nameOf(forward->graph, input)] = directionFor(valueOf(*model, value), random);
        KEEP(tangents, runInDouble(forward->graph, inputs));
        double left = 0, right = 0, size = 0;
        for (const auto& [value, tangent] : forward->tangentOf) {
            const Tensor& jv = tangents->at(nameOf(forward->graph, tangent)).tensor();
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
        QVERIFY(size > 0);
        QVERIFY2(std::abs(left - right) <= 1e-10 * size, fmt::format("u.(Jv) = {:.17g}, (vjp u).v = {:.17g}", left, right).c_str());
    }

    // torch.autograd.functional in float64: tests/data/derivatives/README.md, whose script has this list, too.
    void matricesEqualTorch_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QStringList>("jacobianOf");
        QTest::addColumn<QStringList>("jacobianBy");
        QTest::addColumn<QString>("hessianOf");
        QTest::addColumn<QStringList>("hessianBy");
        QTest::newRow("softmax_layer") << "softmax_layer" << QStringList{"y", "length"} << QStringList{"x", "w", "b"} << "length" << QStringList{"x", "b"};
        QTest::newRow("digits_mlp") << "digits_mlp" << QStringList{"logits"} << QStringList{"layers.fc2.bias", "layers.fc3.bias"} << "loss"
                                    << QStringList{"layers.fc3.bias", "layers.fc2.bias"};
        QTest::newRow("digits_cnn") << "digits_cnn" << QStringList{"logits"} << QStringList{"features.conv1.bias"} << "loss"
                                    << QStringList{"classifier.fc2.bias", "features.bn4.weight"};
        QTest::newRow("karate_gnn") << "karate_gnn" << QStringList{"loss"} << QStringList{"layer2.weight"} << "loss" << QStringList{"layer1.bias", "layer2.weight"};
        QTest::newRow("control_flow") << "control_flow" << QStringList{"root"} << QStringList{"a", "half"} << "root" << QStringList{"a"};
        QTest::newRow("scan_filter") << "scan_filter" << QStringList{"last_p", "smooth"} << QStringList{"start", "start_p", "r"} << "smooth" << QStringList{"start_p", "q"};
        QTest::newRow("rnn_loop") << "rnn_loop" << QStringList{"loss"} << QStringList{"rnn.recurrent"} << "loss" << QStringList{"rnn.bias", "head.weight"};
        QTest::newRow("two_tower") << "two_tower" << QStringList{"loss"} << QStringList{"name.fc2.bias"} << "loss" << QStringList{"log_scale", "picture.fc2.bias"};
        QTest::newRow("tiny_gpt") << "tiny_gpt" << QStringList{"loss"} << QStringList{"ln_f.bias"} << "loss" << QStringList{"ln_f.weight", "blocks.0.ln1.weight"};
    }
    void matricesEqualTorch() {
        QFETCH(QString, name);
        QFETCH(QStringList, jacobianOf);
        QFETCH(QStringList, jacobianBy);
        QFETCH(QString, hessianOf);
        QFETCH(QStringList, hessianBy);
        const std::filesystem::path folder = std::filesystem::path(NABLA_TEST_DATA) / "derivatives";
        KEEP(model, name == "softmax_layer" ? loadLayer(folder) : loadSample(name.toStdString(), hessianOf.toStdString()));
        KEEP(right, readNpz(folder / (name.toStdString() + ".npz")));
        const auto ids = [&](const QStringList& names) {
            std::vector<ValueId> out;
            for (const QString& each : names)
                out.push_back(named(model->graph, each.toStdString()));
            return out;
        };
        const double tolerance = name == "tiny_gpt" ? 1e-7 : 1e-10; // the Gelu's function body in the standard has constants of float32
        JacobianOptions options;
        options.of = ids(jacobianOf);
        options.wrt = ids(jacobianBy);
        KEEP(whole, jacobian(model->graph, options));
        KEEP(blocks, runInDouble(whole->graph, model->inputs));
        compareWithArrays(*blocks, *right, "jacobian:", tolerance);
        if (QTest::currentTestFailed())
            return;
        options.of = ids({hessianOf});
        options.wrt = ids(hessianBy);
        KEEP(second, hessian(model->graph, options));
        KEEP(curvature, runInDouble(second->graph, model->inputs));
        compareWithArrays(*curvature, *right, "hessian:", tolerance);
    }

    /// f = 100 (x1 - x0^2)^2 + (1 - x0)^2 (Rosenbrock): f'' = [[1200 x0^2 - 400 x1 + 2, -400 x0], [-400 x0, 200]].
    void hessianOfRosenbrock() {
        KEEP(graph, parseGraphText("g (double[2] x) => (double[1] f) { a, b = Split <axis = 0, num_outputs = 2> (x) aa = Mul (a, a) d = Sub (b, aa) dd = Mul (d, d) "
                                   "hundred = Constant <value = double {100.0}> () one = Constant <value = double {1.0}> () h = Mul (hundred, dd) e = Sub (one, a) "
                                   "ee = Mul (e, e) f = Add (h, ee) }"));
        KEEP(second, hessian(*graph, {}));
        KEEP(values, runInDouble(second->graph, {{"x", Tensor::of<double>({2}, {-1.25, 0.5})}}));
        const Tensor& h = values->at("hessian:x:x").tensor();
        QCOMPARE(h.shape(), (Shape{2, 2}));
        const double right[] = {1200 * 1.5625 - 200 + 2, 500, 500, 200};
        for (std::int64_t i = 0; i < 4; ++i)
            QCOMPARE(h.asDouble(i), right[i]);
    }

    /// d y_i / d x_j of y = x / |x|^2, with a value that nothing depends on and a size that is known at run time only.
    void jacobianWithSymbolicSizes() {
        KEEP(graph, parseGraphText("g (double[n] x, double[m] z) => (double[n] y) { s = Mul (x, x) q = ReduceSum <keepdims = 0> (s) y = Div (x, q) }"));
        KEEP(whole, jacobian(*graph, {}));
        const std::vector<double> x{1, -2, 3};
        KEEP(values, runInDouble(whole->graph, {{"x", Tensor::of<double>({3}, x)}, {"z", Tensor::of<double>({2}, {1, 1})}}));
        const Tensor& j = values->at("jacobian:y:x").tensor();
        QCOMPARE(j.shape(), (Shape{3, 3}));
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t column = 0; column < 3; ++column) {
                const double right = (row == column ? 1.0 / 14 : 0) - 2 * x[row] * x[column] / 196;
                QVERIFY(std::abs(j.asDouble(static_cast<std::int64_t>(3 * row + column)) - right) <= 1e-15);
            }
        }
        const Tensor& none = values->at("jacobian:y:z").tensor();
        QCOMPARE(none.shape(), (Shape{3, 2}));
        for (std::int64_t i = 0; i < 6; ++i)
            QCOMPARE(none.asDouble(i), 0.0);
        KEEP(empty, runInDouble(whole->graph, {{"x", Tensor::of<double>({0}, {})}, {"z", Tensor::of<double>({2}, {1, 1})}}));
        QCOMPARE(empty->at("jacobian:y:x").tensor().shape(), (Shape{0, 0}));
    }

    void blocksTooLargeAreRefused() {
        KEEP(graph, parseGraphText("g (float[70000] x) => (float[70000] y) { y = Exp (x) }"));
        const auto refused = jacobian(*graph, {});
        QVERIFY(!refused && refused.error().kind() == ErrorKind::Usage);
        QVERIFY2(refused.error().message().find("70000 elements of \"y\"") != std::string::npos, refused.error().message().c_str());
        QVERIFY(!checkJacobianSize("y", std::int64_t{1} << 62, "x", std::int64_t{1} << 62));
        QVERIFY(checkJacobianSize("y", 0, "x", std::int64_t{1} << 62));
        QVERIFY(checkJacobianSize("y", 4096, "x", 4096));
        QVERIFY(!checkJacobianSize("y", 4097, "x", 1));
    }

private:
    static Result<TransformCase> loadLayer(const std::filesystem::path& folder) {
        ImportContext context;
        NABLA_TRY(const Model model, openModel(folder / "softmax_layer.onnx", context));
        TransformCase result;
        NABLA_TRY(result.graph, legalized(model.graph));
        NABLA_TRY(const NamedTensors arrays, readNpz(folder / "softmax_layer_inputs.npz"));
        result.inputs["x"] = arrays.at("x");
        return result;
    }
};

QTEST_APPLESS_MAIN(TstComposed)
#include "tst_composed.moc"
