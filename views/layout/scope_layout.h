// One scope of a nested layout: items (nodes, closed boxes, border ports) and the edges among them.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "views/layout/layout_types.h"

namespace nabla::views {

/// Entry and exit ports sit on the scope's top and bottom border: first and last rank.
enum class ItemRole : std::uint8_t { Node, Entry, Exit };

struct ScopeItem {
    float width = 0;
    float height = 0;
    ItemRole role = ItemRole::Node;
    float previousX = std::numeric_limits<float>::quiet_NaN();
};

/// Offsets are from the item's centre; NaN lets the layout choose.
struct ScopeEdge {
    int from = 0;
    int to = 0;
    float fromOffset = 0;
    float toOffset = std::numeric_limits<float>::quiet_NaN();
    float labelHeight = 0;
    int toPort = -1; ///< order of arrow heads that come from one place
};

struct ScopeProblem {
    std::vector<ScopeItem> items;
    std::vector<ScopeEdge> edges;
    LayoutSpacing spacing;
};

/// In the scope's own coordinates: everything lies in [0, width] x [0, height].
struct ScopeLayout {
    std::vector<Point> centres;
    std::vector<Point> points;
    std::vector<std::uint32_t> firstPoint;
    float width = 0;
    float height = 0;
};

/// Lays out one scope, its unconnected parts side by side. Nothing when stopped.
std::optional<ScopeLayout> layoutScope(const ScopeProblem& problem, const std::stop_token& stop);

} // namespace nabla::views
