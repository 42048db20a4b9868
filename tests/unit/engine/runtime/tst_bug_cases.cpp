// The run cases of tests/data/bugs, the overwritten activation and the long chain. What is right stands in each
// case.json, with its source.
#include <QtTest>

#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "engine/autodiff/grad.h"
#include "model_case.h"

using namespace nabla::engine;
using nlohmann::json;

namespace {

std::string folder(const std::string& name) {
    return std::string(NABLA_TEST_DATA) + "/bugs/" + name + "/";
}

json readCase(const std::string& name) {
    std::ifstream file(folder(name) + "case.json");
    return json::parse(file);
}

double number(const json& value) {
    if (!value.is_string())
        return value.get<double>();
    const auto text = value.get<std::string>();
    return text == "NaN" ? std::numeric_limits<double>::quiet_NaN()
                         : (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
}

Tensor tensorOf(const json& spec) {
    const DType dtype = dtypeFromName(spec["dtype"].get<std::string>());
    Tensor wide = *Tensor::make(DType::Float64, spec["shape"].get<Shape>());
    for (std::size_t i = 0; i < spec["values"].size(); ++i) {
        const json& value = spec["values"][i];
        wide.mutableData<double>()[i] = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : number(value);
    }
    return *castTensor(wide, dtype);
}

NamedValues inputsOf(const json& spec) {
    NamedValues out;
    for (const auto& [name, value] : spec.items())
        out.emplace(name, tensorOf(value));
    return out;
}

SessionOptions mode(ExecutorMode which) {
    SessionOptions options;
    options.mode = which;
    options.threads = 1;
    return options;
}

} // namespace

class BugCasesTest : public QObject {
    Q_OBJECT
private slots:
    void runCases_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("mode");
        for (const char* name : {"run-first-nan", "run-loop-zero-trip", "run-softmax-opset11", "run-two-shapes"}) {
            for (const auto& [text, which] : {std::pair("compiled", ExecutorMode::Compiled),
                     std::pair("stepping", ExecutorMode::Stepping), std::pair("eager", ExecutorMode::Eager)})
                QTest::addRow("%s, %s", name, text) << name << static_cast<int>(which);
        }
    }
    void runCases() {
        QFETCH(QString, name);
        QFETCH(int, mode);
        const json spec = readCase(name.toStdString());
        auto session = Session::create(
            legalGraph(folder(name.toStdString()) + "model.onnx"), ::mode(static_cast<ExecutorMode>(mode)));
        QVERIFY2(session, session ? "" : session.error().message().c_str());
        json runs = spec["expected"].contains("runs")
            ? spec["expected"]["runs"]
            : json::array({{{"inputs", spec["inputs"]}, {"outputs", spec["expected"]["outputs"]}}});
        std::vector<NamedValues> all;
        for (const json& run : runs) {
            auto outputs = (*session)->run(inputsOf(run["inputs"]));
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            all.push_back(std::move(*outputs));
        }
        for (std::size_t i = 0; i < all.size(); ++i) { // only now: outputs still held must not have changed
            for (const auto& [output, expected] : runs[i]["outputs"].items()) {
                QVERIFY2(all[i].contains(output), output.c_str());
                const std::string wrong = difference(output, all[i].at(output), tensorOf(expected), 1e-5);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        }
    }

    void anActivationThatIsReadLaterIsNotOverwritten() {
        const std::string name = "grad-inplace-saved";
        const json spec = readCase(name);
        const Graph graph = legalGraph(folder(name) + "model.onnx");
        GradOptions options;
        options.cotangents = GradOptions::Cotangents::Ones;
        options.of = {graph.outputs()[0]};
        options.wrt = {graph.inputs()[0]};
        const auto joint = grad(graph, options);
        QVERIFY2(joint, joint ? "" : joint.error().message().c_str());
        std::optional<NamedValues> first;
        for (const bool inPlace : {true, false}) {
            SessionOptions with = mode(ExecutorMode::Compiled);
            with.inPlace = inPlace;
            auto session = Session::create(joint->graph, with);
            QVERIFY(session);
            for (int repeat = 0; repeat < 2; ++repeat) {
                const auto outputs = (*session)->run(inputsOf(spec["inputs"]));
                QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
                const std::string wrong
                    = difference("grad:x", outputs->at("grad:x"), tensorOf(spec["expected"]["x"]), 1e-5);
                QVERIFY2(wrong.empty(), wrong.c_str());
                if (!first)
                    first = *outputs;
                for (const auto& [output, value] : *outputs) { // bit for bit
                    const auto a = value.tensor().data<float>(), b = first->at(output).tensor().data<float>();
                    QVERIFY(std::equal(a.begin(), a.end(), b.begin(), b.end()));
                }
            }
        }
    }

    void twentyThousandNodesInOneLine() {
        const Graph graph = legalGraph(folder("layout-deep-chain") + "model.onnx");
        const NamedValues inputs = inputsOf(readCase("layout-deep-chain")["inputs"]);
        NamedValues results[2];
        for (const ExecutorMode which : {ExecutorMode::Compiled, ExecutorMode::Eager}) {
            auto session = Session::create(graph, mode(which));
            QVERIFY2(session, session ? "" : session.error().message().c_str());
            auto outputs = (*session)->run(inputs);
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            results[which == ExecutorMode::Eager] = std::move(*outputs);
        }
        for (const auto& [output, value] : results[0]) {
            const std::string wrong = difference(
                output, value, results[1].at(output).tensor(), 1e-4); // the two kernels round differently 20,000 times
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(BugCasesTest)
#include "tst_bug_cases.moc"
