// Stepper: a table of values over a plan in which every value keeps its own place.
#include "engine/runtime/stepper.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/kernels/kernel.h"
#include "engine/plan/node_text.h"
#include "engine/runtime/node_call.h"
#include "engine/runtime/session_inputs.h"
#include "engine/runtime/session_setup.h"

namespace nabla::engine {

namespace {

std::int64_t countNotFinite(const RuntimeValue& value) {
    const Tensor& tensor = value.tensor();
    if (!tensor.defined() || !isFloat(tensor.dtype()))
        return 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        count += !std::isfinite(tensor.asDouble(i));
    return count;
}

} // namespace

struct Stepper::Impl {
    Impl(const Graph& graph, const SessionOptions& given)
        : options(given)
        , runner(graph, std::make_shared<const RunnerOptions>(runnerOptions(graph, given))) {
        if (given.threads != 1)
            pool = std::make_unique<ThreadPool>(given.threads, initKernelThread);
    }

    Result<void> prepare(std::vector<RuntimeValue> inputs);
    Result<void> runStep(std::uint32_t step, const JobControl& job, bool again);
    Result<std::vector<RuntimeValue>> gather(const std::vector<std::uint32_t>& list, const JobControl& job);
    Result<void> ensure(std::uint32_t slot, const JobControl& job);
    void put(std::uint32_t slot, RuntimeValue value);
    void forget(std::uint32_t slot);
    void keepWithinBudget(std::uint32_t justRun);
    bool kernelFits(const PlanStep& step, const std::vector<RuntimeValue>& inputs) const;
    bool isGiven(std::uint32_t slot) const { return producer[slot] == kNoSlot; }
    std::string notFinite(std::uint32_t step) const;

    SessionOptions options;
    GraphRunner runner;
    std::unique_ptr<ThreadPool> pool;
    std::shared_ptr<const Plan> plan;
    std::vector<RuntimeValue> values; // per slot; absent = not made, or dropped
    std::vector<std::uint32_t> producer; // per slot: its step; kNoSlot = given
    std::unordered_map<ValueId, std::uint32_t> slotOf;
    std::unordered_map<NodeId, std::size_t> stepOf;
    std::size_t position = 0;
    std::uint32_t oldestKept = 0; // steps before it have been looked at for dropping
    std::int64_t budget = 0, kept = 0;
    std::set<NodeId> breakpoints;
    bool breakOnNotFinite = false;
    ExecutionObserver* observer = nullptr;
    std::optional<RunScope> scope;
};

Result<void> Stepper::Impl::prepare(std::vector<RuntimeValue> inputs) {
    PlanOptions planOptions;
    planOptions.keepAll = true;
    planOptions.optimisedKernels = options.optimisedKernels;
    std::vector<ValueType> types;
    for (const RuntimeValue& input : inputs)
        types.push_back(typeOf(input));
    NABLA_TRY(plan, buildPlan(runner.graph(), types, planOptions));
    values.resize(plan->slotTable.size());
    producer.assign(plan->slotTable.size(), kNoSlot);
    for (std::uint32_t s = 0; s < plan->steps.size(); ++s) {
        stepOf.emplace(plan->steps[s].node, s);
        for (const std::uint32_t slot : plan->steps[s].outputs) {
            if (slot != kNoSlot)
                producer[slot] = s;
        }
    }
    for (std::uint32_t i = 0; i < plan->slotTable.size(); ++i) {
        slotOf.emplace(plan->slotTable[i].value, i);
        if (plan->slotTable[i].constant)
            values[i] = *plan->slotTable[i].constant;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
        values[plan->inputSlots[i]] = std::move(inputs[i]);
    return {};
}

void Stepper::Impl::put(std::uint32_t slot, RuntimeValue value) {
    kept += value.bytes() - values[slot].bytes();
    values[slot] = std::move(value);
}

void Stepper::Impl::forget(std::uint32_t slot) {
    put(slot, RuntimeValue());
}

bool Stepper::Impl::kernelFits(const PlanStep& step, const std::vector<RuntimeValue>& inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const PlanSlot* slot = step.inputs[i] == kNoSlot ? nullptr : &plan->slotTable[step.inputs[i]];
        if (slot && slot->sizeKnown
            && (inputs[i].tensor().dtype() != slot->dtype || inputs[i].tensor().shape() != slot->shape))
            return false;
    }
    return true;
}

Result<std::vector<RuntimeValue>> Stepper::Impl::gather(const std::vector<std::uint32_t>& list, const JobControl& job) {
    for (const std::uint32_t slot : list) {
        if (slot != kNoSlot)
            NABLA_CHECK(ensure(slot, job));
    }
    std::vector<RuntimeValue> out;
    for (const std::uint32_t slot : list)
        out.push_back(slot == kNoSlot ? RuntimeValue() : values[slot]);
    return out;
}

Result<void> Stepper::Impl::runStep(std::uint32_t s, const JobControl& job, bool again) {
    const PlanStep& step = plan->steps[s];
    static const RunScope kSilent(nullptr, Phase::None);
    RunEnv env;
    env.job = &job;
    env.scope = scope && !again ? &*scope : &kSilent;
    env.pool = pool.get();
    env.seed = options.seed;
    env.memoryLimitBytes = runner.options().memoryLimitBytes;
    NABLA_TRY(const std::vector<RuntimeValue> inputs, gather(step.inputs, job));
    NABLA_TRY(const std::vector<RuntimeValue> captures, gather(step.captures, job));
    NodeCall call{*step.graphNode, step.op, step.function, nullptr, nullptr};
    if (step.kernel && kernelFits(step, inputs)) {
        call.kernel = step.kernel;
        call.state = step.state.get();
    }
    std::vector<RuntimeValue> outputs;
    {
        const StepScope recorded(*env.scope, step.node.value, s, step.kernelIndex, step.phase);
        auto made = runNode(call, runner, inputs, captures, env, kept);
        if (!made)
            return made.error().kind() == ErrorKind::Cancelled ? made.error()
                                                               : made.error().in(nodeText(*step.graphNode));
        outputs = std::move(*made);
    }
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
        if (step.outputs[k] != kNoSlot)
            put(step.outputs[k], std::move(outputs[k]));
    }
    return {};
}

