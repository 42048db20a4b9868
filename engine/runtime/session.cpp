// Session: names, checks and the thread pool around a GraphRunner.
#include "engine/runtime/session.h"

#include <algorithm>
#include <thread>
#include <unordered_map>

#include "engine/analysis/topology.h"
#include "engine/graph/graph_editor.h"
#include "engine/kernels/kernel.h"
#include "engine/runtime/double_precision.h"
#include "engine/runtime/graph_runner.h"
#include "engine/runtime/session_inputs.h"
#include "engine/runtime/session_setup.h"
#include "engine/runtime/stepper.h"

namespace nabla::engine {

namespace {

Result<void> checkRunnable(const Graph& graph) {
    for (const Diagnostic& diagnostic : graph.diagnostics()) {
        if (diagnostic.blocksRun)
            return runError("{}", diagnostic.message);
    }
    for (const Diagnostic& diagnostic : problems(graph)) {
        if (diagnostic.blocksRun)
            return runError("{}", diagnostic.message);
    }
    return {};
}

Result<Graph> withExtraOutputs(const Graph& graph, const std::vector<std::string>& names) {
    if (names.empty())
        return graph;
    std::unordered_map<std::string_view, ValueId> ids;
    graph.forEachValue([&](const Value& value) { ids.emplace(value.name, value.id); });
    std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
    for (const std::string& name : names) {
        const auto it = ids.find(name);
        if (it == ids.end())
            return usageError("the model has no value \"{}\"", name);
        if (std::find(outputs.begin(), outputs.end(), it->second) == outputs.end())
            outputs.push_back(it->second);
    }
    GraphEditor editor(graph);
    editor.setOutputs(std::move(outputs));
    return editor.finish();
}

} // namespace

Result<Graph> graphToRun(const Graph& graph, const SessionOptions& options) {
    NABLA_CHECK(checkRunnable(graph));
    NABLA_TRY(Graph prepared, withExtraOutputs(graph, options.extraOutputs));
    return options.inDouble ? inDoublePrecision(prepared) : prepared;
}

RunnerOptions runnerOptions(const Graph& graph, const SessionOptions& options) {
    RunnerOptions runner;
    runner.eager = options.mode == ExecutorMode::Eager;
    runner.optimisedKernels = options.optimisedKernels;
    runner.inPlace = options.inPlace;
    runner.parallel = options.threads > 1 || (options.threads == 0 && std::thread::hardware_concurrency() > 1);
    runner.inDouble = options.inDouble;
    runner.memoryLimitBytes = options.memoryLimitBytes > 0 ? options.memoryLimitBytes : Tensor::maxTensorBytes();
    runner.opset = graph.opset("");
    runner.functions = graph.functions();
    return runner;
}

struct Session::Impl {
    Impl(Graph graph, SessionOptions given)
        : options(std::move(given))
        , runner(graph, std::make_shared<const RunnerOptions>(runnerOptions(graph, options))) {
        if (runner.options().parallel)
            pool = std::make_unique<ThreadPool>(options.threads, initKernelThread);
    }

    SessionOptions options;
    std::unique_ptr<ThreadPool> pool;
    GraphRunner runner;
    std::uint64_t runs = 0;
};

Session::Session(std::unique_ptr<Impl> impl)
    : m_impl(std::move(impl)) { }
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(const Graph& graph, const SessionOptions& options) {
    NABLA_TRY(Graph prepared, graphToRun(graph, options));
    return std::unique_ptr<Session>(new Session(std::make_unique<Impl>(std::move(prepared), options)));
}

const Graph& Session::graph() const {
    return m_impl->runner.graph();
}

namespace {

Result<std::vector<RuntimeValue>> runStepping(const Graph& graph, const NamedValues& inputs, SessionOptions options,
    const JobControl& job, ExecutionObserver* observer) {
    options.extraOutputs.clear(); // the graph has them already
    options.inDouble = false; // and is in double already
    NABLA_TRY(std::unique_ptr<Stepper> stepper, Stepper::create(graph, inputs, options));
    stepper->setObserver(observer);
    NABLA_CHECK(stepper->goTo(stepper->stepCount(), job));
    std::vector<RuntimeValue> values;
    for (const ValueId id : graph.outputs()) {
        NABLA_TRY(RuntimeValue value, stepper->value(id));
        values.push_back(std::move(value));
    }
    return values;
}

void tellCounters(const Graph& graph, const SessionOptions& options, const std::vector<RuntimeValue>& results, const RunScope& scope) {
    for (std::size_t i = 0; scope.recording() && i < results.size(); ++i) {
        for (const auto& [name, counter] : options.counterOutputs) {
            if (graph.value(graph.outputs()[i])->name == name && results[i].isTensor() && results[i].tensor().elementCount() == 1)
                scope.counter(counter, results[i].tensor().asDouble(0));
        }
    }
}

} // namespace

void Session::setRunNumber(std::uint64_t run) {
    m_impl->runs = run;
}

Result<NamedValues> Session::run(const NamedValues& inputs, const JobControl& job, ExecutionObserver* observer) {
    NABLA_TRY(const std::vector<RuntimeValue> values, orderedInputs(graph(), inputs, m_impl->options.inDouble));
    initKernelThread();
    const std::uint64_t run = m_impl->runs++;
    const std::uint64_t seed = run == 0 ? m_impl->options.seed : mixSeed(m_impl->options.seed, run);
    std::vector<RuntimeValue> results;
    if (m_impl->options.mode == ExecutorMode::Stepping) {
        NamedValues widened;
        for (std::size_t i = 0; i < values.size(); ++i)
            widened.emplace(graph().value(graph().inputs()[i])->name, values[i]);
        SessionOptions options = m_impl->options;
        options.seed = seed;
        NABLA_TRY(results, runStepping(graph(), widened, std::move(options), job, observer));
    } else {
        const RunScope scope(observer, Phase::None);
        RunEnv env;
        env.job = &job;
        env.scope = &scope;
        env.pool = m_impl->pool.get();
        env.seed = seed;
        env.memoryLimitBytes = m_impl->runner.options().memoryLimitBytes;
        NABLA_TRY(results, m_impl->runner.run(values, env));
        tellCounters(graph(), m_impl->options, results, scope);
    }
    NamedValues out;
    for (std::size_t i = 0; i < results.size(); ++i)
        out.emplace(graph().value(graph().outputs()[i])->name, std::move(results[i]));
    return out;
}

Result<std::shared_ptr<const Plan>> Session::plan(const NamedValues& inputs) {
    NABLA_TRY(const std::vector<RuntimeValue> values, orderedInputs(graph(), inputs, m_impl->options.inDouble));
    NABLA_TRY(PlanExecutor * executor, m_impl->runner.executorFor(values));
    return executor->planPtr();
}

std::vector<std::string> Session::inputNames() const {
    std::vector<std::string> names;
    for (const ValueId id : graph().inputs()) {
        if (const Value* value = graph().value(id); !value->constant)
            names.push_back(value->name);
    }
    return names;
}

std::vector<std::string> Session::outputNames() const {
    std::vector<std::string> names;
    for (const ValueId id : graph().outputs())
        names.push_back(graph().value(id)->name);
    return names;
}

} // namespace nabla::engine
