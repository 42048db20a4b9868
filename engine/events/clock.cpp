// Which clock to trust, and the conversion of its ticks.
#include "engine/events/clock.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace nabla::engine {

namespace {
constexpr std::uint64_t kPairDistanceNs = 1'000'000'000;
}

ClockSource trustedClockSource() {
#if defined(__x86_64__)
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    if (file >> name && name == "tsc")
        return ClockSource::Tsc;
#endif
    return ClockSource::Monotonic;
}

ClockPair sampleClockPair(ClockSource source) {
    if (source == ClockSource::Monotonic) {
        const std::uint64_t now = monotonicNs();
        return {now, now};
    }
    ClockPair best;
    std::uint64_t bestWidth = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < 32; ++i) {
        const std::uint64_t before = readTicks(source);
        const std::uint64_t ns = monotonicNs();
        const std::uint64_t after = readTicks(source);
        // A thread moved to another core in between may read a smaller value; such a bracket says nothing.
        if (after < before || after - before >= bestWidth)
            continue;
        bestWidth = after - before;
        best = {before + bestWidth / 2, ns};
    }
    return best;
}

ClockConversion::ClockConversion(ClockSource source)
    : m_source(source) {
    m_pairs.push_back(sampleClockPair(source));
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    m_utcEpochNs = static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void ClockConversion::refresh() {
    const ClockPair now = sampleClockPair(m_source);
    if (now.ticks <= m_pairs.back().ticks)
        return; // no bracket, or called twice within the clock's resolution
    const bool lastIsKept = m_pairs.size() < 2 || m_pairs.back().ns - m_pairs[m_pairs.size() - 2].ns >= kPairDistanceNs;
    if (lastIsKept)
        m_pairs.push_back(now);
    else
        m_pairs.back() = now;
}

std::int64_t ClockConversion::toNs(std::uint64_t ticks) const {
    const std::uint64_t origin = m_pairs.front().ns;
    if (m_source == ClockSource::Monotonic)
        return static_cast<std::int64_t>(ticks - origin);
    if (m_pairs.size() < 2)
        return ticks == m_pairs.front().ticks ? 0 : static_cast<std::int64_t>(ticks - m_pairs.front().ticks);
    // The segment that holds `ticks`; the first and the last one reach outwards.
    auto right = std::upper_bound(m_pairs.begin() + 1, m_pairs.end() - 1, ticks,
        [](std::uint64_t t, const ClockPair& pair) { return t < pair.ticks; });
    const ClockPair& a = *(right - 1);
    const ClockPair& b = *right;
    const auto offset = static_cast<double>(static_cast<std::int64_t>(ticks - a.ticks));
    const double slope = static_cast<double>(b.ns - a.ns) / static_cast<double>(b.ticks - a.ticks);
    return static_cast<std::int64_t>(a.ns - origin) + static_cast<std::int64_t>(offset * slope);
}

double ClockConversion::ticksPerSecond() const {
    const ClockPair& a = m_pairs.front();
    const ClockPair& b = m_pairs.back();
    return b.ns == a.ns ? 0.0 : static_cast<double>(b.ticks - a.ticks) * 1e9 / static_cast<double>(b.ns - a.ns);
}

} // namespace nabla::engine
