// Decodes by ldexp, encodes by scaling the value to the format's unit in the last place and rounding there.
#include "engine/tensor/minifloat.h"

#include <cmath>
#include <limits>

namespace nabla::engine {

namespace {

std::uint32_t signBit(const MinifloatFormat& f) { return 1U << (f.exponentBits + f.mantissaBits); }

/// Code of the largest finite magnitude.
std::uint32_t largestFinite(const MinifloatFormat& f) {
    const std::uint32_t all = signBit(f) - 1;
    if (f.hasInfinity)
        return all - (1U << f.mantissaBits); // exponent one below the special one, mantissa all ones
    if (f.hasNan && !f.negativeZeroIsNan)
        return all - 1; // the all-ones code is NaN
    return all;
}

std::uint32_t nanCode(const MinifloatFormat& f) {
    if (f.negativeZeroIsNan)
        return signBit(f);
    if (f.hasInfinity)
        return signBit(f) - 1 - ((1U << (f.mantissaBits - 1)) - 1); // quiet NaN: top mantissa bit only
    return signBit(f) - 1;
}

} // namespace

double decodeMinifloat(const MinifloatFormat& f, std::uint32_t bits) {
    const bool negative = (bits & signBit(f)) != 0;
    const std::uint32_t magnitude = bits & (signBit(f) - 1);
    if (f.negativeZeroIsNan && negative && magnitude == 0)
        return std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t mantissa = magnitude & ((1U << f.mantissaBits) - 1);
    const int exponent = static_cast<int>(magnitude >> f.mantissaBits);
    const int special = (1 << f.exponentBits) - 1;
    double value = 0;
    if (f.hasInfinity && exponent == special)
        value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (!f.hasInfinity && f.hasNan && !f.negativeZeroIsNan && magnitude == signBit(f) - 1)
        value = std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissaBits);
    else
        value = std::ldexp(static_cast<double>(mantissa | (1U << f.mantissaBits)), exponent - f.bias - f.mantissaBits);
    return negative ? -value : value;
}

std::uint32_t encodeMinifloat(const MinifloatFormat& f, double value, Saturate saturate) {
    if (std::isnan(value))
        return f.hasNan ? (nanCode(f) | (std::signbit(value) && !f.negativeZeroIsNan ? signBit(f) : 0)) : 0;
    const std::uint32_t sign = std::signbit(value) ? signBit(f) : 0;
    const double magnitude = std::fabs(value);
    const auto overflow = [&]() -> std::uint32_t {
        if (saturate == Saturate::Yes || !f.hasNan)
            return sign | largestFinite(f);
        if (f.hasInfinity)
            return sign | (((1U << f.exponentBits) - 1) << f.mantissaBits);
        return f.negativeZeroIsNan ? nanCode(f) : (sign | nanCode(f));
    };
    if (std::isinf(magnitude)) {
        if (f.hasInfinity && saturate == Saturate::No)
            return sign | (((1U << f.exponentBits) - 1) << f.mantissaBits);
        return overflow();
    }
    if (magnitude == 0)
        return f.negativeZeroIsNan ? 0 : sign;
    int exponent = 0;
    std::frexp(magnitude, &exponent); // magnitude = m * 2^exponent, m in [0.5, 1)
    int unitExponent = exponent - 1 - f.mantissaBits;
    const int smallest = 1 - f.bias - f.mantissaBits; // unit of the subnormals
    if (unitExponent < smallest)
        unitExponent = smallest;
    const double scaled = std::nearbyint(std::ldexp(magnitude, -unitExponent)); // the default mode is ties to even
    auto mantissa = static_cast<std::uint64_t>(scaled);
    if (mantissa == (2ULL << f.mantissaBits)) { // rounding carried into the next binade
        mantissa >>= 1;
        ++unitExponent;
    }
    const int biased = unitExponent - smallest + (mantissa >> f.mantissaBits ? 1 : 0);
    const std::uint64_t code = (static_cast<std::uint64_t>(biased) << f.mantissaBits) | (mantissa & ((1U << f.mantissaBits) - 1));
    if (code > largestFinite(f))
        return overflow();
    if (code == 0 && f.negativeZeroIsNan)
        return 0;
    return sign | static_cast<std::uint32_t>(code);
}

double decodeE8M0(std::uint8_t bits) {
    return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

std::uint8_t encodeE8M0(double value, Saturate saturate, E8M0Rounding rounding) {
    if (std::isnan(value))
        return 0xff;
    const double magnitude = std::fabs(value);
    if (std::isinf(magnitude))
        return saturate == Saturate::Yes ? 0xfe : 0xff;
    const std::uint8_t below = saturate == Saturate::Yes ? 0 : 0xff; // zero too: the table of Cast-28
    if (magnitude == 0)
        return below;
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent); // in [0.5, 1): the value lies in [2^(exponent-1), 2^exponent)
    int code = exponent - 1 + 127;
    const bool up = rounding == E8M0Rounding::Up ? fraction > 0.5 : rounding == E8M0Rounding::Nearest && fraction >= 0.75;
    if (up)
        ++code;
    if (code < 0)
        return below;
    if (code > 0xfe)
        return saturate == Saturate::Yes ? 0xfe : 0xff;
    return static_cast<std::uint8_t>(code);
}

} // namespace nabla::engine
