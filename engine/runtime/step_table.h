// StepTable: one graph (the model, a body, a function) run a step at a time, every value in a place of its own.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/runtime/node_call.h"

namespace nabla::engine {

/// What the tables of one stepper share, and where a table stands among them.
struct StepTableOptions {
    ThreadPool* pool = nullptr;
    std::uint64_t seed = 0; ///< of this run of the graph
    unsigned depth = 0; ///< of bodies and calls around it
    bool optimisedKernels = true;
};

/// Position k means: steps 0 … k-1 have run, step k is next. A value beyond the memory budget is dropped and made again
/// when it is asked for.
class StepTable {
public:
    /// `given`: one value per input, then per capture. The runner outlives the table.
    static Result<std::unique_ptr<StepTable>> create(
        GraphRunner& runner, std::vector<RuntimeValue> given, const StepTableOptions& options);

    const Plan& plan() const { return *m_plan; }
    GraphRunner& runner() const { return m_runner; }
    const StepTableOptions& options() const { return m_options; }
    std::size_t stepCount() const { return m_plan->steps.size(); }
    std::size_t position() const { return m_position; }
    bool atEnd() const { return m_position == stepCount(); }
    const PlanStep& next() const { return m_plan->steps[m_position]; } ///< not at the end
    std::int64_t keptBytes() const { return m_kept; }

    /// The results of the next step, which stays the next one. Errors name its node.
    Result<std::vector<RuntimeValue>> evaluateNext(const RunScope& scope, const JobControl& job, const BodyHook* hook = nullptr);
    /// Takes the results of the next step, which thereby has run.
    void commitNext(std::vector<RuntimeValue> results);
    void back(); ///< no-op at 0; values made by the step are forgotten
    /// Drops the oldest values until `budgetBytes` suffice; those of the step that ran last stay.
    void keepWithin(std::int64_t budgetBytes);

    /// Values that the next step reads; absent ones are omitted.
    Result<std::vector<RuntimeValue>> nextInputs(const JobControl& job);
    /// One per output of the graph; at the end.
    Result<std::vector<RuntimeValue>> outputs(const JobControl& job);
    bool has(ValueId id) const { return m_slotOf.contains(id); }
    bool available(ValueId id) const;
    Result<RuntimeValue> value(ValueId id); ///< errors (Usage): its step has not run
    std::optional<std::size_t> stepOf(NodeId node) const;
    /// What is not finite in the results of the step that ran last; empty = nothing.
    std::string notFinite() const;

private:
    StepTable(GraphRunner& runner, const StepTableOptions& options)
        : m_runner(runner)
        , m_options(options) { }
    Result<void> prepare(std::vector<RuntimeValue> given);
    Result<std::vector<RuntimeValue>> evaluate(
        std::uint32_t step, const RunScope& scope, const JobControl& job, const BodyHook* hook);
    void store(std::uint32_t step, std::vector<RuntimeValue> results);
    Result<std::vector<RuntimeValue>> gather(const std::vector<std::uint32_t>& list, const JobControl& job);
    Result<void> ensure(std::uint32_t slot, const JobControl& job);
    void put(std::uint32_t slot, RuntimeValue value);
    bool kernelFits(const PlanStep& step, const std::vector<RuntimeValue>& inputs) const;
    bool isGiven(std::uint32_t slot) const { return m_producer[slot] == kNoSlot; }

    GraphRunner& m_runner;
    StepTableOptions m_options;
    std::shared_ptr<const Plan> m_plan;
    std::vector<RuntimeValue> m_values; ///< per slot; absent = not made, or dropped
    std::vector<std::uint32_t> m_producer; ///< per slot: its step; kNoSlot = given
    std::unordered_map<ValueId, std::uint32_t> m_slotOf;
    std::unordered_map<NodeId, std::size_t> m_stepOf;
    std::size_t m_position = 0;
    std::uint32_t m_oldestKept = 0; ///< steps before it have been looked at for dropping
    std::int64_t m_kept = 0;
};

} // namespace nabla::engine
