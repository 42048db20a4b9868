// Contents of small integer tensors (shapes, axes, sizes), as far as they are known before running; expressions where sizes are symbolic.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// The elements of a scalar or vector: whole numbers as Dims (an unknown element is an unknown Dim), or floats when all are known.
struct KnownValue {
    DType type = DType::Int64;
    bool scalar = false;
    std::vector<Dim> ints;     ///< integer and bool types
    std::vector<double> reals; ///< float types

    bool isFloat() const { return type == DType::Float32 || type == DType::Float64; }
    std::size_t size() const { return isFloat() ? reals.size() : ints.size(); }
    /// The numbers, when every element is one.
    std::optional<std::vector<std::int64_t>> constants() const;
    /// The tensor, when every element is known.
    TensorPtr tensor() const;
};

/// Vectors longer than this are not followed.
inline constexpr std::size_t kMaxKnownElements = 128;

/// Nothing when the tensor is not a small scalar or vector of a type that is followed.
std::optional<KnownValue> knownFromTensor(const Tensor& tensor);

struct KnownInputs {
    const Node& node;
    std::int64_t opset;
    std::function<const ValueType&(std::size_t)> type;          ///< of an input
    std::function<const KnownValue*(std::size_t)> known;        ///< of an input; null when nothing is known
};
/// What the node's output 0 holds; nothing when the operator is not one of shape arithmetic or too little is known.
/// Integer division truncates as ONNX Div does; a symbolic quotient is a floor, which is the same for sizes.
std::optional<KnownValue> evaluateKnown(const KnownInputs& inputs);
/// Whether evaluateKnown has a rule for the operator.
bool followsValues(std::string_view opType);

} // namespace nabla::engine
