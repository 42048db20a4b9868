// The first NaN and the way back to its cause: a public bug report (tests/data/bugs/run-first-nan) and small graphs with closed forms.
#include <cmath>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include <QTest>

#include "app/document/document.h"
#include "app/document/numeric_trouble.h"
#include "engine/analysis/topology.h"
#include "engine/graph/graph_editor.h"
#include "engine/passes/pass.h"
#include "engine/runtime/stepper.h"
#include "engine/schema/schema.h"
#include "engine/tensor/element.h"
#include "tests/support/must.h"

using namespace nabla::engine;
using namespace nabla::app;
using nabla::tests::must;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A graph run node by node, and what is asked about it.
struct Ran {
    Graph graph;
    std::unique_ptr<Stepper> stepper;
    std::vector<NodeId> order;
    ValueOf valueOf = [this](ValueId id) -> Result<RuntimeValue> {
        if (const TensorPtr constant = graph.constant(id))
            return RuntimeValue(*constant);
        return stepper->value(id);
    };

    Ran(const Graph& source, const NamedValues& inputs) : graph(source) {
        stepper = must(Stepper::create(graph, inputs));
        must(stepper->goTo(stepper->stepCount()));
        for (std::size_t i = 0; i < stepper->stepCount(); ++i)
            order.push_back(stepper->nodeAt(i));
    }
    ValueId named(const std::string& name) const {
        ValueId found;
        graph.forEachValue([&](const Value& value) { found = value.name == name ? value.id : found; });
        return found;
    }
    TroubleReport trouble() const { return must(findTrouble(graph, order, valueOf)); }
};

Graph graphOf(const std::function<ValueId(GraphEditor&)>& build) {
    auto info = std::make_shared<ModelInfo>();
    info->opsets[""] = newestOpset("");
    GraphEditor editor = GraphEditor::empty("g", info, std::make_shared<IdSource>());
    editor.setOutputs({build(editor)});
    return editor.finish();
}

} // namespace

class TestNumericTrouble : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void attentionRowMaskedWhole() {
        const std::filesystem::path folder = std::filesystem::path(NABLA_TEST_DATA) / "bugs" / "run-first-nan";
        const auto spec = nlohmann::json::parse(std::ifstream(folder / "case.json"));
        NamedValues inputs;
        for (const auto& [name, value] : spec.at("inputs").items()) {
            std::vector<float> numbers;
            for (const auto& each : value.at("values"))
                numbers.push_back(each.is_string() ? -std::numeric_limits<float>::infinity() : each.get<float>());
            inputs[name] = RuntimeValue(Tensor::of<float>(value.at("shape").get<Shape>(), numbers));
        }
        const Ran ran(must(legalized(must(Document::open(folder / "model.onnx")).imported()->graph)), inputs);
        const TroubleReport report = ran.trouble();
        const auto& expected = spec.at("expected");
        const NotFinite* nan = report.firstNan();
        QVERIFY(nan && nan->bornNan);
        QCOMPARE(ran.graph.node(nan->producer)->name, expected.at("first_nan").at("node").get<std::string>());
        QCOMPARE(ran.graph.value(nan->value)->name, expected.at("first_nan").at("tensor").get<std::string>());
        QCOMPARE(nan->nan, expected.at("first_nan").at("count").get<std::int64_t>());
        const NotFinite* infinite = report.firstInfinite();
        QVERIFY(infinite && !infinite->producer);
        QCOMPARE(ran.graph.value(infinite->value)->name, expected.at("first_infinite").at("tensor").get<std::string>());

