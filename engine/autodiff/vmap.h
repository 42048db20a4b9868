// vmap: a graph that works on one example made one that works on a batch of them.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

struct VmapOptions {
    std::vector<ValueId> over; ///< inputs that get a batch axis in front; the others are shared by all examples
};

struct VmapGraph {
    Graph graph; ///< inputs and outputs by the names of the original; every output has the batch axis in front
    std::vector<Diagnostic> notes; ///< how it was done
};

/// One Scan over the batch with the whole graph as its body: right for every operator, also control flow and data
/// dependent shapes as long as all examples give the same output shape. Examples run one after another. Errors (Usage):
/// a value that is no input, an input or output that is no tensor, nothing to map over.
Result<VmapGraph> vmap(const Graph& graph, const VmapOptions& options);

} // namespace nabla::engine
