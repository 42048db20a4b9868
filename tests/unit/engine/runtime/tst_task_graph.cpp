// TaskGraph: steps that touch the same memory, one of them writing, are always ordered.
#include <QtTest>

#include <algorithm>

#include <fmt/format.h>

#include "engine/runtime/task_graph.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

namespace {

std::shared_ptr<const Plan> planOf(const std::string& text) {
    auto graph = parseGraphText(text);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    PlanOptions options;
    options.parallel = true;
    auto plan = estimatePlan(*graph, options);
    if (!plan)
        qFatal("%s", plan.error().message().c_str());
    return *plan;
}

struct Touch {
    std::int64_t begin, end;
    bool writes;
};

std::vector<Touch> touches(const Plan& plan, std::uint32_t s) {
    std::vector<Touch> out;
    const auto add = [&](std::uint32_t slot, bool writes) {
        if (slot == kNoSlot || plan.slotTable[slot].place != PlanSlot::Place::Arena || plan.slotTable[slot].bytes == 0)
            return;
        const PlanSlot& planned = plan.slotTable[slot];
        out.push_back(
            {planned.offset, planned.offset + planned.bytes, writes && planned.share != PlanSlot::Share::View});
    };
    for (const std::uint32_t slot : plan.steps[s].inputs)
        add(slot, false);
    for (const std::uint32_t slot : plan.steps[s].outputs)
        add(slot, true);
    return out;
}

bool conflict(const Plan& plan, std::uint32_t s, std::uint32_t t) {
    for (const Touch& a : touches(plan, s)) {
        for (const Touch& b : touches(plan, t)) {
            if ((a.writes || b.writes) && a.begin < b.end && b.begin < a.end)
                return true;
        }
    }
    return false;
}

/// Branches of unlike sizes that end at unlike times, so that places are used again in parts.
std::string branches() {
    std::string text = R"(<ir_version: 10, opset_import: ["" : 28]> g (float[96,96] x) => (float[96,96] y) {)";
    for (int i = 0; i < 6; ++i) {
        text += fmt::format(" a{0} = MatMul(x, x) b{0} = Neg(a{0}) c{0} = MatMul(b{0}, x)", i);
        if (i % 2)
            text += fmt::format(" d{0} = Concat<axis = 0>(c{0}, b{0}) e{0} = Abs(d{0}) p{0}, q{0} = Split<num_outputs "
                                "= 2>(e{0}) f{0} = Add(p{0}, q{0})",
                i);
        else
            text += fmt::format(
                " v{0} = Flatten<axis = 0>(c{0}) w{0} = Abs(v{0}) s{0} = Shape(x) f{0} = Reshape(w{0}, s{0})", i);
    }
    return text + " y = Sum(f0, f1, f2, f3, f4, f5) }";
}

} // namespace

class TaskGraphTest : public QObject {
    Q_OBJECT
private slots:
    void conflictingStepsAreOrdered() {
        const auto plan = planOf(branches());
        const TaskGraph graph = buildTaskGraph(*plan);
        const auto count = static_cast<std::uint32_t>(plan->steps.size());
        std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
        for (std::uint32_t s = count; s-- > 0;) {
            for (const std::uint32_t next : graph.successors[s]) {
                QVERIFY(next > s);
                reaches[s][next] = true;
                for (std::uint32_t t = next; t < count; ++t)
                    reaches[s][t] = reaches[s][t] || reaches[next][t];
            }
        }
        int conflicts = 0, free = 0;
        for (std::uint32_t s = 0; s < count; ++s) {
            for (std::uint32_t t = s + 1; t < count; ++t) {
                const bool conflicting = conflict(*plan, s, t);
                QVERIFY2(!conflicting || reaches[s][t], qPrintable(QString("steps %1 and %2").arg(s).arg(t)));
                conflicts += conflicting;
                free += !reaches[s][t];
            }
        }
        QVERIFY(conflicts > 0 && free > 0);
        std::vector<std::uint32_t> waits(count, 0);
        for (const auto& list : graph.successors) {
            for (const std::uint32_t next : list)
                ++waits[next];
        }
        QCOMPARE(waits, graph.waitsFor);
        QVERIFY(plan->parallel); // twelve products of 1.8 million FLOPs in six branches
    }

    void aChainIsNotWorthThreads() {
        const auto plan
            = planOf(R"(<ir_version: 10, opset_import: ["" : 28]> g (float[128,128] x) => (float[128,128] y) {
            a = MatMul(x, x)
            b = MatMul(a, x)
            y = MatMul(b, x)
        })");
        QVERIFY(!plan->parallel);
    }
};

QTEST_APPLESS_MAIN(TaskGraphTest)
#include "tst_task_graph.moc"
