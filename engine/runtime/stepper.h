// Stepper: runs a graph one node at a time, forward and back, into bodies and out of them, keeping values.
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
/// ones. Inside bodies the place is a path: the main graph's next step is the node whose body is open, that body has a
/// position of its own in one iteration, and so on inwards. Values of a body are those of its open iteration, equal to
/// those of a run that does not stop.
class Stepper {
public:
    /// The graph must be legalized and may be a joint one (autodiff/grad.h). `memoryBudgetBytes`: beyond it the oldest
    /// values that can be recomputed are dropped and come back by running from the nearest kept state when asked for.
    static Result<std::unique_ptr<Stepper>> create(const Graph& graph, const NamedValues& inputs,
        const SessionOptions& options = {}, std::int64_t memoryBudgetBytes = std::int64_t{2} << 30);
    ~Stepper();

    // Of the main graph.
    std::size_t stepCount() const;
    std::size_t position() const;
    NodeId nodeAt(std::size_t step) const;
    Phase phaseAt(std::size_t step) const;
    std::optional<std::size_t> stepOf(NodeId node) const;
    /// First backward step; stepCount() when there is none.
    std::size_t backwardStart() const;

    /// One body that stepping is inside of.
    struct Level {
        NodeId node; ///< whose body it is
        std::string body; ///< `body`, `then_branch`; the function's or operator's name for a call
        std::int64_t iteration = 0; ///< from 0
        std::optional<std::int64_t> iterations; ///< as far as known before they have run
        bool atMost = false; ///< a condition may end them before `iterations`
        std::size_t position = 0, stepCount = 0; ///< in the iteration; at its end the next step crosses to the following
        friend bool operator==(const Level&, const Level&) = default;
    };
    /// Outermost first; empty in the main graph.
    std::vector<Level> levels() const;
    std::size_t depth() const; ///< levels().size()
    const Plan& planAt(std::size_t depth) const; ///< 0: the main graph's; its graph is the one that is executed
    NodeId nextNode() const; ///< of the innermost body; none at its end

    /// Over the next step of the innermost body; at its end over the border to the next iteration, or out after the
    /// last one. Errors (Run): by node; the position stays.
    Result<void> stepForward(const JobControl& job = {});
    /// Whether stepInto() would enter something.
    bool canStepInto() const;
    /// To the start of the first iteration of the next step's body; over the step when it has none, or no iteration.
    Result<void> stepInto(const JobControl& job = {});
    /// Undoes stepForward(): also over the border to the end of the iteration before, and from the start of the first
    /// iteration out to the node, which then has not run. No-op at 0. Values made by the step are forgotten.
    Result<void> stepBack(const JobControl& job = {});

    struct Stop {
        enum class Why : std::uint8_t { End, Breakpoint, NotFinite, Cancelled, LeftBody } why;
        std::string text;
    };
    /// Runs until a breakpoint, the end, or `job` is stopped. Says why it stopped. Goes into bodies that have
    /// breakpoints, and into all of them to break on values that are not finite.
    Result<Stop> continueForward(const JobControl& job = {});
    /// The same until the innermost body has been left.
    Result<Stop> stepOut(const JobControl& job = {});
    /// To the start of iteration k of the innermost body, forward or back. Errors (Usage): not in a body, or it ends
    /// before; the position stays.
    Result<void> goToIteration(std::int64_t k, const JobControl& job = {});
    /// To a position of the main graph; leaves bodies.
    Result<void> goTo(std::size_t position, const JobControl& job = {});

    /// Value of an edge at the current position, of the main graph or of an open body (the innermost where a function
    /// is open more than once); absent when its step has not run yet (or was stepped back over).
    Result<RuntimeValue> value(ValueId id);
    /// Whether it is there, without computing it.
    bool available(ValueId id) const;
    std::int64_t keptBytes() const;

    void setBreakpoints(std::set<NodeId> nodes); ///< of the main graph, bodies and functions
    void setBreakOnNotFinite(bool on);
    /// Steps are recorded from now on (null: no longer); going forward again after going back begins a new iteration.
    /// A step that is stepped into is not recorded, nor are those inside. The observer outlives the stepper or is taken
    /// away before.
    void setObserver(ExecutionObserver* observer);
    const Graph& graph() const; ///< the main graph that is executed
    const Plan& plan() const;

private:
    struct Impl;
    explicit Stepper(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace nabla::engine
