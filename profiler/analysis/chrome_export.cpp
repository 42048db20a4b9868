// Streams events out one by one: a recording of gigabytes never lies in memory as text.
#include "profiler/analysis/chrome_export.h"

#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "engine/base/write_file.h"
#include "profiler/analysis/trace_summary.h"

namespace nabla::profiler {

namespace {

std::string quoted(std::string_view text) {
    return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// ns as microseconds with three decimals; a double would round times of today (1.7e18 ns).
std::string microseconds(std::int64_t ns) {
    const bool negative = ns < 0;
    const std::uint64_t size = negative ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
    return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

/// Processes of the trace: one for the CPU's threads, one for runs, one for each GPU.
std::int64_t processNumber(SliceSource source, std::int64_t track) {
    if (isGpu(source))
        return 1'000'000 + deviceOf(track);
    return source == SliceSource::Step ? 0 : processOf(track);
}
std::int64_t threadNumber(SliceSource source, std::int64_t track) {
    return isGpu(source) ? streamOf(track) : source == SliceSource::Step ? track : threadOf(track);
}
const char* category(SliceSource source) {
    switch (source) {
    case SliceSource::Step:
        return "run";
    case SliceSource::OpEvent:
        return "cpu_op";
    case SliceSource::Range:
        return "user_annotation";
    case SliceSource::RuntimeCall:
        return "cuda_runtime";
    case SliceSource::Kernel:
        return "kernel";
    case SliceSource::Memcpy:
        return "gpu_memcpy";
    case SliceSource::Memset:
        return "gpu_memset";
    case SliceSource::Synchronization:
        return "cuda_sync";
    case SliceSource::GraphTrace:
        return "cuda_graph";
    }
    return "";
}

std::string eventJson(SliceSource source, const Slice& slice) {
    std::string args;
    if (source == SliceSource::OpEvent)
        args = fmt::format(R"("node":{},"plan_step":{},"execution":{})", slice.nodeId, slice.planStep, slice.stepId);
    else if (slice.correlationId != 0)
        args = fmt::format(R"("correlation":{})", slice.correlationId);
    return fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        category(source), quoted(slice.name), processNumber(source, slice.track), threadNumber(source, slice.track),
        microseconds(*slice.start), microseconds(*slice.end - *slice.start), args);
}

std::string nameJson(const char* what, std::int64_t pid, std::int64_t tid, std::string_view name) {
    return fmt::format(
        R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, tid, quoted(name));
}

Result<std::int64_t> writeEvents(const Recording& recording, std::ofstream& out, const engine::JobControl& job) {
    NABLA_TRY(const auto threads, recording.threads());
    std::int64_t events = 0;
    std::set<std::pair<SliceSource, std::int64_t>> tracks;
    out << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":" << quoted(recording.product())
        << "},\"traceEvents\":[\n";
    const char* separator = "";
    for (const SliceSource source : kAllSliceSources) {
        NABLA_CHECK(recording.slices(
            source,
            [&](const Slice& slice) {
                if (timeFault(slice) != TimeFault::None)
                    return true;
                tracks.emplace(source, slice.track);
                out << separator << eventJson(source, slice);
                separator = ",\n";
                ++events;
                return out.good();
            },
            job));
    }
    for (const auto& [source, track] : tracks) {
        const std::int64_t pid = processNumber(source, track);
        const std::string process = isGpu(source) ? fmt::format("GPU {}", deviceOf(track))
            : source == SliceSource::Step         ? "runs"
                                                  : fmt::format("process {}", pid);
        out << separator << nameJson("process_name", pid, 0, process) << ",\n"
            << nameJson("thread_name", pid, threadNumber(source, track), trackName(recording, source, track, threads));
        separator = ",\n";
    }
    out << "\n]}\n";
    return events;
}

} // namespace

Result<std::int64_t> exportChromeTrace(
    const Recording& recording, const std::filesystem::path& target, const engine::JobControl& job) {
    NABLA_CHECK(engine::checkReplaceable(target));
    const std::filesystem::path aside = target.string() + fmt::format(".{}.part", getpid());
    std::ofstream out(aside, std::ios::binary | std::ios::trunc);
    if (!out)
        return engine::readError("{}: cannot be written (folder missing or no permission)", target.string());
    Result<std::int64_t> written = writeEvents(recording, out, job);
    out.close();
    std::error_code error;
    if (written && out.good())
        std::filesystem::rename(aside, target, error);
    if (!written || !out.good() || error) {
        std::error_code ignored;
        std::filesystem::remove(aside, ignored);
        if (written)
            return engine::readError("{}: cannot be written (disk full?)", target.string());
    }
    return written;
}

} // namespace nabla::profiler
