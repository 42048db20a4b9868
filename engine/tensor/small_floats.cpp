// Conversions by the generic minifloat routine of minifloat.h.
#include "engine/tensor/small_floats.h"

#include "engine/tensor/minifloat.h"

namespace nabla::engine {

std::uint16_t Half::fromDouble(double value) { return static_cast<std::uint16_t>(encodeMinifloat(kHalfFormat, value, Saturate::No)); }
std::uint16_t Half::fromFloat(float value) { return fromDouble(static_cast<double>(value)); }
float Half::toFloat(std::uint16_t bits) { return static_cast<float>(decodeMinifloat(kHalfFormat, bits)); }

std::uint16_t BFloat16::fromFloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) // NaN: keep it one, quietly
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
BFloat16::BFloat16(double value) : bits(static_cast<std::uint16_t>(encodeMinifloat(kBFloat16Format, value, Saturate::No))) { }

} // namespace nabla::engine
