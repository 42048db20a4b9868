// Session: one graph ready to run, again and again, with any shapes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/stop.h"
#include "engine/events/execution_observer.h"
#include "engine/plan/plan.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::engine {

enum class ExecutorMode : std::uint8_t {
    Compiled, ///< recycles memory, parallel
    Stepping, ///< node by node, keeps every value
    Eager, ///< no plan: each node as met, values freed when nobody reads them any more
};

struct SessionOptions {
    ExecutorMode mode = ExecutorMode::Compiled;
    unsigned threads = 0; ///< 0 = one per core
    bool inDouble = false; ///< hold every float tensor as f64 (integer casts unchanged, constants widened)
    bool optimisedKernels = true;
    bool inPlace = true;
    std::uint64_t seed = 0; ///< of random operators; each run of a session draws on from it
    std::vector<std::string> extraOutputs; ///< inner values wanted besides the outputs, by name
    std::int64_t memoryLimitBytes = 0; ///< of all values alive at once; 0 = Tensor::maxTensorBytes
    /// Outputs with one element that the observer of a run is told as counters (not when stepping).
    std::vector<std::pair<std::string, std::uint32_t>> counterOutputs = {};
};

/// Values by name: graph inputs and outputs.
using NamedValues = std::map<std::string, RuntimeValue>;

/// Thread-compatible: one run at a time. Plans are cached by input shapes.
class Session {
public:
    /// The graph must be legalized (`legalized()` of passes/pass.h: the caller does it). Errors (Run): diagnostics that
    /// block running, named; (Usage): an extra output that is not there.
    static Result<std::unique_ptr<Session>> create(const Graph& graph, const SessionOptions& options = {});
    ~Session();

    /// Runs once. Missing inputs without default are an error (Usage); types and ranks are checked against the
    /// declaration. Outputs are independent of the session (they survive the next run).
    Result<NamedValues> run(
        const NamedValues& inputs, const JobControl& job = {}, ExecutionObserver* observer = nullptr);

    /// Random operators of the next run draw as those of run `run` (0, 1, 2, …) of a fresh session would.
    void setRunNumber(std::uint64_t run);

    const Graph& graph() const; ///< the graph that is executed: with the extra outputs, in double if asked for
    /// The plan of these input shapes, built when first needed.
    Result<std::shared_ptr<const Plan>> plan(const NamedValues& inputs);
    std::vector<std::string> inputNames() const; ///< in graph order, without defaults
    std::vector<std::string> outputNames() const; ///< in graph order, then the extra ones

private:
    struct Impl;
    explicit Session(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

/// Values for every input from its declared type and the seed: floats uniform in [-1, 1), integers small and valid as
/// indices (0 or 1), bools true; unbound symbolic dims become 1 unless bound.
Result<NamedValues> generateInputs(const Graph& graph, std::uint64_t seed, const DimBindings& dims = {});

} // namespace nabla::engine
