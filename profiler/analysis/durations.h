// Small arithmetic over intervals that every summary shares.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/store/recording.h"

namespace nabla::profiler {

/// [start, end) in ns.
struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t length() const { return end - start; }
};

/// Why a row's times cannot be used.
enum class TimeFault {
    None,
    NoTime, ///< start or end is missing, or both are 0: "not measured"
    Negative, ///< ends before it starts
};
TimeFault timeFault(const Slice& slice);

/// Total length of the union: what "busy" means, since slices of one device overlap. Sorts the argument.
std::int64_t busyNs(std::vector<Interval>& intervals);

/// The middle value, the mean of both for an even count (rounded down); 0 for none. Reorders the argument.
std::int64_t medianNs(std::vector<std::int64_t>& durations);

/// Self times of slices of one thread: length minus what their direct children cover. intervals[i] gives result[i].
/// A child that outlasts its parent counts only up to the parent's end.
std::vector<std::int64_t> selfTimesNs(const std::vector<Interval>& intervals);

} // namespace nabla::profiler
