// Accessors that answer with "nothing" in place of failing.
#include "engine/tensor/runtime_value.h"

namespace nabla::engine {

const Tensor& RuntimeValue::tensor() const {
    static const Tensor kNone;
    const auto* t = std::get_if<Tensor>(&m_value);
    return t ? *t : kNone;
}

const RuntimeSequence* RuntimeValue::sequence() const {
    const auto* s = std::get_if<std::shared_ptr<const RuntimeSequence>>(&m_value);
    return s ? s->get() : nullptr;
}

const RuntimeOptional* RuntimeValue::optional() const {
    const auto* o = std::get_if<std::shared_ptr<const RuntimeOptional>>(&m_value);
    return o ? o->get() : nullptr;
}

std::int64_t RuntimeValue::bytes() const {
    if (isTensor())
        return tensor().bytes();
    std::int64_t total = 0;
    if (const auto* s = sequence()) {
        for (const auto& element : s->elements)
            total += element.bytes();
    }
    if (const auto* o = optional())
        total += o->value.bytes();
    return total;
}

} // namespace nabla::engine
