// Nodes of ai.onnx.preview.training.Gradient, which name a part of the graph they stand in, replaced by that part's gradient.
#pragma once

#include <optional>

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Whether a Gradient node is in the graph, a body or a function of it.
bool hasGradientNodes(const Graph& graph);

/// Each Gradient node becomes the gradient of the sum of `y` in `xs`, of the part of the graph between `xs`, `zs` and `y`, at the
/// values that the node gets: a copy of the forward nodes needed (merged with the originals by eliminate-common-subexpressions
/// where the values are the same) and backward nodes. Nodes are taken in order, so `y` may be the result of another one.
/// `imported`: the same graph before lifting, whose names the attributes use. Nothing: no such node. Errors (Run): a name that is no value of the same graph; those of grad().
/// Source: ONNX Operators.md, ai.onnx.preview.training.Gradient-1.
Result<std::optional<Graph>> expandGradientNodes(const Graph& lifted, const Graph& imported, PassContext& context);

} // namespace nabla::engine
