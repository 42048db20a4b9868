// Removing nodes that hand their input on unchanged.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Removes nodes whose output is bit for bit their input: Identity, Dropout at inference, Cast to the type that is
/// there, Reshape, Transpose, Expand, Slice, Pad, Tile and Flatten that change nothing, Concat, Sum, Max, Min of one.
/// Names and order of the outputs are kept: a node that only gives an output its name stays where the value cannot take
/// that name.
Result<Graph> eliminateIdentity(const Graph& graph, PassContext& context);

} // namespace nabla::engine
