// Stepper: forward, back, across the border to the backward pass, with dropped values made again.
#include <QtTest>

#include "engine/autodiff/grad.h"
#include "engine/events/execution_observer.h"
#include "engine/runtime/stepper.h"
#include "engine/schema/text_form.h"
#include "model_case.h"

using namespace nabla::engine;

namespace {

const std::string kCnn = std::string(NABLA_SAMPLE_MODELS) + "/digits_cnn/";
const std::string kCnnReferences = std::string(NABLA_TEST_DATA) + "/samples/digits_cnn/";

SessionOptions oneThread() {
    SessionOptions options;
    options.threads = 1;
    return options;
}

Graph parsed(const char* text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

ValueId valueNamed(const Graph& graph, std::string_view name) {
    ValueId found;
    graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = value.id;
    });
    return found;
}

std::unique_ptr<Stepper> stepperOver(const Graph& graph, const NamedValues& inputs,
    const SessionOptions& options = oneThread(), std::int64_t budget = std::int64_t{2} << 30) {
    auto stepper = Stepper::create(graph, inputs, options, budget);
    if (!stepper)
        qFatal("%s", stepper.error().message().c_str());
    return std::move(*stepper);
}

/// The CNN with the gradient of its loss, in double.
JointGraph jointCnn() {
    const Graph graph = legalGraph(kCnn + "model.onnx");
    GradOptions options;
    options.cotangents = GradOptions::Cotangents::Ones;
    options.of = {valueNamed(graph, "loss")};
    auto joint = grad(graph, options);
    if (!joint)
        qFatal("%s", joint.error().message().c_str());
    return std::move(*joint);
}

const char* kDiamond = R"(<ir_version: 10, opset_import: ["" : 28]> g (float[2] x) => (float[2] y) {
    a = Neg(x)
    b = Exp(a)
    c = Log(b)
    y = Add(c, a)
})"; // y = -2x

} // namespace

class StepperTest : public QObject {
    Q_OBJECT
private slots:
    void valuesComeAndGoWithTheSteps() {
        const auto stepper = stepperOver(parsed(kDiamond), {{"x", Tensor::of<float>({2}, {1, -1})}});
        QCOMPARE(stepper->stepCount(), std::size_t(4));
        QCOMPARE(stepper->backwardStart(), std::size_t(4));
        const ValueId b = valueNamed(stepper->graph(), "b");
        QVERIFY(!stepper->available(b));
        QVERIFY(!stepper->value(b));
        QVERIFY(stepper->stepForward());
        QVERIFY(stepper->stepForward());
        QVERIFY(stepper->available(b));
        QVERIFY(std::abs(stepper->value(b)->tensor().asDouble(0) - 0.36787944) < 1e-6); // 1/e
        QVERIFY(stepper->stepBack());
        QCOMPARE(stepper->position(), std::size_t(1));
        QVERIFY(!stepper->available(b));
        QVERIFY(stepper->goTo(4));
        QVERIFY(std::abs(stepper->value(valueNamed(stepper->graph(), "y"))->tensor().asDouble(1) - 2) < 1e-6);
        QVERIFY(stepper->goTo(0));
        QCOMPARE(stepper->keptBytes(), 0);
        QVERIFY(stepper->stepBack());
        QCOMPARE(stepper->position(), std::size_t(0));
    }

    void droppedValuesAreMadeAgain() {
        const auto stepper = stepperOver(
            parsed(kDiamond), {{"x", Tensor::of<float>({2}, {1, -1})}}, oneThread(), 16); // two values of 8 bytes
        while (stepper->position() < stepper->stepCount()) {
            QVERIFY(stepper->stepForward());
            QVERIFY(stepper->keptBytes() <= 24); // the budget and the step's own result
        }
        QCOMPARE(stepper->value(valueNamed(stepper->graph(), "a"))->tensor().asDouble(0), -1.0);
        QVERIFY(std::abs(stepper->value(valueNamed(stepper->graph(), "y"))->tensor().asDouble(0) + 2) < 1e-6);
    }

