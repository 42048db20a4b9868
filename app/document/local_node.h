// One node cut out of its graph, with the values that stand at its inputs: for asking about it alone.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// The value of an edge of the outer graph. Errors (Run): it is not there (its step has not run).
using ValueOf = std::function<engine::Result<engine::RuntimeValue>(engine::ValueId)>;

/// A graph of one node. Inputs and captures named in `free` are its inputs, the other tensors its initializers.
struct LocalNode {
    engine::Graph graph;
    std::map<engine::ValueId, engine::ValueId> local; ///< outer value (inputs, captures, outputs) -> value here
    engine::NamedValues inputs;                       ///< values for the graph's inputs, by name

    const std::string& nameOf(engine::ValueId outer) const { return graph.value(local.at(outer))->name; }
};

/// Errors (Run): a value that is not there; a free value that is no tensor.
engine::Result<LocalNode> cutOut(const engine::Graph& graph, const engine::Node& node, const ValueOf& valueOf, const std::set<engine::ValueId>& free);

/// Reference kernels in double: what all checks of gradients run with.
engine::SessionOptions referenceInDouble();

} // namespace nabla::app
