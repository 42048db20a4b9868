// Stepping into bodies: values of iteration k are those of a run that is cut after k iterations.
#include <QtTest>

#include "engine/runtime/stepper.h"
#include "engine/schema/text_form.h"
#include "model_case.h"

using namespace nabla::engine;

namespace {

const std::string kControlFlow = std::string(NABLA_SAMPLE_MODELS) + "/control_flow/";

// v -> v * v + 1, from x; s holds the v that each iteration began with.
const char* kLoop = R"(<ir_version: 10, opset_import: ["" : 25]> g (int64 trips, float[2] x) => (float[2] y, float[k,2] s) {
    go = Constant <value = bool {1}> ()
    y, s = Loop (trips, go, x) <body = b (int64 i, bool was, float[2] v) => (bool on, float[2] w, float[2] o) {
        on = Identity (was)
        one = Constant <value = float {1}> ()
        q = Mul (v, v)
        w = Add (q, one)
        o = Identity (v)
    }>
})";

// h -> h / 2 + column of x; x is read backwards along axis 1.
const char* kScan = R"(<ir_version: 10, opset_import: ["" : 25]> g (float[2] h0, float[2,n] x) => (float[2] h, float[n,2] s) {
    h, s = Scan (h0, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], body = b (float[2] before, float[2] part) => (float[2] after, float[2] seen) {
        half = Constant <value = float {0.5}> ()
        less = Mul (before, half)
        after = Add (less, part)
        seen = Identity (after)
    }>
})";

const char* kCalls = R"(<ir_version: 10, opset_import: ["" : 25, "my" : 1]> g (float[2] x) => (float[2] y) {
    a = Neg (x)
    y = my.outer (a)
}
<domain: "my", opset_import: ["" : 25, "my" : 1]> outer (p) => (r) {
    t = my.inner (p)
    r = my.inner (t)
}
<domain: "my", opset_import: ["" : 25]> inner (e) => (f) {
    f = Add (e, e)
})";

Graph parsed(const char* text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

std::unique_ptr<Stepper> stepperOver(const Graph& graph, const NamedValues& inputs, std::int64_t budget = std::int64_t{2} << 30) {
    SessionOptions options;
    options.threads = 1;
    auto stepper = Stepper::create(graph, inputs, options, budget);
    if (!stepper)
        qFatal("%s", stepper.error().message().c_str());
    return std::move(*stepper);
}

/// Of the innermost body.
RuntimeValue named(Stepper& stepper, std::string_view name) {
    ValueId found;
    stepper.planAt(stepper.depth()).graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = value.id;
    });
    auto value = stepper.value(found);
    if (!value)
        qFatal("%s", value.error().message().c_str());
    return *value;
}

NamedValues ran(const Graph& graph, const NamedValues& inputs) {
    auto session = Session::create(graph, {});
    if (!session)
        qFatal("%s", session.error().message().c_str());
    auto values = (*session)->run(inputs);
    if (!values)
        qFatal("%s", values.error().message().c_str());
    return *values;
}

std::string differs(const RuntimeValue& got, const RuntimeValue& expected) { return difference("value", got, expected.tensor(), 0); }

NamedValues loopInputs(std::int64_t trips) {
    return {{"trips", Tensor::scalar<std::int64_t>(trips)}, {"x", Tensor::of<float>({2}, {0.5f, -0.25f})}};
}

/// The last k columns of a 2 x 5 matrix: what a backward Scan reads in its first k iterations.
NamedValues scanInputs(std::int64_t k) {
    const std::vector<float> all = {1, 2, 3, 4, 5, -1, 0.5f, 7, -8, 9};
    std::vector<float> part;
    for (std::int64_t row = 0; row < 2; ++row)
        part.insert(part.end(), all.begin() + (row + 1) * 5 - k, all.begin() + (row + 1) * 5);
    return {{"h0", Tensor::of<float>({2}, {4, 8})}, {"x", Tensor::of<float>({2, k}, part)}};
}

void goToNode(Stepper& stepper, std::string_view opType) {
    while (stepper.planAt(0).graph.node(stepper.nextNode())->opType != opType)
        QVERIFY(stepper.stepForward());
}

} // namespace

