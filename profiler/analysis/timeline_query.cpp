// What a frame asks of the lanes.
#include <algorithm>
#include <cmath>

#include "profiler/analysis/timeline_data.h"

namespace nabla::profiler {

namespace {

/// The first slice that ends after `time`; slices of a lane do not overlap, so ends ascend too.
std::size_t firstEndingAfter(const TimelineLane& lane, std::int64_t time) {
    const auto after = std::upper_bound(lane.start.begin(), lane.start.end(), time);
    auto i = static_cast<std::size_t>(after - lane.start.begin());
    // The one before may reach over `time`; slices of no length at `time` belong too.
    while (i > 0 && (lane.endOf(i - 1) > time || lane.start[i - 1] == time))
        --i;
    return i;
}

std::size_t firstStartingFrom(const TimelineLane& lane, std::int64_t time) {
    return static_cast<std::size_t>(std::lower_bound(lane.start.begin(), lane.start.end(), time) - lane.start.begin());
}

/// Busy ns of [begin, end), slice by slice.
std::int64_t exactBusy(const TimelineLane& lane, std::size_t& from, std::int64_t begin, std::int64_t end) {
    while (from < lane.size() && lane.endOf(from) <= begin)
        ++from;
    std::int64_t busy = 0;
    for (std::size_t i = from; i < lane.size() && lane.start[i] < end; ++i)
        busy += std::min(end, lane.endOf(i)) - std::max(begin, lane.start[i]);
    return busy;
}

/// Busy ns of [begin, end) out of one level; buckets that lie half inside count by their share.
double levelBusy(const TimelineLane& lane, std::size_t level, double begin, double end) {
    const auto& busy = lane.mips[level];
    const double width = std::ldexp(1.0, lane.mipShift + static_cast<int>(level));
    // The last bucket holds time only up to the lane's end: its share is one of that part.
    const double laneEnd = static_cast<double>(lane.endOf(lane.size() - 1) - lane.mipOrigin) / width;
    const double first = std::max((begin - static_cast<double>(lane.mipOrigin)) / width, 0.0);
    const double last = std::min((end - static_cast<double>(lane.mipOrigin)) / width, laneEnd);
    double sum = 0;
    for (auto i = static_cast<std::size_t>(first); static_cast<double>(i) < last; ++i) {
        const auto from = static_cast<double>(i);
        const double until = std::min(from + 1, laneEnd);
        sum += (std::min(last, until) - std::max(first, from)) / (until - from) * busy[i];
    }
    return sum;
}

} // namespace

std::size_t TimelineData::slices() const {
    std::size_t count = 0;
    for (const TimelineLane& lane : lanes)
        count += lane.size();
    return count;
}

void visibleSlices(const TimelineLane& lane, TimeRange range, std::int64_t minNs, std::vector<VisibleSlice>& bars) {
    bars.clear();
    const std::size_t end = firstStartingFrom(lane, range.end);
    std::size_t i = firstEndingAfter(lane, range.begin);
    while (i < end) {
        if (lane.durationOf(i) >= minNs) {
            bars.push_back(
                {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i), lane.start[i], lane.endOf(i)});
            ++i;
            continue;
        }
        // Everything that starts within one minimum width is one bar. Only its last slice can be wide: the others end
        // before the next one starts. A wide one gets its own bar.
        const std::int64_t until = lane.start[i] + std::max<std::int64_t>(minNs, 1);
        auto next = static_cast<std::size_t>(std::lower_bound(lane.start.begin() + static_cast<std::ptrdiff_t>(i),
                                                 lane.start.begin() + static_cast<std::ptrdiff_t>(end), until)
            - lane.start.begin());
        if (next - 1 > i && lane.durationOf(next - 1) >= minNs)
            --next;
        bars.push_back(
            {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(next - 1), lane.start[i], lane.endOf(next - 1)});
        i = next;
    }
}

