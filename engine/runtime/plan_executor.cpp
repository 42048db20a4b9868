// The hot loop: gather nothing, call the kernel, look whether the result lies where the plan put it.
#include "engine/runtime/plan_executor.h"

#include <algorithm>
#include <array>
#include <new>
#include <thread>

#include "engine/kernels/kernel.h"
#include "engine/plan/arena.h"
#include "engine/plan/node_text.h"
#include "engine/runtime/graph_runner.h"

namespace nabla::engine {

bool drawsRandomNumbers(const Node& node) {
    constexpr std::array kRandom = {std::string_view("Bernoulli"), std::string_view("Dropout"),
        std::string_view("Multinomial"), std::string_view("RandomNormal"), std::string_view("RandomNormalLike"),
        std::string_view("RandomUniform"), std::string_view("RandomUniformLike")};
    return node.domain.empty() && std::find(kRandom.begin(), kRandom.end(), node.opType) != kRandom.end();
}

Result<std::unique_ptr<PlanExecutor>> PlanExecutor::create(
    std::shared_ptr<const Plan> plan, GraphRunner& owner, std::int64_t memoryLimitBytes) {
    std::unique_ptr<PlanExecutor> executor(new PlanExecutor(std::move(plan), owner));
    NABLA_CHECK(executor->allocate(memoryLimitBytes));
    executor->layOut();
    executor->bindArenaSlots();
    return executor;
}

Result<void> PlanExecutor::allocate(std::int64_t memoryLimitBytes) {
    const std::int64_t bytes = m_plan->arena.arenaBytes;
    if (bytes > memoryLimitBytes)
        return runError("the values alive at once need {} bytes of memory, the limit is {}", bytes, memoryLimitBytes);
    if (bytes == 0)
        return {};
    const std::align_val_t alignment{static_cast<std::size_t>(kArenaAlignment)};
    void* memory = ::operator new(static_cast<std::size_t>(bytes), alignment, std::nothrow);
    if (!memory)
        return runError("out of memory: the values alive at once need {} bytes", bytes);
    m_arenaMemory = std::shared_ptr<std::byte>(
        static_cast<std::byte*>(memory), [](std::byte* p) { ::operator delete(p, alignment); });
    m_arena = m_arenaMemory.get();
    return {};
}

void PlanExecutor::layOut() {
    const std::size_t stepCount = m_plan->steps.size();
    m_slots.resize(m_plan->slotTable.size());
    m_readers.resize(m_plan->slotTable.size());
    m_releases.resize(stepCount);
    m_arenaEnds.resize(stepCount);
    m_steps.resize(stepCount);
    std::uint32_t inputs = 0, outputs = 0;
    for (std::size_t s = 0; s < stepCount; ++s) {
        const PlanStep& step = m_plan->steps[s];
        StepState& state = m_steps[s];
        state.inputs = inputs;
        for (const std::uint32_t slot : step.inputs) {
            if (slot != kNoSlot)
                m_readers[slot].push_back(inputs);
            ++inputs;
        }
        state.captures = inputs;
        for (const std::uint32_t slot : step.captures) {
            if (slot != kNoSlot)
                m_readers[slot].push_back(inputs);
            ++inputs;
        }
        state.outputs = outputs;
        outputs += static_cast<std::uint32_t>(step.outputs.size());
        if (step.op && drawsRandomNumbers(*step.graphNode))
            state.random = std::make_unique<std::mt19937_64>();
    }
    m_inputs.resize(inputs);
    m_outputs.resize(outputs);
    std::vector<std::uint32_t> setEnd(m_plan->slotTable.size(), kNoSlot);
    for (std::uint32_t i = 0; i < m_plan->slotTable.size(); ++i) {
        const PlanSlot& slot = m_plan->slotTable[i];
        if (slot.share == PlanSlot::Share::InPlace)
            m_slots[rootOf(i)].overwritten = true;
        if (slot.place == PlanSlot::Place::Arena) {
            std::uint32_t& end = setEnd[rootOf(i)];
            end = end == kNoSlot ? slot.lastStep : std::max(end, slot.lastStep);
        }
        const bool given = slot.constant || (slot.place == PlanSlot::Place::Input && slot.aliasOf == kNoSlot);
        if (!given && !slot.isOutput && slot.lastStep < stepCount)
            m_releases[slot.lastStep].push_back(i);
    }
    for (std::uint32_t i = 0; i < setEnd.size(); ++i) {
        if (setEnd[i] != kNoSlot && m_plan->slotTable[i].bytes > 0)
            m_arenaEnds[setEnd[i]].push_back(i);
    }
    m_contexts.reserve(stepCount);
    for (std::uint32_t s = 0; s < stepCount; ++s) {
        const PlanStep& step = m_plan->steps[s];
        const StepState& state = m_steps[s];
        const std::int64_t own = m_plan->graph.opset(step.graphNode->domain);
        KernelContext& context = m_contexts.emplace_back(*step.graphNode, own > 0 ? own : m_plan->opset,
            std::span<const RuntimeValue>(m_inputs.data() + state.inputs, step.inputs.size()),
            std::span<RuntimeValue>(m_outputs.data() + state.outputs, step.outputs.size()));
        context.captures = {m_inputs.data() + state.captures, step.captures.size()};
        context.random = state.random.get();
        context.place
            = [this, s](std::size_t output, DType dtype, const Shape& shape) { return place(s, output, dtype, shape); };
        context.runBody
            = [this, s](const GraphPtr& body, std::vector<RuntimeValue> values, std::vector<RuntimeValue> captures) {
                  values.insert(
                      values.end(), std::make_move_iterator(captures.begin()), std::make_move_iterator(captures.end()));
                  const std::uint64_t seed
                      = mixSeed(mixSeed(m_env->seed, m_plan->steps[s].node.value), m_steps[s].bodyRuns++);
                  return m_owner.runBody(body, values, *m_env, seed);
              };
    }
}

void PlanExecutor::bindArenaSlots() {
    for (std::uint32_t i = 0; i < m_plan->slotTable.size(); ++i) {
        const PlanSlot& slot = m_plan->slotTable[i];
        if (slot.constant) {
            for (const std::uint32_t reader : m_readers[i])
                m_inputs[reader] = *slot.constant;
        }
        if (slot.place != PlanSlot::Place::Arena)
            continue;
        // No owner: the arena outlives every tensor of a run, and copying the handle then touches no counter.
        static std::byte nothing{};
        m_slots[i].planned
            = Tensor::view(slot.dtype, slot.shape, slot.bytes > 0 ? m_arena + slot.offset : &nothing, nullptr);
        give(i, m_slots[i].planned);
        m_slots[i].bound = true;
    }
}

Result<std::vector<RuntimeValue>> PlanExecutor::run(std::span<const RuntimeValue> values, const RunEnv& env) {
    NABLA_ASSERT(values.size() == m_plan->inputSlots.size(), "a plan gets a value for every input and capture");
    m_env = &env;
    m_heapBytes = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        m_slots[m_plan->inputSlots[i]].value = values[i];
        give(m_plan->inputSlots[i], values[i]);
    }
    for (std::size_t s = 0; s < m_steps.size(); ++s) {
        KernelContext& context = m_contexts[s];
        context.pool = env.pool;
        context.job = env.job;
        m_steps[s].bodyRuns = 0;
        if (m_steps[s].random)
            m_steps[s].random->seed(mixSeed(env.seed, m_plan->steps[s].node.value));
    }
    const bool inParallel = m_plan->parallel && env.pool && env.pool->threads() > 1;
    if (inParallel && !m_tasks)
        m_tasks = buildTaskGraph(*m_plan);
    const Result<void> done = inParallel ? runInParallel() : runInOrder();
    std::vector<RuntimeValue> outputs;
    if (done) {
        for (const std::uint32_t slot : m_plan->outputSlots) {
            const TensorPtr& constant = m_plan->slotTable[slot].constant;
            outputs.push_back(constant ? RuntimeValue(*constant) : m_slots[slot].value);
        }
    }
    clear();
    if (!done)
        return done.error();
    return outputs;
}

