// Formatting of numbers with units.
#include "views/theme/units.h"

#include <cmath>

#include <fmt/format.h>

namespace nabla::views {
namespace {

constexpr const char* kMinus = "\u2212";

/// Fixed notation with `digits` significant digits, for 0 <= value.
std::string significant(double value, int digits = 3) {
    if (value == 0)
        return "0";
    int magnitude = static_cast<int>(std::floor(std::log10(value)));
    // 9.995 rounds up to the next magnitude.
    if (value >= std::pow(10.0, magnitude + 1) - 0.5 * std::pow(10.0, magnitude + 1 - digits))
        ++magnitude;
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
}

struct Unit {
    double size;
    const char* name;
};

/// The largest unit in which the rounded number is at least 1.
std::string withUnit(double value, std::span<const Unit> units) {
    for (const Unit& u : units) {
        if (value >= u.size * 0.9995)
            return fmt::format("{} {}", significant(std::max(value / u.size, 1.0)), u.name);
    }
    return fmt::format("{} {}", significant(value), units.back().name);
}

/// |value| without overflow at the smallest integer.
double magnitude(std::int64_t value) {
    return std::abs(static_cast<double>(value));
}

template <typename Format> std::string change(std::int64_t value, Format format) {
    if (value == 0)
        return "±0";
    const std::string text = format(value);
    return value > 0 ? "+" + text : text;
}

} // namespace

std::string formatBytes(std::int64_t bytes) {
    static constexpr Unit kUnits[]
        = {{0x1p50, "PiB"}, {0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
    const double b = magnitude(bytes);
    const std::string text = b < 1024 ? fmt::format("{:.0f} B", b) : withUnit(b, kUnits);
    return bytes < 0 ? kMinus + text : text;
}

std::string formatDurationNs(std::int64_t ns) {
    const double t = magnitude(ns);
    static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    std::string text;
    if (t < 1000)
        text = fmt::format("{:.0f} ns", t);
    else if (t >= 1e5 * 0.9995 && t < 0.9995e6)
        text = fmt::format("{:.2f} ms", t / 1e6); // tenths of a millisecond stay in milliseconds
    else
        text = withUnit(t, kUnits);
    return ns < 0 ? kMinus + text : text;
}

std::string formatFlops(double flops) {
    static constexpr Unit kUnits[]
        = {{1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}};
    const double f = std::abs(flops);
    const std::string text = f < 999.5 ? fmt::format("{:.0f} FLOP", f) : withUnit(f, kUnits);
    return flops < 0 ? kMinus + text : text;
}

std::string formatCount(std::int64_t count) {
    std::string digits = fmt::format("{:.0f}", magnitude(count));
    if (count > -(std::int64_t(1) << 53) && count < (std::int64_t(1) << 53))
        digits = std::to_string(count < 0 ? -count : count);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return count < 0 ? kMinus + digits : digits;
}

std::string formatNumber(double value, int digits) {
    if (std::isnan(value))
        return "NaN";
    const double m = std::abs(value);
    const char* sign = value < 0 ? kMinus : "";
    if (std::isinf(value))
        return fmt::format("{}∞", sign);
    if (m == 0 || (m >= 1e-3 && m < 1e6))
        return sign + significant(m, digits);
    std::string text = fmt::format("{:.{}e}", m, digits - 1);
    const std::size_t e = text.find('e');
    const int exponent = std::stoi(text.substr(e + 1));
    return fmt::format("{}{}e{}{}", sign, text.substr(0, e), exponent < 0 ? kMinus : "+", std::abs(exponent));
}

std::string formatShape(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ",", shape[i] < 0 ? "?" : std::to_string(shape[i]));
    return text + "]";
}

std::string formatShape(std::span<const std::string> shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        text += (i == 0 ? "" : ",") + shape[i];
    return text + "]";
}

std::string formatBytesChange(std::int64_t bytes) {
    return change(bytes, formatBytes);
}
std::string formatDurationChangeNs(std::int64_t ns) {
    return change(ns, formatDurationNs);
}
std::string formatCountChange(std::int64_t count) {
    return change(count, formatCount);
}

} // namespace nabla::views
