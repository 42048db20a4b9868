// Stepper: runs a graph one node at a time, forward and back, keeping values.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/runtime/session.h"

namespace nabla::engine {

/// Position k means: steps 0 … k-1 have run, step k is next. Of a joint graph the backward steps follow the forward
/// ones.
class Stepper {
public:
    /// The graph must be legalized and may be a joint one (autodiff/grad.h). `memoryBudgetBytes`: beyond it the oldest
    /// values that can be recomputed are dropped and come back by running from the nearest kept state when asked for.
    static Result<std::unique_ptr<Stepper>> create(const Graph& graph, const NamedValues& inputs,
        const SessionOptions& options = {}, std::int64_t memoryBudgetBytes = std::int64_t{2} << 30);
    ~Stepper();

    std::size_t stepCount() const;
    std::size_t position() const;
    NodeId nodeAt(std::size_t step) const;
    Phase phaseAt(std::size_t step) const;
    std::optional<std::size_t> stepOf(NodeId node) const;
    /// First backward step; stepCount() when there is none.
    std::size_t backwardStart() const;

    Result<void> stepForward(const JobControl& job = {}); ///< errors (Run): by node; the position stays
    void stepBack(); ///< no-op at 0; values made by the step are forgotten
    /// Runs until a breakpoint, the end, or `job` is stopped. Says why it stopped.
    struct Stop {
        enum class Why : std::uint8_t { End, Breakpoint, NotFinite, Cancelled } why;
        std::string text;
    };
    Result<Stop> continueForward(const JobControl& job = {});
    Result<void> goTo(std::size_t position, const JobControl& job = {});

    /// Value of an edge at the current position; absent when its step has not run yet (or was stepped back over).
    Result<RuntimeValue> value(ValueId id);
    /// Whether it is there, without computing it.
    bool available(ValueId id) const;
    std::int64_t keptBytes() const;

    void setBreakpoints(std::set<NodeId> nodes);
    void setBreakOnNotFinite(bool on);
    /// Steps are recorded from now on (null: no longer); going forward again after going back begins a new iteration.
    /// The observer outlives the stepper or is taken away before.
    void setObserver(ExecutionObserver* observer);
    const Graph& graph() const; ///< the graph that is executed
    const Plan& plan() const;

private:
    struct Impl;
    explicit Stepper(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace nabla::engine