Result<void> PlanExecutor::runInOrder() {
    for (std::uint32_t s = 0; s < m_steps.size(); ++s) {
        NABLA_CHECK(m_env->job->check());
        if (m_env->scope->recording())
            tellPlaces(s);
        NABLA_CHECK(runStep(s));
        releaseAfter(s);
    }
    return {};
}

Result<void> PlanExecutor::runInParallel() {
    const std::size_t count = m_steps.size();
    if (m_waits.size() != count) {
        m_waits = std::vector<std::atomic<std::uint32_t>>(count);
        m_reads = std::vector<std::atomic<std::uint32_t>>(m_slots.size());
    }
    for (std::size_t s = 0; s < count; ++s)
        m_waits[s].store(m_tasks->waitsFor[s], std::memory_order_relaxed);
    for (std::size_t i = 0; i < m_slots.size(); ++i)
        m_reads[i].store(m_tasks->reads[i], std::memory_order_relaxed);
    m_failed.store(false, std::memory_order_relaxed);
    m_failure.reset();
    m_stepsLeft.store(count, std::memory_order_release);
    for (std::uint32_t s = 0; s < count; ++s) {
        if (m_tasks->waitsFor[s] == 0)
            m_env->pool->submit([this, s] { runTask(s); });
    }
    while (m_stepsLeft.load(std::memory_order_acquire) > 0) {
        if (!m_env->pool->runOne())
            std::this_thread::yield();
    }
    if (m_failure)
        return *m_failure;
    return {};
}

