// vmap against a loop over the examples: every case of tests/data/grad, the samples, their gradients; and what works on all examples at once.
#include <cmath>
#include <cstring>

#include <QTest>

#include <fmt/format.h>

#include "engine/autodiff/grad.h"
#include "engine/autodiff/vmap.h"
#include "engine/schema/text_form.h"
#include "engine/tensor/element.h"
#include "tests/unit/engine/autodiff/transform_cases.h"

using namespace nabla::engine;
using namespace nabla::tests;

namespace {

#define KEEP(variable, ...)                                                                                            \
    const auto variable = (__VA_ARGS__);                                                                               \
    QVERIFY2(variable, variable ? "" : variable.error().message().c_str())

constexpr std::int64_t kExamples = 3;

/// Example k: floats a little smaller each time, other types as they are.
Tensor example(const Tensor& base, std::int64_t k) {
    if (!isFloat(base.dtype()) || k == 0)
        return base;
    Tensor out = *Tensor::make(base.dtype(), base.shape());
    for (std::int64_t i = 0; i < base.elementCount(); ++i)
        writeDouble(base.dtype(), out.mutableRaw(), i, base.asDouble(i) * (1 - 0.0625 * static_cast<double>(k)));
    return out;
}

Tensor stacked(const Tensor& base) {
    Shape shape = base.shape();
    shape.insert(shape.begin(), kExamples);
    Tensor out = *Tensor::make(base.dtype(), shape);
    for (std::int64_t k = 0; k < kExamples; ++k)
        std::memcpy(out.mutableRaw() + k * base.bytes(), example(base, k).raw(), static_cast<std::size_t>(base.bytes()));
    return out;
}

bool isMappable(const Tensor& tensor) { return tensor.dtype() != DType::String && bitWidth(tensor.dtype()) >= 8; }

/// Whatever the batched graph gives for example k is what the graph gives for it alone. Sums may be in another order: 1e-12 of the largest entry.
void compareWithLoop(const Graph& graph, const VmapGraph& mapped, const NamedValues& inputs, const std::vector<ValueId>& over) {
    NamedValues all = inputs;
    for (const ValueId input : over)
        all[nameOf(graph, input)] = stacked(inputs.at(nameOf(graph, input)).tensor());
    KEEP(batch, runInDouble(mapped.graph, all));
    for (std::int64_t k = 0; k < kExamples; ++k) {
        NamedValues one = inputs;
        for (const ValueId input : over)
            one[nameOf(graph, input)] = example(inputs.at(nameOf(graph, input)).tensor(), k);
        KEEP(single, runInDouble(graph, one));
        for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
            const Tensor& right = single->at(nameOf(graph, graph.outputs()[i])).tensor();
            const Tensor& actual = batch->at(nameOf(mapped.graph, mapped.graph.outputs()[i])).tensor();
            Shape shape = right.shape();
            shape.insert(shape.begin(), kExamples);
            QCOMPARE(actual.shape(), shape);
            double largest = 0;
            for (std::int64_t j = 0; j < right.elementCount(); ++j)
                largest = std::max(largest, std::isfinite(right.asDouble(j)) ? std::abs(right.asDouble(j)) : 0.0);
            for (std::int64_t j = 0; j < right.elementCount(); ++j) {
                const double a = actual.asDouble(k * right.elementCount() + j), b = right.asDouble(j);
                const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * largest;
                QVERIFY2(same, fmt::format("example {}, {}[{}]: {} alone, {} in the batch", k, nameOf(graph, graph.outputs()[i]), j, b, a).c_str());
            }
        }
    }
}

std::vector<ValueId> mappableInputs(const TransformCase& model) {
    std::vector<ValueId> out;
    for (const ValueId input : model.graph.inputs()) {
        const auto it = model.inputs.find(nameOf(model.graph, input));
        if (it != model.inputs.end() && it->second.isTensor() && isMappable(it->second.tensor()) && !model.graph.value(input)->constant)
            out.push_back(input);
    }
    return out;
}

/// The gradient of the case with its cotangents, as a graph to be mapped.
Result<TransformCase> gradientOf(const TransformCase& model) {
    GradOptions options;
    options.of = model.of;
    options.wrt = model.wrt;
    NABLA_TRY(const JointGraph joint, grad(model.graph, options));
    TransformCase result;
    result.graph = joint.graph;
    result.inputs = model.inputs;
    NABLA_TRY(const NamedValues outputs, runInDouble(model.graph, model.inputs));
    std::mt19937_64 random(5);
    for (const auto& [value, cotangent] : joint.cotangentInput)
        result.inputs[nameOf(joint.graph, cotangent)] = randomLike(outputs.at(nameOf(model.graph, value)).tensor(), random);
    return result;
}

