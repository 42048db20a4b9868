// ValueType: what a value is, as far as it is known before running.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/graph/dim.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

namespace nabla::engine {

/// A tensor, sparse tensor, sequence, optional or map type, with what is known of it. Mirrors TypeProto of ONNX.
struct ValueType {
    enum class Kind : std::uint8_t { Unknown, Tensor, SparseTensor, Sequence, Optional, Map, Opaque };

    Kind kind = Kind::Unknown;
    DType elementType = DType::Undefined; ///< tensors; for maps the key type
    std::optional<SymbolicShape> shape;   ///< tensors; absent = not even the rank is known
    std::shared_ptr<const ValueType> element; ///< sequences and optionals: what is inside; maps: the values' type

    static ValueType tensor(DType type, std::optional<SymbolicShape> shape = std::nullopt);
    static ValueType tensor(DType type, ShapeView shape);
    static ValueType sequence(ValueType element);
    static ValueType optionalOf(ValueType element);

    bool isTensor() const { return kind == Kind::Tensor; }
    /// The whole shape in numbers, when every dimension is one.
    std::optional<Shape> concreteShape() const;
    /// `float32[batch,10]`, `seq(int64[?])`.
    std::string text() const;
    friend bool operator==(const ValueType& a, const ValueType& b);
};

} // namespace nabla::engine
