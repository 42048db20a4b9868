// What recording costs: ns a scope when off and on beside two bare clock reads, and how many events a second reach the
// file.
//
// Usage: scope_bench [seconds per rate, default 2]
// Figures are the best of many short rounds, which is what the code costs when nothing else has the core; medians
// follow.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <unistd.h>

#include "engine/events/execution_observer.h"
#include "profiler/cpu/cpu_recorder.h"

using namespace nabla;

namespace {

constexpr int kRounds = 200;
constexpr int kScopes = 10'000;

struct Cost {
    double best = 0;
    double median = 0;
};

/// ns a call of `body(n)` takes for each of its n passes, over many rounds; `between` is not timed.
template <typename Body, typename Between> Cost measure(Body body, Between between) {
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t begin = engine::monotonicNs();
        body(kScopes);
        rounds.push_back(static_cast<double>(engine::monotonicNs() - begin) / kScopes);
        between();
    }
    std::sort(rounds.begin(), rounds.end());
    return {rounds.front(), rounds[rounds.size() / 2]};
}

// Not inlined: the compiler must not know that nothing changes between two scopes.
[[gnu::noinline]] void emptyLoop(int count) {
    for (int i = 0; i < count; ++i)
        asm volatile("" ::"r"(i) : "memory");
}
[[gnu::noinline]] void scopeLoop(const engine::RunScope& run, int count) {
    for (int i = 0; i < count; ++i) {
        const engine::StepScope scope(
            run, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i), 3, engine::Phase::Forward);
        asm volatile("" ::"r"(i) : "memory");
    }
}
[[gnu::noinline]] void clockLoop(engine::ClockSource source, int count) {
    for (int i = 0; i < count; ++i) {
        const std::uint64_t a = engine::readTicks(source);
        asm volatile("" ::"r"(i) : "memory");
        const std::uint64_t b = engine::readTicks(source);
        asm volatile("" ::"r"(a), "r"(b));
    }
}

void printCosts() {
    engine::ExecutionObserver observer;
    const auto nothing = [] {};
    const Cost loop = measure(emptyLoop, nothing);
    Cost off;
    {
        const engine::RunScope run(&observer, engine::Phase::None);
        off = measure([&](int n) { scopeLoop(run, n); }, nothing);
    }
    observer.start();
    Cost on;
    {
        const engine::RunScope run(&observer, engine::Phase::None);
        on = measure([&](int n) { scopeLoop(run, n); },
            [&] { observer.drain([](const engine::ThreadRing&, std::span<const engine::EventRecord>) {}); });
    }
    const Cost clocks = measure([&](int n) { clockLoop(observer.clockSource(), n); }, nothing);
    std::printf("clock %s\n", observer.clockSource() == engine::ClockSource::Tsc ? "tsc" : "CLOCK_MONOTONIC_RAW");
    std::printf("scope off        %6.2f ns best  %6.2f median   (loop alone %.2f best; goal: 0.2 above it)\n", off.best,
        off.median, loop.best);
    std::printf("scope on         %6.2f ns best  %6.2f median   (goal: 20)\n", on.best, on.median);
    std::printf("two clock reads  %6.2f ns best  %6.2f median\n", clocks.best, clocks.median);
    std::printf("ratio on / two clock reads %.2f (goal: 1.3), dropped %llu\n", on.best / clocks.best,
        static_cast<unsigned long long>(observer.dropped()));
}

/// Paces `rate` scopes a second for `seconds` while a recorder writes them to a file.
int printRate(const std::filesystem::path& path, int rate, double seconds) {
    engine::ExecutionObserver observer;
    auto recorder = profiler::CpuRecorder::start(path, observer, {});
    if (!recorder) {
        std::fprintf(stderr, "%s\n", recorder.error().message().c_str());
        return 1;
    }
    const std::uint64_t begin = engine::monotonicNs();
    std::int64_t made = 0;
    {
        const engine::RunScope run(&observer, engine::Phase::None);
        const auto end = begin + static_cast<std::uint64_t>(seconds * 1e9);
        for (std::uint64_t now = begin; now < end; now = engine::monotonicNs()) {
            const auto due = static_cast<std::int64_t>(static_cast<double>(now - begin) * 1e-9 * rate);
            for (; made < due; ++made)
                const engine::StepScope scope(
                    run, static_cast<std::uint32_t>(made & 1023), 0, 0, engine::Phase::Forward);
            // As an executor would: most of the time goes into kernels, not into scopes.
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    const double produced = static_cast<double>(engine::monotonicNs() - begin) * 1e-9;
    const auto report = (*recorder)->stop();
    const double closed = static_cast<double>(engine::monotonicNs() - begin) * 1e-9;
    if (!report) {
        std::fprintf(stderr, "%s\n", report.error().message().c_str());
        return 1;
    }
    std::printf("%7d/s asked: %8lld made, %8lld written, %lld dropped, %.0f/s produced, file closed with indexes %.2f "
                "s later, %.1f bytes an event\n",
        rate, static_cast<long long>(made), static_cast<long long>(report->events),
        static_cast<long long>(report->dropped), static_cast<double>(made) / produced, closed - produced,
        static_cast<double>(std::filesystem::file_size(path))
            / static_cast<double>(std::max<std::int64_t>(report->events, 1)));
    return report->events + report->dropped == made ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
    printCosts();
    const auto folder = std::filesystem::temp_directory_path() / ("nabla_scope_bench." + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    int failed = 0;
    for (const int rate : {100'000, 300'000, 600'000, 900'000})
        failed += printRate(folder / (std::to_string(rate) + ".nabla"), rate, seconds);
    std::filesystem::remove_all(folder);
    return failed == 0 ? 0 : 1;
}
