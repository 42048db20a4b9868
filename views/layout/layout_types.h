// Plain values that go into a graph layout and come out of it; no Qt, no engine graph.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace nabla::views {

struct Point {
    float x = 0;
    float y = 0;
    bool operator==(const Point&) const = default;
};

/// An upright rectangle: x and y are its top left corner, y grows downwards.
struct Box {
    float x = 0;
    float y = 0;
    float width = 0;
    float height = 0;
    bool operator==(const Box&) const = default;

    float right() const { return x + width; }
    float bottom() const { return y + height; }
    Point centre() const { return {x + width / 2, y + height / 2}; }
    bool contains(Point p) const { return p.x >= x && p.x <= right() && p.y >= y && p.y <= bottom(); }
    bool overlaps(const Box& o) const { return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom(); }
};

struct LayoutNode {
    float width = 0;
    float height = 0;
    int group = -1; ///< index into LayoutRequest::groups, or -1 for the top level
    /// Where the node's centre was in the previous layout; keeps the order of siblings stable. NaN: new.
    float previousX = std::numeric_limits<float>::quiet_NaN();
};

/// The ports are hints for our own layout; Graphviz's dot spreads the ends itself.
struct LayoutEdge {
    int from = 0;
    int to = 0;
    int fromPort = -1; ///< which output of `from`; edges of different outputs start apart. -1: does not matter
    int toPort = -1; ///< which input of `to`: order of edges that arrive from one place. -1: does not matter
    float labelHeight = 0; ///< room for a label in the gap that the edge crosses first
};

struct LayoutGroup {
    int parent = -1; ///< index of the enclosing group, or -1
    float minWidth = 0; ///< room for the header's text
};

struct LayoutSpacing {
    float nodeGap = 26; ///< between neighbours of one rank
    float rankGap = 28; ///< between ranks, more where edges are slanted or labelled
    float edgeGap = 12; ///< between an edge and a node or another edge
    float groupPadding = 18; ///< inside a group box
    float groupHeader = 28; ///< height of a group's title row
    float componentGap = 48; ///< between parts of the graph that no edge joins
    bool operator==(const LayoutSpacing&) const = default;
};

/// A graph to lay out, top to bottom. Cycles and self edges are allowed.
struct LayoutRequest {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutGroup> groups;
    std::vector<LayoutEdge> edges;
    LayoutSpacing spacing;
};

/// Where an edge crosses the border of a group box.
struct LayoutPort {
    int group = 0;
    int edge = 0; ///< the first edge through this port; others of the same source may share it
    Point at;
};

struct LayoutResult {
    std::vector<Box> nodes; ///< as LayoutRequest::nodes
    std::vector<Box> groups; ///< as LayoutRequest::groups
    /// Control points of all edges: edge e owns points[firstPoint[e], firstPoint[e + 1]), a chain of cubic Bezier
    /// curves (1 + 3k points) from `from` to `to`.
    std::vector<Point> points;
    std::vector<std::uint32_t> firstPoint;
    std::vector<LayoutPort> ports;
    Box bounds;

    std::span<const Point> route(std::size_t edge) const {
        return std::span(points).subspan(firstPoint[edge], firstPoint[edge + 1] - firstPoint[edge]);
    }
};

} // namespace nabla::views
