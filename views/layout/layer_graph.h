// The layered form of one connected scope while it is being laid out: ranks, dummies of long edges, orders, positions.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "views/layout/scope_layout.h"

namespace nabla::views {

/// A piece of an edge between vertices of neighbouring ranks; its offsets say what should stand under what.
struct Segment {
    int upper = 0;
    int lower = 0;
    float upperOffset = 0;
    float lowerOffset = 0;
    /// How strongly the piece asks for being straight, seen from its lower and from its upper end.
    float weightFromBelow = 1;
    float weightFromAbove = 1;
};

/// What became of one edge of the problem. `first` and `count` are its dummies, from the upper to the lower rank.
struct LayeredEdge {
    int upper = 0;
    int lower = 0;
    float upperOffset = 0;
    float lowerOffset = 0;
    int firstDummy = 0;
    int dummyCount = 0;
    bool reversed = false; ///< upper is the edge's `to`: it closes a cycle
    bool bundled = false; ///< too long for dummies: runs in a lane beside the ranks
    bool selfLoop = false;
};

struct LayerGraph {
    const ScopeProblem* problem = nullptr;
    int itemCount = 0;
    int rankCount = 0;
    std::vector<int> rank; ///< by vertex; items first, dummies after them
    std::vector<float> width; ///< by vertex
    std::vector<float> x; ///< by vertex: centre
    std::vector<int> position; ///< by vertex: place in its rank
    std::vector<int> order; ///< vertices, rank after rank
    std::vector<int> rankStart; ///< rankCount + 1 entries into `order`
    std::vector<LayeredEdge> edges;
    std::vector<Segment> segments;
    std::vector<int> aboveStart, above; ///< segments that end in a vertex, as offsets and indices
    std::vector<int> belowStart, below; ///< segments that start in a vertex
    std::vector<float> rowTop, rowHeight;

    int vertexCount() const { return static_cast<int>(rank.size()); }
    bool isDummy(int vertex) const { return vertex >= itemCount; }
    std::span<int> row(int r) {
        return std::span(order).subspan(static_cast<std::size_t>(rankStart[static_cast<std::size_t>(r)]),
            static_cast<std::size_t>(
                rankStart[static_cast<std::size_t>(r) + 1] - rankStart[static_cast<std::size_t>(r)]));
    }
    std::span<const int> segmentsAbove(int vertex) const { return slice(aboveStart, above, vertex); }
    std::span<const int> segmentsBelow(int vertex) const { return slice(belowStart, below, vertex); }
    /// Least distance of the centres of two neighbours in a rank.
    float separation(int left, int right) const;

private:
    static std::span<const int> slice(const std::vector<int>& start, const std::vector<int>& all, int vertex) {
        const auto v = static_cast<std::size_t>(vertex);
        return std::span(all).subspan(
            static_cast<std::size_t>(start[v]), static_cast<std::size_t>(start[v + 1] - start[v]));
    }
};

/// Breaks cycles, ranks the items and puts dummies on long edges.
LayerGraph buildLayers(const ScopeProblem& problem);
/// Orders each rank so that few edges cross.
void orderLayers(LayerGraph& graph, const std::stop_token& stop);
/// Sets x of every vertex, and the rows' y.
void placeLayers(LayerGraph& graph, const std::stop_token& stop);
/// Curves around the boxes, and the scope's size.
ScopeLayout routeLayers(LayerGraph& graph);

} // namespace nabla::views
