// Half and BFloat16: storage types that convert from and to float with round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace nabla::engine {

/// IEEE 754 binary16.
struct Half {
    std::uint16_t bits = 0;

    Half() = default;
    explicit Half(float value) : bits(fromFloat(value)) { }
    explicit Half(double value) : bits(fromDouble(value)) { }
    explicit operator float() const { return toFloat(bits); }
    explicit operator double() const { return static_cast<double>(toFloat(bits)); }

    static std::uint16_t fromFloat(float value);
    static std::uint16_t fromDouble(double value); ///< rounds once, not by way of float
    static float toFloat(std::uint16_t bits);
};

/// bfloat16: the upper half of a binary32.
struct BFloat16 {
    std::uint16_t bits = 0;

    BFloat16() = default;
    explicit BFloat16(float value) : bits(fromFloat(value)) { }
    explicit BFloat16(double value);
    explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
    explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

    static std::uint16_t fromFloat(float value);
};

} // namespace nabla::engine
