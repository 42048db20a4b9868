// Building and printing of value types.
#include "engine/graph/value_type.h"

#include <fmt/format.h>

namespace nabla::engine {

ValueType ValueType::tensor(DType type, std::optional<SymbolicShape> shape) {
    ValueType t;
    t.kind = Kind::Tensor;
    t.elementType = type;
    t.shape = std::move(shape);
    return t;
}

ValueType ValueType::tensor(DType type, ShapeView shape) { return tensor(type, SymbolicShape(shape.begin(), shape.end())); }

ValueType ValueType::sequence(ValueType element) {
    ValueType t;
    t.kind = Kind::Sequence;
    t.element = std::make_shared<const ValueType>(std::move(element));
    return t;
}

ValueType ValueType::optionalOf(ValueType element) {
    ValueType t;
    t.kind = Kind::Optional;
    t.element = std::make_shared<const ValueType>(std::move(element));
    return t;
}

std::optional<Shape> ValueType::concreteShape() const {
    if (!shape)
        return std::nullopt;
    Shape out;
    for (const Dim& dim : *shape) {
        const auto value = dim.constant();
        if (!value)
            return std::nullopt;
        out.push_back(*value);
    }
    return out;
}

std::string ValueType::text() const {
    const std::string inner = element ? element->text() : "?";
    switch (kind) {
    case Kind::Unknown: return "?";
    case Kind::Tensor: return fmt::format("{}{}", name(elementType), shape ? toString(*shape) : "");
    case Kind::SparseTensor: return fmt::format("sparse {}{}", name(elementType), shape ? toString(*shape) : "");
    case Kind::Sequence: return fmt::format("seq({})", inner);
    case Kind::Optional: return fmt::format("optional({})", inner);
    case Kind::Map: return fmt::format("map({},{})", name(elementType), inner);
    case Kind::Opaque: return "opaque";
    }
    return "?";
}

bool operator==(const ValueType& a, const ValueType& b) {
    if (a.kind != b.kind || a.elementType != b.elementType || a.shape != b.shape || !a.element != !b.element)
        return false;
    return !a.element || *a.element == *b.element;
}

} // namespace nabla::engine
