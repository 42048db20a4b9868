// One pass over all slices.
#include "profiler/analysis/trace_summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace nabla::profiler {

namespace {

/// A launch call, by process and correlation id: ids alone repeat between processes.
using LaunchKey = std::pair<std::int64_t, std::int64_t>;
struct LaunchHash {
    std::size_t operator()(const LaunchKey& key) const {
        return std::hash<std::int64_t>()(
            static_cast<std::int64_t>(static_cast<std::uint64_t>(key.first) * 0x9e3779b97f4a7c15ULL) ^ key.second);
    }
};

struct NameCollector {
    std::int64_t untimed = 0;
    std::int64_t selfNs = 0;
    std::vector<std::int64_t> durations;
};

void flag(Flagged& flagged, std::string_view name, std::size_t limit) {
    ++flagged.count;
    if (flagged.names.size() < limit
        && std::find(flagged.names.begin(), flagged.names.end(), name) == flagged.names.end())
        flagged.names.emplace_back(name);
}

class Summarizer {
public:
    Summarizer(const Recording& recording, const TraceOptions& options, const engine::JobControl& job)
        : m_recording(recording)
        , m_options(options)
        , m_job(job) { }

    Result<TraceSummary> run() {
        describe();
        NABLA_TRY(m_threads, m_recording.threads());
        NABLA_CHECK(readLaunches());
        std::int64_t done = 0;
        for (const SliceSource source : kAllSliceSources) {
            m_job.say(sliceSourceName(source), done++, static_cast<std::int64_t>(std::size(kAllSliceSources)));
            NABLA_CHECK(readSource(source));
        }
        for (auto& [device, intervals] : m_deviceKernels) {
            DeviceTimes times{device, static_cast<std::int64_t>(intervals.size()), 0, 0};
            for (const Interval& interval : intervals)
                times.sumNs += interval.length();
            times.busyNs = busyNs(intervals);
            m_summary.devices.push_back(times);
        }
        NABLA_CHECK(readRuns());
        return std::move(m_summary);
    }

private:
    struct Track {
        std::vector<Interval> intervals;
        std::vector<std::string_view> names; // parallel; of those with usable times
    };

    void describe() {
        m_summary.path = m_recording.path().string();
        m_summary.kind = m_recording.kind() == RecordingKind::Own ? "Nablascope recording"
            : m_recording.kind() == RecordingKind::Nsight         ? "Nsight Systems export"
                                                                  : "empty";
        m_summary.product = m_recording.product();
        m_summary.notices = m_recording.notices();
        m_summary.utcEpochNs = m_recording.utcEpochNs();
    }

    Result<void> readLaunches() {
        if (!m_recording.has(SliceSource::Kernel))
            return {};
        return m_recording.slices(
            SliceSource::RuntimeCall,
            [this](const Slice& call) {
                if (call.correlationId != 0)
                    m_launches.try_emplace({call.process, call.correlationId}, call.start.value_or(0));
                return true;
            },
            m_job);
    }

    Result<void> readSource(SliceSource source) {
        std::map<std::int64_t, Track> tracks;
        std::unordered_map<std::string_view, NameCollector> names;
        NABLA_CHECK(m_recording.slices(
            source,
            [&](const Slice& slice) {
                ++m_summary.slices;
                const TimeFault fault = timeFault(slice);
                if (source == SliceSource::Kernel)
                    judgeKernel(slice, fault);
                if (fault != TimeFault::None) {
                    ++names[slice.name].untimed;
                    return true;
                }
                const Interval interval{*slice.start, *slice.end};
                Track& track = tracks[slice.track];
                track.intervals.push_back(interval);
                track.names.push_back(slice.name);
                widen(interval);
                return true;
            },
            m_job));
        for (auto& [id, track] : tracks)
            closeTrack(source, id, track, names);
        closeNames(source, names);
        return m_job.check();
    }

    void judgeKernel(const Slice& kernel, TimeFault fault) {
        ++m_summary.kernels;
        if (fault == TimeFault::NoTime)
            return flag(m_summary.noTime, kernel.name, m_options.flagged);
        if (fault == TimeFault::Negative)
            return flag(m_summary.negativeTime, kernel.name, m_options.flagged);
        ++m_summary.kernelsTimed;
        m_summary.gpuSumNs += *kernel.end - *kernel.start;
        m_deviceKernels[deviceOf(kernel.track)].push_back({*kernel.start, *kernel.end});
        const auto launch = m_launches.find({kernel.process, kernel.correlationId});
        if (launch == m_launches.end() || kernel.correlationId == 0)
            return flag(m_summary.noLaunch, kernel.name, m_options.flagged);
        ++m_summary.kernelsLaunched;
        if (*kernel.start < launch->second)
            flag(m_summary.beforeLaunch, kernel.name, m_options.flagged);
    }

    void widen(Interval interval) {
        auto& range = m_summary.range;
        range = range ? Interval{std::min(range->start, interval.start), std::max(range->end, interval.end)} : interval;
    }

    void closeTrack(
        SliceSource source, std::int64_t id, Track& track, std::unordered_map<std::string_view, NameCollector>& names) {
        TrackTimes times{source, id, trackName(m_recording, source, id, m_threads),
            static_cast<std::int64_t>(track.intervals.size()), 0, 0};
        // Slices of a stream overlap without being each other's parents: their self time is their time.
        std::vector<std::int64_t> self;
        if (!isGpu(source))
            self = selfTimesNs(track.intervals);
        for (std::size_t i = 0; i < track.intervals.size(); ++i) {
            const std::int64_t duration = track.intervals[i].length();
            NameCollector& name = names[track.names[i]];
            name.durations.push_back(duration);
            name.selfNs += self.empty() ? duration : self[i];
            times.sumNs += duration;
            keepLongest({source, std::string(), times.name, track.intervals[i].start, duration}, track.names[i]);
        }
        times.busyNs = busyNs(track.intervals);
        m_summary.tracks.push_back(std::move(times));
    }

