// Sharing of places. A set of slots shares one place; a result may overwrite it only at the step after which no member
// is read.
#include "engine/plan/sharing.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/plan/arena.h"

namespace nabla::engine {

namespace {

constexpr std::array kViews = {std::string_view("Flatten"), std::string_view("Identity"), std::string_view("Reshape"),
    std::string_view("Squeeze"), std::string_view("Unsqueeze")};

// Operators with more than two data inputs of the same kind (Sum, Max of three) are left out: they may build up their
// result in several sweeps, which would destroy a later input.
constexpr std::string_view kElementwise[]
    = {"Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip", "Cos", "Cosh",
        "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Mod",
        "Mul", "Neg", "Not", "Or", "Pow", "PRelu", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
        "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Where", "Xor"};

bool isPlain(const PlanSlot& slot) {
    return slot.dtype != DType::Undefined && slot.dtype != DType::String;
}

class Sharer {
public:
    explicit Sharer(Plan& plan)
        : m_plan(plan)
        , m_last(plan.slotTable.size(), 0) {
        for (std::size_t i = 0; i < plan.slotTable.size(); ++i)
            m_last[i] = plan.slotTable[i].isOutput ? kNoSlot : plan.slotTable[i].lastStep;
    }

    void share() {
        for (std::uint32_t s = 0; s < m_plan.steps.size(); ++s) {
            const PlanStep& step = m_plan.steps[s];
            if (step.isCall() || step.op->run.isControlFlow() || step.outputs.empty() || step.outputs[0] == kNoSlot)
                continue;
            if (const auto viewed = viewedInput(*step.graphNode))
                shareView(step, *viewed);
            else if (worksInPlace(*step.graphNode))
                shareInPlace(step, s);
        }
    }

private:
    std::uint32_t rootOf(std::uint32_t slot) const {
        return m_plan.slotTable[slot].aliasOf == kNoSlot ? slot : m_plan.slotTable[slot].aliasOf;
    }

    void join(std::uint32_t output, std::uint32_t root, PlanSlot::Share why) {
        m_plan.slotTable[output].aliasOf = root;
        m_plan.slotTable[output].share = why;
        m_last[root] = std::max(m_last[root], m_last[output]);
    }

    void shareView(const PlanStep& step, std::size_t viewed) {
        const std::uint32_t input = viewed < step.inputs.size() ? step.inputs[viewed] : kNoSlot;
        if (input == kNoSlot)
            return;
        const PlanSlot& from = m_plan.slotTable[input];
        PlanSlot& to = m_plan.slotTable[step.outputs[0]];
        const bool caller = from.place == PlanSlot::Place::Input || from.place == PlanSlot::Place::Constant;
        if (!caller
            && !(from.sizeKnown && to.sizeKnown && isPlain(from) && from.dtype == to.dtype
                && elementCount(from.shape) == elementCount(to.shape)))
            return;
        join(step.outputs[0], rootOf(input), PlanSlot::Share::View);
        if (caller)
            to.place = from.place;
    }

    void shareInPlace(const PlanStep& step, std::uint32_t s) {
        const PlanSlot& to = m_plan.slotTable[step.outputs[0]];
        if (!to.sizeKnown || !isPlain(to))
            return;
        for (const std::uint32_t input : step.inputs) {
            if (input == kNoSlot)
                continue;
            const PlanSlot& from = m_plan.slotTable[input];
            const std::uint32_t root = rootOf(input);
            const bool ours = from.place == PlanSlot::Place::Arena || from.place == PlanSlot::Place::Heap;
            if (ours && from.sizeKnown && from.dtype == to.dtype && from.shape == to.shape && m_last[root] <= s) {
                join(step.outputs[0], root, PlanSlot::Share::InPlace);
                return;
            }
        }
    }

    Plan& m_plan;
    std::vector<std::uint32_t>
        m_last; // of a root: last step that reads any member of its set; an output is read after the end
};

} // namespace

std::optional<std::size_t> viewedInput(const Node& node) {
    if (node.domain.empty() && std::find(kViews.begin(), kViews.end(), node.opType) != kViews.end())
        return 0;
    return std::nullopt;
}

bool worksInPlace(const Node& node) {
    return node.domain.empty()
        && std::find(std::begin(kElementwise), std::end(kElementwise), node.opType) != std::end(kElementwise);
}

void shareSlots(Plan& plan, bool inPlace) {
    if (inPlace)
        Sharer(plan).share();
    // A set with an output in it lies on the heap as a whole, since outputs outlive the run.
    std::vector<bool> outlives(plan.slotTable.size(), false);
    const auto rootOf
        = [&](std::uint32_t i) { return plan.slotTable[i].aliasOf == kNoSlot ? i : plan.slotTable[i].aliasOf; };
    for (std::uint32_t i = 0; i < plan.slotTable.size(); ++i) {
        if (plan.slotTable[i].isOutput)
            outlives[rootOf(i)] = true;
    }
    for (std::uint32_t i = 0; i < plan.slotTable.size(); ++i) {
        if (outlives[rootOf(i)] && plan.slotTable[i].place == PlanSlot::Place::Arena)
            plan.slotTable[i].place = PlanSlot::Place::Heap;
    }
}

} // namespace nabla::engine
