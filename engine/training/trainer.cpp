// The loop around one session: state in, state out.
#include "engine/training/trainer.h"

#include <chrono>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "engine/runtime/double_precision.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

SessionOptions sessionOptions(const TrainGraph& graph, const TrainerOptions& options) {
    SessionOptions out;
    out.threads = options.threads;
    out.seed = options.seed;
    out.optimisedKernels = options.optimisedKernels;
    out.counterOutputs = {{graph.loss, kLossCounter}, {graph.rate, kRateCounter}, {graph.gradientNorm, kGradientNormCounter}};
    return out;
}

Result<double> numberIn(const NamedValues& results, const std::string& name) {
    const Tensor& tensor = results.at(name).tensor();
    if (tensor.elementCount() != 1)
        return usageError("the loss must have one element, \"{}\" has the shape {}", name, toString(tensor.shape()));
    return tensor.asDouble(0);
}

Result<Tensor> differenceOf(const Tensor& after, const Tensor& before) {
    NABLA_TRY(Tensor out, Tensor::make(DType::Float64, after.shape()));
    const auto to = out.mutableData<double>();
    for (std::int64_t i = 0; i < after.elementCount(); ++i)
        to[static_cast<std::size_t>(i)] = after.asDouble(i) - before.asDouble(i);
    return out;
}

} // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const Graph& forward, const TrainerOptions& options) {
    if (!(options.learningRate >= 0) || !std::isfinite(options.learningRate))
        return usageError("the learning rate is {}, it must not be negative", options.learningRate);
    std::unique_ptr<Trainer> out(new Trainer);
    if (options.inDouble) {
        NABLA_TRY(const Graph wide, inDoublePrecision(forward));
        NABLA_TRY(out->m_graph, buildTrainGraph(wide, options));
    } else {
        NABLA_TRY(out->m_graph, buildTrainGraph(forward, options));
    }
    for (const StateSlot& slot : out->m_graph.state)
        out->m_values.emplace(slot.input, *slot.initial);
    out->m_rate = options.learningRate;
    NABLA_TRY(out->m_session, Session::create(out->m_graph.graph, sessionOptions(out->m_graph, options)));
    return out;
}

Result<NamedValues> Trainer::inputsFor(const NamedValues& batch) const {
    NamedValues inputs;
    const std::set<std::string> wanted(m_graph.dataInputs.begin(), m_graph.dataInputs.end());
    for (const ValueId id : m_graph.graph.inputs()) {
        const Value& input = *m_graph.graph.value(id);
        const auto it = wanted.contains(input.name) ? batch.find(input.name) : batch.end();
        if (it == batch.end())
            continue;
        RuntimeValue value = it->second;
        const bool narrow = value.isTensor() && isFloat(value.tensor().dtype()) && value.tensor().dtype() != DType::Float64;
        if (narrow && input.declared.elementType == DType::Float64) {
            NABLA_TRY(Tensor wide, castTensor(value.tensor(), DType::Float64));
            value = RuntimeValue(std::move(wide));
        }
        inputs.emplace(input.name, std::move(value));
    }
    const std::lock_guard lock(m_mutex);
    for (const auto& [name, tensor] : m_values)
        inputs.emplace(name, RuntimeValue(tensor));
    inputs.emplace(m_graph.stepInput, RuntimeValue(Tensor::scalar<std::int64_t>(m_step)));
    inputs.emplace(m_graph.rateInput, RuntimeValue(Tensor::scalar<double>(m_rate.load())));
    return inputs;
}

Result<StepReport> Trainer::step(const NamedValues& batch, Statistics statistics, const JobControl& job, ExecutionObserver* observer) {
    NABLA_TRY(const NamedValues inputs, inputsFor(batch));
    m_session->setRunNumber(static_cast<std::uint64_t>(stepsDone()));
    const auto begin = std::chrono::steady_clock::now();
    NABLA_TRY(const NamedValues results, m_session->run(inputs, job, observer));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    NABLA_TRY(StepReport out, report(inputs, results, statistics));
    out.milliseconds = took.count();
    const std::lock_guard lock(m_mutex);
    for (const StateSlot& slot : m_graph.state)
        m_values[slot.input] = results.at(slot.output).tensor();
    out.step = m_step++;
    m_last = out;
    return out;
}

