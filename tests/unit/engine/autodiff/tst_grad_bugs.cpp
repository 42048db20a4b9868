// Public bug reports about gradients (tests/data/bugs/grad-*): ties, zeros in products, norms at zero, branches not
// taken.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include <QTest>

#include "engine/autodiff/grad.h"
#include "engine/importers/importer.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"
#include "engine/tensor/element.h"

using namespace nabla::engine;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

double number(const json& value) {
    if (!value.is_string())
        return value.get<double>();
    const std::string text = value;
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "NaN" ? std::nan("") : text == "Infinity" ? infinity : -infinity;
}

Tensor tensorFrom(const json& spec) {
    const DType type = dtypeFromName(spec.at("dtype").get<std::string>());
    Tensor tensor = *Tensor::make(type, spec.at("shape").get<Shape>());
    std::int64_t i = 0;
    for (const json& value : spec.at("values"))
        writeDouble(type, tensor.mutableRaw(), i++, number(value));
    return tensor;
}

bool equal(const Tensor& actual, const json& spec) {
    const Tensor expected = tensorFrom(spec);
    if (actual.shape() != expected.shape())
        return false;
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        const double a = actual.asDouble(i), e = expected.asDouble(i);
        const double allowed = spec.value("atol", 0.0) + spec.value("rtol", 0.0) * std::abs(e);
        if (!(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) <= allowed))
            return false;
    }
    return true;
}

json caseOf(const fs::path& folder) {
    return json::parse(std::ifstream(folder / "case.json"));
}

/// Gradients of the first output (cotangent ones) in every float input, by input name; twice: those of the sum of the
/// first ones.
Result<NamedValues> gradients(const fs::path& model, const json& inputs, int times) {
    ImportContext context;
    NABLA_TRY(const Model opened, openModel(model, context));
    NABLA_TRY(Graph graph, legalized(opened.graph));
    const ValueId x = graph.inputs().front();
    for (int i = 0; i < times; ++i) {
        GradOptions options;
        options.cotangents = GradOptions::Cotangents::Ones;
        options.of = {i == 0 ? graph.outputs().front() : graph.outputs().back()};
        if (times > 1)
            options.wrt = {x};
        NABLA_TRY(JointGraph joint, grad(graph, options));
        graph = joint.graph;
    }
    SessionOptions options;
    options.threads = 1;
    options.optimisedKernels = false;
    NABLA_TRY(const std::unique_ptr<Session> session, Session::create(graph, options));
    NamedValues values;
    for (const auto& [name, spec] : inputs.items())
        values[name] = tensorFrom(spec);
    return session->run(values);
}

} // namespace

class TstGradBugs : public QObject {
    Q_OBJECT

private slots:
    void gradientIsAccepted_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("inputs"); ///< JSON pointers into case.json
        QTest::addColumn<QString>("accepted");
        const auto row = [](const char* folder, const char* model, const char* inputs, const char* accepted) {
            QTest::addRow("%s %s %s", folder, model, inputs) << folder << model << inputs << accepted;
        };
        row("grad-inplace-saved", "model.onnx", "/inputs", "/expected");
        row("grad-max-ties", "reduce.onnx", "/inputs/reduce.onnx", "/expected/reduce.onnx/accept");
        row("grad-max-ties", "pair.onnx", "/inputs/pair.onnx", "/expected/pair.onnx/accept");
        row("grad-norm-zero", "norm.onnx", "/inputs/away", "/expected/norm.onnx/away");
        row("grad-norm-zero", "norm.onnx", "/inputs/at_zero", "/expected/norm.onnx/at_zero");
        row("grad-norm-zero", "norm_squared.onnx", "/inputs/away", "/expected/norm_squared.onnx/away");
        row("grad-norm-zero", "norm_squared.onnx", "/inputs/at_zero", "/expected/norm_squared.onnx/at_zero");
        row("grad-norm-zero", "by_parts.onnx", "/inputs/away", "/expected/by_parts.onnx/away");
        row("grad-norm-zero", "by_parts.onnx", "/inputs/at_zero", "/expected/by_parts.onnx/at_zero/accept");
        for (const char* zeros : {"no_zero", "one_zero", "two_zeros", "three_zeros"})
            row("grad-prod-zeros", "model.onnx", qPrintable(QString("/inputs/%1").arg(zeros)),
                qPrintable(QString("/expected/%1").arg(zeros)));
        row("grad-where-sqrt", "model.onnx", "/inputs", "/expected/accept");
    }

    void gradientIsAccepted() {
        QFETCH(QString, folder);
        QFETCH(QString, model);
        QFETCH(QString, inputs);
        QFETCH(QString, accepted);
        const fs::path path = fs::path(NABLA_TEST_DATA) / "bugs" / folder.toStdString();
        const json spec = caseOf(path);
        const auto values = gradients(path / model.toStdString(), spec.at(json::json_pointer(inputs.toStdString())), 1);
        QVERIFY2(values, values ? "" : values.error().message().c_str());
        const json& right = spec.at(json::json_pointer(accepted.toStdString()));
        bool any = false;
        for (const json& choice : right.is_array() ? right : json::array({right})) {
            bool all = true;
            for (const auto& [name, gradient] : spec.at(json::json_pointer(inputs.toStdString())).items())
                all = all && equal(values->at("grad:" + name).tensor(), choice.at(name));
            any = any || all;
        }
        QVERIFY(any);
    }

    /// One of the four equal entries, or each a quarter.
    void tiesInAPool() {
        const fs::path path = fs::path(NABLA_TEST_DATA) / "bugs/grad-max-ties";
        const auto values = gradients(path / "pool.onnx", caseOf(path).at("inputs").at("pool.onnx"), 1);
        QVERIFY2(values, values ? "" : values.error().message().c_str());
        double sum = 0, largest = 0;
        for (std::int64_t i = 0; i < 4; ++i) {
            sum += values->at("grad:x").tensor().asDouble(i);
            largest = std::max(largest, values->at("grad:x").tensor().asDouble(i));
        }
        QCOMPARE(sum, 1.0);
        QVERIFY(largest == 1.0 || largest == 0.25);
    }

    /// The Hessian times ones is the gradient of the sum of the gradient.
    void productWithZerosTwice_data() {
        QTest::addColumn<QString>("zeros");
        for (const char* zeros : {"no_zero", "one_zero", "two_zeros", "three_zeros"})
            QTest::newRow(zeros) << zeros;
    }
    void productWithZerosTwice() {
        QFETCH(QString, zeros);
        const fs::path path = fs::path(NABLA_TEST_DATA) / "bugs/grad-prod-zeros";
        const json spec = caseOf(path);
        const auto values = gradients(path / "model.onnx", spec.at("inputs").at(zeros.toStdString()), 2);
        QVERIFY2(values, values ? "" : values.error().message().c_str());
        const json& expected = spec.at("expected").at(zeros.toStdString()).at("hessian_times_ones");
        QVERIFY(equal(values->at("grad:x_2").tensor(), expected));
    }
};

QTEST_APPLESS_MAIN(TstGradBugs)
#include "tst_grad_bugs.moc"
