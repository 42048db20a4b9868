// Trainer: a model being trained, one step at a time.
//
//     NABLA_TRY(auto trainer, Trainer::create(legalizedForward, options));
//     NABLA_TRY(Batches batches, Batches::make(data, trainer->graph().dataInputs, 32, BatchOrder::Shuffled, seed));
//     NABLA_CHECK(train(*trainer, batches, {.steps = 1000, .job = job, .onStep = [](const StepReport& r) { … }}));
//     NABLA_TRY(Graph trained, withWeights(imported, trainer->weights()));
//
// One thread steps (a job); any other may meanwhile ask for state(), weights(), learningRate() and lastReport(), change the rate, or work the
// TrainGate. What they are handed are snapshots: tensors are shared and never written again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/session.h"
#include "engine/tensor/tensor_statistics.h"
#include "engine/training/batches.h"
#include "engine/training/train_graph.h"

namespace nabla::engine {

/// Counters of a recording beside kLossCounter.
inline constexpr std::uint32_t kRateCounter = 2;
inline constexpr std::uint32_t kGradientNormCounter = 3;

struct TrainerOptions : TrainGraphOptions {
    double learningRate = 1e-3; ///< of step 0; the schedule's factor comes on top
    bool inDouble = false;      ///< the whole step in float64: weights, gradients and state
    unsigned threads = 0;
    std::uint64_t seed = 0;     ///< of Dropout and other random operators: step n draws from (seed, n)
    bool optimisedKernels = true;
};

/// Of one weight in one step.
struct ParameterReport {
    std::string name;
    ValueId value;             ///< in the forward graph
    TensorStatistics weight;   ///< before the update
    TensorStatistics gradient; ///< before clipping
    TensorStatistics update;   ///< weight after - weight before
    TensorStatistics unitNorms; ///< of the gradient, one element per unit; its zeros are dead units
    double updateToWeight() const { return weight.l2 > 0 ? update.l2 / weight.l2 : 0; }
    double deadShare() const { return unitNorms.zeroShare(); }
};

struct StepReport {
    std::int64_t step = 0;  ///< 0, 1, 2, …
    double loss = 0;        ///< before the update; may be NaN
    double rate = 0;        ///< learning rate of this step, schedule included
    double gradientNorm = 0; ///< l2 over all gradients, before clipping
    double milliseconds = 0; ///< of the execution, without the statistics
    std::vector<ParameterReport> parameters; ///< empty when statistics were not asked for
};

/// Everything a resumed run needs: its further steps equal those of an unbroken one, bit for bit. Values by the names of TrainGraph::state.
struct TrainState {
    std::map<std::string, Tensor> values;
    std::int64_t step = 0; ///< steps done
    double learningRate = 0;
};

enum class Statistics : bool { Skip, Collect };

class Trainer {
public:
    /// `forward` must be legalized. Errors: those of buildTrainGraph; (Usage) a rate below 0; those of Session::create.
    static Result<std::unique_ptr<Trainer>> create(const Graph& forward, const TrainerOptions& options);

    /// One step on this batch: values of TrainGraph::dataInputs. On an error nothing has changed. A loss or gradient that is not finite is no
    /// error: the report tells it. One thread at a time.
    Result<StepReport> step(const NamedValues& batch, Statistics statistics, const JobControl& job = {}, ExecutionObserver* observer = nullptr);

    const TrainGraph& graph() const { return m_graph; }
    Session& session() { return *m_session; } ///< for plans; not while a step runs
    /// Values of all inputs of the next step's graph, for plans and recordings; floats of the batch widened for a graph in double.
    Result<NamedValues> inputsFor(const NamedValues& batch) const;

    // Any thread:
    TrainState state() const;
    std::map<std::string, Tensor> weights() const; ///< with running statistics, under the names in the model
    std::optional<StepReport> lastReport() const;
    std::int64_t stepsDone() const;
    double learningRate() const { return m_rate.load(); }
    void setLearningRate(double rate) { m_rate.store(rate); } ///< from the next step on

    /// Goes on from `state`; between steps only. Errors (Usage): a value is missing, or has another type or shape.
    Result<void> restore(const TrainState& state);

private:
    Trainer() = default;
    Result<StepReport> report(const NamedValues& before, const NamedValues& results, Statistics statistics) const;

    TrainGraph m_graph;
    std::unique_ptr<Session> m_session;
    std::atomic<double> m_rate{0};
    mutable std::mutex m_mutex; ///< guards what follows
    std::map<std::string, Tensor> m_values;
    std::int64_t m_step = 0;
    std::optional<StepReport> m_last;
};

/// Holds a run between two steps, from any thread.
class TrainGate {
public:
    void pause();
    void resume();
    void stepOnce(); ///< lets one step through while paused
    bool paused() const;
    /// Returns when a step may begin, or when `stop` is requested.
    void wait(const std::stop_token& stop);

private:
    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    bool m_paused = false;
    std::int64_t m_allowed = 0;
};

struct TrainRun {
    std::int64_t steps = 0;            ///< to do in all, those before a resume counted
    std::int64_t statisticsEvery = 0;  ///< 0: never; n: in steps 0, n, 2n, … and the last
    JobControl job = {};               ///< stop ends the run between two steps or within one; the state is that of the last whole step
    TrainGate* gate = nullptr;
    ExecutionObserver* observer = nullptr;
    std::function<void(const StepReport&)> onStep = {}; ///< on the stepping thread
};
/// Steps until `steps` are done. Errors: Cancelled; those of a step, with its number.
Result<void> train(Trainer& trainer, const Batches& batches, const TrainRun& run);

} // namespace nabla::engine
