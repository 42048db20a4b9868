// vmap: a graph that works on one example made one that works on a batch of them.
#pragma once

#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

struct VmapOptions {
    std::vector<ValueId> over; ///< inputs that get a batch axis in front; the others are shared by all examples
    /// WholeScan: the whole graph as the body of one Scan, also where it could be done node by node.
    enum class Form : bool { NodeByNode, WholeScan } form = Form::NodeByNode;
    JobControl job;
};

struct VmapGraph {
    Graph graph; ///< inputs and outputs by the names of the original; every output has the batch axis in front
    std::vector<Diagnostic> notes; ///< how it was done
};

/// Node by node: what no example changes runs once; operators with a batching rule (batch_rules.cpp) work on all examples at once; each other node
/// is the body of a Scan over the batch. Where a shape between may differ from example to example, or a value between is no tensor, the whole
/// graph is the body of one Scan, which is right for every operator. All examples must give the same output shapes. Errors (Usage): a value that
/// is no input, an input or output that is no tensor, nothing to map over.
Result<VmapGraph> vmap(const Graph& graph, const VmapOptions& options);

} // namespace nabla::engine