class BodySteps : public QObject {
    Q_OBJECT
private slots:
    void iterationsOfLoopAreThoseOfShorterRuns_data() {
        QTest::addColumn<qint64>("budget");
        QTest::newRow("everything kept") << (qint64{2} << 30);
        QTest::newRow("nothing kept") << qint64{0};
    }
    void iterationsOfLoopAreThoseOfShorterRuns() {
        QFETCH(qint64, budget);
        const Graph graph = parsed(kLoop);
        const auto stepper = stepperOver(graph, loopInputs(5), budget);
        goToNode(*stepper, "Loop");
        QVERIFY(stepper->canStepInto());
        QVERIFY(stepper->stepInto());
        for (std::int64_t k = 0; k < 5; ++k) {
            const Stepper::Level level = stepper->levels().at(0);
            QCOMPARE(level.iteration, k);
            QCOMPARE(level.body, std::string("body"));
            QVERIFY(level.iterations == 5 && !level.atMost);
            QCOMPARE(level.position, std::size_t(0));
            QCOMPARE(named(*stepper, "i").tensor().asInt64(0), k);
            const std::string before = differs(named(*stepper, "v"), ran(graph, loopInputs(k)).at("y"));
            QVERIFY2(before.empty(), before.c_str());
            while (stepper->levels().at(0).position < stepper->levels().at(0).stepCount)
                QVERIFY(stepper->stepForward());
            const std::string after = differs(named(*stepper, "w"), ran(graph, loopInputs(k + 1)).at("y"));
            QVERIFY2(after.empty(), after.c_str());
            QVERIFY(stepper->stepForward()); // over the border
        }
        QCOMPARE(stepper->depth(), std::size_t(0));
        QCOMPARE(stepper->position(), stepper->stepCount());
        const NamedValues whole = ran(graph, loopInputs(5));
        for (const char* name : {"y", "s"}) {
            const std::string wrong = differs(named(*stepper, name), whole.at(name));
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    void iterationsOfScanAreThoseOfShorterInputs() {
        const Graph graph = parsed(kScan);
        const auto stepper = stepperOver(graph, scanInputs(5));
        goToNode(*stepper, "Scan");
        QVERIFY(stepper->stepInto());
        for (std::int64_t k = 1; k <= 5; ++k) {
            QVERIFY(stepper->levels().at(0).iterations == 5 && !stepper->levels().at(0).atMost);
            while (stepper->levels().at(0).position < stepper->levels().at(0).stepCount)
                QVERIFY(stepper->stepForward());
            const std::string wrong = differs(named(*stepper, "after"), ran(graph, scanInputs(k)).at("h"));
            QVERIFY2(wrong.empty(), wrong.c_str());
            QVERIFY(stepper->stepForward());
        }
        QCOMPARE(stepper->depth(), std::size_t(0));
        const std::string wrong = differs(named(*stepper, "s"), ran(graph, scanInputs(5)).at("s"));
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void backCrossesTheBorderAndLeaves() {
        const auto stepper = stepperOver(parsed(kLoop), loopInputs(3));
        goToNode(*stepper, "Loop");
        const std::size_t loop = stepper->position();
        QVERIFY(stepper->stepInto());
        QVERIFY(stepper->goToIteration(2));
        QCOMPARE(stepper->levels().at(0).iteration, std::int64_t(2));
        QVERIFY(stepper->stepBack());
        const Stepper::Level before = stepper->levels().at(0);
        QCOMPARE(before.iteration, std::int64_t(1));
        QCOMPARE(before.position + 1, before.stepCount);
        // 0.5 -> 1.25 -> 2.5625: iteration 1 begins with 1.25
        QCOMPARE(named(*stepper, "v").tensor().asDouble(0), 1.25);
        QVERIFY(!stepper->goToIteration(3)); // the loop ends before it
        QCOMPARE(stepper->levels().at(0), before);
        QVERIFY(stepper->goToIteration(0));
        QVERIFY(stepper->stepBack());
        QCOMPARE(stepper->depth(), std::size_t(0));
        QCOMPARE(stepper->position(), loop);
        QVERIFY(stepper->stepInto());
        const auto stop = stepper->stepOut();
        QVERIFY(stop && stop->why == Stepper::Stop::Why::LeftBody);
        QCOMPARE(stepper->position(), loop + 1);
        QCOMPARE(named(*stepper, "y").tensor().asDouble(0), 2.5625 * 2.5625 + 1);
    }

    void noIterationIsSteppedOver() {
        const auto stepper = stepperOver(parsed(kLoop), loopInputs(0));
        goToNode(*stepper, "Loop");
        QVERIFY(stepper->stepInto());
        QCOMPARE(stepper->depth(), std::size_t(0));
        QCOMPARE(stepper->position(), stepper->stepCount());
        QCOMPARE(named(*stepper, "y").tensor().asDouble(0), 0.5);
    }

    void functionsThatCallFunctions() {
        const auto stepper = stepperOver(parsed(kCalls), {{"x", Tensor::of<float>({2}, {1, 3})}});
        QVERIFY(stepper->stepForward());
        QVERIFY(stepper->stepInto());
        QVERIFY(stepper->stepForward()); // over the first inner call
        QVERIFY(stepper->stepInto());
        QCOMPARE(stepper->depth(), std::size_t(2));
        QCOMPARE(stepper->levels()[0].body, std::string("outer"));
        QCOMPARE(stepper->levels()[1].body, std::string("inner"));
        QCOMPARE(named(*stepper, "e").tensor().asDouble(1), -6.0);
        QVERIFY(stepper->stepForward());
        QCOMPARE(named(*stepper, "f").tensor().asDouble(1), -12.0);
        QVERIFY(stepper->stepForward()); // out of the inner, which ends the outer
        QCOMPARE(stepper->depth(), std::size_t(1));
        QVERIFY(stepper->stepForward());
        QCOMPARE(stepper->depth(), std::size_t(0));
        QCOMPARE(named(*stepper, "y").tensor().asDouble(1), -12.0);
    }

    /// Expected: `errors` of expected.npz, by onnxruntime 1.32.0.
    void theSampleLoopHasTheErrorsOfOnnxruntime() {
        const NamedTensors expected = arrays(kControlFlow + "expected.npz");
        const auto stepper = stepperOver(legalGraph(kControlFlow + "model.onnx"), asInputs(arrays(kControlFlow + "inputs.npz")));
        goToNode(*stepper, "Loop");
        QVERIFY(stepper->stepInto());
        QVERIFY(stepper->levels().at(0).atMost); // by its tolerance
        const Tensor& errors = expected.at("errors");
        QCOMPARE(errors.dim(0), std::int64_t(8)); // the sample's README
        for (std::int64_t k = 0; k < 8; ++k) {
            QCOMPARE(stepper->levels().at(0).iteration, k);
            const Graph& body = stepper->planAt(1).graph;
            while (body.node(stepper->nextNode())->opType != "If")
                QVERIFY(stepper->stepForward());
            const double want = errors.asDouble(k), got = named(*stepper, "error").tensor().asDouble(0);
            QVERIFY2(std::abs(got - want) <= 2e-5 * std::abs(want) + 1e-6, qPrintable(QString("%1 %2 %3").arg(k).arg(got).arg(want)));
            QVERIFY(stepper->stepInto());
            // README: five steps of Halley's, then three of Newton's
            QCOMPARE(stepper->levels().at(1).body, std::string(k < 5 ? "then_branch" : "else_branch"));
            QVERIFY(stepper->stepOut());
            while (stepper->depth() == 1 && stepper->levels()[0].iteration == k)
                QVERIFY(stepper->stepForward());
        }
        QCOMPARE(stepper->depth(), std::size_t(0));
        const std::string wrong = difference("root", named(*stepper, "root"), expected.at("root"), 2e-6);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void breakpointsInBodiesStop() {
        const auto stepper = stepperOver(parsed(kLoop), loopInputs(3));
        goToNode(*stepper, "Loop");
        QVERIFY(stepper->stepInto());
        NodeId add;
        stepper->planAt(1).graph.forEachNode([&](const Node& node) { add = node.is("Add") ? node.id : add; });
        QVERIFY(stepper->goTo(0));
        stepper->setBreakpoints({add});
        for (std::int64_t k = 0; k < 3; ++k) {
            const auto stop = stepper->continueForward();
            QVERIFY(stop && stop->why == Stepper::Stop::Why::Breakpoint);
            QCOMPARE(stepper->levels().at(0).iteration, k);
            QCOMPARE(stepper->nextNode(), add);
        }
        const auto stop = stepper->continueForward();
        QVERIFY(stop && stop->why == Stepper::Stop::Why::End);
    }

    /// 0.5 squared plus one, again and again, leaves float32 in iteration 8, which begins with 1.8e28: 0.5, 1.25, 2.56, 7.57, 58.3, 3.4e3, 1.2e7, 1.3e14, 1.8e28, inf.
    void valuesThatAreNotFiniteStopInside() {
        const auto stepper = stepperOver(parsed(kLoop), loopInputs(20));
        stepper->setBreakOnNotFinite(true);
        const auto stop = stepper->continueForward();
        QVERIFY(stop && stop->why == Stepper::Stop::Why::NotFinite);
        QVERIFY2(stop->text.find("\"q\"") != std::string::npos, stop->text.c_str());
        QCOMPARE(stepper->levels().at(0).iteration, std::int64_t(8));
    }
};

QTEST_APPLESS_MAIN(BodySteps)
#include "tst_body_steps.moc"
