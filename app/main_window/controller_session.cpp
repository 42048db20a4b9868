// The history as a file: saving it, opening it again, and knowing whether it has to be saved.
#include <QDir>
#include <QFileInfo>

#include "app/document/session_file.h"
#include "app/main_window/controller.h"

namespace nabla::app {

using namespace nabla::engine;

bool Controller::unsaved() const { return m_document && m_document->states().size() > m_savedStates; }

QString Controller::suggestedSessionPath() const {
    if (!m_sessionPath.isEmpty())
        return m_sessionPath;
    const QFileInfo model(m_document ? QString::fromStdString(m_document->path().string()) : QString());
    const QString stem = model.completeBaseName().isEmpty() ? tr("history") : model.completeBaseName();
    return model.absoluteDir().filePath(stem + ".nabla");
}

void Controller::replaceDocument(std::function<void()> replace) {
    if (unsaved())
        Q_EMIT replaceAsked(replace);
    else
        replace();
}

void Controller::adopt(Document document, const QString& path) {
    m_training.reset();
    m_trainings.clear();
    m_savedTrainings = 0;
    m_document = std::move(document);
    m_savedStates = m_document->states().size();
    m_sessionPath.clear();
    m_state = views::ViewState();
    m_state.documentTitle = QFileInfo(path).fileName().toStdString();
    m_stepper.reset();
    m_stepperState = 0;
    m_recordingPath.clear();
    refreshHistory();
}

void Controller::openStored(const QString& path) {
    using Found = std::shared_ptr<OpenedSession>; // null: a recording without states
    m_jobs.start<Found>(tr("Opening %1").arg(QFileInfo(path).fileName()),
        [file = path.toStdString()](const JobControl& job) -> Result<Found> {
            NABLA_TRY(auto session, openSession(file, job));
            return session ? std::make_shared<OpenedSession>(std::move(*session)) : Found();
        },
        [this, path](Result<Found> found) {
            if (!found) {
                Q_EMIT failed(tr("%1 could not be opened").arg(QFileInfo(path).fileName()), found.error());
                return;
            }
            if (!*found) {
                openRecording(path);
                return;
            }
            replaceDocument([this, path, session = *found] {
                adopt(session->document, path);
                m_sessionPath = path;
                m_trainings = session->trainings;
                m_savedTrainings = m_trainings.size();
                m_state.training = m_trainings.empty() ? nullptr : m_trainings.back();
                m_state.selection = {session->view.node, session->view.value};
                showGraph(m_document->chosen(), 0);
                Q_EMIT opened(path);
                if (session->hasRuns)
                    openRecording(path);
            });
        });
}

void Controller::saveSession(const QString& path) {
    if (!m_document)
        return;
    const SessionView view{m_state.currentState, m_state.selection.node, m_state.selection.value};
    const std::size_t kept = path == m_sessionPath ? m_savedTrainings : 0; // the file has those
    std::vector<TrainingPtr> trainings(m_trainings.begin() + static_cast<std::ptrdiff_t>(kept), m_trainings.end());
    m_jobs.start<std::size_t>(tr("Saving"),
        [document = *m_document, view, file = path.toStdString(), trainings = std::move(trainings)](const JobControl& job) -> Result<std::size_t> {
            NABLA_CHECK(app::saveSession(document, view, file, job, trainings));
            return document.states().size();
        },
        [this, path, all = m_trainings.size()](Result<std::size_t> saved) {
            if (!saved) {
                Q_EMIT failed(tr("The session could not be saved"), saved.error());
                return;
            }
            m_savedStates = *saved;
            m_savedTrainings = all;
            m_sessionPath = path;
            m_state.documentTitle = QFileInfo(path).fileName().toStdString();
            publish({.history = true});
            Q_EMIT sessionSaved(path);
            Q_EMIT done(tr("Saved as %1").arg(path));
        });
}

} // namespace nabla::app
