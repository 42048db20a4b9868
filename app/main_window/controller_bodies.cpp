// Going into bodies and back: which graph of the current history state is shown.
#include "app/document/sample_inputs.h"
#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;
using views::Changes;

void Controller::applyShown(const Graph& main, ShownGraph shown) {
    m_state.mainGraph = main;
    m_state.bodies = std::move(shown.bodies);
    m_state.graph = m_state.bodies.empty() ? main : m_state.bodies.back().graph;
    m_state.types = std::move(shown.types);
    m_state.cost = std::move(shown.cost);
    m_state.scopes = std::move(shown.scopes);
    m_state.comparedState = 0; // two states are compared by their main graphs
}

void Controller::showBodies(BodyPath bodies, const views::Selection& selection) {
    const HistoryStatePtr state = m_document->state(m_state.currentState);
    m_jobs.start<ShownGraph>(tr("Opening a body"),
        [graph = state->graph, bodies = std::move(bodies)](const JobControl& job) -> Result<ShownGraph> {
            NABLA_CHECK(job.check());
            return analysed(graph, bodies, sampleBindings(graph));
        },
        [this, state, selection, generation = m_generation, newest = ++m_bodyGeneration](Result<ShownGraph> shown) {
            if (generation != m_generation || newest != m_bodyGeneration)
                return;
            if (!shown) {
                Q_EMIT failed(tr("The body could not be shown"), shown.error());
                return;
            }
            applyShown(state->graph, std::move(*shown));
            m_state.selection = selection;
            publish({.graph = true, .selection = true, .step = true, .values = true});
        });
}

void Controller::openBody(std::size_t depth, NodeId node, const QString& body) {
    if (!m_document || depth > m_state.bodies.size())
        return;
    BodyPath path(m_state.bodies.begin(), m_state.bodies.begin() + static_cast<std::ptrdiff_t>(depth));
    const Graph& outer = depth == m_state.bodies.size() ? m_state.graph : depth == 0 ? m_state.main() : m_state.bodies[depth - 1].graph;
    const Node* owner = outer.node(node);
    if (!owner)
        return;
    // While stepping is inside the node, that body is meant, which may be one that only running makes.
    std::optional<views::BodyPlace> place;
    if (m_state.step && m_stepPath.size() > depth && samePath(path, BodyPath(m_stepPath.begin(), m_stepPath.begin() + static_cast<std::ptrdiff_t>(depth)))) {
        const views::BodyPlace& open = m_stepPath[depth];
        if (open.node == node && (body.isEmpty() || open.body == body.toStdString()))
            place = open;
    }
    if (!place)
        place = placeOf(m_state.main(), *owner, body.toStdString());
    if (!place)
        return;
    path.push_back(std::move(*place));
    showBodies(std::move(path), {});
}

void Controller::leaveBodies(std::size_t depth) {
    if (!m_document || depth >= m_state.bodies.size())
        return;
    const NodeId owner = m_state.bodies[depth].node;
    const Graph& outer = depth == 0 ? m_state.main() : m_state.bodies[depth - 1].graph;
    const Node* node = outer.node(owner);
    BodyPath path(m_state.bodies.begin(), m_state.bodies.begin() + static_cast<std::ptrdiff_t>(depth));
    showBodies(std::move(path), node ? views::Selection{owner, node->output(0)} : views::Selection{});
}

} // namespace nabla::app
