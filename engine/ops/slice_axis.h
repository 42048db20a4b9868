// What start, end and step take of one axis.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nabla::engine {

struct SlicedAxis {
    std::int64_t begin = 0; ///< the first index; 0 when nothing is taken
    std::int64_t count = 0;
};

/// Negative places count from the end; int64's extremes are ordinary arguments. Walking backwards, a start before the first element is the first
/// (unlike NumPy). `step` is not 0. Source: the text of Slice-13.
inline SlicedAxis slicedAxis(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
    if (size == 0)
        return {};
    const std::int64_t high = step > 0 ? size : size - 1;
    const auto place = [&](std::int64_t at, std::int64_t low) { return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, low, high); };
    const std::int64_t begin = place(start, 0), stop = place(end, step > 0 ? 0 : -1);
    const std::int64_t span = step > 0 ? stop - begin : begin - stop;
    const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
    if (span <= 0)
        return {};
    return {begin, static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride) + 1};
}

} // namespace nabla::engine
