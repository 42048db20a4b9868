// Arena: places for buffers with known live ranges in one block of memory, as small as the largest set alive at once
// where that is possible.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nabla::engine {

inline constexpr std::int64_t kArenaAlignment = 64; ///< a cache line and the widest vector register

/// `bytes` is a multiple of kArenaAlignment and above 0; the range holds both ends.
struct ArenaBuffer {
    std::int64_t bytes = 0;
    std::uint32_t firstStep = 0, lastStep = 0;
};

struct ArenaPlacement {
    std::vector<std::int64_t> offsets; ///< one per buffer
    std::int64_t bytes = 0; ///< end of the highest buffer
    std::int64_t lowerBound = 0; ///< largest sum of bytes alive at one step
    std::uint32_t peakStep = 0; ///< the first step that has it
    std::string_view method; ///< the order that won
};

/// First fit in several orders (breadth, size, size x lifetime, lifetime, time); the first that meets the lower bound
/// ends the search, else the smallest wins. Measured on training graphs: breadth meets the bound (docs/adr/0003). n
/// buffers: O(n^2) compares, 3 ms an order at 2,500.
ArenaPlacement placeBuffers(std::span<const ArenaBuffer> buffers, std::uint32_t steps);

} // namespace nabla::engine
