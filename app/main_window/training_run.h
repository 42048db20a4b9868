// TrainingRun: a model being trained on a thread of its own, told to the window a few times a second.
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include <QObject>
#include <QTimer>

#include "engine/training/trainer.h"
#include "views/training_state.h"

namespace nabla::app {

struct TrainingSettings {
    std::string data;     ///< .npz of examples, first axis the examples
    engine::OptimizerSpec optimizer;
    double learningRate = 1e-3;
    std::int64_t batch = 32, steps = 200;
    std::uint64_t seed = 0;
};

/// Begins paused or running; ends by itself after the last step. Lives on the GUI thread.
class TrainingRun : public QObject {
    Q_OBJECT
public:
    /// `legalized`: the forward graph, trained from its weights.
    TrainingRun(engine::Graph legalized, TrainingSettings settings, QObject* parent = nullptr);
    ~TrainingRun() override; ///< stops and waits for the step that runs

    void pause();
    void resume();
    void stepOnce();
    void stop();
    void setLearningRate(double rate);

    std::shared_ptr<const views::TrainingState> state() const { return m_state; }
    /// Weights as they are now, by name; empty before the first step.
    std::map<std::string, engine::Tensor> weights() const;

Q_SIGNALS:
    void changed(); ///< state() is a new one
    void ended();   ///< after the last changed()

private:
    engine::Result<void> work(const std::stop_token& stop);
    void addReport(const engine::StepReport& report);
    void collect();

    const engine::Graph m_graph;
    const TrainingSettings m_settings;
    engine::TrainGate m_gate;
    std::shared_ptr<const views::TrainingState> m_state;
    QTimer m_timer;
    mutable std::mutex m_mutex; ///< guards what follows, written by the thread
    std::unique_ptr<engine::Trainer> m_trainer;
    std::vector<views::TrainingStepPtr> m_new;
    std::vector<std::string> m_names;
    std::vector<engine::ValueId> m_values;
    std::string m_error;
    bool m_finished = false;
    std::jthread m_thread; ///< last: its end comes before the rest goes
};

} // namespace nabla::app