    void breakpointsAndNotFiniteValuesStop() {
        const auto stepper = stepperOver(parsed(kDiamond), {{"x", Tensor::of<float>({2}, {1, -200})}});
        const NodeId third = stepper->nodeAt(2);
        stepper->setBreakpoints({third});
        auto stop = stepper->continueForward();
        QVERIFY(stop);
        QVERIFY(stop->why == Stepper::Stop::Why::Breakpoint);
        QCOMPARE(stepper->position(), std::size_t(2));
        stop = stepper->continueForward(); // goes on from the node it stands on
        QVERIFY(stop && stop->why == Stepper::Stop::Why::End);
        QVERIFY(stepper->goTo(0));
        stepper->setBreakpoints({});
        stepper->setBreakOnNotFinite(true);
        stop = stepper->continueForward(); // exp(200) is no float32
        QVERIFY(stop && stop->why == Stepper::Stop::Why::NotFinite);
        QCOMPARE(stepper->position(), std::size_t(2));
        QVERIFY2(stop->text.find("1 of 2 values of \"b\" are not finite") != std::string::npos, stop->text.c_str());
        std::stop_source source;
        source.request_stop();
        JobControl job;
        job.stop = source.get_token();
        stop = stepper->continueForward(job);
        QVERIFY(stop && stop->why == Stepper::Stop::Why::Cancelled);
    }

    void theBackwardPassOfTheCnnIsRight_data() {
        QTest::addColumn<qint64>("budget");
        QTest::newRow("everything kept") << (qint64{2} << 30);
        QTest::newRow("little kept") << qint64{20'000};
    }
    void theBackwardPassOfTheCnnIsRight() {
        QFETCH(qint64, budget);
        const JointGraph joint = jointCnn();
        SessionOptions options = oneThread();
        options.inDouble = true;
        const auto stepper = stepperOver(joint.graph, asInputs(arrays(kCnn + "inputs.npz")), options, budget);
        const std::size_t border = stepper->backwardStart();
        QVERIFY(border > 0 && border < stepper->stepCount());
        for (std::size_t s = 0; s < stepper->stepCount(); ++s)
            QCOMPARE(stepper->phaseAt(s), s < border ? Phase::Forward : Phase::Backward);
        QVERIFY(stepper->goTo(10));
        QVERIFY(stepper->goTo(7));
        QVERIFY(stepper->goTo(border + 3));
        QVERIFY(stepper->goTo(border - 2)); // back across the border
        const auto end = stepper->goTo(stepper->stepCount());
        QVERIFY2(end, end ? "" : end.error().message().c_str());
        std::size_t compared = 0;
        for (const auto& [name, expected] : arrays(kCnnReferences + "gradients.npz")) {
            const ValueId gradient = valueNamed(stepper->graph(), "grad:" + name);
            if (!gradient)
                continue;
            const auto value = stepper->value(gradient);
            QVERIFY2(value, value ? "" : value.error().message().c_str());
            const std::string wrong = difference("grad:" + name, *value, expected, 1e-9); // torch in float64
            QVERIFY2(wrong.empty(), wrong.c_str());
            ++compared;
        }
        QVERIFY(compared >= 4);
    }

    void everyStepIsRecordedOnce() {
        ExecutionObserver observer;
        const auto stepper = stepperOver(parsed(kDiamond), {{"x", Tensor::of<float>({2}, {1, -1})}});
        stepper->setObserver(&observer);
        observer.start();
        QVERIFY(stepper->goTo(4));
        observer.stop();
        int steps = 0, runs = 0;
        observer.drain([&](const ThreadRing&, std::span<const EventRecord> records) {
            for (const EventRecord& record : records) {
                steps += record.kind == RecordKind::Step;
                runs += record.kind == RecordKind::Run;
            }
        });
        QCOMPARE(steps, 4);
        QCOMPARE(runs, 1);
    }
};

QTEST_APPLESS_MAIN(StepperTest)
#include "tst_stepper.moc"
