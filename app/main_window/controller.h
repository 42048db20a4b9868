// Controller: the open document and everything that is done to it. Widgets wish, the controller runs jobs, views get a new ViewState.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include <QObject>
#include <QString>

#include "app/document/document.h"
#include "app/document/training_log.h"
#include "app/jobs/job_runner.h"
#include "app/main_window/bodies.h"
#include "app/main_window/training_run.h"
#include "app/main_window/trouble.h"
#include "engine/runtime/stepper.h"
#include "views/view_state.h"

namespace nabla::app {

/// The loss where there is one: an output called so, else the only scalar float output; else every float output (empty).
std::vector<std::string> lossOutputs(const engine::Graph& graph);

class Controller : public QObject {
    Q_OBJECT
public:
    explicit Controller(QObject* parent = nullptr);
    ~Controller() override;

    const views::ViewState& state() const { return m_state; }
    JobRunner& jobs() { return m_jobs; }
    bool hasDocument() const { return m_document.has_value(); }
    /// The graph state compared with, when the window shows two; null otherwise.
    HistoryStatePtr comparedState() const { return m_document ? m_document->state(m_state.comparedState) : nullptr; }
    QString recordingPath() const { return m_recordingPath; }
    QString sessionPath() const { return m_sessionPath; } ///< the file that holds the history; empty before it was saved
    QString suggestedSessionPath() const;                 ///< that, or MODEL.nabla beside the model
    bool unsaved() const;                                 ///< there are states that no file holds

public Q_SLOTS:
    void open(const QString& path);
    void run();
    void stepForward();
    void stepBack();
    void stepInto(); ///< and shows the body that it goes into
    void stepOut();
    void goToIteration(qint64 k); ///< of the innermost open body, from 0
    void continueForward();
    void goToStep(std::size_t position);
    void stopStepping();
    void differentiate(); ///< the loss (lossOutputs), with respect to every float input and weight
    void differentiateBy(const std::vector<std::string>& of, const std::vector<std::string>& wrt);
    void optimise();
    /// Trains the state shown; another training ends. The weights become a new state of the history when it ends.
    void train(const nabla::app::TrainingSettings& settings);
    void pauseTraining();
    void resumeTraining();
    void trainOnce();
    void stopTraining();
    void setLearningRate(double rate);
    void record(int runs = 100);
    void openRecording(const QString& path);
    void openStored(const QString& path); ///< a file of ours: its history where it holds one, else its recording
    void saveSession(const QString& path);
    void showState(std::uint32_t id);
    void compare(std::uint32_t before, std::uint32_t after);
    void select(const nabla::views::Selection& selection); ///< shows the graph that has it
    /// Shows a body of a node of the graph shown at this depth of bodies (`body` empty: the one stepped through, else its first).
    void openBody(std::size_t depth, nabla::engine::NodeId node, const QString& body = {});
    /// Goes back until so many bodies are open; 0 = the main graph. The node whose body it was is selected.
    void leaveBodies(std::size_t depth);
    /// Explains dL/d(value[element]) of the gradient state shown, from the stepper's values; then checks the number.
    void explain(nabla::engine::ValueId value, qint64 element);
    /// Walks back from the selected value that is not finite, else from the first one there is; selects where the trouble begins.
    void findNonFinite();
    void toggleBreakpoint(nabla::engine::NodeId node);
    void saveAs(const QString& path); ///< the current state as ONNX

Q_SIGNALS:
    void stateChanged(const nabla::views::ViewState& state, const nabla::views::Changes& changes);
    void opened(const QString& path);
    void failed(const QString& what, const nabla::engine::Error& error);
    void done(const QString& text); ///< one line for the status bar
    void sessionSaved(const QString& path);
    /// Another document is ready, and the history of this one is unsaved: `replace` puts it in place.
    void replaceAsked(const std::function<void()>& replace);

private:
    struct Analysed;
    struct Stepped;
    void publish(const views::Changes& changes);
    void replaceDocument(std::function<void()> replace);
    void adopt(Document document, const QString& path);
    void showGraph(const HistoryStatePtr& state, std::uint32_t compared);
    void applyAnalysis(const Analysed& analysed);
    void refreshHistory();
    void keepTrained();
    void checkExplanation(const HistoryStatePtr& state);
    void showBodies(BodyPath bodies, const views::Selection& selection);
    void applyShown(const engine::Graph& main, ShownGraph shown);
    void withStepper(const QString& title, std::function<engine::Result<std::string>(engine::Stepper&, const engine::JobControl&)> act);
    void applyStep(const Stepped& stepped, bool otherGraph);
    bool takeTrouble(std::shared_ptr<const views::NumericTrouble> trouble); ///< whether it is another one

    JobRunner m_jobs;
    std::optional<Document> m_document;
    views::ViewState m_state;
    std::shared_ptr<engine::Stepper> m_stepper; ///< touched on the job thread only, by one job at a time
    std::uint32_t m_stepperState = 0;           ///< the history state it steps through
    QString m_recordingPath, m_sessionPath;
    std::size_t m_savedStates = 0;              ///< of the history; those of a file just opened count as saved
    FiniteValues m_finite;                      ///< inputs, weights and large values of the stepper known to be finite
    BodyPath m_stepPath;                        ///< the bodies it stands in
    std::unique_ptr<TrainingRun> m_training;
    HistoryStatePtr m_trainedFrom;
    std::vector<TrainingPtr> m_trainings;       ///< that have ended
    std::size_t m_savedTrainings = 0;           ///< of these, in the session's file
    std::shared_ptr<std::atomic<std::uint32_t>> m_explained = std::make_shared<std::atomic<std::uint32_t>>(0); ///< the newest explain()
    std::uint32_t m_bodyGeneration = 0;         ///< of shown bodies: likewise
    std::uint32_t m_generation = 0;             ///< of shown graphs: results for an older one are dropped
};

} // namespace nabla::app
