// GraphRunner: one graph (the model, a body, a function) with its plans, and the runners of the bodies inside it.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/runtime/plan_executor.h"

namespace nabla::engine {

/// How a runner and everything inside it runs.
struct RunnerOptions {
    bool eager = false;
    bool optimisedKernels = true;
    bool inPlace = true;
    bool parallel = false; ///< several threads will run the plans
    bool inDouble = false; ///< bodies of operators that are made here are held in double too; other graphs come so
    std::int64_t memoryLimitBytes = 0;
    std::int64_t opset = 0; ///< of ai.onnx, for bodies that do not say
    FunctionMap functions; ///< of the model
};

class GraphRunner {
public:
    GraphRunner(Graph graph, std::shared_ptr<const RunnerOptions> options)
        : m_graph(std::move(graph))
        , m_options(std::move(options)) { }

    /// `values`: one per input, then per capture; absent ones are omitted. Returns one per output, independent of the
    /// runner's memory.
    Result<std::vector<RuntimeValue>> run(std::span<const RuntimeValue> values, const RunEnv& env);
    /// The executor for values of these types; its plan is built when first needed and kept while it is among the last
    /// ones used.
    Result<PlanExecutor*> executorFor(std::span<const RuntimeValue> values);
    const Graph& graph() const { return m_graph; }
    const RunnerOptions& options() const { return *m_options; }

    /// For executors: the body of If, Loop or Scan.
    Result<std::vector<RuntimeValue>> runBody(
        const GraphPtr& body, std::span<const RuntimeValue> values, const RunEnv& env, std::uint64_t seed);
    /// For executors: a model's function, or an operator that is defined by its body (function null).
    Result<std::vector<RuntimeValue>> call(const Node& node, const Function* function,
        std::span<const RuntimeValue> inputs, const RunEnv& env, std::uint64_t seed);

    /// What runs a body, and what runs a call with these inputs; both live as long as this runner.
    Result<GraphRunner*> bodyRunner(const GraphPtr& body);
    Result<GraphRunner*> callRunner(const Node& node, const Function* function, std::span<const RuntimeValue> inputs);

private:
    using TypeKey = std::vector<std::int64_t>;
    struct Planned {
        TypeKey key;
        std::unique_ptr<PlanExecutor> executor;
    };
    static TypeKey keyOf(std::span<const RuntimeValue> values);

    Graph m_graph;
    std::shared_ptr<const RunnerOptions> m_options;
    std::list<Planned> m_planned; ///< the last used first
    std::mutex m_childrenMutex; ///< steps of one plan may run at once
    std::map<const Graph*, std::pair<GraphPtr, std::unique_ptr<GraphRunner>>> m_bodies;
    std::map<std::pair<std::uint32_t, TypeKey>, std::unique_ptr<GraphRunner>> m_calls;
};

/// Concrete type of a value, as plans are built for; Unknown for an absent one.
ValueType typeOf(const RuntimeValue& value);

} // namespace nabla::engine
