// RuntimeValue: what flows along an edge while a model runs. Nearly always a tensor.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

struct RuntimeSequence;
struct RuntimeOptional;
struct RuntimeMap;

/// Absent (an omitted optional input), a tensor, a sequence, an optional, or a map.
class RuntimeValue {
public:
    RuntimeValue() = default;
    RuntimeValue(Tensor tensor) {
        if (tensor.defined())
            m_value = std::move(tensor);
    }
    RuntimeValue(std::shared_ptr<const RuntimeSequence> sequence) : m_value(std::move(sequence)) { }
    RuntimeValue(std::shared_ptr<const RuntimeOptional> optional) : m_value(std::move(optional)) { }
    RuntimeValue(std::shared_ptr<const RuntimeMap> map) : m_value(std::move(map)) { }

    bool absent() const { return std::holds_alternative<std::monostate>(m_value); }
    bool isTensor() const { return std::holds_alternative<Tensor>(m_value); }
    /// The tensor; an undefined one when it is something else.
    const Tensor& tensor() const;
    /// Null when it is something else.
    const RuntimeSequence* sequence() const;
    const RuntimeOptional* optional() const;
    const RuntimeMap* map() const;
    /// Bytes of all tensors inside.
    std::int64_t bytes() const;

private:
    std::variant<std::monostate, Tensor, std::shared_ptr<const RuntimeSequence>, std::shared_ptr<const RuntimeOptional>, std::shared_ptr<const RuntimeMap>> m_value;
};

/// A sequence of values of one type. An empty one remembers its element type where it is known.
struct RuntimeSequence {
    std::vector<RuntimeValue> elements;
    DType elementType = DType::Undefined;
};

/// An ONNX map from integers or strings to scalars, as two vectors of one length. No key stands twice; their order means nothing.
struct RuntimeMap {
    Tensor keys, values;
};

/// An ONNX optional: has a value or not.
struct RuntimeOptional {
    RuntimeValue value;
    bool hasValue = false;
};

/// The first elements as people write them: `1.5, 2, … 9 in all` for a tensor, `[{a: 0.5, b: 0.5}, … 3 in all]` for a sequence of maps.
/// `most` bounds the elements of every level; nothing deeper than three levels is written out.
std::string previewText(const RuntimeValue& value, std::int64_t most = 8);

} // namespace nabla::engine
