// The graph that a verb made, as an ONNX file.
#pragma once

#include <filesystem>

#include "app/cli/cli.h"
#include "engine/graph/graph.h"

namespace nabla::app::cli {

/// As saveOnnx, with the inferred types of values that declare none. `opset`: 0 = the graph's own.
engine::Result<void> saveModel(const engine::Graph& graph, const std::filesystem::path& path, std::int64_t opset, const Context& context);

} // namespace nabla::app::cli
