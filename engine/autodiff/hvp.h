// hvp: Hessian-vector products, as a graph.
#pragma once

#include <map>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

struct HvpOptions {
    std::vector<ValueId> of; ///< the function is the sum of their elements; empty: every float output
    std::vector<ValueId> wrt; ///< empty: every float input and float initializer of rank >= 1
    JobControl job;
};

struct HvpGraph {
    Graph graph; ///< outputs: the original ones, `grad:NAME` per wrt, then `hvp:NAME` per wrt
    std::map<ValueId, ValueId> directionInput; ///< wrt value -> extra input `direction:NAME`, of its type
    std::map<ValueId, ValueId> gradientOf; ///< wrt value -> its gradient
    std::map<ValueId, ValueId> productOf; ///< wrt value -> its part of H v, of its type
    std::vector<ValueId> wrt;
    std::vector<Diagnostic> notes; ///< paths that were cut, with the reason
};

/// H v with the Hessian over all of `wrt` together, as the vjp of the gradient along v: H is symmetric where the function
/// is twice differentiable. The graph must be legalized. Errors: those of grad().
Result<HvpGraph> hvp(const Graph& graph, const HvpOptions& options);

} // namespace nabla::engine
