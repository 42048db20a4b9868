// BodySteps: the body of one node, entered from the step that runs the node, iteration by iteration.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/step_table.h"

namespace nabla::engine {

/// What is inside a node is found by running its own kernel (so the rules of If, Loop and Scan stand in one place):
/// where the kernel wants iteration k of its body, the values it hands over are taken and the kernel is abandoned. The
/// kernel is run again for iteration k + 1, with the results of iterations 0 … k handed back at once.
class BodySteps {
public:
    /// Whether the step runs a graph of its own that can be entered.
    static bool canEnter(const PlanStep& step);

    /// `outer` stands before the node; it must stay where it is and outlives this.
    explicit BodySteps(StepTable& outer)
        : m_outer(outer) { }

    /// Goes to the start of iteration k; false when the node ends before it, with the node's results in `results`.
    /// A call has one iteration. After an error or false this stands where it stood.
    Result<bool> open(std::int64_t k, const JobControl& job);
    std::vector<RuntimeValue> results; ///< of the node, once it has ended

    StepTable& table() { return *m_table; } ///< of the open iteration
    const StepTable& table() const { return *m_table; }
    /// Notes the results of the open iteration, which has run to its end, and goes to the next: as open(). A call ends.
    Result<bool> openNext(const JobControl& job);
    /// The node's results, running what is left of it.
    Result<std::vector<RuntimeValue>> finish(const JobControl& job);

    NodeId node() const { return m_outer.next().node; }
    bool isCall() const { return m_outer.next().isCall(); }
    std::int64_t iteration() const { return m_iteration; }
    /// How many iterations there will be, as far as it is known before they have run; with `atMost` a condition may end
    /// them sooner.
    std::optional<std::int64_t> iterations() const { return m_iterations; }
    bool atMost() const { return m_atMost; }
    /// `then_branch`, `body`; of a call its function or operator.
    const std::string& bodyName() const { return m_bodyName; }
    /// Of the results of iterations.
    std::int64_t keptBytes() const { return m_kept; }
    /// Drops results of early iterations until `budgetBytes` suffice; they run again when they are needed.
    void keepWithin(std::int64_t budgetBytes);

private:
    struct Opened {
        GraphPtr body;
        std::vector<RuntimeValue> values;
        std::uint64_t seed = 0;
    };
    Result<bool> openCall(const JobControl& job);
    Result<std::vector<RuntimeValue>> runKernel(std::int64_t openAt, std::optional<Opened>& opened, const JobControl& job);
    void keep(std::size_t iteration, std::vector<RuntimeValue> values);
    Result<void> countIterations(const GraphPtr& body, const JobControl& job);
    StepTableOptions innerOptions(std::uint64_t seed) const;

    StepTable& m_outer;
    std::unique_ptr<StepTable> m_table;
    std::string m_bodyName;
    std::int64_t m_iteration = 0;
    std::optional<std::int64_t> m_iterations;
    bool m_atMost = false;
    std::vector<std::optional<std::vector<RuntimeValue>>> m_done; ///< results of iterations that have run
    std::size_t m_oldestKept = 0;
    std::int64_t m_kept = 0;
};

} // namespace nabla::engine
