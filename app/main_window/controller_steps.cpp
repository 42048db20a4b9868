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
    if (out.position < out.count)
        out.next = out.order[out.position];
    return out;
}

} // namespace

void Controller::withStepper(const QString& title, std::function<Result<std::string>(Stepper&, const JobControl&)> act) {
    if (!m_document)
        return;
    const HistoryStatePtr state = m_document->state(m_state.currentState);
    const std::shared_ptr<Stepper> existing = m_stepperState == state->id ? m_stepper : nullptr;
    std::set<NodeId> breakpoints(m_state.breakpoints.begin(), m_state.breakpoints.end());
    auto oldStats = m_state.stats;
    m_jobs.start<Stepped>(title,
        [state, existing, act = std::move(act), breakpoints = std::move(breakpoints), oldStats = std::move(oldStats)](const JobControl& job) -> Result<Stepped> {
            Stepped out;
            out.stepper = existing;
            if (!out.stepper) {
                NABLA_TRY(const Graph graph, legalized(state->graph));
                NABLA_TRY(const NamedValues values, sampleInputs(graph));
                NABLA_TRY(auto made, Stepper::create(graph, values, {}, kBudget));
                out.stepper = std::move(made);
            }
            out.stepper->setBreakpoints(breakpoints);
            NABLA_TRY(std::string note, act(*out.stepper, job));
            out.step = stepStateOf(*out.stepper, std::move(note));
            auto values = std::make_shared<views::ValueMap>();
            Result<void> failure;
            out.stepper->graph().forEachValue([&](const Value& value) {
                if (!failure || !out.stepper->available(value.id))
                    return;
                auto here = out.stepper->value(value.id);
                if (!here) {
                    failure = here.error();
                    return;
                }
                if (here->isTensor() && here->tensor().elementCount() <= kStatsLimit && value.producer) {
                    const auto old = oldStats.find(value.id);
                    out.stats[value.id] = old != oldStats.end() ? old->second : views::valueStats(here->tensor());
                }
                values->emplace(value.id, std::move(*here));
            });
            NABLA_CHECK(std::move(failure));
            out.values = std::move(values);
            return out;
        },
        [this, id = state->id](Result<Stepped> stepped) {
            if (!stepped) {
                Q_EMIT failed(tr("The model could not run"), stepped.error());
                return;
            }
            if (id != m_state.currentState)
                return; // another state is shown by now
            m_stepperState = id;
            applyStep(*stepped);
        });
}

void Controller::applyStep(const Stepped& stepped) {
    m_stepper = stepped.stepper;
    m_state.step = stepped.step;
    m_state.values = stepped.values;
    m_state.stats = stepped.stats;
    Changes changes;
    changes.step = changes.values = true;
    // The selection follows the step that ran last.
    if (m_state.step->position > 0) {
        const NodeId ran = m_state.step->order[m_state.step->position - 1];
        if (const Node* node = m_state.graph.node(ran)) {
            m_state.selection = {ran, node->output(0)};
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
        if (stepper.position() == stepper.stepCount())
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
    publish(changes);
}

} // namespace nabla::app
