// A summary as JSON and as text.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profiler/analysis/trace_summary.h"

namespace nabla::profiler {

namespace {

using nlohmann::json;

const char* stateName(RunState state) {
    switch (state) {
    case RunState::Recording:
        return "recording";
    case RunState::Complete:
        return "complete";
    case RunState::Recovered:
        return "recovered";
    }
    return "unknown";
}

json flaggedJson(const Flagged& flagged) {
    return {{"count", flagged.count}, {"names", flagged.names}};
}

json kernelsJson(const TraceSummary& s) {
    json devices = json::array();
    for (const DeviceTimes& device : s.devices)
        devices.push_back({{"device", device.device}, {"kernels", device.kernels}, {"sum_ns", device.sumNs},
            {"busy_ns", device.busyNs}});
    return {{"in_file", s.kernels}, {"timed", s.kernelsTimed}, {"sum_ns", s.gpuSumNs}, {"launched", s.kernelsLaunched},
        {"devices", devices},
        {"flagged",
            {{"no_time", flaggedJson(s.noTime)}, {"negative_time", flaggedJson(s.negativeTime)},
                {"before_launch", flaggedJson(s.beforeLaunch)}, {"no_launch", flaggedJson(s.noLaunch)}}}};
}

/// 1,234 ns, 12.3 us, 4.56 ms, 7.89 s: three digits and the unit.
std::string duration(std::int64_t ns) {
    const auto value = static_cast<double>(ns);
    if (ns < 10'000)
        return fmt::format("{} ns", ns);
    if (ns < 10'000'000)
        return fmt::format("{:.1f} us", value / 1e3);
    if (ns < 10'000'000'000)
        return fmt::format("{:.2f} ms", value / 1e6);
    return fmt::format("{:.3f} s", value / 1e9);
}

/// Names come from files: no control character reaches the terminal, and a kernel template of 900 KB stays on its line.
std::string shown(std::string_view name) {
    constexpr std::size_t kLongest = 60;
    std::string text;
    for (const char c : name) {
        if (text.size() >= kLongest)
            return text + "...";
        text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return text;
}

void appendFlag(std::string& text, const char* what, const Flagged& flagged) {
    if (flagged.count == 0)
        return;
    text += fmt::format("  {} {}:", flagged.count, what);
    for (const std::string& name : flagged.names)
        text += " " + shown(name);
    text += '\n';
}

void appendRuns(std::string& text, const TraceSummary& s) {
    for (const RunTimes& run : s.runs) {
        text += fmt::format("run {} {}: {}, {} executions, median {}, min {}, max {}\n", run.run.id,
            shown(run.run.label), stateName(run.run.state), run.steps, duration(run.medianNs), duration(run.minNs),
            duration(run.maxNs));
    }
}

void appendKernels(std::string& text, const TraceSummary& s) {
    if (s.kernels == 0)
        return;
    text += fmt::format("kernels: {}, timed {}, sum {} ns\n", s.kernels, s.kernelsTimed, s.gpuSumNs);
    for (const DeviceTimes& device : s.devices)
        text += fmt::format("  GPU {}: {} kernels, sum {}, busy {}\n", device.device, device.kernels,
            duration(device.sumNs), duration(device.busyNs));
    appendFlag(text, "without a time", s.noTime);
    appendFlag(text, "ending before they start", s.negativeTime);
    appendFlag(text, "starting before their launch", s.beforeLaunch);
    appendFlag(text, "without a launch in the file", s.noLaunch);
}

void appendNames(std::string& text, const TraceSummary& s) {
    constexpr int kPerSource = 10;
    for (const SliceSource source : kAllSliceSources) {
        int listed = 0;
        for (const NamedTimes& name : s.names) {
            if (name.source != source || listed++ >= kPerSource)
                continue;
            if (listed == 1)
                text += fmt::format("\n{:<63} {:>8} {:>11} {:>11} {:>11} {:>11}\n", sliceSourceName(source), "count",
                    "sum", "self", "median", "max");
            // A name of which nothing has a usable time has no sum either; 0 ns would be a claim.
            const auto figure = [&](std::int64_t ns) { return name.count > 0 ? duration(ns) : std::string("no time"); };
            text += fmt::format("{:<63} {:>8} {:>11} {:>11} {:>11} {:>11}\n", shown(name.name),
                name.count + name.untimed, figure(name.sumNs), figure(name.selfNs), figure(name.medianNs),
                figure(name.maxNs));
        }
        if (listed > kPerSource)
            text += fmt::format("  and {} more\n", listed - kPerSource);
    }
}

} // namespace

std::string summaryJson(const TraceSummary& s) {
    json out{{"schema", 1}, {"path", s.path}, {"kind", s.kind}, {"product", s.product}, {"notices", s.notices},
        {"slices", s.slices}, {"kernels", kernelsJson(s)}, {"runs", json::array()}, {"tracks", json::array()},
        {"names", json::array()}, {"longest", json::array()}};
    out["utc_epoch_ns"] = s.utcEpochNs ? json(*s.utcEpochNs) : json();
    out["range_ns"] = s.range ? json{s.range->start, s.range->end} : json();
    for (const RunTimes& run : s.runs)
        out["runs"].push_back(
            {{"id", run.run.id}, {"label", run.run.label}, {"device", run.run.device}, {"mode", run.run.mode},
                {"state", stateName(run.run.state)}, {"executions", run.steps}, {"median_ns", run.medianNs},
                {"min_ns", run.minNs}, {"max_ns", run.maxNs}, {"dropped_events", run.run.droppedEvents}});
    for (const TrackTimes& track : s.tracks)
        out["tracks"].push_back({{"source", sliceSourceName(track.source)}, {"name", track.name},
            {"count", track.count}, {"sum_ns", track.sumNs}, {"busy_ns", track.busyNs}});
    for (const NamedTimes& name : s.names)
        out["names"].push_back({{"source", sliceSourceName(name.source)}, {"name", name.name}, {"count", name.count},
            {"untimed", name.untimed}, {"sum_ns", name.sumNs}, {"self_ns", name.selfNs}, {"min_ns", name.minNs},
            {"max_ns", name.maxNs}, {"median_ns", name.medianNs}});
    for (const LongSlice& slice : s.longest)
        out["longest"].push_back({{"source", sliceSourceName(slice.source)}, {"name", slice.name},
            {"track", slice.track}, {"start_ns", slice.startNs}, {"duration_ns", slice.durationNs}});
    // Names may hold bytes that are no UTF-8 (seen in exports); JSON cannot, so they become U+FFFD.
    return out.dump(2, ' ', false, json::error_handler_t::replace);
}

std::string summaryText(const TraceSummary& s) {
    std::string text = fmt::format("{}: {}, by {}\n", s.path, s.kind, shown(s.product));
    for (const std::string& notice : s.notices)
        text += fmt::format("note: {}\n", notice);
    text += fmt::format("{} slices", s.slices);
    if (s.range)
        text += fmt::format(" from {} to {} ns ({})", s.range->start, s.range->end, duration(s.range->length()));
    text += '\n';
    appendRuns(text, s);
    appendKernels(text, s);
    for (const TrackTimes& track : s.tracks)
        text += fmt::format("track {} ({}): {} slices, sum {}, busy {}\n", shown(track.name),
            sliceSourceName(track.source), track.count, duration(track.sumNs), duration(track.busyNs));
    appendNames(text, s);
    if (!s.longest.empty())
        text += "\nlongest\n";
    for (const LongSlice& slice : s.longest)
        text += fmt::format("{:<63} {:>11} at {} ns on {}\n", shown(slice.name), duration(slice.durationNs),
            slice.startNs, shown(slice.track));
    return text;
}

} // namespace nabla::profiler
