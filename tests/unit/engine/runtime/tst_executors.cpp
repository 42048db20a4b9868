// Executors on graphs where something can go wrong: functions, bodies, values handed on, several threads, random
// numbers.
#include <QtTest>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/events/execution_observer.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

Graph parsed(const std::string& text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

std::vector<double> doubles(const RuntimeValue& value) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < value.tensor().elementCount(); ++i)
        out.push_back(value.tensor().asDouble(i));
    return out;
}

SessionOptions inMode(ExecutorMode mode, unsigned threads = 1) {
    SessionOptions options;
    options.mode = mode;
    options.threads = threads;
    return options;
}

const ExecutorMode kModes[] = {ExecutorMode::Compiled, ExecutorMode::Stepping, ExecutorMode::Eager};

NamedValues ran(const Graph& graph, const NamedValues& inputs, const SessionOptions& options) {
    auto session = Session::create(graph, options);
    if (!session)
        qFatal("%s", session.error().message().c_str());
    auto outputs = (*session)->run(inputs);
    if (!outputs)
        qFatal("%s", outputs.error().message().c_str());
    return std::move(*outputs);
}

const char* kFunction = R"(<ir_version: 10, opset_import: ["" : 28, "local" : 1]>
    g (float[N] x) => (float[N] y) {
        a = local.scale<factor = 3.0>(x)
        b = local.scale<factor = 0.5>(a)
        y = Neg(b)
    }
    <domain: "local", opset_import: ["" : 28]>
    scale <factor> (v) => (w) {
        f = Constant<value_float: float = @factor>()
        w = Mul(v, f)
    })";

const char* kCallsItself = R"(<ir_version: 10, opset_import: ["" : 28, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.again(x) }
    <domain: "local", opset_import: ["" : 28, "local" : 1]>
    again (v) => (w) { w = local.again(v) })";

/// Four branches that may run at once and reuse one another's memory: y = -4x.
std::string branches() {
    std::string text
        = R"(<ir_version: 10, opset_import: ["" : 28]> g (float[128,128] x, float[128,128] one) => (float[128,128] y) {)";
    for (int i = 0; i < 4; ++i)
        text += fmt::format(" a{0} = MatMul(x, one) b{0} = Neg(a{0}) c{0} = MatMul(b{0}, one) d{0} = Abs(c{0}) e{0} = "
                            "Neg(d{0}) f{0} = MatMul(e{0}, one)",
            i);
    return text + " s0 = Add(f0, f1) s1 = Add(f2, f3) y = Add(s0, s1) }";
}

} // namespace

class ExecutorsTest : public QObject {
    Q_OBJECT
private slots:
    void functionsGetTheCallsAttributes() {
        for (const ExecutorMode mode : kModes) {
            const auto y
                = doubles(ran(parsed(kFunction), {{"x", Tensor::of<float>({2}, {2, -4})}}, inMode(mode)).at("y"));
            QCOMPARE(y, (std::vector<double>{-3, 6}));
        }
        SessionOptions options = inMode(ExecutorMode::Compiled);
        options.inDouble = true;
        const NamedValues wide = ran(parsed(kFunction), {{"x", Tensor::of<float>({2}, {2, -4})}}, options);
        QCOMPARE(wide.at("y").tensor().dtype(), DType::Float64);
        QCOMPARE(doubles(wide.at("y")), (std::vector<double>{-3, 6}));
    }

    void aFunctionThatCallsItselfIsRefused() {
        for (const ExecutorMode mode : kModes) {
            auto session = Session::create(parsed(kCallsItself), inMode(mode));
            if (!session) { // found without running
                QCOMPARE(session.error().kind(), ErrorKind::Run);
                continue;
            }
            const auto outputs = (*session)->run({{"x", Tensor::of<float>({1}, {1})}});
            QVERIFY(!outputs);
            QCOMPARE(outputs.error().kind(), ErrorKind::Run);
        }
    }

