// From rows to lanes and their levels.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "profiler/analysis/timeline_data.h"
#include "profiler/analysis/trace_summary.h"

namespace nabla::profiler {

namespace {

/// Below this a lane is drawn exactly at any zoom faster than by levels.
constexpr std::size_t kMipMinSlices = 4096;
constexpr int kMipShift = 14;

/// One track's slices before they are laid out; the arrays of a lane without the depth.
struct Track {
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> end;
    std::vector<std::uint32_t> nameId, nodeId, rowId;
};

std::uint32_t narrow(std::int64_t value) {
    return value < 0 || value > std::numeric_limits<std::uint32_t>::max() ? 0 : static_cast<std::uint32_t>(value);
}

/// Indices in the order of starts, the longer one first where two start together: parents before children.
std::vector<std::uint32_t> drawingOrder(const Track& track) {
    std::vector<std::uint32_t> order(track.start.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return track.start[a] != track.start[b] ? track.start[a] < track.start[b] : track.end[a] > track.end[b];
    };
    if (!std::is_sorted(order.begin(), order.end(), before))
        std::stable_sort(order.begin(), order.end(), before);
    return order;
}

void append(TimelineLane& lane, const Track& track, std::uint32_t i) {
    const std::int64_t duration = track.end[i] - track.start[i];
    if (duration >= TimelineLane::kLongDuration) {
        lane.longDurations.emplace(static_cast<std::uint32_t>(lane.start.size()), duration);
        lane.duration.push_back(TimelineLane::kLongDuration);
    } else {
        lane.duration.push_back(static_cast<std::uint32_t>(duration));
    }
    lane.start.push_back(track.start[i]);
    lane.nameId.push_back(track.nameId[i]);
    lane.nodeId.push_back(track.nodeId[i]);
    lane.rowId.push_back(track.rowId[i]);
}

/// Deals a track's slices to lanes so that none overlap. CPU slices nest, so a slice goes one below the innermost that
/// is still open; a stream's kernels do not, so a slice goes to the first lane that is free.
std::vector<TimelineLane> layOut(const Track& track, SliceSource source, std::int64_t id, const std::string& name) {
    std::vector<TimelineLane> lanes;
    std::vector<std::int64_t> ends; // CPU: of the open slices, outermost first; GPU: of each lane
    for (const std::uint32_t i : drawingOrder(track)) {
        std::size_t depth = 0;
        if (isGpu(source)) {
            while (depth < ends.size() && ends[depth] > track.start[i])
                ++depth;
            ends.resize(std::max(ends.size(), depth + 1));
        } else {
            // The innermost open slice can outlast its parent by a rounding of the clock, so all are looked at from
            // inside.
            while (!ends.empty() && ends.back() <= track.start[i])
                ends.pop_back();
            depth = ends.size();
            ends.push_back(0);
        }
        ends[depth] = track.end[i];
        if (lanes.size() <= depth) {
            lanes.resize(depth + 1);
            lanes[depth].name = name;
            lanes[depth].source = source;
            lanes[depth].track = id;
            lanes[depth].depth = static_cast<std::int32_t>(depth);
        }
        append(lanes[depth], track, i);
    }
    return lanes;
}

void shrink(TimelineLane& lane) {
    lane.start.shrink_to_fit();
    lane.duration.shrink_to_fit();
    lane.nameId.shrink_to_fit();
    lane.nodeId.shrink_to_fit();
    lane.rowId.shrink_to_fit();
}

void buildMips(TimelineLane& lane) {
    if (lane.size() < kMipMinSlices)
        return;
    lane.mipOrigin = lane.start.front();
    const std::int64_t length = lane.endOf(lane.size() - 1) - lane.mipOrigin + 1;
    // Few slices over hours would make more buckets than slices; wider buckets say as much.
    lane.mipShift = kMipShift;
    while ((length >> lane.mipShift) > static_cast<std::int64_t>(2 * lane.size()) && lane.mipShift < 31)
        ++lane.mipShift;
    std::vector<std::uint32_t> busy(static_cast<std::size_t>(length >> lane.mipShift) + 1);
    const std::int64_t width = std::int64_t{1} << lane.mipShift;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        std::int64_t from = lane.start[i] - lane.mipOrigin;
        const std::int64_t to = from + lane.durationOf(i);
        while (from < to) {
            const std::int64_t bucket = from >> lane.mipShift;
            const std::int64_t until = std::min(to, (bucket + 1) * width);
            busy[static_cast<std::size_t>(bucket)] += static_cast<std::uint32_t>(until - from);
            from = until;
        }
    }
    // A bucket of 2^32 ns would not fit its count any more.
    for (int shift = lane.mipShift; busy.size() > 1 && shift < 31; ++shift) {
        std::vector<std::uint32_t> half((busy.size() + 1) / 2);
        for (std::size_t i = 0; i < busy.size(); ++i)
            half[i / 2] += busy[i];
        lane.mips.push_back(std::move(busy));
        busy = std::move(half);
    }
    lane.mips.push_back(std::move(busy));
}

class Builder {
public:
    Builder(const Recording& recording, const engine::JobControl& job)
        : m_recording(recording)
        , m_job(job) { }

