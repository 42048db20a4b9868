// Whether a graph may be written under another opset as it is.
#pragma once

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Fine when every operator of ai.onnx in the graph, its bodies and functions has one definition at both opsets. Errors (Run) name the first
/// node that has not: it must be lifted first, or there is no older form.
Result<void> checkOpsetChange(const Graph& graph, std::int64_t opset);

} // namespace nabla::engine
