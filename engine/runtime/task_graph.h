// TaskGraph: which steps of a plan may run at the same time, memory that they share in turns included.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.h"

namespace nabla::engine {

struct TaskGraph {
    std::vector<std::vector<std::uint32_t>> successors; ///< per step
    std::vector<std::uint32_t> waitsFor; ///< per step: how many steps must have ended
    std::vector<std::uint32_t> reads; ///< per slot: how many steps read it
};

/// For plans that are ordered and placed for several threads. A step waits for those that make its inputs, and before
/// it writes to a place for every step that used what lay there before.
TaskGraph buildTaskGraph(const Plan& plan);

} // namespace nabla::engine
