// The chain rule with its numbers: every value and weight of the samples against PyTorch's gradients (tests/data/samples).
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include <QTest>

#include "app/document/document.h"
#include "app/document/explain_element.h"
#include "app/document/values_io.h"
#include "engine/importers/values/npz.h"
#include "engine/passes/pass.h"
#include "tests/support/must.h"

using namespace nabla::engine;
using namespace nabla::app;
using nabla::tests::must;

namespace {

/// Of the largest entry: constants of rules and LayerNormalization's epsilon are float32 in a float32 model, doubles in the reference.
constexpr double kTolerance = 2e-8;

/// A sample differentiated, with all its values in double.
struct Explained {
    std::shared_ptr<const JointGraph> joint;
    NamedValues inputs, values;
    ValueOf valueOf = [this](ValueId id) -> Result<RuntimeValue> {
        const auto it = values.find(joint->graph.value(id)->name);
        if (it == values.end())
            return runError("\"{}\" is not there", joint->graph.value(id)->name);
        return it->second;
    };

    void open(const char* sample, const char* target) {
        const std::filesystem::path folder = std::filesystem::path(NABLA_SAMPLE_MODELS) / sample;
        const Document document = must(Document::open(folder / "model.onnx"));
        const HistoryState state = must(differentiate(document.imported()->graph, {target}, {}, GradOptions::Cotangents::Ones));
        joint = state.joint;
        inputs = must(readValues(folder / "inputs.npz", joint->graph, Side::Inputs));
        SessionOptions options = referenceInDouble();
        joint->graph.forEachValue([&](const Value& value) { options.extraOutputs.push_back(value.name); });
        values = must(must(Session::create(joint->graph, options))->run(inputs));
    }
};

} // namespace

