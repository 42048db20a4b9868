// Where float16 and bfloat16 run out of numbers: largest and smallest, and how many elements of a tensor stand there.
#pragma once

#include <optional>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

struct HalfRange {
    double largest = 0;        ///< finite
    double smallestNormal = 0; ///< below it, numbers have fewer digits
};
/// Only of Float16 and BFloat16.
std::optional<HalfRange> halfRange(DType type);

struct HalfCounts {
    std::int64_t count = 0;
    std::int64_t saturated = 0; ///< as large as finite numbers get, of either sign
    std::int64_t subnormal = 0; ///< not zero, below the smallest normal number
    double saturatedShare() const { return count > 0 ? static_cast<double>(saturated) / static_cast<double>(count) : 0; }
    double subnormalShare() const { return count > 0 ? static_cast<double>(subnormal) / static_cast<double>(count) : 0; }
};
/// All zero but `count` for other types.
HalfCounts halfCounts(const Tensor& tensor);

} // namespace nabla::engine