struct Sample {
    const char *name, *of;
};
constexpr Sample kSamples[] = {{"digits_mlp", "loss"}, {"digits_cnn", "loss"}, {"control_flow", "root"}, {"rnn_loop", "loss"},
    {"scan_filter", "smooth"}, {"karate_gnn", "loss"}, {"two_tower", "loss"}};

} // namespace

class TstBatching : public QObject {
    Q_OBJECT

private slots:
    void everyCaseIsALoop_data() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : gradCaseNames())
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    /// All inputs mapped, each input alone, and the whole graph in one Scan.
    void everyCaseIsALoop() {
        QFETCH(QString, name);
        KEEP(model, loadGradCase(gradCasesFolder() / name.toStdString()));
        const std::vector<ValueId> inputs = mappableInputs(*model);
        std::vector<VmapOptions> ways;
        if (!inputs.empty())
            ways = {{inputs, VmapOptions::Form::NodeByNode, {}}, {inputs, VmapOptions::Form::WholeScan, {}}};
        for (const ValueId input : inputs)
            ways.push_back({{input}, VmapOptions::Form::NodeByNode, {}});
        for (const VmapOptions& options : ways) {
            KEEP(mapped, vmap(model->graph, options));
            compareWithLoop(model->graph, *mapped, model->inputs, options.over);
            if (QTest::currentTestFailed())
                return;
        }
    }

    void everyGradientIsALoop_data() { everyCaseIsALoop_data(); }
    void everyGradientIsALoop() {
        QFETCH(QString, name);
        KEEP(model, loadGradCase(gradCasesFolder() / name.toStdString()));
        KEEP(joint, gradientOf(*model));
        VmapOptions options;
        options.over = mappableInputs(*joint);
        KEEP(mapped, vmap(joint->graph, options));
        compareWithLoop(joint->graph, *mapped, joint->inputs, options.over);
    }

    void samplesAreALoop_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("of");
        for (const Sample& each : kSamples)
            QTest::newRow(each.name) << each.name << each.of;
    }
    void samplesAreALoop() {
        QFETCH(QString, name);
        QFETCH(QString, of);
        KEEP(model, loadSample(name.toStdString(), of.toStdString()));
        for (const TransformCase& each : {*model, gradientOf(*model).value()}) {
            VmapOptions options;
            options.over = mappableInputs(each);
            KEEP(mapped, vmap(each.graph, options));
            compareWithLoop(each.graph, *mapped, each.inputs, options.over);
            if (QTest::currentTestFailed())
                return;
        }
    }

    /// No Scan is left where every operator has a rule.
    void perceptronHasNoScan() {
        KEEP(model, loadSample("digits_mlp", "logits"));
        VmapOptions options;
        options.over = {named(model->graph, "image")};
        KEEP(mapped, vmap(model->graph, options));
        std::size_t scans = 0, losses = 0;
        mapped->graph.forEachNode([&](const Node& node) {
            const GraphPtr body = node.graphAttribute("body");
            bool isLoss = false;
            if (body)
                body->forEachNode([&](const Node& inner) { isLoss = inner.opType == "SoftmaxCrossEntropyLoss"; });
            scans += body && !isLoss ? 1 : 0;
            losses += isLoss ? 1 : 0;
        });
        QCOMPARE(scans, std::size_t(0));
        QCOMPARE(losses, std::size_t(1)); // has no rule: told in the note
        QVERIFY2(mapped->notes.at(0).message.find("1 SoftmaxCrossEntropyLoss") != std::string::npos, mapped->notes.at(0).message.c_str());
    }

    void whatIsSharedRunsOnce() {
        KEEP(graph, parseGraphText("g (double[2] x, double[2,2] w) => (double[2] y) { e = Exp (w) y = MatMul (x, e) }"));
        VmapOptions options;
        options.over = {named(*graph, "x")};
        KEEP(mapped, vmap(*graph, options));
        const Value& e = *mapped->graph.value(named(*graph, "e"));
        QVERIFY(mapped->graph.producer(e.id) == graph->producer(e.id)); // the very same node
    }

    /// What one example gives may be of another size than what the next gives: one Scan, and an error only when it is run on such examples.
    void sizesThatDependOnDataAreOneScan() {
        KEEP(graph, parseGraphText("g (double[4] x) => (int64 n) { k = NonZero (x) n = Size (k) }"));
        VmapOptions options;
        options.over = {named(*graph, "x")};
        KEEP(mapped, vmap(*graph, options));
        QVERIFY2(mapped->notes.at(0).message.find("NonZero") != std::string::npos, mapped->notes.at(0).message.c_str());
        KEEP(counts, runInDouble(mapped->graph, {{"x", Tensor::of<double>({2, 4}, {1, 0, 2, 0, 3, 3, 3, 0})}}));
        QCOMPARE(counts->at("n").tensor().asInt64(0), std::int64_t(2));
        QCOMPARE(counts->at("n").tensor().asInt64(1), std::int64_t(3));
    }
};

QTEST_APPLESS_MAIN(TstBatching)
#include "tst_batching.moc"