/// Runs a step and goes on with the first of those that it makes ready. After a failure the rest is counted down
/// without being run.
void PlanExecutor::runTask(std::uint32_t s) {
    ThreadPool& pool = *m_env->pool;
    for (bool more = true; more;) {
        more = false;
        if (!m_failed.load(std::memory_order_acquire)) {
            if (m_env->scope->recording())
                tellPlaces(s);
            Result<void> done = m_env->job->check();
            if (done)
                done = runStep(s);
            if (!done) {
                const std::scoped_lock lock(m_failureMutex);
                if (!m_failure)
                    m_failure = done.error();
                m_failed.store(true, std::memory_order_release);
            }
            countReads(s);
        }
        const std::uint32_t ended = s;
        for (const std::uint32_t next : m_tasks->successors[ended]) {
            if (m_waits[next].fetch_sub(1, std::memory_order_acq_rel) != 1)
                continue;
            if (more)
                pool.submit([this, next] { runTask(next); });
            else
                s = next;
            more = true;
        }
        m_stepsLeft.fetch_sub(1,
            std::memory_order_acq_rel); // the caller may leave after the last one: nothing of ours is touched behind it
    }
}

void PlanExecutor::countReads(std::uint32_t s) {
    const PlanStep& step = m_plan->steps[s];
    const auto releasable = [&](std::uint32_t slot) {
        const PlanSlot& planned = m_plan->slotTable[slot];
        return !planned.constant && !planned.isOutput
            && !(planned.place == PlanSlot::Place::Input && planned.aliasOf == kNoSlot);
    };
    std::vector<std::uint32_t> seen;
    for (const auto* list : {&step.inputs, &step.captures}) {
        for (const std::uint32_t slot : *list) {
            if (slot == kNoSlot || std::find(seen.begin(), seen.end(), slot) != seen.end())
                continue;
            seen.push_back(slot);
            if (m_reads[slot].fetch_sub(1, std::memory_order_acq_rel) == 1 && releasable(slot))
                release(slot);
        }
    }
    for (const std::uint32_t slot : step.outputs) {
        if (slot != kNoSlot && m_tasks->reads[slot] == 0 && releasable(slot))
            release(slot);
    }
}

Result<void> PlanExecutor::runStep(std::uint32_t s) {
    const PlanStep& step = m_plan->steps[s];
    Result<void> done;
    {
        const StepScope scope(*m_env->scope, step.node.value, s, step.kernelIndex, step.phase);
        done = invoke(s);
    }
    for (std::size_t k = 0; done && k < step.outputs.size(); ++k) {
        if (step.outputs[k] != kNoSlot)
            done = settle(s, k);
    }
    if (!done && done.error().kind() != ErrorKind::Cancelled)
        return done.error().in(nodeText(*step.graphNode));
    return done;
}

/// A planned view needs no kernel: it is the input under the shape that the plan knows.
bool PlanExecutor::showView(std::uint32_t s) {
    const PlanStep& step = m_plan->steps[s];
    const std::uint32_t slot = step.outputs.empty() ? kNoSlot : step.outputs[0];
    if (slot == kNoSlot || m_plan->slotTable[slot].share != PlanSlot::Share::View || !m_plan->slotTable[slot].sizeKnown)
        return false;
    const std::uint32_t viewed = step.inputs[0]; // sharing.cpp: it is the first input that is viewed
    const Tensor& input = m_inputs[m_steps[s].inputs].tensor();
    const PlanSlot& planned = m_plan->slotTable[slot];
    if (!m_slots[viewed].asPlanned || input.dtype() != planned.dtype
        || input.elementCount() != elementCount(planned.shape))
        return false;
    const bool inPlace = planned.place == PlanSlot::Place::Arena && input.raw() == m_slots[slot].planned.raw();
    m_outputs[m_steps[s].outputs] = inPlace ? m_slots[slot].planned : input.reshaped(planned.shape);
    return true;
}

