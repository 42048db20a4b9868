// Every optimised kernel against the reference kernel of its operator, on random shapes and on the values where vector
// code goes wrong.
#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "engine/kernels/kernel.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor random(Shape shape, unsigned seed, float low = -2, float high = 2) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> values(low, high);
    Tensor t = *Tensor::make(DType::Float32, std::move(shape));
    for (float& value : t.mutableData<float>())
        value = values(engine);
    return t;
}

struct Outcome {
    Tensor value;
    std::string kernel;
};

Outcome outcome(const Graph& graph, const NamedValues& inputs, bool optimised, unsigned threads) {
    SessionOptions options;
    options.optimisedKernels = optimised;
    options.threads = threads;
    auto session = Session::create(graph, options);
    if (!session)
        qFatal("%s", session.error().message().c_str());
    auto outputs = (*session)->run(inputs);
    if (!outputs)
        qFatal("%s", outputs.error().message().c_str());
    const auto plan = *(*session)->plan(inputs);
    const Kernel* kernel = plan->steps.back().kernel;
    return {outputs->begin()->second.tensor(), kernel ? std::string(kernel->name) : "reference"};
}

/// Difference relative to the largest finite entry; infinite when NaN or infinities stand at other places.
double distance(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape())
        return std::numeric_limits<double>::infinity();
    double largest = 0, worst = 0;
    for (std::int64_t i = 0; i < b.elementCount(); ++i)
        largest = std::isfinite(b.asDouble(i)) ? std::max(largest, std::abs(b.asDouble(i))) : largest;
    for (std::int64_t i = 0; i < b.elementCount(); ++i) {
        const double x = a.asDouble(i), y = b.asDouble(i);
        if (x == y || (std::isnan(x) && std::isnan(y)))
            continue;
        if (!std::isfinite(x) || !std::isfinite(y))
            return std::numeric_limits<double>::infinity();
        worst = std::max(worst, std::abs(x - y) / largest);
    }
    return worst;
}

std::string dims(const Shape& shape) {
    return fmt::format("{}", fmt::join(shape, ","));
}

Graph oneNode(const std::string& call, const std::vector<Shape>& shapes, const std::string& constant = "") {
    std::string inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        inputs += fmt::format("{}float[{}] x{}", i ? ", " : "", dims(shapes[i]), i);
    const std::string text = fmt::format(
        "<ir_version: 10, opset_import: [\"\" : 28]> g ({}) => (float y) {} {{ y = {} }}", inputs, constant, call);
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s: %s", text.c_str(), graph.error().message().c_str());
    return *graph;
}

} // namespace

class KernelsTest : public QObject {
    Q_OBJECT

