// Training the state shown; the weights it ends with become a new state.
#include <fmt/format.h>

#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;

void Controller::train(const TrainingSettings& settings) {
    if (!m_document)
        return;
    const HistoryStatePtr from = m_document->state(m_state.currentState);
    if (from->joint) {
        Q_EMIT done(tr("This state is a gradient; choose the state to train in the history"));
        return;
    }
    auto graph = legalized(from->graph);
    if (!graph) {
        Q_EMIT failed(tr("The model could not be trained"), graph.error());
        return;
    }
    m_training = std::make_unique<TrainingRun>(*graph, settings);
    m_trainedFrom = from;
    connect(m_training.get(), &TrainingRun::changed, this, [this] {
        m_state.training = m_training->state();
        publish({.training = true});
    });
    connect(m_training.get(), &TrainingRun::ended, this, &Controller::keepTrained);
    m_state.training = m_training->state();
    publish({.training = true});
}

void Controller::keepTrained() {
    const auto ended = m_training->state();
    if (!ended->error.empty())
        Q_EMIT failed(tr("The training ended early"), runError("{}", ended->error));
    if (ended->steps.empty())
        return;
    m_trainings.push_back(ended);
    auto trained = withWeights(m_trainedFrom->graph, m_training->weights());
    if (!trained) { // legalization has renamed a weight: the legalized graph takes them
        if (const auto newest = legalized(m_trainedFrom->graph))
            trained = withWeights(*newest, m_training->weights());
    }
    if (!trained) {
        Q_EMIT failed(tr("The trained weights do not fit the model"), trained.error());
        return;
    }
    HistoryState state;
    state.kind = HistoryState::Kind::Trained;
    state.parent = m_trainedFrom->id;
    state.title = fmt::format("trained {} steps", ended->steps.size());
    state.subtitle = fmt::format("{}, loss {:.3g} \u2192 {:.3g}", ended->title, ended->steps.front()->loss, ended->steps.back()->loss);
    state.graph = *trained;
    const HistoryStatePtr added = m_document->add(std::move(state));
    refreshHistory();
    showGraph(added, 0);
    Q_EMIT done(tr("Trained: %1").arg(QString::fromStdString(added->subtitle)));
}

void Controller::pauseTraining() {
    if (m_training)
        m_training->pause();
}
void Controller::resumeTraining() {
    if (m_training)
        m_training->resume();
}
void Controller::trainOnce() {
    if (m_training)
        m_training->stepOnce();
}
void Controller::stopTraining() {
    if (m_training)
        m_training->stop();
}
void Controller::setLearningRate(double rate) {
    if (m_training)
        m_training->setLearningRate(rate);
}

} // namespace nabla::app
