// Between our values and the ONNX library's messages. Private to engine/schema: it includes the library's headers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

#include "onnx/onnx_pb.h"

namespace nabla::engine {

/// Expressions written as dimension names on the way into the library, to be found again on the way out.
using DimNames = std::vector<std::pair<std::string, Dim>>;

/// Tensors above this many elements go into the library without their data: it reads only small ones (shapes, axes, scales).
inline constexpr std::int64_t kMaxInferenceElements = 1024;

void toTypeProto(const ValueType& type, onnx::TypeProto& out, DimNames* names = nullptr);
ValueType fromTypeProto(const onnx::TypeProto& type, const DimNames* names = nullptr);
void toShapeProto(const SymbolicShape& shape, onnx::TensorShapeProto& out, DimNames* names = nullptr);

/// Element type and dimensions, and the elements when there are at most maxElements.
void toTensorProto(const Tensor& tensor, onnx::TensorProto& out, std::int64_t maxElements);
/// Scalars, lists, tensors (as toTensorProto) and types. Of a body only the signature: inference asks for the rest through its own interface.
void toAttributeProto(const Attribute& attribute, onnx::AttributeProto& out, std::int64_t maxElements);
/// Defaults of schemas: numbers, strings and lists of them; nothing for the other kinds.
std::optional<AttributeValue> fromAttributeProto(const onnx::AttributeProto& attribute);

} // namespace nabla::engine
