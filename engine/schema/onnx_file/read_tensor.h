// TensorProto and SparseTensorProto to tensors: raw bytes stay in the file, typed fields are decoded.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/graph/node.h"
#include "engine/schema/onnx_file/parsed_model.h"

namespace nabla::engine {

/// Where a tensor says its elements lie, in another file.
struct ExternalReference {
    std::string_view location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
    std::uint64_t bytes = 0; ///< what type and shape need
};
/// The bytes, or why they cannot be had although nothing forbidden was asked (`missing`: the model opens without them).
struct ExternalBytes {
    const std::byte* data = nullptr;
    std::shared_ptr<const void> owner;
    std::string missing;
};
/// Errors (Read): the location is forbidden. Empty function: external data is refused.
using ExternalResolver = std::function<Result<ExternalBytes>(const ExternalReference&)>;

/// What tensors of one file have in common.
struct TensorSource {
    std::shared_ptr<const void> owner; ///< keeps the bytes alive
    ExternalResolver external;
};

struct ReadTensor {
    Tensor tensor;       ///< undefined when `missing` is not empty
    std::string missing; ///< why the elements are not there
    DType dtype = DType::Undefined;
    Shape shape;
};

/// Elements lie in the file where they are aligned for their type; otherwise they are copied: at once below 64 KiB, else when first read
/// (Tensor::lazy). Errors (Read): shape, type or sizes that do not fit, two data fields, forbidden external location.
Result<ReadTensor> readTensor(const ParsedTensor& parsed, WireStatus& status, const TensorSource& source);
Result<SparseTensorPtr> readSparseTensor(std::string_view bytes, WireStatus& status, const TensorSource& source);
/// The dense tensor of a sparse one. Errors (Read): an index out of range.
Result<Tensor> densify(const SparseTensor& sparse);

} // namespace nabla::engine
