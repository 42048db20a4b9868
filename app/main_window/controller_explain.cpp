// Explaining one element of a gradient: the rule first, the check by other means behind it.
#include <algorithm>
#include <cmath>

#include "app/document/explain_element.h"
#include "app/document/sample_inputs.h"
#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

constexpr std::int64_t kCheckFlops = 2'000'000'000; // the check runs the whole graph three times: larger models are not checked unasked

/// Values of the stepper; weights come from the graph.
ValueOf valuesOf(const JointGraph& joint, Stepper& stepper) {
    return [&joint, &stepper](ValueId id) -> Result<RuntimeValue> {
        if (const TensorPtr constant = joint.graph.constant(id))
            return RuntimeValue(*constant);
        if (!stepper.available(id))
            return runError("\"{}\" has not been computed yet", joint.graph.value(id)->name);
        return stepper.value(id);
    };
}

Result<views::Explanation> explainNow(const JointGraph& joint, Stepper& stepper, ValueId value, std::int64_t element, const JobControl& job) {
    const ValueOf valueOf = valuesOf(joint, stepper);
    views::Explanation out;
    NABLA_TRY(out.rule, chainRule(joint, value, element, valueOf, job));
    if (!out.rule.paths.empty()) {
        const Node& reader = *joint.graph.node(out.rule.paths.front().reader);
        const double reach = std::max(4.0, 1.5 * std::abs(out.rule.x));
        if (auto curve = curveOf(joint.graph, reader, -reach, reach, job))
            out.curve = std::move(*curve);
    }
    return out;
}

} // namespace

void Controller::explain(ValueId value, qint64 element) {
    const HistoryStatePtr state = m_document ? m_document->state(m_state.currentState) : nullptr;
    if (!state || !state->joint || !m_stepper || m_stepperState != state->id)
        return;
    const std::uint32_t request = ++*m_explained;
    const auto isNewest = [newest = m_explained, request] { return *newest == request; };
    m_jobs.start<views::Explanation>(tr("Explaining a gradient"),
        [state, stepper = m_stepper, value, element, isNewest](const JobControl& job) -> Result<views::Explanation> {
            if (!isNewest())
                return views::Explanation{};
            return explainNow(*state->joint, *stepper, value, element, job);
        },
        [this, state, isNewest](Result<views::Explanation> explained) {
            if (!isNewest() || m_state.currentState != state->id)
                return;
            if (!explained) {
                Q_EMIT failed(tr("The gradient could not be explained"), explained.error());
                return;
            }
            m_state.explanation = std::make_shared<const views::Explanation>(std::move(*explained));
            publish({.gradient = true});
            checkExplanation(state);
        });
}

void Controller::checkExplanation(const HistoryStatePtr& state) {
    const auto explained = m_state.explanation;
    const bool large = m_state.cost && m_state.cost->flops > kCheckFlops;
    if (large)
        return;
    m_jobs.start<ElementCheck>(tr("Checking a gradient"),
        [state, explained, newest = m_explained, request = m_explained->load()](const JobControl& job) -> Result<ElementCheck> {
            if (*newest != request)
                return Error(ErrorKind::Cancelled, "a newer explanation is wanted");
            NABLA_TRY(const NamedValues inputs, sampleInputs(state->joint->graph));
            return checkElement(*state->joint, inputs, explained->rule.value, explained->rule.element, job);
        },
        [this, explained](Result<ElementCheck> check) {
            if (m_state.explanation != explained || (!check && check.error().kind() == ErrorKind::Cancelled))
                return;
            auto both = std::make_shared<views::Explanation>(*explained);
            if (check)
                both->check = *check;
            else
                both->error = check.error().message();
            m_state.explanation = std::move(both);
            publish({.gradient = true});
        });
}

} // namespace nabla::app
