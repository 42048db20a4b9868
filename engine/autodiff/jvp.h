// jvp: forward mode. Directional derivatives of outputs along tangents of inputs, as a graph.
#pragma once

#include <map>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

struct JvpOptions {
    std::vector<ValueId> of; ///< empty: every float output
    std::vector<ValueId> wrt; ///< empty: every float input and float initializer of rank >= 1
    JobControl job;
};

struct JvpGraph {
    Graph graph; ///< outputs: the original ones, then `tangent:OUT` per differentiated value
    std::map<ValueId, ValueId> tangentInput; ///< wrt value -> extra input `tangent:NAME`, of its type
    std::map<ValueId, ValueId> tangentOf; ///< differentiated value -> its tangent J v, of its type
    std::vector<ValueId> wrt;
    std::vector<Diagnostic> notes; ///< paths that were cut, with the reason
};

/// Forward mode as the transpose of reverse mode: u -> vjp(u) is linear, so its own vjp along v is J v. There is one set
/// of rules for both modes; what the inner cotangent u led to is dead afterwards and removed. The graph must be
/// legalized. Errors: those of grad(), also for an operator of a backward graph that has no rule itself (by node).
/// Source: Townsend, "A new trick for calculating Jacobian vector products", 2017; docs/adr/0009-forward-mode.md.
Result<JvpGraph> jvp(const Graph& graph, const JvpOptions& options);

} // namespace nabla::engine
