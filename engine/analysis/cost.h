// FLOPs, bytes and parameters of nodes and graphs.
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/analysis/types.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

struct GraphCost {
    std::unordered_map<NodeId, NodeCost> nodes;
    std::int64_t flops = 0, bytesMoved = 0; ///< of the nodes that are known
    std::int64_t parameters = 0, parameterBytes = 0; ///< float initializers and Constant nodes of rank >= 1
    std::size_t unknownNodes = 0;
};

/// Memoised per graph state and bindings.
std::shared_ptr<const GraphCost> cost(const Graph& graph, const DimBindings& dims = {});

} // namespace nabla::engine
