// The pipeline on whole models: public bug reports (tests/data/bugs), the samples, options, reports.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include <QTest>

#include "engine/importers/importer.h"
#include "engine/passes/pass.h"
#include "engine/passes/report.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"
#include "engine/tensor/element.h"

using namespace nabla::engine;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Result<Graph> open(const fs::path& file) {
    ImportContext context;
    NABLA_TRY(const Model model, openModel(file, context));
    return model.graph;
}

Result<NamedValues> run(const Graph& graph, const NamedValues& inputs, bool inDouble) {
    SessionOptions options;
    options.mode = ExecutorMode::Eager;
    options.threads = 1;
    options.inDouble = inDouble;
    options.optimisedKernels = false;
    auto session = Session::create(graph, options);
    if (!session)
        return session.error();
    return (*session)->run(inputs);
}

double number(const json& value) {
    if (!value.is_string())
        return value.get<double>();
    const std::string text = value;
    return text == "NaN"     ? std::nan("")
        : text == "Infinity" ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity();
}

Tensor tensorFrom(const json& spec) {
    const DType type = dtypeFromName(spec.at("dtype").get<std::string>());
    Tensor tensor = *Tensor::make(type, spec.at("shape").get<Shape>());
    std::int64_t i = 0;
    for (const json& value : spec.at("values"))
        writeDouble(type, tensor.mutableRaw(), i++, number(value));
    return tensor;
}

std::string differenceTo(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
    if (actual.shape() != expected.shape() || actual.dtype() != expected.dtype())
        return fmt::format("{} {}, expected {} {}", name(actual.dtype()), toString(actual.shape()),
            name(expected.dtype()), toString(expected.shape()));
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        const double a = actual.asDouble(i), e = expected.asDouble(i);
        if (!(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) <= atol + rtol * std::abs(e)))
            return fmt::format("element {} is {}, expected {}", i, a, e);
    }
    return {};
}

const Node* nodeNamed(const Graph& graph, std::string_view name) {
    const Node* found = nullptr;
    graph.forEachNode([&](const Node& node) { found = node.name == name ? &node : found; });
    return found;
}

} // namespace

