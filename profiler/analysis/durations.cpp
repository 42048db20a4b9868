// Union, median and self time.
#include "profiler/analysis/durations.h"

#include <algorithm>
#include <numeric>

namespace nabla::profiler {

TimeFault timeFault(const Slice& slice) {
    if (!slice.start || !slice.end || (*slice.start == 0 && *slice.end == 0))
        return TimeFault::NoTime;
    return *slice.end < *slice.start ? TimeFault::Negative : TimeFault::None;
}

std::int64_t busyNs(std::vector<Interval>& intervals) {
    std::sort(
        intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
    std::int64_t busy = 0;
    std::int64_t covered = 0;
    bool any = false;
    for (const Interval& interval : intervals) {
        const std::int64_t from = any ? std::max(interval.start, covered) : interval.start;
        busy += std::max<std::int64_t>(interval.end - from, 0);
        covered = any ? std::max(covered, interval.end) : interval.end;
        any = true;
    }
    return busy;
}

std::int64_t medianNs(std::vector<std::int64_t>& durations) {
    if (durations.empty())
        return 0;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    if (durations.size() % 2 == 1)
        return *middle;
    const std::int64_t below = *std::max_element(durations.begin(), middle);
    return below + (*middle - below) / 2;
}

std::vector<std::int64_t> selfTimesNs(const std::vector<Interval>& intervals) {
    std::vector<std::size_t> order(intervals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // A parent that starts together with its child is the longer one.
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return intervals[a].start != intervals[b].start ? intervals[a].start < intervals[b].start
                                                        : intervals[a].end > intervals[b].end;
    });
    std::vector<std::int64_t> self(intervals.size());
    std::vector<std::size_t> stack;
    for (const std::size_t i : order) {
        const Interval& slice = intervals[i];
        while (!stack.empty() && intervals[stack.back()].end <= slice.start)
            stack.pop_back();
        self[i] += slice.length();
        if (!stack.empty())
            self[stack.back()] -= std::min(slice.end, intervals[stack.back()].end) - slice.start;
        stack.push_back(i);
    }
    return self;
}

} // namespace nabla::profiler
