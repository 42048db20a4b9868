// What If, Loop and Scan mean: early ends, missing conditions and counts, axes and directions, captures through two bodies.
// Expected values: the arithmetic in each row; onnxruntime 1.32.0 gives the same for these models.
#include <QtTest>

#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"
#include "model_case.h"

using namespace nabla::engine;

namespace {

constexpr const char* kHead = R"(<ir_version: 10, opset_import: ["" : 21]> )";

// v doubles while it stays below 20.
const std::string kEarly = std::string(kHead) + R"(g (int64 trips, bool go, float x) => (float y, float[k] s) {
    y, s = Loop (trips, go, x) <body = b (int64 i, bool was, float v) => (bool on, float w, float o) {
        limit = Constant <value = float {20}> ()
        w = Add (v, v)
        on = Less (w, limit)
        o = Identity (v)
    }>
})";

const std::string kNoCondition = std::string(kHead) + R"(g (int64 trips, float x) => (float y, int64[k] s) {
    y, s = Loop (trips, , x) <body = b (int64 i, bool was, float v) => (bool on, float w, int64 o) {
        on = Identity (was)
        w = Add (v, v)
        o = Identity (i)
    }>
})";

const std::string kNoCount = std::string(kHead) + R"(g (bool go, float x) => (float y, int64[k] s) {
    y, s = Loop (, go, x) <body = b (int64 i, bool was, float v) => (bool on, float w, int64 o) {
        limit = Constant <value = float {20}> ()
        w = Add (v, v)
        on = Less (w, limit)
        o = Identity (i)
    }>
})";

// Running sums of the columns (axis 1) of x; stacked along axis 0, 1 and the last, the second from the back.
const std::string kScan = std::string(kHead) + R"(g (float[2] h0, float[2,3] x) => (float[2] h, float[3,2] a, float[2,3] b, float[2,3] c) {
    h, a, b, c = Scan (h0, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [0, 1, -1], scan_output_directions = [0, 1, 0],
        body = body (float[2] before, float[2] part) => (float[2] after, float[2] p, float[2] q, float[2] r) {
        after = Add (before, part)
        p = Identity (after)
        q = Identity (after)
        r = Identity (part)
    }>
})";

// Two sequences, the first from the front, the second from the back: sums of their products.
const std::string kTwoDirections = std::string(kHead) + R"(g (float h0, float[3] x, float[3] z) => (float h, float[3] s) {
    h, s = Scan (h0, x, z) <num_scan_inputs = 2, scan_input_directions = [0, 1], body = body (float before, float u, float w) => (float after, float seen) {
        product = Mul (u, w)
        after = Add (before, product)
        seen = Identity (product)
    }>
})";

// The inner Loop turns i + 1 times and reads the main graph's a, the outer body's doubled v and the outer i.
const std::string kNested = std::string(kHead) + R"(g (int64 trips, float a, float x) => (float y, float[k] s) {
    go = Constant <value = bool {1}> ()
    y, s = Loop (trips, go, x) <body = outer (int64 i, bool was, float v) => (bool on, float w, float o) {
        on = Identity (was)
        one = Constant <value = int64 {1}> ()
        count = Add (i, one)
        doubled = Add (v, v)
        w = Loop (count, was, v) <body = inner (int64 j, bool still, float t) => (bool again, float u) {
            again = Identity (still)
            step = Cast <to = 1> (i)
            both = Add (a, step)
            more = Add (both, doubled)
            u = Add (t, more)
        }>
        o = Identity (v)
    }>
})";

RuntimeValue number(float x) { return Tensor::scalar<float>(x); }
RuntimeValue count(std::int64_t x) { return Tensor::scalar<std::int64_t>(x); }
RuntimeValue flag(bool x) { return Tensor::scalar<bool>(x); }

} // namespace

class ControlFlow : public QObject {
    Q_OBJECT
    std::map<std::string, std::pair<NamedValues, std::map<std::string, Tensor>>> m_cases;