/// Makes a dropped value again from the nearest ones that are kept: the steps it needs, found backwards, run forwards.
Result<void> Stepper::Impl::ensure(std::uint32_t slot, const JobControl& job) {
    if (isGiven(slot) || !values[slot].absent())
        return {};
    std::set<std::uint32_t> needed;
    std::vector<std::uint32_t> open{producer[slot]};
    while (!open.empty()) {
        const std::uint32_t s = open.back();
        open.pop_back();
        if (!needed.insert(s).second)
            continue;
        for (const auto* list : {&plan->steps[s].inputs, &plan->steps[s].captures}) {
            for (const std::uint32_t input : *list) {
                if (input != kNoSlot && !isGiven(input) && values[input].absent())
                    open.push_back(producer[input]);
            }
        }
    }
    for (const std::uint32_t s : needed) {
        NABLA_CHECK(job.check());
        NABLA_CHECK(runStep(s, job, true));
    }
    oldestKept = std::min(oldestKept, *needed.begin());
    return {};
}

/// Drops the oldest values first; those of the step that just ran stay.
void Stepper::Impl::keepWithinBudget(std::uint32_t justRun) {
    while (kept > budget && oldestKept < justRun) {
        for (const std::uint32_t slot : plan->steps[oldestKept].outputs) {
            if (slot != kNoSlot)
                forget(slot);
        }
        ++oldestKept;
    }
}

std::string Stepper::Impl::notFinite(std::uint32_t s) const {
    for (const std::uint32_t slot : plan->steps[s].outputs) {
        const std::int64_t count = slot == kNoSlot ? 0 : countNotFinite(values[slot]);
        if (count > 0) {
            return fmt::format("{}: {} of {} values of \"{}\" are not finite", nodeText(*plan->steps[s].graphNode),
                count, values[slot].tensor().elementCount(), plan->graph.value(plan->slotTable[slot].value)->name);
        }
    }
    return {};
}

Stepper::Stepper(std::unique_ptr<Impl> impl)
    : m_impl(std::move(impl)) { }
Stepper::~Stepper() = default;

Result<std::unique_ptr<Stepper>> Stepper::create(
    const Graph& graph, const NamedValues& inputs, const SessionOptions& options, std::int64_t memoryBudgetBytes) {
    NABLA_TRY(const Graph prepared, graphToRun(graph, options));
    NABLA_TRY(std::vector<RuntimeValue> values, orderedInputs(prepared, inputs, options.inDouble));
    auto impl = std::make_unique<Impl>(prepared, options);
    impl->budget = memoryBudgetBytes;
    NABLA_CHECK(impl->prepare(std::move(values)));
    return std::unique_ptr<Stepper>(new Stepper(std::move(impl)));
}

std::size_t Stepper::stepCount() const {
    return m_impl->plan->steps.size();
}
std::size_t Stepper::position() const {
    return m_impl->position;
}
NodeId Stepper::nodeAt(std::size_t step) const {
    return step < stepCount() ? m_impl->plan->steps[step].node : NodeId{};
}
Phase Stepper::phaseAt(std::size_t step) const {
    return step < stepCount() ? m_impl->plan->steps[step].phase : Phase::None;
}