    void row(
        const char* name, const char* call, std::vector<Shape> shapes, const char* kernel, double tolerance = 2e-6) {
        QTest::newRow(name) << QString(call) << QVariant::fromValue(shapes) << QString(kernel) << tolerance;
    }

private slots:
    // Tolerances: sums of k products in float32 in another order differ by about sqrt(k) * 6e-8 of the largest entry;
    // element-wise functions by the few ulp that simd.h states.
    void equalTheReference_data() {
        QTest::addColumn<QString>("call");
        QTest::addColumn<QVariant>("shapes");
        QTest::addColumn<QString>("kernel");
        QTest::addColumn<double>("tolerance");
        row("matmul", "MatMul(x0, x1)", {{7, 33}, {33, 5}}, "onednn.matmul");
        row("matmul one row", "MatMul(x0, x1)", {{1, 64}, {64, 64}}, "onednn.matmul");
        row("matmul of a batch by one matrix", "MatMul(x0, x1)", {{2, 3, 4, 5}, {5, 6}}, "onednn.matmul");
        row("matmul of batches", "MatMul(x0, x1)", {{2, 3, 4, 5}, {2, 3, 5, 6}}, "onednn.matmul");
        row("matmul with a repeated batch", "MatMul(x0, x1)", {{2, 1, 4, 5}, {3, 5, 6}}, "onednn.matmul");
        row("matmul of nothing", "MatMul(x0, x1)", {{0, 5}, {5, 6}}, "reference");
        row("gemm", "Gemm(x0, x1, x2)", {{7, 9}, {9, 5}, {5}}, "onednn.gemm");
        row("gemm transposed", "Gemm<transA = 1, transB = 1>(x0, x1)", {{9, 7}, {5, 9}}, "onednn.gemm");
        row("gemm, bias of a matrix", "Gemm<transB = 1>(x0, x1, x2)", {{7, 9}, {5, 9}, {7, 5}}, "onednn.gemm");
        row("gemm scaled", "Gemm<alpha = 0.5>(x0, x1, x2)", {{7, 9}, {9, 5}, {5}}, "reference");
        row("conv", "Conv<pads = [1,1,1,1]>(x0, x1, x2)", {{2, 3, 9, 8}, {5, 3, 3, 3}, {5}}, "onednn.conv");
        row("conv strided, dilated", "Conv<strides = [2,1], dilations = [1,2], pads = [0,1,2,0]>(x0, x1)",
            {{1, 4, 11, 12}, {6, 4, 3, 2}}, "onednn.conv");
        row("conv of groups", "Conv<group = 2>(x0, x1)", {{1, 4, 6, 6}, {6, 2, 3, 3}}, "onednn.conv");
        row("conv by depth", "Conv<group = 4, auto_pad = \"SAME_UPPER\">(x0, x1)", {{1, 4, 7, 7}, {4, 1, 3, 3}},
            "onednn.conv");
        row("conv in one dimension", "Conv(x0, x1)", {{2, 3, 16}, {4, 3, 5}}, "onednn.conv");
        row("conv in three dimensions", "Conv(x0, x1)", {{1, 2, 5, 5, 5}, {3, 2, 2, 2, 2}}, "onednn.conv");
        row("softmax", "Softmax(x0)", {{3, 4, 10}}, "onednn.softmax");
        row("softmax along axis 1", "Softmax<axis = 1>(x0)", {{3, 4, 10}}, "onednn.softmax");
        row("logsoftmax", "LogSoftmax(x0)", {{3, 10}}, "rows.logsoftmax");
        row("logsoftmax along axis 0", "LogSoftmax<axis = 0>(x0)", {{3, 10}}, "reference");
        row("logsoftmax large", "LogSoftmax<axis = 1>(x0)", {{700, 100}}, "rows.logsoftmax");
        row("average pool", "AveragePool<kernel_shape = [3,2], strides = [2,2], pads = [1,0,1,1]>(x0)", {{2, 3, 8, 9}},
            "onednn.averagepool");
        row("average pool with pads", "AveragePool<kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1>(x0)",
            {{2, 3, 8, 9}}, "onednn.averagepool");
        row("global average pool", "GlobalAveragePool(x0)", {{2, 3, 8, 9}}, "onednn.averagepool");
        row("max pool", "MaxPool<kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1]>(x0)", {{2, 3, 8, 9}},
            "rows.maxpool", 0);
        row("max pool dilated, rounded up",
            "MaxPool<kernel_shape = [2,3], dilations = [2,1], strides = [3,2], ceil_mode = 1>(x0)", {{1, 2, 9, 10}},
            "rows.maxpool", 0);
        row("max pool in one dimension", "MaxPool<kernel_shape = [4], auto_pad = \"SAME_LOWER\">(x0)", {{2, 3, 9}},
            "rows.maxpool", 0);
        row("max pool in three dimensions", "MaxPool<kernel_shape = [2,2,2], strides = [2,1,2]>(x0)", {{1, 2, 5, 4, 6}},
            "rows.maxpool", 0);
        row("add", "Add(x0, x1)", {{3, 5}, {3, 5}}, "simd.elementwise", 0);
        row("sub a scalar", "Sub(x0, x1)", {{3, 5}, {}}, "simd.elementwise", 0);
        row("sub from a scalar", "Sub(x0, x1)", {{1}, {3, 5}}, "simd.elementwise", 0);
        row("mul by a row", "Mul(x0, x1)", {{3, 40}, {40}}, "simd.elementwise", 0);
        row("div by channels", "Div(x0, x1)", {{2, 3, 4, 5}, {3, 1, 1}}, "simd.elementwise", 0);
        row("add outer", "Add(x0, x1)", {{7, 1}, {1, 5}}, "simd.elementwise", 0);
        row("add interleaved", "Add(x0, x1)", {{2, 1, 3, 1}, {1, 4, 1, 5}}, "simd.elementwise", 0);
        row("add large", "Add(x0, x1)", {{300, 301}, {301}}, "simd.elementwise", 0);
        row("add nothing", "Add(x0, x1)", {{0, 3}, {3}}, "simd.elementwise", 0);
        row("relu", "Relu(x0)", {{100, 401}}, "simd.elementwise", 0);
        row("exp", "Exp(x0)", {{1003}}, "simd.elementwise");
        row("sigmoid", "Sigmoid(x0)", {{1003}}, "simd.elementwise");
        row("tanh", "Tanh(x0)", {{1003}}, "simd.elementwise");
    }
    void equalTheReference() {
        QFETCH(QString, call);
        QFETCH(QVariant, shapes);
        QFETCH(QString, kernel);
        QFETCH(double, tolerance);
        const auto list = shapes.value<std::vector<Shape>>();
        const Graph graph = oneNode(call.toStdString(), list);
        NamedValues inputs;
        for (std::size_t i = 0; i < list.size(); ++i)
            inputs.emplace(fmt::format("x{}", i), random(list[i], static_cast<unsigned>(i + 1)));
        const Outcome reference = outcome(graph, inputs, false, 1);
        QCOMPARE(reference.kernel, std::string("reference"));
        for (const unsigned threads : {1U, 3U}) {
            const Outcome optimised = outcome(graph, inputs, true, threads);
            QCOMPARE(QString::fromStdString(optimised.kernel), kernel);
            const double apart = distance(optimised.value, reference.value);
            QVERIFY2(apart <= tolerance, qPrintable(QString("%1 apart").arg(apart)));
        }
    }

