// Values by slot; a dropped one comes back by running the steps it needs.
#include "engine/runtime/step_table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "engine/kernels/kernel.h"
#include "engine/plan/node_text.h"

namespace nabla::engine {

namespace {

const RunScope& silentScope() {
    static const RunScope kSilent(nullptr, Phase::None);
    return kSilent;
}

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

Result<std::unique_ptr<StepTable>> StepTable::create(
    GraphRunner& runner, std::vector<RuntimeValue> given, const StepTableOptions& options) {
    if (options.depth > kMaxBodyDepth)
        return runError("bodies and function calls are nested more than {} deep", kMaxBodyDepth);
    std::unique_ptr<StepTable> table(new StepTable(runner, options));
    NABLA_CHECK(table->prepare(std::move(given)));
    return table;
}

Result<void> StepTable::prepare(std::vector<RuntimeValue> given) {
    PlanOptions planOptions;
    planOptions.keepAll = true;
    planOptions.optimisedKernels = m_options.optimisedKernels;
    planOptions.functions = &m_runner.options().functions;
    planOptions.opset = m_runner.options().opset;
    std::vector<ValueType> types;
    for (const RuntimeValue& value : given)
        types.push_back(typeOf(value));
    NABLA_TRY(m_plan, buildPlan(m_runner.graph(), types, planOptions));
    m_values.resize(m_plan->slotTable.size());
    m_producer.assign(m_plan->slotTable.size(), kNoSlot);
    for (std::uint32_t s = 0; s < m_plan->steps.size(); ++s) {
        m_stepOf.emplace(m_plan->steps[s].node, s);
        for (const std::uint32_t slot : m_plan->steps[s].outputs) {
            if (slot != kNoSlot)
                m_producer[slot] = s;
        }
    }
    for (std::uint32_t i = 0; i < m_plan->slotTable.size(); ++i) {
        m_slotOf.emplace(m_plan->slotTable[i].value, i);
        if (m_plan->slotTable[i].constant)
            m_values[i] = *m_plan->slotTable[i].constant;
    }
    for (std::size_t i = 0; i < given.size(); ++i)
        m_values[m_plan->inputSlots[i]] = std::move(given[i]);
    return {};
}

void StepTable::put(std::uint32_t slot, RuntimeValue value) {
    m_kept += value.bytes() - m_values[slot].bytes();
    m_values[slot] = std::move(value);
}

bool StepTable::kernelFits(const PlanStep& step, const std::vector<RuntimeValue>& inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const PlanSlot* slot = step.inputs[i] == kNoSlot ? nullptr : &m_plan->slotTable[step.inputs[i]];
        if (slot && slot->sizeKnown
            && (inputs[i].tensor().dtype() != slot->dtype || inputs[i].tensor().shape() != slot->shape))
            return false;
    }
    return true;
}

Result<std::vector<RuntimeValue>> StepTable::gather(const std::vector<std::uint32_t>& list, const JobControl& job) {
    for (const std::uint32_t slot : list) {
        if (slot != kNoSlot)
            NABLA_CHECK(ensure(slot, job));
    }
    std::vector<RuntimeValue> out;
    for (const std::uint32_t slot : list)
        out.push_back(slot == kNoSlot ? RuntimeValue() : m_values[slot]);
    return out;
}

Result<std::vector<RuntimeValue>> StepTable::evaluate(
    std::uint32_t s, const RunScope& scope, const JobControl& job, const BodyHook* hook) {
    const PlanStep& step = m_plan->steps[s];
    RunEnv env;
    env.job = &job;
    env.scope = &scope;
    env.pool = m_options.pool;
    env.seed = m_options.seed;
    env.memoryLimitBytes = m_runner.options().memoryLimitBytes;
    env.depth = m_options.depth;
    NABLA_TRY(const std::vector<RuntimeValue> inputs, gather(step.inputs, job));
    NABLA_TRY(const std::vector<RuntimeValue> captures, gather(step.captures, job));
    NodeCall call{*step.graphNode, step.op, step.function, nullptr, nullptr, hook};
    if (step.kernel && kernelFits(step, inputs)) {
        call.kernel = step.kernel;
        call.state = step.state.get();
    }
    const StepScope recorded(scope, step.node.value, s, step.kernelIndex, step.phase);
    auto made = runNode(call, m_runner, inputs, captures, env, m_kept);
    if (!made)
        return made.error().kind() == ErrorKind::Cancelled ? made.error() : made.error().in(nodeText(*step.graphNode));
    return made;
}

void StepTable::store(std::uint32_t s, std::vector<RuntimeValue> results) {
    const PlanStep& step = m_plan->steps[s];
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
        if (step.outputs[k] != kNoSlot)
            put(step.outputs[k], std::move(results[k]));
    }
}

