// Whether a graph may be written under another opset as it is.
#pragma once

#include <functional>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Fine when every node of ai.onnx in the graph, its bodies and functions is right as it stands in both opsets: its operator has one definition
/// there, or the versions (13 and later) differ only in what the node does not use (types, attributes, operator's upgrade rules). `typeOf` knows
/// types that the graph does not declare; may be empty. Errors (Run) name the first node that is not, and why.
Result<void> checkOpsetChange(const Graph& graph, std::int64_t opset, const std::function<ValueType(ValueId)>& typeOf);

} // namespace nabla::engine
