// FLOPs, bytes and parameters of nodes and graphs. What is counted how stands in docs/operators.md, "Costs".
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/analysis/types.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

struct GraphCost {
    /// Of the graph's nodes, and of the nodes of bodies for one iteration.
    std::unordered_map<NodeId, NodeCost> nodes;
    std::int64_t flops = 0, bytesMoved = 0; ///< of the graph's nodes that are known; control flow holds its iterations
    std::int64_t parameters = 0, parameterBytes = 0; ///< of the whole model, shared ones once
    std::size_t unknownNodes = 0;                    ///< of the graph
};

/// Memoised per graph state and bindings.
std::shared_ptr<const GraphCost> cost(const Graph& graph, const DimBindings& dims = {});

} // namespace nabla::engine
