// RuntimeValue: what flows along an edge while a model runs. Nearly always a tensor.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

struct RuntimeSequence;
struct RuntimeOptional;

/// Absent (an omitted optional input), a tensor, a sequence, or an optional. Maps are a sequence of two tensors: keys, values.
class RuntimeValue {
public:
    RuntimeValue() = default;
    RuntimeValue(Tensor tensor) {
        if (tensor.defined())
            m_value = std::move(tensor);
    }
    RuntimeValue(std::shared_ptr<const RuntimeSequence> sequence) : m_value(std::move(sequence)) { }
    RuntimeValue(std::shared_ptr<const RuntimeOptional> optional) : m_value(std::move(optional)) { }

    bool absent() const { return std::holds_alternative<std::monostate>(m_value); }
    bool isTensor() const { return std::holds_alternative<Tensor>(m_value); }
    /// The tensor; an undefined one when it is something else.
    const Tensor& tensor() const;
    /// Null when it is something else.
    const RuntimeSequence* sequence() const;
    const RuntimeOptional* optional() const;
    /// Bytes of all tensors inside.
    std::int64_t bytes() const;

private:
    std::variant<std::monostate, Tensor, std::shared_ptr<const RuntimeSequence>, std::shared_ptr<const RuntimeOptional>> m_value;
};

/// A sequence of values of one type. An empty one remembers its element type where it is known.
struct RuntimeSequence {
    std::vector<RuntimeValue> elements;
    DType elementType = DType::Undefined;
};

/// An ONNX optional: has a value or not.
struct RuntimeOptional {
    RuntimeValue value;
    bool hasValue = false;
};

} // namespace nabla::engine
