// float16: 5 bits of exponent, 10 of fraction; bfloat16: 8 and 7 (IEEE 754 binary16; the upper half of binary32).
#include "engine/tensor/half_range.h"

#include <cmath>

namespace nabla::engine {

std::optional<HalfRange> halfRange(DType type) {
    if (type == DType::Float16)
        return HalfRange{std::ldexp(2 - std::ldexp(1, -10), 15), std::ldexp(1, -14)};
    if (type == DType::BFloat16)
        return HalfRange{std::ldexp(2 - std::ldexp(1, -7), 127), std::ldexp(1, -126)};
    return std::nullopt;
}

HalfCounts halfCounts(const Tensor& tensor) {
    HalfCounts out;
    out.count = tensor.elementCount();
    const auto range = halfRange(tensor.dtype());
    for (std::int64_t i = 0; range && i < out.count; ++i) {
        const double size = std::fabs(tensor.asDouble(i));
        out.saturated += size == range->largest ? 1 : 0;
        out.subnormal += size > 0 && size < range->smallestNormal ? 1 : 0;
    }
    return out;
}

} // namespace nabla::engine
