// PlanExecutor: runs one plan, again and again, in memory that it keeps.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/runtime/run_env.h"
#include "engine/runtime/task_graph.h"

namespace nabla::engine {

class GraphRunner;

/// One run at a time. Values planned for the arena are bound to every reader once, so that a step in the steady state
/// moves no value at all:
///
///     inputs:  [ step 0: a b | step 1: c | step 2: c d | ... ]   flat, a span of it per step
///     outputs: [ step 0: c   | step 1: d | step 2: e   | ... ]
class PlanExecutor {
public:
    /// `owner` runs bodies and calls, and outlives the executor. Errors (Run): the arena is larger than the memory
    /// limit.
    static Result<std::unique_ptr<PlanExecutor>> create(
        std::shared_ptr<const Plan> plan, GraphRunner& owner, std::int64_t memoryLimitBytes);

    /// `values`: one per graph input, then per capture. Errors (Run) name the node; (Cancelled).
    Result<std::vector<RuntimeValue>> run(std::span<const RuntimeValue> values, const RunEnv& env);

    const Plan& plan() const { return *m_plan; }
    const std::shared_ptr<const Plan>& planPtr() const { return m_plan; }

private:
    explicit PlanExecutor(std::shared_ptr<const Plan> plan, GraphRunner& owner)
        : m_plan(std::move(plan))
        , m_owner(owner) { }
    Result<void> allocate(std::int64_t memoryLimitBytes);
    void layOut();
    void bindArenaSlots();

    Result<void> runInOrder();
    Result<void> runInParallel();
    void runTask(std::uint32_t step);
    void countReads(std::uint32_t step);
    bool showView(std::uint32_t step);
    Result<void> runStep(std::uint32_t step);
    Result<void> invoke(std::uint32_t step);
    Result<void> callFunction(std::uint32_t step);
    Result<Tensor> place(std::uint32_t step, std::size_t output, DType dtype, const Shape& shape);
    Result<Tensor> makeHeap(std::uint32_t slot, DType dtype, const Shape& shape);
    Result<void> settle(std::uint32_t step, std::size_t output);
    Result<RuntimeValue> detached(const RuntimeValue& value, std::uint32_t step, std::uint32_t slot);
    bool mustCopy(const Tensor& tensor, std::uint32_t step, std::uint32_t slot) const;
    void give(std::uint32_t slot, const RuntimeValue& value);
    void release(std::uint32_t slot);
    void releaseAfter(std::uint32_t step);
    void tellPlaces(std::uint32_t step) const;
    void clear();
    std::uint32_t rootOf(std::uint32_t slot) const {
        return m_plan->slotTable[slot].aliasOf == kNoSlot ? slot : m_plan->slotTable[slot].aliasOf;
    }
    bool inArena(const std::byte* p) const { return p >= m_arena && p < m_arena + m_plan->arena.arenaBytes; }

    /// What a slot is during a run.
    struct SlotState {
        Tensor planned; ///< its view of the arena, when it has a place there
        Tensor heap; ///< of the first slot of a shared set on the heap: the memory that the set lives in
        RuntimeValue value; ///< inputs, heap values and what came out other than planned
        bool bound = false; ///< readers hold `planned`
        bool asPlanned = true; ///< the shape and type that the plan knew
        bool overwritten = false; ///< some in-place result of its set will write here
        std::int64_t heapBytes = 0;
    };
    struct StepState {
        std::uint32_t inputs = 0, captures = 0, outputs = 0; ///< begins in the flat arrays
        std::uint32_t bodyRuns = 0;
        std::unique_ptr<std::mt19937_64> random;
    };

    std::shared_ptr<const Plan> m_plan;
    GraphRunner& m_owner;
    std::shared_ptr<std::byte> m_arenaMemory;
    std::byte* m_arena = nullptr;
    std::vector<RuntimeValue> m_inputs, m_outputs;
    std::vector<SlotState> m_slots;
    std::vector<StepState> m_steps;
    std::vector<KernelContext> m_contexts;
    std::vector<std::vector<std::uint32_t>> m_readers; ///< per slot: positions in m_inputs
    std::vector<std::vector<std::uint32_t>> m_releases; ///< per step: slots that nobody reads after it
    std::vector<std::vector<std::uint32_t>> m_arenaEnds; ///< per step: first slots of arena sets that end there
    const RunEnv* m_env = nullptr;
    std::atomic<std::int64_t> m_heapBytes{0};

    // Several threads: made when first needed.
    std::optional<TaskGraph> m_tasks;
    std::vector<std::atomic<std::uint32_t>> m_waits, m_reads; ///< per step, per slot: what is still to come
    std::atomic<std::size_t> m_stepsLeft{0};
    std::atomic<bool> m_failed{false};
    std::mutex m_failureMutex;
    std::optional<Error> m_failure;
};

} // namespace nabla::engine
