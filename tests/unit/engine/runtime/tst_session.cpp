// Session: the three executors agree with closed forms and with one another, bad inputs are refused in words, runs can
// be cancelled.
#include <QtTest>

#include <cmath>

#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

Graph parsed(const char* text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

std::vector<float> floats(const RuntimeValue& value) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < value.tensor().elementCount(); ++i)
        out.push_back(static_cast<float>(value.tensor().asDouble(i)));
    return out;
}

SessionOptions inMode(ExecutorMode mode, unsigned threads = 1) {
    SessionOptions options;
    options.mode = mode;
    options.threads = threads;
    return options;
}

Result<NamedValues> runInDouble(const char* text, double x) {
    SessionOptions options = inMode(ExecutorMode::Compiled);
    options.inDouble = true;
    NABLA_TRY(const auto session, Session::create(parsed(text), options));
    return session->run({{"x", Tensor::of<double>({1}, {x})}});
}

const char* kChain = R"(<ir_version: 10, opset_import: ["" : 21]> g (float[N,2] x) => (float[N,2] y) {
    a = Mul(x, x)
    b = Add(a, x)
    c = Neg(b)
    y = Add(c, a)
})"; // y = -(x^2 + x) + x^2 = -x

} // namespace

class SessionTest : public QObject {
    Q_OBJECT
private slots:
    void executorsAgree_data() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("threads");
        QTest::newRow("compiled, one thread") << static_cast<int>(ExecutorMode::Compiled) << 1;
        QTest::newRow("compiled, four threads") << static_cast<int>(ExecutorMode::Compiled) << 4;
        QTest::newRow("stepping") << static_cast<int>(ExecutorMode::Stepping) << 1;
        QTest::newRow("eager") << static_cast<int>(ExecutorMode::Eager) << 1;
    }
    void executorsAgree() {
        QFETCH(int, mode);
        QFETCH(int, threads);
        auto session
            = Session::create(parsed(kChain), inMode(static_cast<ExecutorMode>(mode), static_cast<unsigned>(threads)));
        QVERIFY2(session, session ? "" : session.error().message().c_str());
        for (const std::int64_t rows : {1, 5, 1, 3, 0}) {
            std::vector<float> x(static_cast<std::size_t>(rows * 2));
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<float>(i) - 1.5F; // all sums here are exact in float32
            auto outputs = (*session)->run({{"x", Tensor::of<float>({rows, 2}, x)}});
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            QCOMPARE(outputs->at("y").tensor().shape(), (Shape{rows, 2}));
            const auto y = floats(outputs->at("y"));
            for (std::size_t i = 0; i < x.size(); ++i)
                QCOMPARE(y[i], -x[i]);
        }
    }

    void outputsSurviveTheNextRun() {
        auto session = Session::create(parsed(kChain), inMode(ExecutorMode::Compiled));
        QVERIFY(session);
        const auto first = (*session)->run({{"x", Tensor::of<float>({1, 2}, {1, 2})}});
        const auto second = (*session)->run({{"x", Tensor::of<float>({1, 2}, {3, 4})}});
        QVERIFY(first && second);
        QCOMPARE(floats(first->at("y")), (std::vector<float>{-1, -2}));
        QCOMPARE(floats(second->at("y")), (std::vector<float>{-3, -4}));
    }

    void badInputsAreRefused_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("message");
        QTest::newRow("missing") << "" << 0 << "input \"x\" is missing: the model takes \"x\" float32[N,2]";
        QTest::newRow("type") << "x" << 1 << "input \"x\" is declared float32[N,2], it is given float64[1,2]";
        QTest::newRow("rank") << "x" << 2
                              << "input \"x\" is declared float32[N,2] (rank 2), it is given float32[2] (rank 1)";
        QTest::newRow("dimension")
            << "x" << 3
            << "input \"x\" is declared float32[N,2], it is given float32[1,3]: dimension 1 must be 2, it is 3";
        QTest::newRow("unknown name") << "z" << 4 << "the model has no input \"z\": it takes \"x\" float32[N,2]";
    }
    void badInputsAreRefused() {
        QFETCH(QString, name);
        QFETCH(int, kind);
        QFETCH(QString, message);
        NamedValues inputs;
        if (kind == 1)
            inputs["x"] = Tensor::of<double>({1, 2}, {1, 2});
        if (kind == 2)
            inputs["x"] = Tensor::of<float>({2}, {1, 2});
        if (kind == 3)
            inputs["x"] = Tensor::of<float>({1, 3}, {1, 2, 3});
        if (kind == 4) {
            inputs["x"] = Tensor::of<float>({1, 2}, {1, 2});
            inputs["z"] = inputs["x"];
        }
        auto session = Session::create(parsed(kChain), inMode(ExecutorMode::Compiled));
        QVERIFY(session);
        const auto outputs = (*session)->run(inputs);
        QVERIFY(!outputs);
        QCOMPARE(QString::fromStdString(outputs.error().message()), message);
        QCOMPARE(outputs.error().kind(), ErrorKind::Usage);
    }

    void aStoppedJobIsCancelled() {
        std::stop_source source;
        source.request_stop();
        for (const ExecutorMode mode : {ExecutorMode::Compiled, ExecutorMode::Stepping, ExecutorMode::Eager}) {
            auto session = Session::create(parsed(kChain), inMode(mode));
            QVERIFY(session);
            JobControl job;
            job.stop = source.get_token();
            const auto outputs = (*session)->run({{"x", Tensor::of<float>({1, 2}, {1, 2})}}, job);
            QVERIFY(!outputs);
            QCOMPARE(outputs.error().kind(), ErrorKind::Cancelled);
        }
    }

    void extraOutputsAreGiven() {
        SessionOptions options = inMode(ExecutorMode::Compiled);
        options.extraOutputs = {"b", "a"};
        auto session = Session::create(parsed(kChain), options);
        QVERIFY(session);
        QCOMPARE((*session)->outputNames(), (std::vector<std::string>{"y", "b", "a"}));
        const auto outputs = (*session)->run({{"x", Tensor::of<float>({1, 2}, {1, 2})}});
        QVERIFY(outputs);
        QCOMPARE(floats(outputs->at("a")), (std::vector<float>{1, 4}));
        QCOMPARE(floats(outputs->at("b")), (std::vector<float>{2, 6}));
        options.extraOutputs = {"q"};
        const auto refused = Session::create(parsed(kChain), options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().message(), std::string("the model has no value \"q\""));
    }

    void doubleIsDouble() {
        // 2^24 + 1 is no float32; half of it is exact in float64.
        const auto outputs = runInDouble(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[1] x) => (float[1] y) {
            h = Constant<value = float[1] {0.5}>()
            y = Mul(x, h)
        })", 16777217.0);
        QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
        QCOMPARE(outputs->at("y").tensor().dtype(), DType::Float64);
        QCOMPARE(outputs->at("y").tensor().data<double>()[0], 8388608.5);
    }

    /// Also where the operator itself may be float32 at most, when it runs as other nodes.
    void doubleIsDoubleInBodies() {
        const auto outputs = runInDouble(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[1] x) => (float[1] y) {
            y = com.microsoft.QuickGelu<alpha = 1.0>(x)
        })", 1.0);
        QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
        QCOMPARE(outputs->at("y").tensor().dtype(), DType::Float64);
        QVERIFY(std::fabs(outputs->at("y").tensor().data<double>()[0] - 1 / (1 + std::exp(-1.0))) < 1e-15);
    }

    void memoryLimitIsKept() {
        SessionOptions options = inMode(ExecutorMode::Compiled);
        options.memoryLimitBytes = 1000;
        auto session = Session::create(parsed(kChain), options);
        QVERIFY(session);
        QVERIFY((*session)->run({{"x", Tensor::of<float>({1, 2}, {1, 2})}}));
        const auto outputs = (*session)->run({{"x", Tensor::of<float>({1000, 2}, std::vector<float>(2000, 1.F))}});
        QVERIFY(!outputs);
        QCOMPARE(outputs.error().kind(), ErrorKind::Run);
        QVERIFY2(outputs.error().message().find("the limit is 1000") != std::string::npos,
            outputs.error().message().c_str());
    }

    void errorsNameTheNode() {
        auto session = Session::create(
            parsed(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[N,2] a, float[M,3] b) => (float[N,K] y) {
            y = MatMul(a, b)
        })"),
            inMode(ExecutorMode::Compiled));
        QVERIFY(session);
        const auto outputs
            = (*session)->run({{"a", Tensor::of<float>({1, 2}, {1, 2})}, {"b", Tensor::of<float>({1, 3}, {1, 2, 3})}});
        QVERIFY(!outputs);
        QVERIFY2(outputs.error().message().find("(MatMul): ") != std::string::npos, outputs.error().message().c_str());
    }
};

QTEST_APPLESS_MAIN(SessionTest)
#include "tst_session.moc"
