// Greedy placement: buffers in a given order, each into the lowest gap that is free during its whole live range.
#include "engine/plan/arena.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace nabla::engine {

namespace {

std::vector<std::int64_t> liveBytes(std::span<const ArenaBuffer> buffers, std::uint32_t steps) {
    std::vector<std::int64_t> change(steps + 1, 0);
    for (const ArenaBuffer& buffer : buffers) {
        change[buffer.firstStep] += buffer.bytes;
        change[buffer.lastStep + 1] -= buffer.bytes;
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    change.pop_back();
    return change;
}

/// Largest live bytes within each buffer's range, by a sparse table of range maxima.
std::vector<std::int64_t> breadths(std::span<const ArenaBuffer> buffers, const std::vector<std::int64_t>& live) {
    std::vector<std::vector<std::int64_t>> table{live};
    for (std::size_t width = 2; width <= live.size(); width *= 2) {
        const auto& half = table.back();
        std::vector<std::int64_t> row(live.size() - width + 1);
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = std::max(half[i], half[i + width / 2]);
        table.push_back(std::move(row));
    }
    std::vector<std::int64_t> out;
    out.reserve(buffers.size());
    for (const ArenaBuffer& buffer : buffers) {
        const std::size_t length = buffer.lastStep - buffer.firstStep + 1;
        const auto level = static_cast<std::size_t>(std::bit_width(length)) - 1;
        const auto& row = table[level];
        out.push_back(std::max(row[buffer.firstStep], row[buffer.lastStep + 1 - (std::size_t{1} << level)]));
    }
    return out;
}

/// Buffers already placed, sorted by offset, in flat arrays: the scan is the whole cost.
class FirstFit {
public:
    explicit FirstFit(std::size_t count) { m_placed.reserve(count); }

    std::int64_t place(const ArenaBuffer& buffer) {
        std::int64_t offset = 0;
        for (const Placed& other : m_placed) {
            if (other.lastStep < buffer.firstStep || buffer.lastStep < other.firstStep)
                continue;
            if (other.offset >= offset + buffer.bytes)
                break; // sorted by offset: everything after lies behind the gap too
            offset = std::max(offset, other.end);
        }
        const auto at = std::upper_bound(m_placed.begin(), m_placed.end(), offset,
            [](std::int64_t value, const Placed& other) { return value < other.offset; });
        m_placed.insert(at, {offset, offset + buffer.bytes, buffer.firstStep, buffer.lastStep});
        m_end = std::max(m_end, offset + buffer.bytes);
        return offset;
    }
    std::int64_t end() const { return m_end; }

private:
    struct Placed {
        std::int64_t offset, end;
        std::uint32_t firstStep, lastStep;
    };
    std::vector<Placed> m_placed;
    std::int64_t m_end = 0;
};

using Order = std::vector<std::uint32_t>;

template <typename Key> Order ordered(std::size_t count, Key key) {
    Order order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
    return order;
}

/// Free list in time order: linear in practice, and exact for chains, which the quadratic orders cannot afford when
/// they are very long.
void placeInTimeOrder(std::span<const ArenaBuffer> buffers, std::uint32_t steps, ArenaPlacement& out) {
    std::vector<std::vector<std::uint32_t>> starting(steps), ending(steps);
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        starting[buffers[i].firstStep].push_back(i);
        ending[buffers[i].lastStep].push_back(i);
    }
    out.offsets.assign(buffers.size(), 0);
    out.bytes = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> used; // [offset, end) of what is alive, sorted
    for (std::uint32_t step = 0; step < steps; ++step) {
        for (const std::uint32_t i : starting[step]) {
            std::int64_t offset = 0;
            auto at = used.begin();
            while (at != used.end() && at->first < offset + buffers[i].bytes)
                offset = std::max(offset, (at++)->second);
            out.offsets[i] = offset;
            out.bytes = std::max(out.bytes, offset + buffers[i].bytes);
            used.insert(at, {offset, offset + buffers[i].bytes});
        }
        for (const std::uint32_t i : ending[step]) {
            const std::pair<std::int64_t, std::int64_t> block{out.offsets[i], out.offsets[i] + buffers[i].bytes};
            used.erase(std::lower_bound(used.begin(), used.end(), block));
        }
    }
    out.method = "time";
}

constexpr std::size_t kQuadraticLimit = 16'384; // 0.1 s an order

} // namespace

ArenaPlacement placeBuffers(std::span<const ArenaBuffer> buffers, std::uint32_t steps) {
    ArenaPlacement best;
    best.method = "empty";
    if (buffers.empty())
        return best;
    const std::vector<std::int64_t> live = liveBytes(buffers, steps);
    const auto peak = std::max_element(live.begin(), live.end());
    placeInTimeOrder(buffers, steps, best);
    best.lowerBound = *peak;
    best.peakStep = static_cast<std::uint32_t>(peak - live.begin());
    if (best.bytes == best.lowerBound || buffers.size() > kQuadraticLimit)
        return best;

    const std::vector<std::int64_t> breadth = breadths(buffers, live);
    const auto size = [&](std::uint32_t i) { return buffers[i].bytes; };
    const auto length
        = [&](std::uint32_t i) { return static_cast<std::int64_t>(buffers[i].lastStep) - buffers[i].firstStep + 1; };
    const std::array<std::pair<std::string_view, Order>, 4> orders{{
        {"breadth", ordered(buffers.size(), [&](std::uint32_t i) { return std::pair(breadth[i], size(i)); })},
        {"size", ordered(buffers.size(), [&](std::uint32_t i) { return std::pair(size(i), length(i)); })},
        {"size x lifetime",
            ordered(buffers.size(),
                [&](std::uint32_t i) { return static_cast<double>(size(i)) * static_cast<double>(length(i)); })},
        {"lifetime", ordered(buffers.size(), [&](std::uint32_t i) { return std::pair(length(i), size(i)); })},
    }};
    for (const auto& [method, order] : orders) {
        FirstFit fit(buffers.size());
        std::vector<std::int64_t> offsets(buffers.size());
        for (const std::uint32_t i : order)
            offsets[i] = fit.place(buffers[i]);
        if (fit.end() < best.bytes) {
            best.bytes = fit.end();
            best.offsets = std::move(offsets);
            best.method = method;
        }
        if (best.bytes == best.lowerBound)
            break;
    }
    return best;
}

} // namespace nabla::engine