class TestChainRule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithPyTorch_data() {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("target");
        for (const char* sample : {"digits_mlp", "digits_cnn", "tiny_gpt"})
            QTest::newRow(sample) << sample << "loss";
        QTest::newRow("control_flow") << "control_flow" << "root";
    }
    void agreesWithPyTorch() {
        QFETCH(QString, sample);
        QFETCH(QString, target);
        Explained e;
        e.open(qPrintable(sample), qPrintable(target));
        const std::filesystem::path expected = std::filesystem::path(NABLA_TEST_DATA) / "samples" / sample.toStdString();
        int checked = 0;
        for (const char* file : {"gradients.npz", "cotangents.npz"}) {
            const auto reference = must(readNpz(expected / file));
            e.joint->graph.forEachValue([&](const Value& value) {
                const auto it = reference.find(value.name);
                if (it == reference.end() || !e.joint->gradientOf.contains(value.id) || (value.producer && e.joint->graph.producer(value.id)->gradientOf))
                    return;
                const Tensor& wanted = it->second;
                double largest = 1e-12;
                for (std::int64_t i = 0; i < wanted.elementCount(); ++i)
                    largest = std::max(largest, std::fabs(wanted.asDouble(i)));
                for (const std::int64_t element : {std::int64_t{0}, wanted.elementCount() / 2}) {
                    const auto rule = chainRule(*e.joint, value.id, element, e.valueOf);
                    QVERIFY2(rule, rule ? "" : rule.error().message().c_str());
                    const std::string what = fmt::format("{}{}: {} against {}, largest {}", value.name, elementText(element, rule->shape), rule->total, wanted.asDouble(element), largest);
                    QVERIFY2(std::fabs(rule->total - wanted.asDouble(element)) <= kTolerance * largest, what.c_str());
                    QVERIFY2(rule->gradient && std::fabs(rule->total - *rule->gradient) <= kTolerance * largest, what.c_str());
                    for (const ChainPath& path : rule->paths) {
                        QVERIFY2(!path.measured, what.c_str());
                        double sum = path.rest();
                        for (const ChainTerm& term : path.terms)
                            sum += term.product();
                        QVERIFY2(std::fabs(sum - path.share) <= 1e-12 * std::max(1.0, std::fabs(path.share)), what.c_str());
                    }
                    ++checked;
                }
            });
        }
        QVERIFY2(checked >= 8, qPrintable(QString::number(checked)));
    }

    /// conv1's weight [0, 0, 0, 0]: y[n, 0, i, j] depends on it by x[n, 0, i - 1, j - 1] (3x3 kernel, pads 1): the local derivatives are pixels.
    void firstConvolutionMultipliesPixels() {
        Explained e;
        e.open("digits_cnn", "loss");
        const Node* conv = nullptr;
        e.joint->graph.forEachNode([&](const Node& node) { conv = conv || !node.is("Conv") || node.gradientOf ? conv : &node; });
        QVERIFY(conv);
        const auto rule = chainRule(*e.joint, conv->inputs[1], 0, e.valueOf);
        QVERIFY2(rule, rule ? "" : rule.error().message().c_str());
        QCOMPARE(rule->paths.size(), std::size_t{1});
        QCOMPARE(rule->paths[0].rule, std::string("∂L/∂W = correlation of X with g"));
        const Tensor x = e.values.at(e.joint->graph.value(conv->inputs[0])->name).tensor();
        const Tensor y = e.values.at(e.joint->graph.value(conv->outputs[0])->name).tensor();
        const Tensor g = e.values.at(e.joint->graph.value(e.joint->gradientOf.at(conv->outputs[0]))->name).tensor();
        const std::int64_t channels = y.dim(1), h = y.dim(2), w = y.dim(3), inH = x.dim(2), inW = x.dim(3);
        const std::int64_t pad = conv->intsAttribute("pads").empty() ? 0 : conv->intsAttribute("pads")[0];
        QVERIFY(!rule->paths[0].terms.empty());
        for (const ChainTerm& term : rule->paths[0].terms) {
            const std::int64_t n = term.index / (channels * h * w), i = term.index / w % h - pad, j = term.index % w - pad;
            QVERIFY(term.index / (h * w) % channels == 0 && i >= 0 && j >= 0);
            QCOMPARE(term.local, x.asDouble((n * x.dim(1) * inH + i) * inW + j));
            QCOMPARE(term.upstream, g.asDouble(term.index));
        }
    }

    /// Central differences of the loss and the whole graph in double say the same; both are other ways to the number.
    void checksByDifferences() {
        Explained e;
        e.open("tiny_gpt", "loss");
        int checked = 0;
        std::vector<ValueId> ids;
        e.joint->graph.forEachValue([&](const Value& value) {
            if (e.joint->gradientOf.contains(value.id) && (value.constant || value.producer) && !(value.producer && e.joint->graph.producer(value.id)->gradientOf))
                ids.push_back(value.id);
        });
        for (std::size_t i = 0; i < ids.size(); i += 7) {
            const auto rule = chainRule(*e.joint, ids[i], 1 % e.values.at(e.joint->graph.value(ids[i])->name).tensor().elementCount(), e.valueOf);
            QVERIFY2(rule, rule ? "" : rule.error().message().c_str());
            const auto check = checkElement(*e.joint, e.inputs, ids[i], rule->element);
            QVERIFY2(check, check ? "" : check.error().message().c_str());
            QVERIFY(std::fabs(check->reference - rule->total) <= 1e-10 * std::max(1.0, std::fabs(rule->total)));
            QVERIFY2(std::fabs(check->central - rule->total) <= 1e-7 * std::max(1.0, std::fabs(rule->total)),
                qPrintable(QStringLiteral("%1: %2 against %3").arg(QString::fromStdString(e.joint->graph.value(ids[i])->name)).arg(check->central).arg(rule->total)));
            ++checked;
        }
        QVERIFY(checked >= 8);
    }

    void elementsAsText() {
        const Shape shape{2, 3, 4};
        QCOMPARE(elementText(17, shape), std::string("[1, 1, 1]"));
        QCOMPARE(parseElement("[1, 1, 1]", shape).value(), std::int64_t{17});
        QCOMPARE(parseElement("-1,-1,-1", shape).value(), std::int64_t{23});
        QCOMPARE(parseElement("", Shape{}).value(), std::int64_t{0});
        for (const char* wrong : {"[2, 0, 0]", "[0, 0]", "1 1 x", "9999999999999999999,0,0"})
            QVERIFY2(!parseElement(wrong, shape), wrong);
    }

    void curvesOfFunctions() {
        Explained e;
        e.open("digits_cnn", "loss");
        const Node* relu = nullptr;
        e.joint->graph.forEachNode([&](const Node& node) { relu = relu || !node.is("Relu") ? relu : &node; });
        const auto curve = curveOf(e.joint->graph, *relu, -4, 4);
        QVERIFY2(curve && *curve, curve ? "no curve" : curve.error().message().c_str());
        for (std::size_t i = 0; i < (*curve)->x.size(); ++i) {
            const double x = (*curve)->x[i];
            QCOMPARE((*curve)->y[i], std::max(0.0, x));
            QCOMPARE((*curve)->slope[i], x > 0 ? 1.0 : 0.0);
        }
    }
};

QTEST_APPLESS_MAIN(TestChainRule)
#include "tst_chain_rule.moc"
