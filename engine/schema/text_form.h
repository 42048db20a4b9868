// The text syntax of ONNX (onnx/docs/Syntax.md), in and out.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// Reads `<ir_version: 10, opset_import: ["" : 21]> g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }`, or a bare graph (newest opset).
/// Errors (Read): the library's message with line and column.
Result<Graph> parseGraphText(std::string_view text, IdSourcePtr ids = nullptr);
/// The graph with its functions in the same syntax; weights above `maxElements` are shown as `{…}` and do not read back.
std::string printGraphText(const Graph& graph, std::size_t maxElements = 64);

} // namespace nabla::engine
