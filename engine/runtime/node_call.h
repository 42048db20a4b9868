// Runs one node by itself: for the executors that keep values in a table instead of a planned memory.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/runtime/graph_runner.h"

namespace nabla::engine {

/// Runs a body in place of the runner: which run of a body within the node's run it is, the body, one value per input
/// and capture of it, and the seed it would run with.
using BodyHook
    = std::function<Result<std::vector<RuntimeValue>>(std::uint64_t, const GraphPtr&, std::vector<RuntimeValue>, std::uint64_t)>;

/// What runs: exactly one of `function` and `op`; with `kernel` an optimised kernel that fits the inputs.
struct NodeCall {
    const Node& node;
    const OpDef* op = nullptr;
    const Function* function = nullptr;
    const Kernel* kernel = nullptr;
    KernelState* state = nullptr;
    const BodyHook* bodyHook = nullptr; ///< null: bodies run by the runner; has no effect on calls
};

/// The operator or function of a node. Errors (Run): an operator that nobody knows.
Result<NodeCall> lookUp(const Node& node, const Graph& graph, const GraphRunner& runner);

/// Results in memory of their own; `inUseBytes` counts towards the memory limit. Errors do not name the node.
Result<std::vector<RuntimeValue>> runNode(const NodeCall& call, GraphRunner& runner,
    std::span<const RuntimeValue> inputs, std::span<const RuntimeValue> captures, const RunEnv& env,
    std::int64_t inUseBytes);

} // namespace nabla::engine
