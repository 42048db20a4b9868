// Numbers as the user reads them: three significant digits, a unit, the true minus sign. UTF-8, no Qt, no locale.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace nabla::views {

/// 784 KiB, 1.50 MiB, 512 B.
std::string formatBytes(std::int64_t bytes);
/// 0.71 ms, 23.6 ms, 1.20 s, 52.3 µs, 310 ns.
std::string formatDurationNs(std::int64_t ns);
/// 115 MFLOP, 3.63 GFLOP.
std::string formatFlops(double flops);
/// 1,234,567.
std::string formatCount(std::int64_t count);
/// 0.714, 128, 8.02e−5, NaN, −∞; `digits` significant ones.
std::string formatNumber(double value, int digits = 3);
/// [1,64,56,56]; a negative size is an unknown one and reads "?".
std::string formatShape(std::span<const std::int64_t> shape);
/// [batch,64,56,56], from sizes and names as text.
std::string formatShape(std::span<const std::string> shape);

/// With a sign in front unless zero: +1.50 MiB, −2.30 MiB, ±0.
std::string formatBytesChange(std::int64_t bytes);
std::string formatDurationChangeNs(std::int64_t ns);
std::string formatCountChange(std::int64_t count);

} // namespace nabla::views
