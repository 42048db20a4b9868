// grad: one joint graph of forward and backward nodes, by the operators' own rules.
#pragma once

#include <map>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

struct GradOptions {
    std::vector<ValueId> of; ///< empty: every float output
    std::vector<ValueId> wrt; ///< empty: every float input and float initializer of rank >= 1
    /// Cotangents as extra inputs `cotangent:OUT`; otherwise they are ones.
    enum class Cotangents : bool { Ones, Inputs } cotangents = Cotangents::Inputs;
    JobControl job;
};

struct JointGraph {
    Graph graph; ///< outputs: the original ones, then `grad:NAME` per wrt
    std::map<ValueId, ValueId>
        gradientOf; ///< forward value -> its cotangent (wrt values and every float value on a path)
    std::map<ValueId, ValueId> cotangentInput; ///< output -> extra input
    std::map<ValueId, ValueId> seedOf; ///< each differentiated value -> what arrives at it from outside: that input, or ones
    std::vector<ValueId> wrt;
    std::vector<Diagnostic> notes; ///< paths that were cut, with the reason
};

/// What an empty `of` stands for: every float output, each once.
std::vector<ValueId> defaultOf(const Graph& graph);
/// What an empty `wrt` stands for: every float input, then every float initializer of rank >= 1.
std::vector<ValueId> defaultWrt(const Graph& graph);

/// The graph must be legalized (newest opset, functions are fine). A wrt value that no path reaches gets zeros and a
/// note. Errors (Run): an operator without a rule, by node; (Usage): a value that is not there or not float.
Result<JointGraph> grad(const Graph& graph, const GradOptions& options);

} // namespace nabla::engine
