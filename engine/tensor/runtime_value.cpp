// Accessors that answer with "nothing" in place of failing.
#include "engine/tensor/runtime_value.h"

#include <algorithm>

#include <fmt/format.h>

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

const RuntimeMap* RuntimeValue::map() const {
    const auto* m = std::get_if<std::shared_ptr<const RuntimeMap>>(&m_value);
    return m ? m->get() : nullptr;
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
    if (const auto* m = map())
        total += m->keys.bytes() + m->values.bytes();
    return total;
}

namespace {

constexpr int kMostLevels = 3;
constexpr std::size_t kMostLetters = 80;

std::string previewAt(const RuntimeValue& value, std::int64_t most, int level) {
    std::string out;
    const auto list = [&](std::int64_t count, auto&& item) {
        for (std::int64_t i = 0; i < std::min(count, most); ++i)
            out += (i > 0 ? ", " : "") + item(i);
        if (count > most)
            out += fmt::format(", … {} in all", count);
    };
    if (value.isTensor()) {
        list(value.tensor().elementCount(), [&](std::int64_t i) { return value.tensor().asText(i).substr(0, kMostLetters); });
        return level > 0 && value.tensor().elementCount() != 1 ? toString(value.tensor().shape()) + " " + out : out;
    }
    if (const RuntimeMap* map = value.map()) {
        list(map->keys.elementCount(), [&](std::int64_t i) { return map->keys.asText(i).substr(0, kMostLetters) + ": " + map->values.asText(i).substr(0, kMostLetters); });
        return "{" + out + "}";
    }
    if (level >= kMostLevels)
        return "…";
    if (const RuntimeSequence* sequence = value.sequence()) {
        list(static_cast<std::int64_t>(sequence->elements.size()),
            [&](std::int64_t i) { return previewAt(sequence->elements[static_cast<std::size_t>(i)], most, level + 1); });
        return "[" + out + "]";
    }
    if (const RuntimeOptional* optional = value.optional())
        return optional->hasValue ? previewAt(optional->value, most, level + 1) : "none";
    return "absent";
}

} // namespace

std::string previewText(const RuntimeValue& value, std::int64_t most) { return previewAt(value, most, 0); }

} // namespace nabla::engine
