// From a scope to its layered form: cycles broken, ranks given, long edges cut into pieces.
#include "views/layout/layer_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nabla::views {
namespace {

// An edge over more ranks than this gets no dummies: 10,000 nodes of a training graph would make 2.5 million of them.
constexpr int kMaxSpan = 64;
// Where many long edges meet in one node they share a lane from this span on, so that a fan stays one line.
constexpr int kBundleSpan = 16;
constexpr int kBundleFan = 8;
constexpr std::int64_t kMaxDummies = 600'000;

// How strongly a piece pulls its ends straight. A skip connection, whose far end has other edges too, must not bend
// the path it skips, so it pulls with almost nothing.
constexpr float kBranchWeight = 8;
constexpr float kSkipWeight = 0.0001f;
constexpr float kDummyWeight = 0.0001f;

struct Adjacency {
    std::vector<int> start, item;
    std::span<const int> of(int v) const {
        return std::span(item).subspan(
            static_cast<std::size_t>(start[v]), static_cast<std::size_t>(start[v + 1] - start[v]));
    }
};

template <typename Key> Adjacency adjacency(int count, int edgeCount, Key key) {
    Adjacency a;
    a.start.assign(static_cast<std::size_t>(count) + 1, 0);
    a.item.resize(static_cast<std::size_t>(edgeCount));
    for (int e = 0; e < edgeCount; ++e)
        ++a.start[key(e) + 1];
    std::partial_sum(a.start.begin(), a.start.end(), a.start.begin());
    std::vector<int> next(a.start.begin(), a.start.end() - 1);
    for (int e = 0; e < edgeCount; ++e)
        a.item[next[key(e)]++] = e;
    return a;
}

/// Turns edges that close a cycle round, by a depth-first walk with an own stack: chains may be 100,000 nodes deep.
void breakCycles(LayerGraph& g) {
    const auto& edges = g.problem->edges;
    const int edgeCount = static_cast<int>(edges.size());
    const bool sorted = std::all_of(edges.begin(), edges.end(), [](const ScopeEdge& e) { return e.from < e.to; });
    if (sorted)
        return;
    const Adjacency out = adjacency(g.itemCount, edgeCount, [&](int e) { return edges[e].from; });
    std::vector<int> incoming(static_cast<std::size_t>(g.itemCount), 0);
    for (const ScopeEdge& e : edges)
        incoming[e.to] += e.from != e.to;
    enum : std::uint8_t { Unseen, Open, Done };
    std::vector<std::uint8_t> state(static_cast<std::size_t>(g.itemCount), Unseen);
    std::vector<std::pair<int, int>> stack; // vertex, next edge
    const auto walk = [&](int root) {
        if (state[root] != Unseen)
            return;
        state[root] = Open;
        stack.emplace_back(root, 0);
        while (!stack.empty()) {
            auto& [vertex, next] = stack.back();
            const auto edgesOut = out.of(vertex);
            if (next == static_cast<int>(edgesOut.size())) {
                state[vertex] = Done;
                stack.pop_back();
                continue;
            }
            const int e = edgesOut[next++];
            const int to = edges[e].to;
            if (to == vertex)
                continue;
            if (state[to] == Open)
                g.edges[e].reversed = true;
            else if (state[to] == Unseen) {
                state[to] = Open;
                stack.emplace_back(to, 0);
            }
        }
    };
    for (int v = 0; v < g.itemCount; ++v) {
        if (incoming[v] == 0)
            walk(v);
    }
    for (int v = 0; v < g.itemCount; ++v)
        walk(v);
}

void orientEdges(LayerGraph& g) {
    const auto& edges = g.problem->edges;
    for (std::size_t e = 0; e < edges.size(); ++e) {
        LayeredEdge& le = g.edges[e];
        const ScopeEdge& se = edges[e];
        le.selfLoop = se.from == se.to;
        le.upper = le.reversed ? se.to : se.from;
        le.lower = le.reversed ? se.from : se.to;
        const float toOffset = std::isnan(se.toOffset) ? 0 : se.toOffset;
        le.upperOffset = le.reversed ? toOffset : se.fromOffset;
        le.lowerOffset = le.reversed ? se.fromOffset : toOffset;
    }
}

/// Longest path from the sources, then whoever has more readers than inputs moves down to them.
void giveRanks(LayerGraph& g) {
    const int edgeCount = static_cast<int>(g.edges.size());
    const auto& items = g.problem->items;
    const Adjacency out = adjacency(g.itemCount, edgeCount, [&](int e) { return g.edges[e].upper; });
    std::vector<int> incoming(static_cast<std::size_t>(g.itemCount), 0), indegree;
    for (const LayeredEdge& e : g.edges)
        incoming[e.lower] += !e.selfLoop;
    indegree = incoming;
    const bool hasEntries
        = std::any_of(items.begin(), items.end(), [](const ScopeItem& i) { return i.role == ItemRole::Entry; });
    std::vector<int> sorted;
    sorted.reserve(items.size());
    for (int v = 0; v < g.itemCount; ++v) {
        g.rank[v] = hasEntries && items[v].role != ItemRole::Entry ? 1 : 0;
        if (incoming[v] == 0)
            sorted.push_back(v);
    }
    int last = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const int v = sorted[i];
        last = std::max(last, g.rank[v]);
        for (const int e : out.of(v)) {
            const LayeredEdge& le = g.edges[e];
            if (le.selfLoop)
                continue;
            g.rank[le.lower] = std::max(g.rank[le.lower], g.rank[v] + 1);
            if (--incoming[le.lower] == 0)
                sorted.push_back(le.lower);
        }
    }
    // Exits lie below everything that is not an exit.
    bool hasExits = false;
    int lastInside = 0;
    for (int v = 0; v < g.itemCount; ++v) {
        if (items[v].role == ItemRole::Exit)
            hasExits = true;
        else
            lastInside = std::max(lastInside, g.rank[v]);
    }
    if (hasExits)
        last = lastInside + 1;
    for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) {
        const int v = *it;
        if (items[v].role == ItemRole::Exit)
            g.rank[v] = last;
        if (items[v].role != ItemRole::Node)
            continue;
        int lowest = std::numeric_limits<int>::max();
        int readers = 0;
        for (const int e : out.of(v)) {
            if (g.edges[e].selfLoop)
                continue;
            ++readers;
            lowest = std::min(lowest, g.rank[g.edges[e].lower] - 1);
        }
        if (readers > indegree[v])
            g.rank[v] = std::max(g.rank[v], lowest);
    }
    // Without entries the first rank may have become empty by moving sources down.
    const int first = g.itemCount == 0 ? 0 : *std::min_element(g.rank.begin(), g.rank.end());
    for (int& r : g.rank)
        r -= first;
    g.rankCount = g.itemCount == 0 ? 0 : last + 1 - first;
}