class TstPasses : public QObject {
    Q_OBJECT

private slots:
    void bugCase_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"pass-cast-chain", "pass-conv-add-group", "pass-identity-output", "pass-log-exp"})
            QTest::newRow(name) << name;
    }

    /// Before and after all passes the outputs are those of case.json, under the same names in the same order.
    void bugCase() {
        QFETCH(QString, name);
        const fs::path folder = fs::path(NABLA_TEST_DATA) / "bugs" / name.toStdString();
        const json spec = json::parse(std::ifstream(folder / "case.json"));
        const auto graph = open(folder / "model.onnx");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        NamedValues inputs;
        for (const auto& [input, value] : spec.at("inputs").items())
            inputs[input] = tensorFrom(value);
        const auto records = runPasses(*graph, {});
        QVERIFY2(records, records ? "" : records.error().message().c_str());
        const Graph& after = records->back().after;
        std::vector<std::string> before, kept;
        for (const ValueId id : graph->outputs())
            before.push_back(graph->value(id)->name);
        for (const ValueId id : after.outputs())
            kept.push_back(after.value(id)->name);
        QCOMPARE(kept, before);
        for (const Graph* state : {&*graph, &after}) {
            const auto outputs = run(*state, inputs, false);
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            for (const auto& [output, value] : spec.at("expected").at("outputs").items()) {
                const std::string wrong = differenceTo(outputs->at(output).tensor(), tensorFrom(value),
                    value.value("rtol", 0.0), value.value("atol", 0.0));
                QVERIFY2(wrong.empty(), fmt::format("{}: {}", output, wrong).c_str());
            }
        }
    }

    void castsThatDropBitsStay() {
        const auto graph = open(fs::path(NABLA_TEST_DATA) / "bugs/pass-cast-chain/model.onnx");
        QVERIFY(graph);
        const auto records = runPasses(*graph, {});
        QVERIFY(records);
        const Graph& after = records->back().after;
        QVERIFY(nodeNamed(after, "to_int") && nodeNamed(after, "narrow"));
    }

    void sampleKeepsItsOutputs_data() {
        QTest::addColumn<QString>("file");
        for (const auto& entry : fs::recursive_directory_iterator(NABLA_SAMPLE_MODELS)) {
            if (entry.path().extension() == ".onnx")
                QTest::newRow(entry.path().parent_path().filename().c_str())
                    << QString::fromStdString(entry.path().string());
        }
    }

    void sampleKeepsItsOutputs() {
        QFETCH(QString, file);
        const auto graph = open(file.toStdString());
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto records = runPasses(*graph, {});
        QVERIFY2(records, records ? "" : records.error().message().c_str());
        qInfo("%s", reportText(*records).c_str());
        const auto inputs = generateInputs(*graph, 1);
        QVERIFY2(inputs, inputs ? "" : inputs.error().message().c_str());
        const auto before = run(*graph, *inputs, true);
        QVERIFY2(before, before ? "" : before.error().message().c_str());
        for (const PassRecord& record : *records) {
            QVERIFY2(!record.error, record.error ? record.error->c_str() : "");
            if (!record.changed())
                continue;
            const auto after = run(record.after, *inputs, true);
            QVERIFY2(after, after ? "" : after.error().message().c_str());
            for (const auto& [output, value] : *before) { // relative to the output's largest entry
                double largest = 0, difference = 0;
                const Tensor &x = value.tensor(), &y = after->at(output).tensor();
                QCOMPARE(y.shape(), x.shape());
                for (std::int64_t i = 0; i < x.elementCount(); ++i) {
                    largest = std::max(largest, std::abs(x.asDouble(i)));
                    difference = std::max(difference, std::abs(x.asDouble(i) - y.asDouble(i)));
                }
                QVERIFY2(difference <= 1e-6 * std::max(largest, 1e-30),
                    fmt::format("{}: {} differs by {} of {}", record.pass, output, difference, largest).c_str());
            }
        }
    }

    void optionsChoosePasses() {
        const auto graph = parseGraphText("g (float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        PipelineOptions options;
        options.only = {"no-such-pass"};
        const auto unknown = runPasses(*graph, options);
        QVERIFY(!unknown);
        QCOMPARE(unknown.error().kind(), ErrorKind::Usage);
        options.only = {"eliminate-identity"};
        const auto one = runPasses(*graph, options);
        QVERIFY(one);
        QCOMPARE(one->size(), std::size_t{2}); // legalization comes before everything
        QVERIFY(!one->front().changed());
        QVERIFY(one->back().changed());
        options.only.clear();
        options.without = {"eliminate-identity"};
        const auto others = runPasses(*graph, options);
        QVERIFY(others);
        QVERIFY(std::none_of(others->begin(), others->end(), [](const PassRecord& r) {
            return r.pass == "eliminate-identity" || r.pass == "fast-math" || r.changed();
        }));
    }

    void cancelledRunStops() {
        const auto graph = parseGraphText("g (float[2] x) => (float[2] y) { y = Relu (x) }");
        QVERIFY(graph);
        std::stop_source source;
        source.request_stop();
        PipelineOptions options;
        options.job.stop = source.get_token();
        const auto stopped = runPasses(*graph, options);
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().kind(), ErrorKind::Cancelled);
    }

    void reportsAgree() {
        const auto graph = parseGraphText("<ir_version: 10, opset_import: [\"\" : 28]> g (float[2] x) => (float[2] y) "
                                          "{ a = Identity (x) b = Neg (a) c = Neg (b) y = Relu (c) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto records = runPasses(*graph, {});
        QVERIFY(records);
        const json report = reportJson(*records, "a<b.onnx");
        QVERIFY(report.at("schema") == 1);
        QCOMPARE(report.at("total").at("delta").at("nodes").get<int>(), -3);
        QVERIFY(report.at("total").at("delta").at("flops").is_null()); // nobody measured
        int nodes = 0;
        for (const json& pass : report.at("passes"))
            nodes += pass.at("delta").at("nodes").get<int>();
        QCOMPARE(nodes, -3);
        QVERIFY(reportText(*records).find("4 -> 1") != std::string::npos);
        const std::string html = reportHtml(*records, "a<b.onnx");
        QVERIFY(html.find("a&lt;b.onnx") != std::string::npos && html.find("a<b.onnx") == std::string::npos);
        QVERIFY(html.find("double-negation") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TstPasses)
#include "tst_passes.moc"