/// Makes a dropped value again from the nearest ones that are kept: the steps it needs, found backwards, run forwards.
Result<void> StepTable::ensure(std::uint32_t slot, const JobControl& job) {
    if (isGiven(slot) || !m_values[slot].absent())
        return {};
    std::set<std::uint32_t> needed;
    std::vector<std::uint32_t> open{m_producer[slot]};
    while (!open.empty()) {
        const std::uint32_t s = open.back();
        open.pop_back();
        if (!needed.insert(s).second)
            continue;
        for (const auto* list : {&m_plan->steps[s].inputs, &m_plan->steps[s].captures}) {
            for (const std::uint32_t input : *list) {
                if (input != kNoSlot && !isGiven(input) && m_values[input].absent())
                    open.push_back(m_producer[input]);
            }
        }
    }
    for (const std::uint32_t s : needed) {
        NABLA_CHECK(job.check());
        NABLA_TRY(std::vector<RuntimeValue> results, evaluate(s, silentScope(), job, nullptr));
        store(s, std::move(results));
    }
    m_oldestKept = std::min(m_oldestKept, *needed.begin());
    return {};
}

Result<std::vector<RuntimeValue>> StepTable::evaluateNext(
    const RunScope& scope, const JobControl& job, const BodyHook* hook) {
    return evaluate(static_cast<std::uint32_t>(m_position), scope, job, hook);
}

void StepTable::commitNext(std::vector<RuntimeValue> results) {
    store(static_cast<std::uint32_t>(m_position), std::move(results));
    ++m_position;
}

void StepTable::back() {
    if (m_position == 0)
        return;
    for (const std::uint32_t slot : m_plan->steps[--m_position].outputs) {
        if (slot != kNoSlot)
            put(slot, RuntimeValue());
    }
    m_oldestKept = std::min(m_oldestKept, static_cast<std::uint32_t>(m_position));
}

void StepTable::keepWithin(std::int64_t budgetBytes) {
    while (m_kept > budgetBytes && m_oldestKept + 1 < m_position) {
        for (const std::uint32_t slot : m_plan->steps[m_oldestKept].outputs) {
            if (slot != kNoSlot)
                put(slot, RuntimeValue());
        }
        ++m_oldestKept;
    }
}

Result<std::vector<RuntimeValue>> StepTable::nextInputs(const JobControl& job) {
    return gather(next().inputs, job);
}

Result<std::vector<RuntimeValue>> StepTable::outputs(const JobControl& job) {
    return gather(m_plan->outputSlots, job);
}

bool StepTable::available(ValueId id) const {
    const auto it = m_slotOf.find(id);
    return it != m_slotOf.end() && (isGiven(it->second) || m_producer[it->second] < m_position);
}

Result<RuntimeValue> StepTable::value(ValueId id) {
    const std::uint32_t slot = m_slotOf.at(id);
    if (!available(id)) {
        return usageError("value \"{}\" is made by step {}, the position is {}", m_plan->graph.value(id)->name,
            m_producer[slot], m_position);
    }
    NABLA_CHECK(ensure(slot, JobControl{}));
    return m_values[slot];
}

std::optional<std::size_t> StepTable::stepOf(NodeId node) const {
    const auto it = m_stepOf.find(node);
    return it == m_stepOf.end() ? std::nullopt : std::optional(it->second);
}

std::string StepTable::notFinite() const {
    if (m_position == 0)
        return {};
    const PlanStep& step = m_plan->steps[m_position - 1];
    for (const std::uint32_t slot : step.outputs) {
        const std::int64_t count = slot == kNoSlot ? 0 : countNotFinite(m_values[slot]);
        if (count > 0) {
            return fmt::format("{}: {} of {} values of \"{}\" are not finite", nodeText(*step.graphNode), count,
                m_values[slot].tensor().elementCount(), m_plan->graph.value(m_plan->slotTable[slot].value)->name);
        }
    }
    return {};
}

} // namespace nabla::engine
