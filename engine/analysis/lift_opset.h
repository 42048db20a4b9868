// Lifting a graph of any opset to the newest one, by the upgrade rules of the operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/analysis/types.h"
#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// One node that changed. `added` holds the node itself when it kept its slot.
struct LiftedNode {
    NodeId node;
    std::string opType, reason;
    std::vector<NodeId> added;
};

/// Whether the graph's opset of ai.onnx is known and older than the newest.
bool hasOldOpset(const Graph& graph);

/// The graph in the newest opset, bodies of If, Loop and Scan too, functions as they are. Values keep their ids; nodes
/// that need no change stay the same objects; operators nobody knows are left alone. `createdByPrefix` + `/lift-<Op>`
/// marks what is made.
Result<Graph> liftOpset(const Graph& graph, std::string_view createdByPrefix, const DimBindings& dims,
    const JobControl& job, std::vector<LiftedNode>* lifted = nullptr);

/// The body a node expands to (ops: operatorBody), lifted to the newest opset. Null when it has none.
Result<GraphPtr> newestOperatorBody(
    const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids);

} // namespace nabla::engine
