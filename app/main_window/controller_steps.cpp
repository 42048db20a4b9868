// Running and stepping: every action is one job on the stepper, whose values come back as a new map.
#include <QFileInfo>

#include "app/document/sample_inputs.h"
#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;
using views::Changes;

/// What one action on the stepper gives back.
struct Controller::Stepped {
    std::shared_ptr<Stepper> stepper;
    views::StepState step;
    std::shared_ptr<const views::ValueMap> values;
    std::unordered_map<ValueId, views::ValueStats> stats;
    std::shared_ptr<const views::NumericTrouble> trouble;
    FiniteValues finite;
    BodyPath path;                   ///< the bodies it stands in
    std::optional<ShownGraph> shown; ///< when another graph is to be shown
};

namespace {

constexpr std::int64_t kBudget = std::int64_t{2} << 30;
constexpr std::int64_t kStatsLimit = 2'000'000; // elements; larger values get their statistics when they are selected

views::StepState stepStateOf(const Stepper& stepper, std::string note) {
    views::StepState out;
    out.position = stepper.position();
    out.count = stepper.stepCount();
    out.backwardStart = stepper.backwardStart();
    out.keptBytes = stepper.keptBytes();
    out.budgetBytes = kBudget;
    out.note = std::move(note);
    for (std::size_t i = 0; i < out.count; ++i)
        out.order.push_back(stepper.nodeAt(i));
    out.next = stepper.nextNode();
    const std::vector<Stepper::Level> levels = stepper.levels();
    for (std::size_t d = 0; d < levels.size(); ++d) {
        const Stepper::Level& level = levels[d];
        views::StepLevel shown{level.node, level.body, level.iteration, level.iterations, level.atMost, level.position, {}};
        for (const PlanStep& step : stepper.planAt(d + 1).steps)
            shown.order.push_back(step.node);
        out.levels.push_back(std::move(shown));
    }
    return out;
}

using Stats = std::unordered_map<ValueId, views::ValueStats>;

/// Up to this depth the old statistics hold: the same iteration of the same bodies is open.
std::size_t unchangedDepth(const std::vector<views::StepLevel>& before, const std::vector<views::StepLevel>& now) {
    std::size_t depth = 0;
    while (depth < before.size() && depth < now.size() && before[depth].node == now[depth].node && before[depth].body == now[depth].body && before[depth].iteration == now[depth].iteration)
        ++depth;
    return depth;
}

/// Values of the main graph and of the open bodies, as far as they are there.
Result<void> gatherValues(Stepper& stepper, std::size_t oldDepth, const Stats& oldStats, views::ValueMap& values, Stats& stats) {
    Result<void> failure;
    for (std::size_t d = 0; d <= stepper.depth(); ++d) {
        const Graph graph = stepper.planAt(d).graph;
        graph.forEachValue([&](const Value& value) {
            if (!failure || !stepper.available(value.id))
                return;
            auto here = stepper.value(value.id);
            if (!here) {
                failure = here.error();
                return;
            }
            if (here->isTensor() && here->tensor().elementCount() <= kStatsLimit && value.producer) {
                const auto old = oldStats.find(value.id);
                stats[value.id] = d <= oldDepth && old != oldStats.end() ? old->second : views::valueStats(here->tensor());
            }
            values.insert_or_assign(value.id, std::move(*here)); // of a function that is open twice, the inner one
        });
    }
    return failure;
}

} // namespace

void Controller::withStepper(const QString& title, std::function<Result<std::string>(Stepper&, const JobControl&)> act) {
    if (!m_document)
        return;
    const HistoryStatePtr state = m_document->state(m_state.currentState);
    const std::shared_ptr<Stepper> existing = m_stepperState == state->id ? m_stepper : nullptr;
    std::set<NodeId> breakpoints(m_state.breakpoints.begin(), m_state.breakpoints.end());
    auto oldStats = m_state.stats;
    auto oldLevels = m_state.step ? m_state.step->levels : std::vector<views::StepLevel>();
    m_jobs.start<Stepped>(title,
        [state, existing, act = std::move(act), breakpoints = std::move(breakpoints), oldStats = std::move(oldStats), oldLevels = std::move(oldLevels), shownPath = m_state.bodies, finite = m_finite](const JobControl& job) mutable -> Result<Stepped> {
            Stepped out;
            out.stepper = existing;
            if (!out.stepper) {
                finite.clear();
                NABLA_TRY(const Graph graph, legalized(state->graph));
                NABLA_TRY(const NamedValues values, sampleInputs(graph));
                NABLA_TRY(auto made, Stepper::create(graph, values, {}, kBudget));
                out.stepper = std::move(made);
            }
            out.stepper->setBreakpoints(breakpoints);
            Result<std::string> note = act(*out.stepper, job);
            if (!note) {
                const std::string hint = note.error().kind() == ErrorKind::Run ? sampleHint(state->graph) : std::string();
                return hint.empty() ? note.error() : Error{ErrorKind::Run, note.error().message() + ". " + hint};
            }
            out.step = stepStateOf(*out.stepper, std::move(*note));
            auto values = std::make_shared<views::ValueMap>();
            NABLA_CHECK(gatherValues(*out.stepper, unchangedDepth(oldLevels, out.step.levels), oldStats, *values, out.stats));
            out.values = std::move(values);
            NABLA_TRY(out.trouble, troubleOf(*out.stepper, state->graph, out.stats, finite, job));
            out.finite = std::move(finite);
            out.path = pathOf(*out.stepper, state->graph);
            if (!samePath(out.path, shownPath)) // what is stepped through is what is shown
                out.shown = analysed(state->graph, out.path, sampleBindings(state->graph));
            return out;
        },
        [this, state, id = state->id](Result<Stepped> stepped) {
            if (!stepped) {
                Q_EMIT failed(tr("The model could not run"), stepped.error());
                return;
            }
            if (id != m_state.currentState)
                return; // another state is shown by now
            m_stepperState = id;
            const bool changed = stepped->shown.has_value();
            if (changed) {
                ++m_bodyGeneration;
                applyShown(state->graph, std::move(*stepped->shown));
            }
            applyStep(*stepped, changed);
        });
}