    void edgesOfFunctions_data() {
        QTest::addColumn<QString>("function");
        for (const char* name : {"Abs", "Exp", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh"})
            QTest::newRow(name) << name;
    }
    void edgesOfFunctions() {
        QFETCH(QString, function);
        const std::vector<float> edges{0.F, -0.F, 1.F, -1.F, kInf, -kInf, kNan, 1e-30F, 1e30F, -1e30F, 88.7F, 88.73F,
            -87.F, -110.F, 20.F, -20.F, 1e-40F, 0.5F, 3.F};
        NamedValues inputs{{"x0", Tensor::of<float>({static_cast<std::int64_t>(edges.size())}, edges)}};
        const Graph graph = oneNode(function.toStdString() + "(x0)", {{static_cast<std::int64_t>(edges.size())}});
        const Outcome reference = outcome(graph, inputs, false, 1), optimised = outcome(graph, inputs, true, 1);
        QCOMPARE(optimised.kernel, std::string("simd.elementwise"));
        for (std::int64_t i = 0; i < reference.value.elementCount(); ++i) {
            const double a = optimised.value.asDouble(i), b = reference.value.asDouble(i);
            const bool same = a == b || (std::isnan(a) && std::isnan(b))
                || std::abs(a - b) <= 1e-6 * std::abs(b) + 1e-37; // below: subnormal numbers
            QVERIFY2(same,
                qPrintable(QString("f(%1) is %2, %3 is right")
                               .arg(static_cast<double>(edges[static_cast<std::size_t>(i)]))
                               .arg(a)
                               .arg(b)));
        }
    }

    void softmaxOfAMaskedRowIsNan() { // minus infinity less minus infinity: tests/data/bugs/run-first-nan
        const Graph graph = oneNode("Softmax(x0)", {{2, 3}});
        const NamedValues inputs{{"x0", Tensor::of<float>({2, 3}, {0.5F, 1.F, -kInf, -kInf, -kInf, -kInf})}};
        const Tensor y = outcome(graph, inputs, true, 1).value;
        QVERIFY(std::abs(y.asDouble(0) - 0.3775406687981454) < 1e-6); // 1 / (1 + e^0.5)
        QVERIFY(y.asDouble(2) == 0);
        for (int i = 3; i < 6; ++i)
            QVERIFY(std::isnan(y.asDouble(i)));
    }

    // Of each element, not of the largest: 1 - p of a sure classifier is the difference of two numbers near each other. float32 has 6e-8; the
    // exponential adds its 1 ulp.
    void logSoftmaxKeepsSmallResults() {
        const Graph graph = oneNode("LogSoftmax(x0)", {{2, 3}});
        const std::vector<float> x{12.F, 0.5F, -1.F, 7.F, 7.F, -kInf};
        const Tensor y = outcome(graph, {{"x0", Tensor::of<float>({2, 3}, x)}}, true, 1).value;
        for (std::size_t row = 0; row < 2; ++row) {
            double sum = 0;
            for (std::size_t k = 0; k < 3; ++k)
                sum += std::exp(static_cast<double>(x[3 * row + k]) - static_cast<double>(x[3 * row]));
            for (std::size_t k = 0; k < 3; ++k) {
                const double right = static_cast<double>(x[3 * row + k]) - static_cast<double>(x[3 * row]) - std::log(sum);
                const double actual = y.asDouble(static_cast<std::int64_t>(3 * row + k));
                QVERIFY2(actual == right || std::abs(actual - right) <= 3e-7 * std::abs(right), qPrintable(QString("%1, %2 is right").arg(actual).arg(right)));
            }
        }
    }

    void maxPoolKeepsNan() {
        const Graph graph = oneNode("MaxPool<kernel_shape = [2], strides = [1]>(x0)", {{1, 1, 5}});
        const Tensor y = outcome(graph, {{"x0", Tensor::of<float>({1, 1, 5}, {1, kNan, 3, 2, -kInf})}}, true, 1).value;
        QVERIFY(std::isnan(y.asDouble(0)) && std::isnan(y.asDouble(1)));
        QCOMPARE(y.asDouble(2), 3.0);
        QCOMPARE(y.asDouble(3), 2.0);
    }

    void constantWeightsArePackedOnce() {
        const std::string constant = "<float[64,64] w = {" + [] {
            std::string text;
            for (int i = 0; i < 64 * 64; ++i)
                text += fmt::format("{}{}", i ? "," : "", (i * 7 % 13) - 6);
            return text;
        }() + "}>";
        const Graph graph = oneNode("MatMul(x0, w)", {{3, 64}}, constant);
        const NamedValues inputs{{"x0", random({3, 64}, 1)}};
        const Outcome reference = outcome(graph, inputs, false, 1), optimised = outcome(graph, inputs, true, 1);
        QCOMPARE(optimised.kernel, std::string("onednn.matmul"));
        QVERIFY(distance(optimised.value, reference.value) < 2e-6);
    }
};

Q_DECLARE_METATYPE(std::vector<nabla::engine::Shape>)
QTEST_APPLESS_MAIN(KernelsTest)
#include "tst_kernels.moc"