void busyColumns(const TimelineLane& lane, TimeRange range, std::size_t columns, std::vector<float>& busy) {
    busy.assign(columns, 0.0f);
    if (columns == 0 || range.end <= range.begin || lane.size() == 0)
        return;
    const double width = static_cast<double>(range.end - range.begin) / static_cast<double>(columns);
    const double bucket = std::ldexp(1.0, lane.mipShift);
    const bool exact = lane.mips.empty() || width < bucket;
    std::size_t level = 0;
    while (!exact && level + 1 < lane.mips.size() && std::ldexp(bucket, static_cast<int>(level) + 1) <= width / 2)
        ++level;
    std::size_t from = firstEndingAfter(lane, range.begin);
    for (std::size_t column = 0; column < columns; ++column) {
        const double begin = static_cast<double>(range.begin) + width * static_cast<double>(column);
        const double end = begin + width;
        const double sum = exact ? static_cast<double>(
                               exactBusy(lane, from, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)))
                                 : levelBusy(lane, level, begin, end);
        busy[column] = static_cast<float>(std::clamp(sum / width, 0.0, 1.0));
    }
}

std::optional<std::size_t> sliceAt(const TimelineLane& lane, std::int64_t time) {
    const auto after = std::upper_bound(lane.start.begin(), lane.start.end(), time);
    if (after == lane.start.begin())
        return std::nullopt;
    const auto i = static_cast<std::size_t>(after - lane.start.begin()) - 1;
    return lane.endOf(i) > time || lane.start[i] == time ? std::optional(i) : std::nullopt;
}

std::vector<SelectedTimes> selectionSums(
    const TimelineData& data, TimeRange range, std::span<const std::size_t> lanes) {
    std::vector<SelectedTimes> byName(data.names.size());
    const auto addLane = [&](const TimelineLane& lane) {
        for (std::size_t i = firstEndingAfter(lane, range.begin); i < lane.size() && lane.start[i] < range.end; ++i) {
            SelectedTimes& times = byName[lane.nameId[i]];
            ++times.count;
            times.sumNs
                += std::max<std::int64_t>(std::min(range.end, lane.endOf(i)) - std::max(range.begin, lane.start[i]), 0);
        }
    };
    if (lanes.empty())
        std::for_each(data.lanes.begin(), data.lanes.end(), addLane);
    for (const std::size_t lane : lanes)
        addLane(data.lanes[lane]);
    for (std::uint32_t id = 0; id < byName.size(); ++id)
        byName[id].nameId = id;
    std::erase_if(byName, [](const SelectedTimes& times) { return times.count == 0; });
    std::stable_sort(
        byName.begin(), byName.end(), [](const SelectedTimes& a, const SelectedTimes& b) { return a.sumNs > b.sumNs; });
    return byName;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> slicesOfNode(const TimelineData& data, std::uint32_t nodeId) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
    for (std::uint32_t lane = 0; lane < data.lanes.size(); ++lane) {
        const auto& ids = data.lanes[lane].nodeId;
        for (auto found = std::find(ids.begin(), ids.end(), nodeId); nodeId != 0 && found != ids.end();
             found = std::find(found + 1, ids.end(), nodeId))
            places.emplace_back(lane, static_cast<std::uint32_t>(found - ids.begin()));
    }
    return places;
}

std::vector<CounterColumn> counterColumns(const TimelineCounter& counter, TimeRange range, std::size_t columns) {
    std::vector<CounterColumn> result(columns);
    if (columns == 0 || range.end <= range.begin)
        return result;
    const double width = static_cast<double>(range.end - range.begin) / static_cast<double>(columns);
    auto i = static_cast<std::size_t>(
        std::lower_bound(counter.time.begin(), counter.time.end(), range.begin) - counter.time.begin());
    for (std::size_t column = 0; column < columns; ++column) {
        CounterColumn& out = result[column];
        const auto include = [&](double value) {
            out.min = out.any ? std::min(out.min, value) : value;
            out.max = out.any ? std::max(out.max, value) : value;
            out.any = true;
        };
        if (i > 0)
            include(counter.value[i - 1]);
        const auto end
            = static_cast<std::int64_t>(static_cast<double>(range.begin) + width * static_cast<double>(column + 1));
        for (; i < counter.time.size() && counter.time[i] < end; ++i)
            include(counter.value[i]);
    }
    return result;
}

} // namespace nabla::profiler
