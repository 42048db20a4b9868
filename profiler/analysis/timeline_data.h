// A recording arranged for drawing: lanes as arrays, and how busy they are at every zoom.
//
//     lane      start  [ 10      50   55           90 ]      ascending; slices of a lane never overlap
//               ns     [ 30       5    5            7 ]
//     mip 0     busy ns in every bucket of 2^14 ns or more, mip 1 in pairs of buckets, ...
//
// Zoomed in, visibleSlices() steps over everything narrower than a pixel by binary search; zoomed out, busyColumns()
// gives the share of time that is busy in every pixel column. Both cost per pixel, not per slice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/store/recording.h"

namespace nabla::profiler {

/// Slices of one track at one depth. 24 bytes a slice.
struct TimelineLane {
    std::string name; ///< the track's name
    SliceSource source = SliceSource::OpEvent;
    std::int64_t track = 0;
    std::int32_t depth = 0; ///< 0 outermost; GPU streams: sibling lanes for what overlaps
    std::vector<std::int64_t> start; ///< ns, ascending
    std::vector<std::uint32_t> duration; ///< ns; kLongDuration: see longDurations
    std::vector<std::uint32_t> nameId; ///< index into TimelineData::names
    std::vector<std::uint32_t> nodeId; ///< engine node id, 0 none
    std::vector<std::uint32_t> rowId; ///< of the source's table

    static constexpr std::uint32_t kLongDuration = 0xffffffff;
    std::unordered_map<std::uint32_t, std::int64_t> longDurations; ///< slices of 4.29 s and more, by index

    std::size_t size() const { return start.size(); }
    std::int64_t durationOf(std::size_t i) const {
        return duration[i] != kLongDuration ? duration[i] : longDurations.at(static_cast<std::uint32_t>(i));
    }
    std::int64_t endOf(std::size_t i) const { return start[i] + durationOf(i); }

    /// Busy ns per bucket of 2^(mipShift + level) ns from mipOrigin on. Empty for lanes of few slices: they are drawn
    /// exactly.
    std::int64_t mipOrigin = 0;
    int mipShift = 14;
    std::vector<std::vector<std::uint32_t>> mips;
};

/// A counter over time.
struct TimelineCounter {
    std::string name;
    std::vector<std::int64_t> time;
    std::vector<double> value;
};

struct TimelineData {
    std::vector<TimelineLane> lanes; ///< runs, CPU threads, GPU streams; then by track and depth
    std::vector<TimelineCounter> counters;
    std::vector<std::string> names;
    TimeRange range; ///< of everything in the lanes
    std::int64_t untimed = 0; ///< rows left out for having no usable time
    std::vector<std::string> notices; ///< the recording's own

    std::size_t slices() const;
};

/// Reads a whole recording. 10 million rows take seconds: run it as a job. Errors: of reading, Cancelled.
Result<TimelineData> buildTimeline(const Recording& recording, const engine::JobControl& job = {});

/// What visibleSlices() gives: slice `first` alone, or `first` to `last` merged since each is too narrow to see.
struct VisibleSlice {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
};
/// Slices of a lane that touch `range`, those narrower than `minNs` merged with their neighbours within minNs.
/// Costs O(log n) a bar; every slice that touches the range is in exactly one bar. Replaces what `bars` held.
void visibleSlices(const TimelineLane& lane, TimeRange range, std::int64_t minNs, std::vector<VisibleSlice>& bars);

/// Share of time that is busy (0..1) in `columns` equal parts of `range`. From the finest level that is not finer than
/// half a column, exact where a lane has no levels or a column is narrower than a bucket. Replaces what `busy` held.
void busyColumns(const TimelineLane& lane, TimeRange range, std::size_t columns, std::vector<float>& busy);

/// The slice at a time, and none in a gap.
std::optional<std::size_t> sliceAt(const TimelineLane& lane, std::int64_t time);

/// Time of one name within a selection.
struct SelectedTimes {
    std::uint32_t nameId = 0;
    std::int64_t count = 0;
    std::int64_t sumNs = 0; ///< clipped to the selection
};
/// Sums over the part of `range` of the given lanes (all when empty), heaviest first. Each lane counts for itself: a
/// parent's time contains its children's.
std::vector<SelectedTimes> selectionSums(
    const TimelineData& data, TimeRange range, std::span<const std::size_t> lanes = {});

/// Where a node's slices are: (lane, slice), in time order within a lane.
std::vector<std::pair<std::uint32_t, std::uint32_t>> slicesOfNode(const TimelineData& data, std::uint32_t nodeId);

/// Smallest and largest value of a counter in each of `columns` parts of `range`; the last value before a part counts
/// in it.
struct CounterColumn {
    double min = 0;
    double max = 0;
    bool any = false; ///< false before the first sample
};
std::vector<CounterColumn> counterColumns(const TimelineCounter& counter, TimeRange range, std::size_t columns);

} // namespace nabla::profiler
