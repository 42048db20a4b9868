// The gradient cases of tests/data/grad (double-precision autograd of torch 2.15) through importer, legalization, grad
// and session.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include <QTest>

#include "engine/autodiff/grad.h"
#include "engine/importers/importer.h"
#include "engine/ops/op_def.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"
#include "tests/unit/engine/ops/onnx_case.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

fs::path casesFolder() {
    return fs::path(NABLA_TEST_DATA) / "grad";
}

/// Operators of the graph, its bodies and functions that nobody registered.
void collectMissing(const Graph& main, const Graph& graph, std::set<std::string>& missing) {
    graph.forEachNode([&](const Node& node) {
        if (!main.function(node) && !findOp(node.opType, node.domain))
            missing.insert(node.domain.empty() ? node.opType : node.domain + "." + node.opType);
        for (const auto& [name, body] : node.bodies())
            collectMissing(main, *body, missing);
    });
}

struct Tolerance {
    double relative = 1e-6, absolute = 1e-8;
};

/// Empty when equal; NaN equals NaN.
std::string difference(const Tensor& actual, const Tensor& expected, Tolerance tolerance) {
    if (actual.shape() != expected.shape())
        return fmt::format("shape {}, expected {}", toString(actual.shape()), toString(expected.shape()));
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        const double a = actual.asDouble(i), e = expected.asDouble(i);
        const bool same = (std::isnan(a) && std::isnan(e)) || a == e
            || std::abs(a - e) <= tolerance.absolute + tolerance.relative * std::abs(e);
        if (!same)
            return fmt::format("element {} is {}, expected {}", i, a, e);
    }
    return {};
}

struct GradCase {
    Graph graph;
    NamedValues inputs;
    GradOptions options;
    std::map<std::string, Tensor> cotangents, expected; ///< by name of output and input
    Tolerance tolerance;
};

Result<GradCase> load(const fs::path& folder) {
    ImportContext context;
    NABLA_TRY(const Model model, openModel(folder / "model.onnx", context));
    GradCase result;
    NABLA_TRY(result.graph, legalized(model.graph));
    const fs::path data = folder / "test_data_set_0";
    const auto valueName = [&](ValueId id) { return result.graph.value(id)->name; };
    for (std::size_t i = 0; i < result.graph.inputs().size(); ++i) {
        const ValueId input = result.graph.inputs()[i];
        if (const fs::path file = data / fmt::format("input_{}.pb", i); fs::exists(file))
            result.inputs[valueName(input)] = nabla::tests::readTensorFile(file);
        if (const fs::path file = data / fmt::format("grad_input_{}.pb", i); fs::exists(file)) {
            result.expected[valueName(input)] = nabla::tests::readTensorFile(file);
            result.options.wrt.push_back(input);
        }
    }
    for (std::size_t i = 0; i < result.graph.outputs().size(); ++i) {
        if (const fs::path file = data / fmt::format("grad_output_{}.pb", i); fs::exists(file)) {
            result.cotangents[valueName(result.graph.outputs()[i])] = nabla::tests::readTensorFile(file);
            result.options.of.push_back(result.graph.outputs()[i]);
        }
    }
    const auto tolerance = nlohmann::json::parse(std::ifstream(folder / "tol.json"));
    result.tolerance = {tolerance.value("rtol", 1e-6), tolerance.value("atol", 1e-8)};
    return result;
}

} // namespace

class TstGradCases : public QObject {
    Q_OBJECT

private slots:
    void gradientEqualsAutograd_data() {
        QTest::addColumn<QString>("name");
        const auto index = nlohmann::json::parse(std::ifstream(casesFolder() / "index.json"));
        for (const auto& entry : index.at("cases")) {
            const std::string name = entry.at("name");
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    void gradientEqualsAutograd() {
        QFETCH(QString, name);
        const auto loaded = load(casesFolder() / name.toStdString());
        QVERIFY2(loaded, loaded ? "" : loaded.error().message().c_str());
        if (const auto missing = skipFor(loaded->graph); !missing.empty())
            QSKIP(missing.c_str());
        QVERIFY2(!loaded->expected.empty(), "the case asks for no gradient");
        const auto joint = grad(loaded->graph, loaded->options);
        if (const auto missing = joint ? std::string() : skipForMissingRule(joint.error()); !missing.empty())
            QSKIP(missing.c_str());
        QVERIFY2(joint, joint ? "" : joint.error().message().c_str());
        if (const auto missing = skipFor(joint->graph); !missing.empty())
            QSKIP(missing.c_str());
        SessionOptions options;
        options.mode = ExecutorMode::Eager;
        options.inDouble = true;
        options.threads = 1;
        options.optimisedKernels = false;
        const auto session = Session::create(joint->graph, options);
        QVERIFY2(session, session ? "" : session.error().message().c_str());
        NamedValues inputs = loaded->inputs;
        for (const auto& [output, input] : joint->cotangentInput)
            inputs[joint->graph.value(input)->name] = loaded->cotangents.at(joint->graph.value(output)->name);
        const auto outputs = (*session)->run(inputs);
        QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
        for (const auto& [input, expected] : loaded->expected) {
            const auto it = outputs->find("grad:" + input);
            QVERIFY2(it != outputs->end(), input.c_str());
            const std::string wrong = difference(it->second.tensor(), expected, loaded->tolerance);
            QVERIFY2(wrong.empty(), fmt::format("grad:{}: {}", input, wrong).c_str());
        }
        ++m_passed;
    }

    void enoughCasesPass() {
        qInfo(
            "%d cases passed; skipped for want of: %s", m_passed, fmt::format("{}", fmt::join(m_skipped, " ")).c_str());
        QVERIFY(m_passed >= 70);
    }

private:
    /// Why a graph cannot be run yet; empty when it can.
    std::string skipFor(const Graph& graph) {
        std::set<std::string> missing;
        collectMissing(graph, graph, missing);
        m_skipped.insert(missing.begin(), missing.end());
        return missing.empty() ? std::string() : fmt::format("operator {} is not there yet", *missing.begin());
    }

    /// An operator inside an expanded body that nobody registered.
    std::string skipForMissingRule(const Error& error) {
        static const std::string kWords = "no gradient rule is known for operator ";
        const auto at = error.message().find(kWords);
        const std::string op = at == std::string::npos ? std::string() : error.message().substr(at + kWords.size());
        if (op.empty() || findOp(op, ""))
            return {};
        m_skipped.insert(op);
        return fmt::format("operator {} is not there yet", op);
    }

    int m_passed = 0;
    std::set<std::string> m_skipped;
};

QTEST_APPLESS_MAIN(TstGradCases)
#include "tst_grad_cases.moc"