    Result<TimelineData> run() {
        m_data.notices = m_recording.notices();
        NABLA_TRY(m_threads, m_recording.threads());
        for (const SliceSource source : kAllSliceSources) {
            NABLA_TRY(const std::int64_t rows, m_recording.count(source));
            m_total += rows;
        }
        for (const SliceSource source : kAllSliceSources)
            NABLA_CHECK(addSource(source));
        NABLA_CHECK(addCounters());
        return std::move(m_data);
    }

private:
    Result<void> addSource(SliceSource source) {
        if (!m_recording.has(source))
            return {};
        NABLA_TRY(const auto counts, m_recording.tracks(source));
        std::map<std::int64_t, Track> tracks;
        for (const auto& [id, count] : counts)
            reserve(tracks[id], static_cast<std::size_t>(count));
        NABLA_CHECK(m_recording.slices(
            source,
            [&](const Slice& slice) {
                if (++m_done % 65'536 == 0)
                    m_job.say("reading slices", m_done, m_total);
                if (timeFault(slice) != TimeFault::None)
                    ++m_data.untimed;
                else
                    add(tracks[slice.track], slice);
                return true;
            },
            m_job));
        for (auto& [id, track] : tracks) {
            NABLA_CHECK(m_job.check());
            for (TimelineLane& lane : layOut(track, source, id, trackName(m_recording, source, id, m_threads))) {
                shrink(lane);
                buildMips(lane);
                m_data.lanes.push_back(std::move(lane));
            }
            track = {};
        }
        return {};
    }

    static void reserve(Track& track, std::size_t count) {
        track.start.reserve(count);
        track.end.reserve(count);
        track.nameId.reserve(count);
        track.nodeId.reserve(count);
        track.rowId.reserve(count);
    }

    void add(Track& track, const Slice& slice) {
        const bool first = m_data.lanes.empty() && !m_anyTime;
        m_data.range.begin = first ? *slice.start : std::min(m_data.range.begin, *slice.start);
        m_data.range.end = first ? *slice.end : std::max(m_data.range.end, *slice.end);
        m_anyTime = true;
        track.start.push_back(*slice.start);
        track.end.push_back(*slice.end);
        track.nameId.push_back(nameId(slice.name));
        track.nodeId.push_back(narrow(slice.nodeId));
        track.rowId.push_back(narrow(slice.rowId));
    }

    std::uint32_t nameId(std::string_view name) {
        // The recording hands out one address for one text, so the address is looked up first.
        const auto [known, isNew] = m_byAddress.try_emplace(name.data(), 0u);
        if (isNew) {
            const auto [id, isNewText]
                = m_byText.try_emplace(std::string(name), static_cast<std::uint32_t>(m_data.names.size()));
            if (isNewText)
                m_data.names.emplace_back(name);
            known->second = id->second;
        }
        return known->second;
    }

    Result<void> addCounters() {
        NABLA_TRY(const auto rows, m_recording.counters());
        std::int64_t current = 0;
        for (const CounterRow& row : rows) { // ordered by counter, then time
            if (m_data.counters.empty() || row.counterId != current) {
                current = row.counterId;
                m_data.counters.push_back({std::string(m_recording.string(current)), {}, {}});
            }
            m_data.counters.back().time.push_back(row.time);
            m_data.counters.back().value.push_back(row.value);
        }
        return {};
    }

    const Recording& m_recording;
    const engine::JobControl& m_job;
    TimelineData m_data;
    std::vector<ThreadRow> m_threads;
    std::unordered_map<const char*, std::uint32_t> m_byAddress;
    std::unordered_map<std::string, std::uint32_t> m_byText;
    std::int64_t m_done = 0;
    std::int64_t m_total = 0;
    bool m_anyTime = false;
};

} // namespace

Result<TimelineData> buildTimeline(const Recording& recording, const engine::JobControl& job) {
    return Builder(recording, job).run();
}

} // namespace nabla::profiler
