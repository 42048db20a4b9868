// Bytes of a ModelProto to a Graph: the one reader behind files, the text form and function bodies of operators.
#pragma once

#include <memory>
#include <string_view>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"
#include "engine/schema/onnx_file/read_tensor.h"

namespace nabla::engine {

struct OnnxReadOptions {
    TensorSource source;
    IdSourcePtr ids;
    std::filesystem::path path; ///< for ModelInfo
    JobControl job;
};

/// Names, order, types, documentation, metadata, functions and bodies as in the bytes. Faults that do not stop a model from being shown are
/// diagnostics of the graph. Errors (Read): not a ModelProto, broken wire data, tensors whose sizes disagree, a graph input without a type.
/// `bytes` must live as long as `options.source.owner`.
Result<Graph> readOnnxModel(std::string_view bytes, const OnnxReadOptions& options);

/// One FunctionProto; `irVersion` and `opsets` come from the caller where the function does not say.
Result<Function> readOnnxFunction(std::string_view bytes, const OnnxReadOptions& options);

} // namespace nabla::engine
