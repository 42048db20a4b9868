// What a recording holds, in numbers: the `trace` command and the first page of a recording in the window.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/analysis/durations.h"
#include "profiler/store/recording.h"

namespace nabla::profiler {

struct TraceOptions {
    std::size_t longest = 10; ///< how many of the longest slices
    std::size_t flagged = 20; ///< names listed per fault; counts are complete
};

/// Durations of everything of one name and one source. Slices without usable times are only in `untimed`.
struct NamedTimes {
    SliceSource source = SliceSource::OpEvent;
    std::string name;
    std::int64_t count = 0; ///< with usable times
    std::int64_t untimed = 0;
    std::int64_t sumNs = 0, selfNs = 0, minNs = 0, maxNs = 0, medianNs = 0;
};

/// One thread's, stream's or run's slices of one source.
struct TrackTimes {
    SliceSource source = SliceSource::OpEvent;
    std::int64_t track = 0;
    std::string name; ///< "thread 111 (worker)", "GPU 0 stream 7", "run 1"
    std::int64_t count = 0, sumNs = 0, busyNs = 0;
};

/// Kernels of one device.
struct DeviceTimes {
    std::int64_t device = 0;
    std::int64_t kernels = 0, sumNs = 0, busyNs = 0;
};

struct LongSlice {
    SliceSource source = SliceSource::OpEvent;
    std::string name, track;
    std::int64_t startNs = 0, durationNs = 0;
};

/// Names that share a fault: a count, and the first of them.
struct Flagged {
    std::int64_t count = 0;
    std::vector<std::string> names;
};

struct RunTimes {
    RunRow run;
    std::int64_t steps = 0;
    std::int64_t medianNs = 0, minNs = 0, maxNs = 0;
};

struct TraceSummary {
    std::string path, kind, product;
    std::vector<std::string> notices;
    std::optional<std::int64_t> utcEpochNs;
    std::int64_t slices = 0; ///< rows of all sources
    std::optional<Interval> range; ///< first start to last end of what has usable times
    std::vector<RunTimes> runs;
    std::vector<TrackTimes> tracks;
    std::vector<NamedTimes> names; ///< by source, then by falling sum
    std::vector<LongSlice> longest;
    // Kernels; those without a usable time are counted and named, never summed.
    std::int64_t kernels = 0, kernelsTimed = 0, gpuSumNs = 0;
    std::int64_t kernelsLaunched = 0; ///< with a launch call of the same process and correlation id
    std::vector<DeviceTimes> devices;
    Flagged noTime, negativeTime, beforeLaunch, noLaunch;
};

/// Reads every slice once. Errors: those of Recording, Cancelled.
Result<TraceSummary> summarize(
    const Recording& recording, const TraceOptions& options = {}, const engine::JobControl& job = {});
/// Opens and summarizes. Errors: those of Recording::open() too.
Result<TraceSummary> traceSummary(
    const std::filesystem::path& path, const TraceOptions& options = {}, const engine::JobControl& job = {});

/// An object with "schema": 1; times in ns as integers.
std::string summaryJson(const TraceSummary& summary);
/// For a terminal: a paragraph of facts, tables of the heaviest names, faults, notices.
std::string summaryText(const TraceSummary& summary);

/// Executions of a node in one phase, for overlays and tables.
struct NodeTimes {
    std::int64_t nodeId = 0;
    RowPhase phase = RowPhase::None;
    std::string name;
    std::int64_t count = 0, sumNs = 0, minNs = 0, maxNs = 0, medianNs = 0;
};
/// Per node and phase over one run (nullopt: all), heaviest first.
Result<std::vector<NodeTimes>> nodeTimes(
    const Recording& recording, std::optional<std::int64_t> runId = {}, const engine::JobControl& job = {});

/// What is wrong with a recording: damaged pages, events outside of their execution, times that run backwards, drops.
/// Empty: nothing found. Each entry is a sentence.
Result<std::vector<std::string>> checkRecording(const Recording& recording, const engine::JobControl& job = {});

/// A track's name as users read it.
std::string trackName(
    const Recording& recording, SliceSource source, std::int64_t track, const std::vector<ThreadRow>& threads);

} // namespace nabla::profiler
