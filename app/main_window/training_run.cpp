// The thread steps and leaves reports behind; a timer on the GUI thread picks them up.
#include "app/main_window/training_run.h"

#include <chrono>

#include <fmt/format.h>

#include "engine/importers/values/npz.h"

namespace nabla::app {

using namespace nabla::engine;
using views::TrainingState;

namespace {

views::TrainingCell cellOf(const ParameterReport& report) {
    return {report.gradient, report.weight, report.update.l2, report.unitNorms.count, report.unitNorms.zero};
}

} // namespace

TrainingRun::TrainingRun(Graph legalized, TrainingSettings settings, QObject* parent)
    : QObject(parent), m_graph(std::move(legalized)), m_settings(std::move(settings)) {
    auto state = std::make_shared<TrainingState>();
    state->wanted = m_settings.steps;
    state->rate = m_settings.learningRate;
    state->title = fmt::format("{}, batch {}", name(m_settings.optimizer.kind), m_settings.batch);
    m_state = std::move(state);
    m_timer.setInterval(100);
    connect(&m_timer, &QTimer::timeout, this, &TrainingRun::collect);
    m_timer.start();
    m_thread = std::jthread([this](const std::stop_token& token) {
        const Result<void> done = work(token);
        const std::lock_guard lock(m_mutex);
        if (!done && done.error().kind() != ErrorKind::Cancelled)
            m_error = done.error().message();
        m_finished = true;
    });
}

TrainingRun::~TrainingRun() { stop(); }

Result<void> TrainingRun::work(const std::stop_token& token) {
    JobControl job;
    job.stop = token;
    TrainerOptions options;
    options.optimizer = m_settings.optimizer;
    options.learningRate = m_settings.learningRate;
    options.seed = m_settings.seed;
    options.job = job;
    NABLA_TRY(auto trainer, Trainer::create(m_graph, options));
    NABLA_TRY(NamedTensors data, readNpz(m_settings.data));
    NABLA_TRY(const Batches batches, Batches::make(std::move(data), trainer->graph().dataInputs, m_settings.batch, BatchOrder::Shuffled, m_settings.seed));
    Trainer& stepping = *trainer;
    {
        const std::lock_guard lock(m_mutex);
        for (const TrainedParameter& parameter : trainer->graph().parameters) {
            m_names.push_back(parameter.name);
            m_values.push_back(parameter.value);
        }
        m_trainer = std::move(trainer);
    }
    TrainRun run;
    run.steps = m_settings.steps;
    run.statisticsEvery = 1;
    run.job = job;
    run.gate = &m_gate;
    run.onStep = [this](const StepReport& report) { addReport(report); };
    return train(stepping, batches, run);
}

void TrainingRun::addReport(const StepReport& report) {
    auto step = std::make_shared<views::TrainingStep>();
    step->step = report.step;
    step->loss = report.loss;
    step->rate = report.rate;
    step->gradientNorm = report.gradientNorm;
    step->milliseconds = report.milliseconds;
    step->endUtcNs = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    for (const ParameterReport& parameter : report.parameters)
        step->cells.push_back(cellOf(parameter));
    const std::lock_guard lock(m_mutex);
    m_new.push_back(std::move(step));
}

void TrainingRun::collect() {
    auto next = std::make_shared<TrainingState>(*m_state);
    bool finished = false;
    {
        const std::lock_guard lock(m_mutex);
        next->steps.insert(next->steps.end(), m_new.begin(), m_new.end());
        m_new.clear();
        next->weights = m_names;
        next->values = m_values;
        next->error = m_error;
        if (m_trainer)
            next->rate = m_trainer->learningRate();
        finished = m_finished;
    }
    next->phase = finished ? TrainingState::Phase::Ended : m_gate.paused() ? TrainingState::Phase::Paused : TrainingState::Phase::Running;
    const bool same = next->steps.size() == m_state->steps.size() && next->phase == m_state->phase && next->weights.size() == m_state->weights.size() && next->rate == m_state->rate && next->error == m_state->error;
    if (finished)
        m_timer.stop();
    if (!same) {
        m_state = std::move(next);
        Q_EMIT changed();
    }
    if (finished)
        Q_EMIT ended();
}

void TrainingRun::pause() {
    m_gate.pause();
    collect();
}
void TrainingRun::resume() {
    m_gate.resume();
    collect();
}
void TrainingRun::stepOnce() { m_gate.stepOnce(); }
void TrainingRun::stop() {
    m_thread.request_stop();
    m_gate.resume();
}
void TrainingRun::setLearningRate(double rate) {
    {
        const std::lock_guard lock(m_mutex);
        if (m_trainer)
            m_trainer->setLearningRate(rate);
    }
    collect();
}

std::map<std::string, Tensor> TrainingRun::weights() const {
    const std::lock_guard lock(m_mutex);
    return m_trainer ? m_trainer->weights() : std::map<std::string, Tensor>{};
}

} // namespace nabla::app
