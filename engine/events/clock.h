// The clock of a recording: time stamp counter where the kernel trusts it, and how its ticks become nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>
#include <span>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace nabla::engine {

enum class ClockSource : std::uint8_t {
    Tsc, ///< rdtsc; only where the kernel's own clock source is `tsc`
    Monotonic, ///< CLOCK_MONOTONIC_RAW in nanoseconds
};

/// Tsc on x86-64 when /sys/devices/system/clocksource/clocksource0/current_clocksource says `tsc`, else Monotonic.
/// The "invariant TSC" bit alone promises a constant rate, not that all cores agree, so it is not asked.
ClockSource trustedClockSource();

/// CLOCK_MONOTONIC_RAW in nanoseconds.
inline std::uint64_t monotonicNs() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Now, in ticks of `source`.
inline std::uint64_t readTicks(ClockSource source) {
#if defined(__x86_64__)
    if (source == ClockSource::Tsc) [[likely]]
        return __rdtsc();
#endif
    return monotonicNs();
}

/// The same instant in ticks and in nanoseconds of CLOCK_MONOTONIC_RAW.
struct ClockPair {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
};

/// Reads both clocks 32 times and keeps the narrowest bracket: here the error stays below 15 ns.
ClockPair sampleClockPair(ClockSource source);

/// Turns ticks into nanoseconds since the first pair, piecewise linear between pairs taken while recording.
/// One thread uses it (the one that drains). Ticks before the first pair come out negative.
class ClockConversion {
public:
    explicit ClockConversion(ClockSource source);

    /// Takes a pair now. Call before converting what was recorded until now: between pairs the conversion interpolates,
    /// behind the last one it extrapolates. Pairs closer than a second to the last kept one replace each other.
    void refresh();

    /// Nanoseconds since the first pair.
    std::int64_t toNs(std::uint64_t ticks) const;

    ClockSource source() const { return m_source; }
    /// CLOCK_REALTIME at the first pair, ns since 1970.
    std::int64_t utcEpochNs() const { return m_utcEpochNs; }
    /// Ticks a second, from the first to the last pair; 0 before the second one.
    double ticksPerSecond() const;
    std::span<const ClockPair> pairs() const { return m_pairs; }

private:
    ClockSource m_source;
    std::int64_t m_utcEpochNs = 0;
    std::vector<ClockPair> m_pairs; // ascending; all but the last are a second or more apart
};

} // namespace nabla::engine