void chooseBundles(LayerGraph& g) {
    std::vector<int> fanOut(static_cast<std::size_t>(g.itemCount), 0), fanIn(static_cast<std::size_t>(g.itemCount), 0);
    for (const LayeredEdge& e : g.edges) {
        if (g.rank[e.lower] - g.rank[e.upper] > kBundleSpan) {
            ++fanOut[e.upper];
            ++fanIn[e.lower];
        }
    }
    std::int64_t dummies = 0;
    for (LayeredEdge& e : g.edges) {
        const int span = g.rank[e.lower] - g.rank[e.upper];
        const bool fan = span > kBundleSpan && (fanOut[e.upper] >= kBundleFan || fanIn[e.lower] >= kBundleFan);
        e.bundled = span > kMaxSpan || fan;
        dummies += e.bundled ? 0 : std::max(0, span - 1);
    }
    for (int cap = kMaxSpan / 2; dummies > kMaxDummies && cap > 1; cap /= 2) {
        dummies = 0;
        for (LayeredEdge& e : g.edges) {
            const int span = g.rank[e.lower] - g.rank[e.upper];
            e.bundled = e.bundled || span > cap;
            dummies += e.bundled ? 0 : std::max(0, span - 1);
        }
    }
}

/// The offset at which each box with fixed ports is lined up with its neighbours: halfway between the entry and the
/// exit nearest to its middle. Following every port exactly would let a stack of equal blocks drift sideways.
std::vector<float> anchors(const LayerGraph& g) {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    std::vector<float> entry(static_cast<std::size_t>(g.itemCount), kNone), exit = entry;
    const auto nearer = [](float& best, float offset) {
        if (std::abs(offset) < std::abs(best))
            best = offset;
    };
    for (const LayeredEdge& e : g.edges) {
        if (!e.selfLoop && !e.reversed) {
            nearer(exit[e.upper], e.upperOffset);
            nearer(entry[e.lower], e.lowerOffset);
        }
    }
    std::vector<float> anchor(static_cast<std::size_t>(g.itemCount), 0);
    for (int v = 0; v < g.itemCount; ++v) {
        const bool in = entry[v] != kNone, out = exit[v] != kNone;
        if (in || out)
            anchor[v] = in && out ? (entry[v] + exit[v]) / 2 : in ? entry[v] : exit[v];
    }
    return anchor;
}

