// Graphs with what they cost, worked out by hand.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nabla::engine::test {

inline constexpr std::int64_t kUnknown = -1;

/// Of a whole graph: the arithmetic of every number stands in its row. kUnknown as FLOPs: some node is not known before running.
struct CostCase {
    std::string_view name, text;
    std::int64_t flops = 0, read = 0, written = 0;
};
std::span<const CostCase> costCases();         ///< of the standard's operators
std::span<const CostCase> compoundCostCases(); ///< control flow, functions, operators that expand, other domains

} // namespace nabla::engine::test
