// ViewState: everything the views may show, as shared immutable values. The application makes a new one when something changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/analysis/cost.h"
#include "engine/analysis/types.h"
#include "engine/autodiff/chain_rule.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"
#include "engine/plan/plan.h"
#include "engine/tensor/runtime_value.h"
#include "profiler/analysis/timeline_data.h"
#include "views/graph/scope_tree.h"
#include "views/training_state.h"

namespace nabla::views {

/// One selection for all views: a node, a value with one of its elements or without, or nothing.
struct Selection {
    engine::NodeId node;
    engine::ValueId value;
    std::int64_t element = -1; ///< of the value, row-major; -1: none
    friend bool operator==(const Selection&, const Selection&) = default;
};

/// One row of the history.
struct HistoryEntry {
    enum class Kind : std::uint8_t { Imported, Legalized, Pass, Gradient, Trained };
    std::uint32_t id = 0, parent = 0;
    Kind kind = Kind::Imported;
    std::string title, subtitle;
    std::shared_ptr<const engine::PassRecord> pass; ///< null unless a pass made it
};

/// One body on the way from the main graph to the one that is shown.
struct BodyPlace {
    engine::NodeId node;  ///< whose body it is, in the graph before
    std::string body;     ///< `body`, `then_branch`; the function's name for a call
    std::string title;    ///< what the node is called
    engine::Graph graph;
    bool sameBody(const BodyPlace& other) const { return node == other.node && body == other.body; }
};

/// One body that stepping is inside of.
struct StepLevel {
    engine::NodeId node;
    std::string body;
    std::int64_t iteration = 0;             ///< from 0
    std::optional<std::int64_t> iterations; ///< as far as known
    bool atMost = false;                    ///< a condition may end them before `iterations`
    std::size_t position = 0;               ///< steps of this iteration that have run
    std::vector<engine::NodeId> order;      ///< node of each step
};

/// Where stepping stands. Position k: steps 0 … k-1 have run.
struct StepState {
    std::size_t position = 0, count = 0, backwardStart = 0; ///< of the main graph
    engine::NodeId next;                                   ///< the node of step `position` of the innermost body; none at its end
    std::vector<StepLevel> levels;                         ///< open bodies, outermost first
    std::vector<engine::NodeId> order;                     ///< node of each step
    std::int64_t keptBytes = 0, budgetBytes = 0;
    std::string note;                                      ///< why it stopped, or an error
};

/// Values of edges that are there now: after a run or at the current step. Only what the selection and overlays need.
using ValueMap = std::unordered_map<engine::ValueId, engine::RuntimeValue>;

/// What overlays and tables show of one value.
struct ValueStats : engine::TensorStatistics {
    std::int64_t saturated = 0, subnormal = 0; ///< of float16 and bfloat16: at the largest finite size; below the smallest normal one, not zero
};
ValueStats valueStats(const engine::Tensor& tensor);

/// One element of a value, and what is there.
struct ElementPlace {
    engine::ValueId value;
    engine::NodeId producer;   ///< none: a graph input or a weight
    std::int64_t element = 0;  ///< row-major
    double number = 0;
    engine::Shape shape;       ///< of the value
    bool same(const ElementPlace& other) const { return value == other.value && element == other.element; }
};

/// One stop of the way back from an element that is not finite.
struct TroubleStop {
    ElementPlace at;
    std::vector<ElementPlace> causes; ///< elements its node read that made it what it is; the next stop is the first of them
    bool more = false;                ///< there are further causes
    bool born = false;                ///< NaN here and in no cause; infinite here and every cause finite
};

/// Values of the main graph that are not finite, as far as they are computed.
struct NumericTrouble {
    ElementPlace first;               ///< the first NaN in order of execution; without NaN the first infinity
    std::int64_t count = 0;           ///< elements of that value that are NaN (infinite)
    std::size_t values = 0;           ///< that are not finite
    bool backward = false;            ///< made by a backward step
    bool born = false;                ///< a node made it out of values that had none; else it came in by an input or weight
    std::vector<TroubleStop> walk;    ///< empty: not asked for
    std::size_t birth = 0;            ///< the stop where the trouble begins
    std::string error;                ///< why there is no walk
};

/// One element of a gradient, explained for the gradient pane.
struct Explanation {
    engine::ChainRule rule;
    std::optional<engine::ElementCheck> check; ///< comes after the rule
    std::optional<engine::Curve> curve;        ///< the reader is an element-wise function
    std::string error;                         ///< why a part is missing
};

/// All of it. Copying is cheap. A null pointer or empty optional means "there is none", which each view says in words.
struct ViewState {
    std::string documentTitle;               ///< file name; empty = no document
    engine::Graph graph;                     ///< the one that is shown: of the current history state, or a body in it
    std::vector<BodyPlace> bodies;           ///< the way to the shown body, outermost first; empty: the main graph is shown
    engine::Graph mainGraph;                 ///< of the current history state, while a body is shown
    std::shared_ptr<const engine::TypeMap> types;
    std::shared_ptr<const engine::GraphCost> cost;
    std::shared_ptr<const ScopeTree> scopes;
    std::vector<HistoryEntry> history;
    std::uint32_t currentState = 0;          ///< id in the history
    std::uint32_t comparedState = 0;         ///< the state shown beside it; 0 = none
    std::vector<engine::Diagnostic> problems;
    Selection selection;
    std::optional<StepState> step;
    std::shared_ptr<const ValueMap> values;
    std::unordered_map<engine::ValueId, ValueStats> stats; ///< of values on the graph, for overlays (gradient norms)
    std::unordered_map<engine::ValueId, engine::ValueId> gradientOf; ///< forward value -> its cotangent, in a gradient state
    std::shared_ptr<const Explanation> explanation;
    std::shared_ptr<const NumericTrouble> trouble; ///< null: every value that is there is finite
    std::shared_ptr<const TrainingState> training; ///< of this model, running or ended
    std::unordered_set<engine::NodeId> breakpoints;
    std::shared_ptr<const engine::Plan> plan; ///< of the last run or estimate, for the memory map
    std::shared_ptr<const profiler::TimelineData> timeline;
    std::unordered_map<engine::NodeId, std::int64_t> medianNs; ///< per node, from the recording
    std::string recordingTitle;               ///< "run 3 of 3 · 23.6 ms · recording 0.4 MiB"

    bool hasDocument() const { return !documentTitle.empty(); }
    const engine::Graph& main() const { return bodies.empty() ? graph : mainGraph; }
};

/// The steps of the graph that is shown.
struct ShownSteps {
    std::size_t position = 0;
    std::span<const engine::NodeId> order;
    const StepLevel* level = nullptr; ///< null: the main graph
    bool innermost = true;
    engine::NodeId next() const { return position < order.size() ? order[position] : engine::NodeId{}; }
    engine::NodeId last() const { return position > 0 ? order[position - 1] : engine::NodeId{}; } ///< that has run
};
/// None: nothing is stepped through, or the shown body is not open. Valid as long as the state.
std::optional<ShownSteps> shownSteps(const ViewState& state);

/// Of a value of the backward pass; null while it is not computed, and of shapes and axes, which are no gradients.
const ValueStats* gradientStats(const ViewState& state, engine::ValueId value);

/// What is new since the state that a view was last given; views redo only that.
struct Changes {
    bool graph = false, selection = false, step = false, values = false, plan = false, timeline = false, history = false, problems = false, gradient = false, training = false;
    static Changes all() { return {true, true, true, true, true, true, true, true, true, true}; }
};

} // namespace nabla::views