    void bodiesReadOuterValues() {
        const Graph graph = parsed(R"(<ir_version: 10, opset_import: ["" : 28]> g (bool c, float[2] x) => (float[2] y) {
            a = Neg(x)
            b = If(c) <then_branch = t () => (float[2] r) { r = Abs(a) }, else_branch = e () => (float[2] s) { s = Identity(a) }>
            d = Neg(a)
            y = Add(b, d)
        })");
        for (const ExecutorMode mode : kModes) {
            auto session = Session::create(graph, inMode(mode));
            QVERIFY2(session, session ? "" : session.error().message().c_str());
            for (const bool condition : {true, false, true}) {
                const auto outputs
                    = (*session)->run({{"c", Tensor::scalar(condition)}, {"x", Tensor::of<float>({2}, {2, -4})}});
                QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
                // |−x| + x, or −x + x
                QCOMPARE(
                    doubles(outputs->at("y")), condition ? (std::vector<double>{4, 0}) : (std::vector<double>{0, 0}));
            }
        }
    }

    /// Dropout without training hands its input on; Neg may then not write over it, though nobody else reads it by that
    /// name.
    void aValueHandedOnIsNotOverwritten() {
        const Graph graph
            = parsed(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[2] x) => (float[2] y, float[2] z) {
            a = Abs(x)
            d = Dropout(a)
            b = Neg(a)
            y = Add(b, d)
            z = Sub(d, b)
        })");
        for (const bool inPlace : {true, false}) {
            SessionOptions options = inMode(ExecutorMode::Compiled);
            options.inPlace = inPlace;
            const NamedValues outputs = ran(graph, {{"x", Tensor::of<float>({2}, {2, -4})}}, options);
            QCOMPARE(doubles(outputs.at("y")), (std::vector<double>{0, 0}));
            QCOMPARE(doubles(outputs.at("z")), (std::vector<double>{4, 8}));
        }
    }

    void severalThreadsGiveTheSame() {
        const Graph graph = parsed(branches());
        std::vector<float> x(128 * 128), one(128 * 128, 0.F);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<float>(i % 97); // whole numbers: every sum is exact
        for (std::size_t i = 0; i < 128; ++i)
            one[i * 129] = 1;
        const NamedValues inputs{{"x", Tensor::of<float>({128, 128}, x)}, {"one", Tensor::of<float>({128, 128}, one)}};
        auto session = Session::create(graph, inMode(ExecutorMode::Compiled, 4));
        QVERIFY(session);
        ExecutionObserver observer;
        observer.start();
        for (int repeat = 0; repeat < 20; ++repeat) {
            const auto outputs = (*session)->run(inputs, {}, &observer);
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            const auto y = outputs->at("y").tensor().data<float>();
            for (std::size_t i = 0; i < x.size(); ++i)
                QVERIFY(y[i] == -4 * x[i]);
        }
        observer.stop();
        std::size_t steps = 0;
        observer.drain([&](const ThreadRing&, std::span<const EventRecord> records) {
            steps += static_cast<std::size_t>(std::count_if(
                records.begin(), records.end(), [](const EventRecord& r) { return r.kind == RecordKind::Step; }));
        });
        QCOMPARE(steps, 20 * (*(*session)->plan(inputs))->steps.size());
    }

    void anErrorOnOneThreadEndsTheRun() {
        const Graph graph = parsed(branches());
        auto session = Session::create(graph, inMode(ExecutorMode::Compiled, 4));
        QVERIFY(session);
        std::stop_source source;
        source.request_stop();
        JobControl job;
        job.stop = source.get_token();
        const NamedValues inputs{
            {"x", *Tensor::make(DType::Float32, {128, 128})}, {"one", *Tensor::make(DType::Float32, {128, 128})}};
        const auto outputs = (*session)->run(inputs, job);
        QVERIFY(!outputs);
        QCOMPARE(outputs.error().kind(), ErrorKind::Cancelled);
        QVERIFY((*session)->run(inputs)); // and the session is whole
    }

    void randomNumbersFollowTheSeed() {
        const Graph graph = parsed(
            R"(<ir_version: 10, opset_import: ["" : 28]> g (float[50] x) => (float[50] y) { y = RandomNormalLike(x) })");
        const NamedValues inputs{{"x", *Tensor::make(DType::Float32, {50})}};
        SessionOptions options = inMode(ExecutorMode::Compiled);
        options.seed = 7;
        const auto first = doubles(ran(graph, inputs, options).at("y"));
        for (const ExecutorMode mode : kModes) {
            options.mode = mode;
            QCOMPARE(doubles(ran(graph, inputs, options).at("y")), first);
        }
        options.seed = 8;
        QVERIFY(doubles(ran(graph, inputs, options).at("y")) != first);
        auto session = Session::create(graph, options);
        QVERIFY(session);
        QVERIFY(doubles((*session)->run(inputs)->at("y"))
            != doubles((*session)->run(inputs)->at("y"))); // each run draws on
    }

    void generatedInputsFitTheModel() {
        const Graph graph = parsed(
            R"(<ir_version: 10, opset_import: ["" : 28]> g (float[N,3] x, int64[N] i, bool b) => (float[N,3] y) { y = Neg(x) })");
        const auto inputs = generateInputs(graph, 3, {{"N", 4}});
        QVERIFY(inputs);
        QCOMPARE(inputs->at("x").tensor().shape(), (Shape{4, 3}));
        QCOMPARE(inputs->at("i").tensor().shape(), (Shape{4}));
        for (const double value : doubles(inputs->at("x")))
            QVERIFY(value >= -1 && value < 1);
        for (const double value : doubles(inputs->at("i")))
            QVERIFY(value == 0 || value == 1);
        QCOMPARE(doubles(inputs->at("b")), (std::vector<double>{1}));
        QCOMPARE(doubles(generateInputs(graph, 3, {{"N", 4}})->at("x")), doubles(inputs->at("x")));
        const auto tooLarge = generateInputs(graph, 3, {{"N", std::int64_t{1} << 31}}); // 2^31 x 3 numbers of 4 bytes
        QVERIFY(!tooLarge);
        QVERIFY(tooLarge.error().message().find("25769803776 bytes") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(ExecutorsTest)
#include "tst_executors.moc"