Result<StepReport> Trainer::report(const NamedValues& before, const NamedValues& results, Statistics statistics) const {
    StepReport out;
    NABLA_TRY(out.loss, numberIn(results, m_graph.loss));
    NABLA_TRY(out.rate, numberIn(results, m_graph.rate));
    NABLA_TRY(out.gradientNorm, numberIn(results, m_graph.gradientNorm));
    if (statistics == Statistics::Skip)
        return out;
    for (const TrainedParameter& parameter : m_graph.parameters) {
        const Tensor& weight = before.at(parameter.name).tensor();
        const Tensor& gradient = results.at(parameter.gradient).tensor();
        NABLA_TRY(const Tensor update, differenceOf(results.at(parameter.next).tensor(), weight));
        NABLA_TRY(const Tensor units, unitNorms(gradient, parameter.unitAxis));
        out.parameters.push_back({parameter.name, parameter.value, statisticsOf(weight), statisticsOf(gradient), statisticsOf(update), statisticsOf(units)});
    }
    return out;
}

TrainState Trainer::state() const {
    const std::lock_guard lock(m_mutex);
    return {m_values, m_step, m_rate.load()};
}

std::map<std::string, Tensor> Trainer::weights() const {
    const std::lock_guard lock(m_mutex);
    std::map<std::string, Tensor> out;
    for (const std::string& name : m_graph.weights)
        out.emplace(name, m_values.at(name));
    return out;
}

std::optional<StepReport> Trainer::lastReport() const {
    const std::lock_guard lock(m_mutex);
    return m_last;
}

std::int64_t Trainer::stepsDone() const {
    const std::lock_guard lock(m_mutex);
    return m_step;
}

Result<void> Trainer::restore(const TrainState& state) {
    std::map<std::string, Tensor> values;
    for (const StateSlot& slot : m_graph.state) {
        const auto it = state.values.find(slot.input);
        if (it == state.values.end())
            return usageError("the saved state has no \"{}\": it is of another model or optimizer", slot.input);
        if (it->second.dtype() != slot.initial->dtype() || it->second.shape() != slot.initial->shape()) {
            return usageError("\"{}\" is {}{} in the saved state, {}{} here", slot.input, name(it->second.dtype()), toString(it->second.shape()),
                name(slot.initial->dtype()), toString(slot.initial->shape()));
        }
        values.emplace(slot.input, it->second);
    }
    if (state.step < 0 || !(state.learningRate >= 0))
        return usageError("the saved state says step {} and rate {}: neither may be negative", state.step, state.learningRate);
    const std::lock_guard lock(m_mutex);
    m_values = std::move(values);
    m_step = state.step;
    m_rate = state.learningRate;
    m_last.reset();
    return {};
}

void TrainGate::pause() {
    const std::lock_guard lock(m_mutex);
    m_paused = true;
    m_allowed = 0;
}

void TrainGate::resume() {
    {
        const std::lock_guard lock(m_mutex);
        m_paused = false;
    }
    m_wake.notify_all();
}

void TrainGate::stepOnce() {
    {
        const std::lock_guard lock(m_mutex);
        ++m_allowed;
    }
    m_wake.notify_all();
}

bool TrainGate::paused() const {
    const std::lock_guard lock(m_mutex);
    return m_paused;
}

void TrainGate::wait(const std::stop_token& stop) {
    std::unique_lock lock(m_mutex);
    m_wake.wait(lock, stop, [this] { return !m_paused || m_allowed > 0; });
    if (m_paused && m_allowed > 0)
        --m_allowed;
}

Result<void> train(Trainer& trainer, const Batches& batches, const TrainRun& run) {
    for (std::int64_t step = trainer.stepsDone(); step < run.steps; step = trainer.stepsDone()) {
        if (run.gate)
            run.gate->wait(run.job.stop);
        NABLA_CHECK(run.job.check());
        NABLA_TRY(const NamedValues batch, batches.at(step));
        const bool collects = run.statisticsEvery > 0 && (step % run.statisticsEvery == 0 || step + 1 == run.steps);
        auto done = trainer.step(batch, collects ? Statistics::Collect : Statistics::Skip, run.job, run.observer);
        if (!done)
            return done.error().kind() == ErrorKind::Cancelled ? done.error() : done.error().in(fmt::format("step {}", step));
        if (run.onStep)
            run.onStep(*done);
        run.job.say("training", step + 1, run.steps);
    }
    return {};
}

} // namespace nabla::engine