    void row(const char* name, const std::string& text, NamedValues inputs, std::map<std::string, Tensor> expected) {
        QTest::newRow(name) << QString::fromStdString(text);
        m_cases[name] = {std::move(inputs), std::move(expected)};
    }
    static Tensor floats(std::vector<float> x) {
        const auto n = static_cast<std::int64_t>(x.size());
        return Tensor::of<float>({n}, x);
    }
    static Tensor ints(std::vector<std::int64_t> x) {
        const auto n = static_cast<std::int64_t>(x.size());
        return Tensor::of<std::int64_t>({n}, x);
    }

private slots:
    void givesWhatTheStandardSays_data() {
        QTest::addColumn<QString>("text");
        // 1, 2, 4, 8, 16 begin an iteration; 32 ends it
        row("a condition ends the loop", kEarly, {{"trips", count(10)}, {"go", flag(true)}, {"x", number(1)}},
            {{"y", Tensor::scalar<float>(32)}, {"s", floats({1, 2, 4, 8, 16})}});
        row("the count ends it before", kEarly, {{"trips", count(3)}, {"go", flag(true)}, {"x", number(1)}},
            {{"y", Tensor::scalar<float>(8)}, {"s", floats({1, 2, 4})}});
        row("no trip by the count", kEarly, {{"trips", count(0)}, {"go", flag(true)}, {"x", number(5)}},
            {{"y", Tensor::scalar<float>(5)}, {"s", floats({})}});
        row("no trip by the condition", kEarly, {{"trips", count(10)}, {"go", flag(false)}, {"x", number(5)}},
            {{"y", Tensor::scalar<float>(5)}, {"s", floats({})}});
        row("one trip ends at once", kEarly, {{"trips", count(10)}, {"go", flag(true)}, {"x", number(50)}},
            {{"y", Tensor::scalar<float>(100)}, {"s", floats({50})}});
        row("a count alone", kNoCondition, {{"trips", count(4)}, {"x", number(3)}},
            {{"y", Tensor::scalar<float>(48)}, {"s", ints({0, 1, 2, 3})}}); // 3 * 2^4
        row("a condition alone", kNoCount, {{"go", flag(true)}, {"x", number(3)}},
            {{"y", Tensor::scalar<float>(24)}, {"s", ints({0, 1, 2})}}); // 6, 12, 24
        // columns (1, 4), (2, 5), (3, 6) onto (10, 20): (11, 24), (13, 29), (16, 35)
        row("outputs along three axes", kScan, {{"h0", Tensor::of<float>({2}, {10, 20})}, {"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}},
            {{"h", floats({16, 35})}, {"a", Tensor::of<float>({3, 2}, {11, 24, 13, 29, 16, 35})},
                {"b", Tensor::of<float>({2, 3}, {16, 13, 11, 35, 29, 24})}, {"c", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
        // 1 * 6, 2 * 5, 3 * 4
        row("one sequence from the back", kTwoDirections, {{"h0", number(100)}, {"x", floats({1, 2, 3})}, {"z", floats({4, 5, 6})}},
            {{"h", Tensor::scalar<float>(128)}, {"s", floats({6, 10, 12})}});
        // v + (i + 1) (a + i + 2 v), a = 0.5: 1 -> 1 + 2.5 = 3.5 -> 3.5 + 2 * 8.5 = 20.5 -> 20.5 + 3 * 43.5 = 151
        row("captures through two bodies", kNested, {{"trips", count(3)}, {"a", number(0.5f)}, {"x", number(1)}},
            {{"y", Tensor::scalar<float>(151)}, {"s", floats({1, 3.5f, 20.5f})}});
    }
    void givesWhatTheStandardSays() {
        QFETCH(QString, text);
        const auto& [inputs, expected] = m_cases.at(QTest::currentDataTag());
        const auto graph = parseGraphText(text.toStdString());
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        for (const ExecutorMode mode : {ExecutorMode::Compiled, ExecutorMode::Stepping, ExecutorMode::Eager}) {
            SessionOptions options;
            options.threads = 1;
            options.mode = mode;
            auto session = Session::create(*graph, options);
            QVERIFY2(session, session ? "" : session.error().message().c_str());
            const auto outputs = (*session)->run(inputs);
            QVERIFY2(outputs, outputs ? "" : outputs.error().message().c_str());
            for (const auto& [name, tensor] : expected) { // small whole numbers and halves: exact in float32
                const std::string wrong = difference(name, outputs->at(name), tensor, 0);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(ControlFlow)
#include "tst_control_flow.moc"
