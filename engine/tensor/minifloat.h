// Any small binary float: one decoder and one encoder for half, bfloat16, the 8-bit floats, float6 and float4.
#pragma once

#include <cstdint>

namespace nabla::engine {

/// How a format spends its bits and its special codes.
struct MinifloatFormat {
    int exponentBits;
    int mantissaBits;
    int bias;
    bool hasInfinity;      ///< IEEE style: all-ones exponent is Inf (mantissa 0) or NaN
    bool hasNan;           ///< "FN": only the all-ones code is NaN; "FNUZ": only negative zero is NaN
    bool negativeZeroIsNan;
    bool hasSign = true;
};

// Sources: IEEE 754-2019; ONNX "Float stored in 8 bits" (docs/docsgen/source/technical/float8.md); OCP MX v1.0.
inline constexpr MinifloatFormat kHalfFormat{5, 10, 15, true, true, false};
inline constexpr MinifloatFormat kBFloat16Format{8, 7, 127, true, true, false};
inline constexpr MinifloatFormat kFloat8E4M3FNFormat{4, 3, 7, false, true, false};
inline constexpr MinifloatFormat kFloat8E4M3FNUZFormat{4, 3, 8, false, true, true};
inline constexpr MinifloatFormat kFloat8E5M2Format{5, 2, 15, true, true, false};
inline constexpr MinifloatFormat kFloat8E5M2FNUZFormat{5, 2, 16, false, true, true};
inline constexpr MinifloatFormat kFloat6E2M3Format{2, 3, 1, false, false, false};
inline constexpr MinifloatFormat kFloat6E3M2Format{3, 2, 3, false, false, false};
inline constexpr MinifloatFormat kFloat4E2M1Format{2, 1, 1, false, false, false};

/// What a value too large for the format becomes: the largest finite one, or infinity (NaN where there is none).
enum class Saturate : bool { No, Yes };

double decodeMinifloat(const MinifloatFormat& format, std::uint32_t bits);
/// Rounds to nearest, ties to even.
std::uint32_t encodeMinifloat(const MinifloatFormat& format, double value, Saturate saturate);

/// float8e8m0: a power of two, 2^(bits - 127); 0xff is NaN. Encoding rounds up to the next power when `roundUp`.
double decodeE8M0(std::uint8_t bits);
enum class E8M0Rounding : std::uint8_t { Nearest, Up, Down };
std::uint8_t encodeE8M0(double value, Saturate saturate, E8M0Rounding rounding);

} // namespace nabla::engine
