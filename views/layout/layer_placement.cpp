// Horizontal positions by isotonic regression (pool adjacent violators, Barlow et al. 1972), then long edges are pulled
// straight within the room that the boxes leave; rows get their height last.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "views/layout/layer_graph.h"

namespace nabla::views {
namespace {

class Placer {
public:
    explicit Placer(LayerGraph& graph)
        : g(graph) { }

    /// Every rank packed around x = 0.
    void pack() {
        for (int r = 0; r < g.rankCount; ++r) {
            const auto row = g.row(r);
            float at = 0;
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (i > 0)
                    at += g.separation(row[i - 1], row[i]);
                g.x[row[i]] = at;
            }
            for (const int v : row)
                g.x[v] -= at / 2;
        }
    }

    /// Each vertex wants to stand under (or above) its neighbours; within a rank the wishes are met with least squared
    /// error, order and distances kept.
    void sweep(bool down) {
        for (int i = 0; i < g.rankCount; ++i)
            settle(down ? i : g.rankCount - 1 - i, down);
    }

private:
    struct Block {
        double weight, sum;
        int count;
        double mean() const { return sum / weight; }
    };
    LayerGraph& g;
    std::vector<Block> m_blocks;
    std::vector<double> m_shift;

    std::pair<double, double> wish(int v, bool down) const {
        constexpr double kLoose = 0.05; // nothing to align with: stays if nobody pushes
        double weight = 0, sum = 0;
        for (const int i : down ? g.segmentsAbove(v) : g.segmentsBelow(v)) {
            const Segment& s = g.segments[i];
            const double w = down ? s.weightFromBelow : s.weightFromAbove;
            const double want
                = down ? g.x[s.upper] + s.upperOffset - s.lowerOffset : g.x[s.lower] + s.lowerOffset - s.upperOffset;
            weight += w;
            sum += w * want;
        }
        return weight > 0 ? std::pair(sum / weight, weight) : std::pair(static_cast<double>(g.x[v]), kLoose);
    }

    void settle(int r, bool down) {
        const auto row = g.row(r);
        m_blocks.clear();
        m_shift.clear();
        double shift = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0)
                shift += g.separation(row[i - 1], row[i]);
            m_shift.push_back(shift);
            const auto [want, weight] = wish(row[i], down);
            m_blocks.push_back({weight, weight * (want - shift), 1});
            while (m_blocks.size() > 1 && m_blocks[m_blocks.size() - 2].mean() > m_blocks.back().mean()) {
                const Block last = m_blocks.back();
                m_blocks.pop_back();
                m_blocks.back().weight += last.weight;
                m_blocks.back().sum += last.sum;
                m_blocks.back().count += last.count;
            }
        }
        std::size_t i = 0;
        for (const Block& b : m_blocks) {
            const double at = b.mean();
            for (int k = 0; k < b.count; ++k, ++i)
                g.x[row[i]] = static_cast<float>(at + m_shift[i]);
        }
    }
};

/// The room of a dummy between its neighbours in the rank.
std::pair<float, float> corridor(LayerGraph& g, int dummy) {
    constexpr float kOpen = std::numeric_limits<float>::infinity();
    const auto row = g.row(g.rank[dummy]);
    const auto at = static_cast<std::size_t>(g.position[dummy]);
    const float left = at == 0 ? -kOpen : g.x[row[at - 1]] + g.separation(row[at - 1], dummy);
    const float right = at + 1 == row.size() ? kOpen : g.x[row[at + 1]] - g.separation(dummy, row[at + 1]);
    // Rounding may leave a hair's breadth of overlap.
    return left <= right ? std::pair(left, right) : std::pair(g.x[dummy], g.x[dummy]);
}

/// Moves the dummies of one edge onto as few verticals as their corridors allow.
void pullStraight(LayerGraph& g, const LayeredEdge& e) {
    const float start = g.x[e.upper] + e.upperOffset;
    const float end = g.x[e.lower] + e.lowerOffset;
    int runStart = 0;
    float left = -std::numeric_limits<float>::infinity();
    float right = std::numeric_limits<float>::infinity();
    float previous = start;
    const auto flush = [&](int until) {
        float want = previous;
        if (until == e.dummyCount && (previous < left || previous > right))
            want = end;
        want = std::clamp(want, left, right);
        for (int k = runStart; k < until; ++k)
            g.x[e.firstDummy + k] = want;
        previous = want;
        runStart = until;
    };
    for (int k = 0; k < e.dummyCount; ++k) {
        const auto [l, r] = corridor(g, e.firstDummy + k);
        if (std::max(left, l) > std::min(right, r)) {
            flush(k);
            left = l;
            right = r;
        } else {
            left = std::max(left, l);
            right = std::min(right, r);
        }
    }
    flush(e.dummyCount);
}

void straightenLongEdges(LayerGraph& g) {
    std::vector<int> longest;
    for (std::size_t e = 0; e < g.edges.size(); ++e) {
        if (g.edges[e].dummyCount > 0)
            longest.push_back(static_cast<int>(e));
    }
    std::stable_sort(
        longest.begin(), longest.end(), [&](int a, int b) { return g.edges[a].dummyCount > g.edges[b].dummyCount; });
    for (const int e : longest)
        pullStraight(g, g.edges[e]);
}

void placeRows(LayerGraph& g) {
    constexpr float kSlant = 0.06f; // extra gap per unit of horizontal way, so that curves stay readable
    constexpr float kMostSlant = 40;
    constexpr float kLaneRoom = 14;
    constexpr float kLabelRoom = 22; // arrow head and a bit of line above and below a label
    const LayoutSpacing& spacing = g.problem->spacing;
    const auto ranks = static_cast<std::size_t>(g.rankCount);
    g.rowHeight.assign(ranks, 0);
    g.rowTop.assign(ranks, 0);
    for (int v = 0; v < g.itemCount; ++v)
        g.rowHeight[g.rank[v]] = std::max(g.rowHeight[g.rank[v]], g.problem->items[v].height);
    std::vector<float> slant(ranks, 0), label(ranks, 0);
    for (const Segment& s : g.segments) {
        const float way = std::abs(g.x[s.upper] + s.upperOffset - g.x[s.lower] - s.lowerOffset);
        slant[g.rank[s.upper]] = std::max(slant[g.rank[s.upper]], way * kSlant);
    }
    std::vector<bool> lane(ranks, false);
    for (std::size_t i = 0; i < g.edges.size(); ++i) {
        const LayeredEdge& e = g.edges[i];
        label[g.rank[e.upper]] = std::max(label[g.rank[e.upper]], g.problem->edges[i].labelHeight);
        if (e.bundled) {
            lane[g.rank[e.upper]] = true;
            lane[g.rank[e.lower] - 1] = true;
        }
    }
    float y = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        g.rowTop[r] = y;
        float gap = spacing.rankGap + std::min(slant[r], kMostSlant) + (lane[r] ? kLaneRoom : 0);
        if (label[r] > 0)
            gap = std::max(gap, label[r] + kLabelRoom);
        y += g.rowHeight[r] + gap;
    }
}

} // namespace

void placeLayers(LayerGraph& g, const std::stop_token& stop) {
    constexpr int kRounds = 4;
    Placer placer(g);
    placer.pack();
    for (int i = 0; i < kRounds && !stop.stop_requested(); ++i) {
        placer.sweep(true);
        if (i + 1 < kRounds)
            placer.sweep(false);
    }
    straightenLongEdges(g);
    placeRows(g);
}

} // namespace nabla::views