void Controller::applyStep(const Stepped& stepped, bool otherGraph) {
    m_stepper = stepped.stepper;
    m_stepPath = stepped.path;
    m_state.step = stepped.step;
    m_state.values = stepped.values;
    m_state.stats = stepped.stats;
    m_finite = stepped.finite;
    Changes changes;
    changes.step = changes.values = true;
    changes.graph = otherGraph;
    changes.problems = takeTrouble(stepped.trouble);
    // The selection follows the step that ran last; at the start of a body, the one that comes.
    if (const auto steps = views::shownSteps(m_state)) {
        const Node* node = m_state.graph.node(steps->position > 0 ? steps->last() : steps->level ? steps->next() : NodeId{});
        if (node || otherGraph) {
            m_state.selection = node ? views::Selection{node->id, node->output(0)} : views::Selection{};
            changes.selection = true;
        }
    }
    publish(changes);
}

void Controller::run() {
    withStepper(tr("Running"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        NABLA_CHECK(stepper.goTo(stepper.stepCount(), job));
        return std::string();
    });
}

void Controller::stepForward() {
    withStepper(tr("Stepping"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        if (stepper.depth() == 0 && stepper.position() == stepper.stepCount())
            return std::string("the end: nothing left to run");
        NABLA_CHECK(stepper.stepForward(job));
        return std::string();
    });
}

void Controller::stepBack() {
    withStepper(tr("Stepping back"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        NABLA_CHECK(stepper.stepBack(job));
        return std::string();
    });
}

void Controller::stepInto() {
    withStepper(tr("Stepping into"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        if (stepper.depth() == 0 && stepper.position() == stepper.stepCount())
            return std::string("the end: nothing left to run");
        const std::size_t depth = stepper.depth();
        const bool hasBody = stepper.canStepInto();
        NABLA_CHECK(stepper.stepInto(job));
        return std::string(hasBody && stepper.depth() == depth ? "stepped over: no iteration to go into" : "");
    });
}

void Controller::stepOut() {
    withStepper(tr("Stepping out"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        if (stepper.depth() == 0)
            return std::string("stepping is not inside a body");
        NABLA_TRY(const Stepper::Stop stop, stepper.stepOut(job));
        return stop.text;
    });
}

void Controller::goToIteration(qint64 k) {
    withStepper(tr("Going to iteration %1").arg(k + 1), [k](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        const Result<void> there = stepper.goToIteration(k, job);
        if (!there && there.error().kind() == ErrorKind::Usage) // the position stays
            return stepper.depth() == 0 ? std::string("stepping is not inside a body")
                                        : "there is no iteration " + std::to_string(k + 1) + (stepper.depth() > 1 ? " of this body; step out for those around it" : "");
        NABLA_CHECK(there);
        return std::string();
    });
}

void Controller::continueForward() {
    withStepper(tr("Running on"), [](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        NABLA_TRY(const Stepper::Stop stop, stepper.continueForward(job));
        return stop.text;
    });
}

void Controller::goToStep(std::size_t position) {
    withStepper(tr("Going to step %1").arg(position), [position](Stepper& stepper, const JobControl& job) -> Result<std::string> {
        NABLA_CHECK(stepper.goTo(std::min(position, stepper.stepCount()), job));
        return std::string();
    });
}

void Controller::stopStepping() {
    m_jobs.cancel();
    m_stepper.reset();
    m_stepperState = 0;
    m_state.step.reset();
    m_state.values.reset();
    m_state.stats.clear();
    Changes changes;
    changes.step = changes.values = true;
    changes.problems = takeTrouble(nullptr);
    publish(changes);
}

} // namespace nabla::app