        // Back from p[1, 0]: the softmax read three infinities of its row, which came from the mask's row 1.
        const auto walk = walkBack(ran.graph, nan->value, nan->firstNan, ran.valueOf);
        QVERIFY2(walk, walk ? "" : walk.error().message().c_str());
        QVERIFY(walk->front().element == 3 && std::isnan(walk->front().number));
        QCOMPARE(walk->front().causes.size(), std::size_t{3});
        QCOMPARE(ran.graph.value(walk->back().value)->name, std::string("mask"));
        QCOMPARE(walk->back().element, std::int64_t{3});
        QCOMPARE(walk->back().number, -kInf);
        const std::string text = troubleText(ran.graph, report);
        QVERIFY2(text.find("NaN is born in node \"attn_softmax\" (Softmax), value \"p\": 3 elements, first [1, 0]") != std::string::npos, text.c_str());
    }

    /// y = sum over axis 1 of log(x): log(-1) is NaN from a finite element; the sum carries it.
    void bornFromFiniteElements() {
        const Graph graph = graphOf([](GraphEditor& e) {
            const ValueId x = e.addInput("x", ValueType::tensor(DType::Float32, Shape{2, 3}));
            const ValueId l = e.addValue({.opType = "Log", .inputs = {x}, .name = "log", .outputNames = {"l"}});
            return e.addValue({.opType = "ReduceSum", .inputs = {l, e.addInitializer("axes", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({1}, {1})))},
                .name = "sum", .outputNames = {"y"}});
        });
        const Ran ran(graph, {{"x", RuntimeValue(Tensor::of<float>({2, 3}, {1, 2, 3, 4, -1, 0}))}});
        const TroubleReport report = ran.trouble();
        QVERIFY(report.firstNan() && ran.graph.node(report.firstNan()->producer)->name == "log");
        QCOMPARE(report.firstNan()->firstNan, std::int64_t{4});
        QVERIFY(report.firstNan()->bornInfinite); // log 0
        const auto walk = must(walkBack(ran.graph, ran.named("y"), 1, ran.valueOf));
        QCOMPARE(walk.size(), std::size_t{2});
        QCOMPARE(ran.graph.value(walk[1].value)->name, std::string("l"));
        QVERIFY(walk[1].bornHere);
        QCOMPARE(walk[1].causes.size(), std::size_t{1});
        QCOMPARE(walk[1].causes[0].element, std::int64_t{4});
        QCOMPARE(walk[1].causes[0].number, -1.0);
    }

    /// inf - inf: neither infinity alone makes NaN out of the other's 1.
    void infinitiesThatCancel() {
        const Graph graph = graphOf([](GraphEditor& e) {
            const ValueId a = e.addInput("a", ValueType::tensor(DType::Float64, Shape{2}));
            const ValueId b = e.addInput("b", ValueType::tensor(DType::Float64, Shape{2}));
            return e.addValue({.opType = "Sub", .inputs = {a, b}, .name = "sub", .outputNames = {"y"}});
        });
        const Ran ran(graph, {{"a", RuntimeValue(Tensor::of<double>({2}, {1, kInf}))}, {"b", RuntimeValue(Tensor::of<double>({2}, {1, kInf}))}});
        const auto walk = must(walkBack(ran.graph, ran.named("y"), 1, ran.valueOf));
        QCOMPARE(walk[0].causes.size(), std::size_t{2});
        QCOMPARE(walk[0].causes[0].element, std::int64_t{1});
        QCOMPARE(walk[0].causes[1].element, std::int64_t{1});
    }

    void nothingWrong() {
        const Graph graph = graphOf([](GraphEditor& e) {
            return e.addValue({.opType = "Exp", .inputs = {e.addInput("x", ValueType::tensor(DType::Float32, Shape{1}))}, .outputNames = {"y"}});
        });
        const Ran ran(graph, {{"x", RuntimeValue(Tensor::of<float>({1}, {1}))}});
        QVERIFY(ran.trouble().values.empty());
        QCOMPARE(troubleText(ran.graph, ran.trouble()), std::string("every value is finite\n"));
    }

    /// x = 300, 1e-4, 2e-5, 1 in float16, squared: 90000 is beyond 65504; 1e-8 is below half the smallest subnormal (2^-25 = 3.0e-8) and
    /// becomes 0; so does 4e-10.
    void halfSaturatesAndUnderflows() {
        const Graph graph = graphOf([](GraphEditor& e) {
            const ValueId x = e.addInput("x", ValueType::tensor(DType::Float16, Shape{5}));
            return e.addValue({.opType = "Mul", .inputs = {x, x}, .outputNames = {"y"}});
        });
        Tensor x = *Tensor::make(DType::Float16, {5});
        std::int64_t i = 0;
        for (const double value : {300.0, 1e-4, 2e-5, 1.0, 1e-3})
            writeDouble(DType::Float16, x.mutableRaw(), i++, value);
        const auto loss = must(precisionLoss(graph, {{"x", RuntimeValue(x)}}));
        QCOMPARE(loss.size(), std::size_t{1});
        QCOMPARE(loss[0].saturated, std::int64_t{1});
        QCOMPARE(loss[0].underflowed, std::int64_t{2});
        QCOMPARE(loss[0].subnormal, std::int64_t{1}); // 1e-6
    }
};

QTEST_APPLESS_MAIN(TestNumericTrouble)
#include "tst_numeric_trouble.moc"
