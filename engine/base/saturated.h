// Arithmetic on counts and sizes that come from a file: it stops at the largest number instead of overflowing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace nabla::engine {

inline constexpr std::int64_t kSaturated = std::numeric_limits<std::int64_t>::max();

/// a + b for a, b >= 0, at most kSaturated.
constexpr std::int64_t saturatedSum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kSaturated : sum;
}

/// Product of factors >= 0, at most kSaturated; 0 when one is 0, however large the others are.
constexpr std::int64_t saturatedProduct(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    bool overflow = false, empty = false;
    for (const std::int64_t factor : factors) {
        empty = empty || factor == 0;
        overflow = overflow || __builtin_mul_overflow(product, factor, &product);
    }
    return empty ? 0 : overflow ? kSaturated : product;
}

} // namespace nabla::engine