Result<void> PlanExecutor::invoke(std::uint32_t s) {
    const PlanStep& step = m_plan->steps[s];
    if (step.isCall())
        return callFunction(s);
    if (showView(s))
        return {};
    // A kernel chosen and prepared for other shapes than have come would read past their ends.
    const bool expected = std::all_of(step.inputs.begin(), step.inputs.end(),
        [&](std::uint32_t slot) { return slot == kNoSlot || m_slots[slot].asPlanned; });
    if (step.kernel && expected)
        return step.kernel->run(m_contexts[s], step.state.get());
    if (step.op->run.expands())
        return callFunction(s);
    return step.op->run.run()(m_contexts[s]);
}

Result<void> PlanExecutor::callFunction(std::uint32_t s) {
    const PlanStep& step = m_plan->steps[s];
    const StepState& state = m_steps[s];
    const std::span<const RuntimeValue> inputs(m_inputs.data() + state.inputs, step.inputs.size());
    NABLA_TRY(const std::vector<RuntimeValue> results,
        m_owner.call(*step.graphNode, step.function, inputs, *m_env, mixSeed(m_env->seed, step.node.value)));
    for (std::size_t k = 0; k < step.outputs.size(); ++k)
        m_outputs[state.outputs + k] = k < results.size() ? results[k] : RuntimeValue();
    return {};
}

Result<Tensor> PlanExecutor::place(std::uint32_t s, std::size_t output, DType dtype, const Shape& shape) {
    const PlanStep& step = m_plan->steps[s];
    const std::uint32_t slot = output < step.outputs.size() ? step.outputs[output] : kNoSlot;
    if (slot == kNoSlot)
        return Tensor::make(dtype, shape);
    const PlanSlot& planned = m_plan->slotTable[slot];
    if (planned.place == PlanSlot::Place::Arena && dtype == planned.dtype && shape == planned.shape)
        return m_slots[slot].planned;
    return makeHeap(slot, dtype, shape);
}

Result<Tensor> PlanExecutor::makeHeap(std::uint32_t slot, DType dtype, const Shape& shape) {
    const PlanSlot& planned = m_plan->slotTable[slot];
    const bool onHeap = planned.place == PlanSlot::Place::Heap;
    Tensor& shared = m_slots[rootOf(slot)].heap;
    if (onHeap && planned.share == PlanSlot::Share::InPlace && shared.defined() && dtype == planned.dtype
        && shape == planned.shape && shared.bytes() == storageBytes(dtype, elementCount(shape)))
        return Tensor::view(dtype, shape, shared.raw(), shared.owner());
    if (auto ok = checkShape(shape); !ok)
        return runError("{}", ok.error().message());
    const std::int64_t bytes = storageBytes(dtype, elementCount(shape));
    if (bytes > m_env->memoryLimitBytes - m_plan->arena.arenaBytes - m_heapBytes) {
        return runError("a result {} {} of {} bytes does not fit: {} bytes are in use, the limit is {}", name(dtype),
            toString(shape), bytes, m_plan->arena.arenaBytes + m_heapBytes, m_env->memoryLimitBytes);
    }
    NABLA_TRY(Tensor made, Tensor::make(dtype, shape));
    m_heapBytes += bytes;
    m_slots[slot].heapBytes += bytes;
    if (onHeap && m_slots[rootOf(slot)].overwritten)
        shared = made;
    return made;
}

bool PlanExecutor::mustCopy(const Tensor& tensor, std::uint32_t s, std::uint32_t slot) const {
    if (!tensor.defined() || tensor.dtype() == DType::String)
        return false;
    const std::uint32_t root = rootOf(slot);
    if (tensor.bytes() > 0 && inArena(tensor.raw()))
        return !(
            m_plan->slotTable[slot].place == PlanSlot::Place::Arena && tensor.raw() == m_slots[slot].planned.raw());
    // The kernel handed on an input as it is: no matter, unless a later in-place result overwrites that input.
    const PlanStep& step = m_plan->steps[s];
    const auto endangered = [&](std::uint32_t input) {
        return input != kNoSlot && rootOf(input) != root && m_slots[rootOf(input)].overwritten
            && m_slots[rootOf(input)].heap.owner() == tensor.owner() && tensor.owner();
    };
    return std::any_of(step.inputs.begin(), step.inputs.end(), endangered)
        || std::any_of(step.captures.begin(), step.captures.end(), endangered);
}

