// Writing a graph as an ONNX file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

struct ExportOptions {
    std::int64_t opset = 0; ///< 0 = the graph's own
    JobControl job;
    /// Types of values for which the file declares none: outputs that a pass made, and for another opset every value between, which may have to be
    /// of a type that the older operator takes. `types(graph)->of` from engine/analysis fits.
    std::function<ValueType(ValueId)> typeOf = {};
    bool weightsBeside = false; ///< initializers of 1 KiB and more in `<file>.data`, whatever their size
};

/// The bytes of a ModelProto. Errors (Run): more than 2 GiB (saveOnnx writes external data beside the file then); an operator of a foreign
/// dialect; an opset the graph cannot be brought to. Nodes of our domain `nabla` are expanded into ONNX nodes first.
Result<std::string> exportOnnx(const Graph& graph, const ExportOptions& options = {});
/// Writes aside and renames.
Result<void> saveOnnx(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options = {});

} // namespace nabla::engine