void cutEdges(LayerGraph& g) {
    std::vector<int> inputs(static_cast<std::size_t>(g.itemCount), 0),
        outputs(static_cast<std::size_t>(g.itemCount), 0);
    for (const LayeredEdge& e : g.edges) {
        ++inputs[e.lower];
        ++outputs[e.upper];
    }
    const std::vector<float> anchor = anchors(g);
    const auto alignment = [&](int item, float offset) {
        constexpr float kNearAnchor = 0.3f;
        const bool near = std::abs(offset - anchor[item]) <= kNearAnchor * g.problem->items[item].width;
        return near ? anchor[item] : offset;
    };
    for (std::size_t i = 0; i < g.edges.size(); ++i) {
        LayeredEdge& e = g.edges[i];
        if (e.selfLoop || e.bundled)
            continue;
        const int span = g.rank[e.lower] - g.rank[e.upper];
        const float upperOffset = alignment(e.upper, e.upperOffset), lowerOffset = alignment(e.lower, e.lowerOffset);
        if (span == 1) {
            g.segments.push_back({e.upper, e.lower, upperOffset, lowerOffset, kBranchWeight, kBranchWeight});
            continue;
        }
        e.firstDummy = g.vertexCount();
        e.dummyCount = span - 1;
        const bool branchBelow = outputs[e.upper] == 1; // as the lower end sees it
        const bool branchAbove = inputs[e.lower] == 1;
        const float own = branchBelow || branchAbove ? 1 : kDummyWeight;
        for (int k = 0; k < e.dummyCount; ++k) {
            g.rank.push_back(g.rank[e.upper] + 1 + k);
            g.width.push_back(0);
            if (k > 0)
                g.segments.push_back({e.firstDummy + k - 1, e.firstDummy + k, 0, 0, own, own});
        }
        g.segments.push_back({e.upper, e.firstDummy, upperOffset, 0, own, branchAbove ? kBranchWeight : kSkipWeight});
        g.segments.push_back(
            {e.firstDummy + e.dummyCount - 1, e.lower, 0, lowerOffset, branchBelow ? kBranchWeight : kSkipWeight, own});
    }
}

} // namespace

float LayerGraph::separation(int left, int right) const {
    const LayoutSpacing& s = problem->spacing;
    const float gap = isDummy(left) || isDummy(right) ? s.edgeGap : s.nodeGap;
    return (width[left] + width[right]) / 2 + gap;
}

LayerGraph buildLayers(const ScopeProblem& problem) {
    constexpr float kLoopRoom = 48;
    LayerGraph g;
    g.problem = &problem;
    g.itemCount = static_cast<int>(problem.items.size());
    g.rank.assign(problem.items.size(), 0);
    g.edges.resize(problem.edges.size());
    for (const ScopeItem& item : problem.items)
        g.width.push_back(item.width);
    breakCycles(g);
    orientEdges(g);
    for (const LayeredEdge& e : g.edges) {
        if (e.selfLoop && g.width[e.upper] == problem.items[e.upper].width)
            g.width[e.upper] += kLoopRoom;
    }
    giveRanks(g);
    chooseBundles(g);
    cutEdges(g);

    const int segmentCount = static_cast<int>(g.segments.size());
    Adjacency a = adjacency(g.vertexCount(), segmentCount, [&](int s) { return g.segments[s].lower; });
    g.aboveStart = std::move(a.start);
    g.above = std::move(a.item);
    a = adjacency(g.vertexCount(), segmentCount, [&](int s) { return g.segments[s].upper; });
    g.belowStart = std::move(a.start);
    g.below = std::move(a.item);
    g.x.assign(g.rank.size(), 0);
    g.position.assign(g.rank.size(), 0);
    return g;
}

} // namespace nabla::views