Result<RuntimeValue> PlanExecutor::detached(const RuntimeValue& value, std::uint32_t s, std::uint32_t slot) {
    if (value.isTensor()) {
        if (!mustCopy(value.tensor(), s, slot))
            return value;
        NABLA_TRY(Tensor copy, value.tensor().clone());
        return RuntimeValue(std::move(copy));
    }
    if (const RuntimeSequence* sequence = value.sequence()) {
        auto out = std::make_shared<RuntimeSequence>();
        out->elementType = sequence->elementType;
        for (const RuntimeValue& element : sequence->elements) {
            NABLA_TRY(RuntimeValue kept, detached(element, s, slot));
            out->elements.push_back(std::move(kept));
        }
        return RuntimeValue(std::shared_ptr<const RuntimeSequence>(std::move(out)));
    }
    if (const RuntimeOptional* optional = value.optional(); optional && optional->hasValue) {
        NABLA_TRY(RuntimeValue kept, detached(optional->value, s, slot));
        return RuntimeValue(std::shared_ptr<const RuntimeOptional>(
            std::make_shared<RuntimeOptional>(RuntimeOptional{std::move(kept), true})));
    }
    return value;
}

Result<void> PlanExecutor::settle(std::uint32_t s, std::size_t k) {
    const std::uint32_t slot = m_plan->steps[s].outputs[k];
    const PlanSlot& planned = m_plan->slotTable[slot];
    SlotState& state = m_slots[slot];
    RuntimeValue& made = m_outputs[m_steps[s].outputs + k];
    const Tensor& tensor = made.tensor();
    state.asPlanned = !planned.sizeKnown || (tensor.dtype() == planned.dtype && tensor.shape() == planned.shape);
    if (planned.place == PlanSlot::Place::Arena && state.asPlanned && tensor.raw() == state.planned.raw()) {
        if (!state.bound) {
            give(slot, state.planned);
            state.bound = true;
        }
        return {};
    }
    if (made.absent() && m_plan->steps[s].graphNode->outputs.size() > k && !m_plan->steps[s].isCall())
        return runError("its kernel made no output {}", k);
    NABLA_TRY(state.value, detached(made, s, slot));
    made = RuntimeValue();
    give(slot, state.value);
    state.bound = false;
    return {};
}

void PlanExecutor::give(std::uint32_t slot, const RuntimeValue& value) {
    for (const std::uint32_t reader : m_readers[slot])
        m_inputs[reader] = value;
}

void PlanExecutor::release(std::uint32_t slot) {
    SlotState& state = m_slots[slot];
    if (m_plan->slotTable[slot].place == PlanSlot::Place::Arena && state.bound)
        return;
    give(slot, RuntimeValue());
    state.value = RuntimeValue();
    state.bound = false;
    m_heapBytes -= state.heapBytes;
    state.heapBytes = 0;
}

void PlanExecutor::releaseAfter(std::uint32_t s) {
    for (const std::uint32_t slot : m_releases[s])
        release(slot);
    if (!m_env->scope->recording())
        return;
    for (const std::uint32_t slot : m_arenaEnds[s]) {
        const PlanSlot& planned = m_plan->slotTable[slot];
        m_env->scope->freed(
            planned.value.value, static_cast<std::uint64_t>(planned.offset), static_cast<std::uint64_t>(planned.bytes));
    }
}

void PlanExecutor::tellPlaces(std::uint32_t s) const {
    for (const std::uint32_t slot : m_plan->steps[s].outputs) {
        if (slot == kNoSlot || m_plan->slotTable[slot].aliasOf != kNoSlot)
            continue;
        const PlanSlot& planned = m_plan->slotTable[slot];
        if (planned.place == PlanSlot::Place::Arena && planned.bytes > 0)
            m_env->scope->allocated(planned.value.value, static_cast<std::uint64_t>(planned.offset),
                static_cast<std::uint64_t>(planned.bytes));
    }
}

void PlanExecutor::clear() {
    for (std::uint32_t i = 0; i < m_slots.size(); ++i) {
        SlotState& state = m_slots[i];
        const PlanSlot& planned = m_plan->slotTable[i];
        state.heap = Tensor();
        state.asPlanned = true;
        if (planned.constant || (planned.place == PlanSlot::Place::Arena && state.bound))
            continue;
        give(i, RuntimeValue());
        state.value = RuntimeValue();
        state.bound = false;
        state.heapBytes = 0;
    }
    for (std::size_t s = 0; s < m_steps.size(); ++s) {
        for (std::size_t k = 0; k < m_plan->steps[s].outputs.size(); ++k)
            m_outputs[m_steps[s].outputs + k] = RuntimeValue();
    }
    m_env = nullptr;
}

} // namespace nabla::engine
