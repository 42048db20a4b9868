// RunEnv: what one run hands down to everything that works for it, bodies included.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/stop.h"
#include "engine/base/thread_pool.h"
#include "engine/events/execution_observer.h"
#include "engine/graph/node.h"

namespace nabla::engine {

struct RunEnv {
    const JobControl* job = nullptr; ///< never null while running
    const RunScope* scope = nullptr; ///< never null while running
    ThreadPool* pool = nullptr; ///< null: one thread
    std::uint64_t seed = 0; ///< of this run's random operators
    std::int64_t memoryLimitBytes = 0; ///< of all values alive at once
    unsigned depth = 0; ///< of bodies and function calls
};

/// Calls and bodies nested deeper than this are refused: a function of the file may call itself.
inline constexpr unsigned kMaxBodyDepth = 200;

/// A seed for something that happens inside something seeded (splitmix64 of Steele, Lea and Flood 2014).
inline std::uint64_t mixSeed(std::uint64_t seed, std::uint64_t what) {
    std::uint64_t z = seed + (what + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// Operators that draw from KernelContext::random.
bool drawsRandomNumbers(const Node& node);

} // namespace nabla::engine