std::optional<std::size_t> Stepper::stepOf(NodeId node) const {
    const auto it = m_impl->stepOf.find(node);
    return it == m_impl->stepOf.end() ? std::nullopt : std::optional(it->second);
}

std::size_t Stepper::backwardStart() const {
    const auto& steps = m_impl->plan->steps;
    return static_cast<std::size_t>(std::find_if(steps.begin(), steps.end(), [](const PlanStep& s) {
        return s.phase == Phase::Backward;
    }) - steps.begin());
}

Result<void> Stepper::stepForward(const JobControl& job) {
    if (m_impl->position >= stepCount())
        return {};
    initKernelThread();
    NABLA_CHECK(job.check());
    if (m_impl->observer && !m_impl->scope)
        m_impl->scope.emplace(m_impl->observer, Phase::None);
    const auto step = static_cast<std::uint32_t>(m_impl->position);
    NABLA_CHECK(m_impl->runStep(step, job, false));
    m_impl->keepWithinBudget(step);
    if (++m_impl->position == stepCount())
        m_impl->scope.reset();
    return {};
}

void Stepper::stepBack() {
    if (m_impl->position == 0)
        return;
    m_impl->scope.reset();
    for (const std::uint32_t slot : m_impl->plan->steps[--m_impl->position].outputs) {
        if (slot != kNoSlot)
            m_impl->forget(slot);
    }
    m_impl->oldestKept = std::min(m_impl->oldestKept, static_cast<std::uint32_t>(m_impl->position));
}

Result<Stepper::Stop> Stepper::continueForward(const JobControl& job) {
    for (bool first = true; m_impl->position < stepCount(); first = false) {
        const PlanStep& step = m_impl->plan->steps[m_impl->position];
        if (!first && m_impl->breakpoints.contains(step.node))
            return Stop{Stop::Why::Breakpoint, fmt::format("breakpoint on {}", nodeText(*step.graphNode))};
        if (auto done = stepForward(job); !done) {
            if (done.error().kind() == ErrorKind::Cancelled)
                return Stop{Stop::Why::Cancelled, done.error().message()};
            return done.error();
        }
        if (!m_impl->breakOnNotFinite)
            continue;
        if (std::string found = m_impl->notFinite(static_cast<std::uint32_t>(m_impl->position - 1)); !found.empty())
            return Stop{Stop::Why::NotFinite, std::move(found)};
    }
    return Stop{Stop::Why::End, "the end"};
}

Result<void> Stepper::goTo(std::size_t position, const JobControl& job) {
    while (m_impl->position > position)
        stepBack();
    while (m_impl->position < std::min(position, stepCount())) {
        job.say("Running", static_cast<std::int64_t>(m_impl->position), static_cast<std::int64_t>(position));
        NABLA_CHECK(stepForward(job));
    }
    return {};
}

bool Stepper::available(ValueId id) const {
    const auto it = m_impl->slotOf.find(id);
    if (it == m_impl->slotOf.end())
        return false;
    return m_impl->isGiven(it->second) || m_impl->producer[it->second] < m_impl->position;
}

Result<RuntimeValue> Stepper::value(ValueId id) {
    const auto it = m_impl->slotOf.find(id);
    if (it == m_impl->slotOf.end()) {
        if (const TensorPtr constant = graph().constant(id)) // nobody reads it
            return RuntimeValue(*constant);
        return usageError("the graph has no value #{}", id.value);
    }
    if (!available(id)) {
        return usageError("value \"{}\" is made by step {}, the position is {}", graph().value(id)->name,
            m_impl->producer[it->second], m_impl->position);
    }
    NABLA_CHECK(m_impl->ensure(it->second, JobControl{}));
    RuntimeValue value = m_impl->values[it->second];
    m_impl->keepWithinBudget(static_cast<std::uint32_t>(m_impl->position));
    return value;
}

std::int64_t Stepper::keptBytes() const {
    return m_impl->kept;
}
void Stepper::setBreakpoints(std::set<NodeId> nodes) {
    m_impl->breakpoints = std::move(nodes);
}
void Stepper::setBreakOnNotFinite(bool on) {
    m_impl->breakOnNotFinite = on;
}
void Stepper::setObserver(ExecutionObserver* observer) {
    m_impl->scope.reset();
    m_impl->observer = observer;
}
const Graph& Stepper::graph() const {
    return m_impl->runner.graph();
}
const Plan& Stepper::plan() const {
    return *m_impl->plan;
}

} // namespace nabla::engine