    void keepLongest(LongSlice slice, std::string_view name) {
        auto& longest = m_summary.longest;
        if (m_options.longest == 0
            || (longest.size() == m_options.longest && slice.durationNs <= longest.back().durationNs))
            return;
        slice.name = name;
        const auto place = std::upper_bound(longest.begin(), longest.end(), slice,
            [](const LongSlice& a, const LongSlice& b) { return a.durationNs > b.durationNs; });
        longest.insert(place, std::move(slice));
        if (longest.size() > m_options.longest)
            longest.pop_back();
    }

    void closeNames(SliceSource source, std::unordered_map<std::string_view, NameCollector>& names) {
        const std::size_t first = m_summary.names.size();
        for (auto& [name, collected] : names) {
            NamedTimes times;
            times.source = source;
            times.name = name;
            times.untimed = collected.untimed;
            times.count = static_cast<std::int64_t>(collected.durations.size());
            times.selfNs = collected.selfNs;
            for (const std::int64_t duration : collected.durations) {
                times.maxNs = std::max(times.maxNs, duration);
                times.sumNs += duration;
            }
            if (!collected.durations.empty())
                times.minNs = *std::min_element(collected.durations.begin(), collected.durations.end());
            times.medianNs = medianNs(collected.durations);
            m_summary.names.push_back(std::move(times));
        }
        std::sort(m_summary.names.begin() + static_cast<std::ptrdiff_t>(first), m_summary.names.end(),
            [](const NamedTimes& a, const NamedTimes& b) {
                return a.sumNs != b.sumNs ? a.sumNs > b.sumNs : a.name < b.name;
            });
    }

    Result<void> readRuns() {
        NABLA_TRY(const auto runs, m_recording.runs());
        for (const RunRow& run : runs) {
            NABLA_TRY(const auto steps, m_recording.steps(run.id));
            RunTimes times{run, static_cast<std::int64_t>(steps.size()), 0, 0, 0};
            std::vector<std::int64_t> durations;
            for (const StepRow& step : steps)
                durations.push_back(step.end - step.start);
            if (!durations.empty()) {
                times.minNs = *std::min_element(durations.begin(), durations.end());
                times.maxNs = *std::max_element(durations.begin(), durations.end());
                times.medianNs = medianNs(durations);
            }
            m_summary.runs.push_back(std::move(times));
        }
        return {};
    }

    const Recording& m_recording;
    const TraceOptions& m_options;
    const engine::JobControl& m_job;
    TraceSummary m_summary;
    std::vector<ThreadRow> m_threads;
    std::unordered_map<LaunchKey, std::int64_t, LaunchHash> m_launches;
    std::map<std::int64_t, std::vector<Interval>> m_deviceKernels;
};

} // namespace

std::string trackName(const Recording&, SliceSource source, std::int64_t track, const std::vector<ThreadRow>& threads) {
    if (isGpu(source))
        return fmt::format("GPU {} stream {}", deviceOf(track), streamOf(track));
    if (source == SliceSource::Step)
        return fmt::format("run {}", track);
    const auto thread
        = std::find_if(threads.begin(), threads.end(), [&](const ThreadRow& row) { return row.globalTid == track; });
    if (thread == threads.end() || thread->name.empty())
        return fmt::format("thread {}", threadOf(track));
    return fmt::format("thread {} ({})", threadOf(track), thread->name);
}

Result<TraceSummary> summarize(const Recording& recording, const TraceOptions& options, const engine::JobControl& job) {
    return Summarizer(recording, options, job).run();
}

Result<TraceSummary> traceSummary(
    const std::filesystem::path& path, const TraceOptions& options, const engine::JobControl& job) {
    NABLA_TRY(const Recording recording, Recording::open(path, job));
    return summarize(recording, options, job).in(path.string());
}

Result<std::vector<NodeTimes>> nodeTimes(
    const Recording& recording, std::optional<std::int64_t> runId, const engine::JobControl& job) {
    std::unordered_set<std::int64_t> steps;
    if (runId) {
        NABLA_TRY(const auto rows, recording.steps(*runId));
        for (const StepRow& row : rows)
            steps.insert(row.id);
    }
    struct Collected {
        std::string_view name;
        std::vector<std::int64_t> durations;
    };
    std::map<std::pair<std::int64_t, RowPhase>, Collected> nodes;
    NABLA_CHECK(recording.slices(
        SliceSource::OpEvent,
        [&](const Slice& slice) {
            if ((runId && !steps.contains(slice.stepId)) || timeFault(slice) != TimeFault::None)
                return true;
            Collected& node = nodes[{slice.nodeId, slice.phase}];
            node.name = slice.name;
            node.durations.push_back(*slice.end - *slice.start);
            return true;
        },
        job));
    std::vector<NodeTimes> result;
    for (auto& [key, node] : nodes) {
        NodeTimes times{key.first, key.second, std::string(node.name), static_cast<std::int64_t>(node.durations.size()),
            0, 0, 0, 0};
        for (const std::int64_t duration : node.durations)
            times.sumNs += duration;
        times.minNs = *std::min_element(node.durations.begin(), node.durations.end());
        times.maxNs = *std::max_element(node.durations.begin(), node.durations.end());
        times.medianNs = medianNs(node.durations);
        result.push_back(std::move(times));
    }
    std::stable_sort(
        result.begin(), result.end(), [](const NodeTimes& a, const NodeTimes& b) { return a.sumNs > b.sumNs; });
    return result;
}

} // namespace nabla::profiler
