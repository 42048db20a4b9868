// What is not finite: kept up to date with the stepper, walked back when asked.
#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;
using views::NumericTrouble;

bool Controller::takeTrouble(std::shared_ptr<const NumericTrouble> trouble) {
    const auto& old = m_state.trouble;
    const bool same = (!old && !trouble) || (old && trouble && old->first.same(trouble->first) && old->count == trouble->count && old->values == trouble->values);
    if (same)
        return false;
    if (old && trouble && old->first.same(trouble->first) && !old->walk.empty()) { // the way back is still the way back
        auto kept = std::make_shared<NumericTrouble>(*trouble);
        kept->walk = old->walk;
        kept->birth = old->birth;
        trouble = std::move(kept);
    }
    m_state.trouble = std::move(trouble);
    return true;
}

void Controller::findNonFinite() {
    const auto trouble = m_state.trouble;
    const HistoryStatePtr state = m_document ? m_document->state(m_state.currentState) : nullptr;
    if (!trouble || !state || !m_stepper || m_stepperState != state->id)
        return;
    m_jobs.start<NumericTrouble>(tr("Finding where it comes from"),
        [state, trouble, stepper = m_stepper, selection = m_state.selection](const JobControl& job) { return walked(*trouble, *stepper, state->graph, selection, job); },
        [this, trouble, id = state->id](Result<NumericTrouble> found) {
            if (m_state.currentState != id || !m_state.trouble || !m_state.trouble->first.same(trouble->first))
                return; // another state or another step is shown by now
            if (!found) {
                if (found.error().kind() == ErrorKind::Cancelled) {
                    Q_EMIT failed(tr("The walk back was stopped"), found.error());
                    return;
                }
                auto without = std::make_shared<NumericTrouble>(*trouble);
                without->error = found.error().message();
                m_state.trouble = std::move(without);
                publish({.problems = true});
                return;
            }
            m_state.trouble = std::make_shared<const NumericTrouble>(std::move(*found));
            const views::ElementPlace& birth = m_state.trouble->walk.at(m_state.trouble->birth).at;
            publish({.problems = true});
            select({birth.producer, birth.value, birth.element});
        });
}

} // namespace nabla::app
