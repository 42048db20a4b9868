// Plans: what shares a place, what must not, what lies where, and what is refused.
#include <QtTest>

#include <algorithm>

#include "engine/plan/plan.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

std::shared_ptr<const Plan> planOf(const char* text, const PlanOptions& options = {}) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    auto plan = estimatePlan(*graph, options);
    if (!plan)
        qFatal("%s", plan.error().message().c_str());
    return *plan;
}

const PlanSlot& slotNamed(const Plan& plan, std::string_view name) {
    const auto it = std::find_if(plan.slotTable.begin(), plan.slotTable.end(),
        [&](const PlanSlot& slot) { return plan.graph.value(slot.value)->name == name; });
    if (it == plan.slotTable.end())
        qFatal("no slot");
    return *it;
}

} // namespace

class PlanTest : public QObject {
    Q_OBJECT
private slots:
    void aChainOfElementwiseStepsLivesInOnePlace() {
        const auto plan = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[16,4] x) => (float[16,4] y) {
            a = Neg(x)
            b = Abs(a)
            c = Sqrt(b)
            y = Neg(c)
        })");
        QCOMPARE(plan->steps.size(), std::size_t(4));
        // y outlives the run, so the whole chain lies in y's own memory; nothing is left for the arena.
        QCOMPARE(plan->arena.arenaBytes, 0);
        for (const char* name : {"b", "c", "y"}) {
            QVERIFY(slotNamed(*plan, name).share == PlanSlot::Share::InPlace);
            QVERIFY(slotNamed(*plan, name).place == PlanSlot::Place::Heap);
        }
        QVERIFY(slotNamed(*plan, "a").share == PlanSlot::Share::None); // never over the caller's input
    }

    void whatIsReadLaterIsNotOverwritten() {
        const auto plan
            = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[16,4] x, float[4,4] w) => (float[16,4] y) {
            a = Exp(x)
            b = Neg(a)
            c = Mul(a, b)
            y = MatMul(c, w)
        })");
        QVERIFY(slotNamed(*plan, "b").share == PlanSlot::Share::None); // a is read by c
        QVERIFY(slotNamed(*plan, "c").share == PlanSlot::Share::InPlace);
        QCOMPARE(plan->arena.arenaBytes, 2 * 16 * 4 * 4); // a and b at once
        QCOMPARE(plan->arena.lowerBoundBytes, plan->arena.arenaBytes);
    }

    void aViewKeepsItsElementsAlive() {
        const auto plan
            = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[16,4] x, float[4,4] w) => (float[16,4] y) {
            a = Exp(x)
            v = Flatten<axis = 0>(a)
            b = Neg(a)
            s = ReduceSum<keepdims = 1>(v)
            c = Mul(b, s)
            y = MatMul(c, w)
        })");
        const PlanSlot& a = slotNamed(*plan, "a");
        const PlanSlot& v = slotNamed(*plan, "v");
        QVERIFY(v.share == PlanSlot::Share::View);
        QCOMPARE(v.offset, a.offset);
        QVERIFY(slotNamed(*plan, "b").share == PlanSlot::Share::None); // v is read after it
        QVERIFY(slotNamed(*plan, "b").offset != a.offset);
    }

    void keepAllSharesNothing() {
        PlanOptions options;
        options.keepAll = true;
        const auto plan = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[4] x) => (float[4] y) {
            a = Neg(x)
            y = Abs(a)
            unused = Exp(x)
        })",
            options);
        QCOMPARE(plan->steps.size(), std::size_t(3));
        for (const PlanSlot& slot : plan->slotTable)
            QVERIFY(slot.share == PlanSlot::Share::None);
    }

    void whatNoOutputNeedsIsLeftOut() {
        const auto plan = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[4] x) => (float[4] y) {
            unused = Exp(x)
            y = Abs(x)
        })");
        QCOMPARE(plan->steps.size(), std::size_t(1));
    }

    void symbolsAreOneUnlessBound() {
        const char* text
            = R"(<ir_version: 10, opset_import: ["" : 28]> g (float[N,4] x, float[4,4] w) => (float[N,4] y) {
            a = Exp(x)
            y = MatMul(a, w)
        })";
        QCOMPARE(slotNamed(*planOf(text), "a").shape, (Shape{1, 4}));
        PlanOptions options;
        options.dims = {{"N", 32}};
        const auto plan = planOf(text, options);
        QCOMPARE(slotNamed(*plan, "a").shape, (Shape{32, 4}));
        QCOMPARE(plan->arena.arenaBytes, 32 * 4 * 4);
        QCOMPARE(plan->outputBytes, 32 * 4 * 4);
    }

    void sizesThatDependOnDataAreCounted() {
        const auto plan = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[4] x) => (int64[1,M] y) {
            y = NonZero(x)
        })");
        QCOMPARE(plan->heapSlots, 1);
    }

    void unknownOperatorsAreRefusedByName() {
        auto graph = parseGraphText(
            R"(<ir_version: 10, opset_import: ["" : 28, "com.acme" : 1]> g (float[4] x) => (float[4] y) { y = com.acme.Blur(x) })");
        QVERIFY(graph);
        const auto plan = estimatePlan(*graph);
        QVERIFY(!plan);
        QVERIFY2(plan.error().message().find("com.acme.Blur is not known") != std::string::npos,
            plan.error().message().c_str());
        QCOMPARE(plan.error().kind(), ErrorKind::Run);
    }
};

QTEST_APPLESS_MAIN(PlanTest)
#include "tst_plan.moc"
