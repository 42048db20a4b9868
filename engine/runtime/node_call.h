// Runs one node by itself: for the executors that keep values in a table instead of a planned memory.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/runtime/graph_runner.h"

namespace nabla::engine {

/// What runs: exactly one of `function` and `op`; with `kernel` an optimised kernel that fits the inputs.
struct NodeCall {
    const Node& node;
    const OpDef* op = nullptr;
    const Function* function = nullptr;
    const Kernel* kernel = nullptr;
    KernelState* state = nullptr;
};

/// The operator or function of a node. Errors (Run): an operator that nobody knows.
Result<NodeCall> lookUp(const Node& node, const Graph& graph, const GraphRunner& runner);

/// Results in memory of their own; `inUseBytes` counts towards the memory limit. Errors do not name the node.
Result<std::vector<RuntimeValue>> runNode(const NodeCall& call, GraphRunner& runner,
    std::span<const RuntimeValue> inputs, std::span<const RuntimeValue> captures, const RunEnv& env,
    std::int64_t inUseBytes);

} // namespace nabla::engine
