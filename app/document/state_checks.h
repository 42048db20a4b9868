// What must hold of graphs read from a session before anybody else sees them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "engine/autodiff/grad.h"
#include "engine/graph/graph_diff.h"

namespace nabla::app {

/// Errors (Read): an id twice or none, something removed that is not there.
engine::Result<void> checkPatch(const engine::Graph& before, const engine::GraphPatch& patch);
/// At most so many pointers in the tables of the patched graph that are not shared with the one before.
std::uint64_t tableSlots(const engine::Graph& before, const engine::GraphPatch& patch);
/// Errors (Read): no values or indices, or ranks that do not fit together.
engine::Result<void> checkSparse(const engine::SparseTensor& tensor);
/// Errors (Read): a value that is not in the joint graph.
engine::Result<void> checkJoint(const engine::JointGraph& joint);

/// Checks whole graphs and adds up what they hold with their bodies: a file can name one body twice in each of fifty nested bodies.
class GraphSizes {
public:
    /// The verifier's promises and those it takes for granted: producers, inputs, constants. Errors (Read): the first fault.
    engine::Result<void> check(const engine::Graph& graph);

private:
    std::unordered_map<const void*, std::uint64_t> m_nodes; ///< by memo, bodies included
};

} // namespace nabla::app
