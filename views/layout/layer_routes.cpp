// Curves of a layered scope: down through the rows, around boxes, and lanes beside the ranks for very long edges.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "views/layout/layer_graph.h"

namespace nabla::views {
namespace {

constexpr float kCorner = 10;

/// Writes a chain of cubic curves point by point.
class Pen {
public:
    explicit Pen(std::vector<Point>& points)
        : m_points(points)
        , m_first(points.size()) { }

    void start(Point p) { m_points.push_back(p); }
    void line(Point p) {
        const Point a = m_points.back();
        if (a == p)
            return;
        m_points.push_back({a.x + (p.x - a.x) / 3, a.y + (p.y - a.y) / 3});
        m_points.push_back({a.x + (p.x - a.x) * 2 / 3, a.y + (p.y - a.y) * 2 / 3});
        m_points.push_back(p);
    }
    /// A curve that leaves and arrives vertically.
    void swing(Point p) {
        const Point a = m_points.back();
        if (std::abs(a.x - p.x) < 0.5f)
            return line(p);
        const float half = (p.y - a.y) / 2;
        m_points.push_back({a.x, a.y + half});
        m_points.push_back({p.x, p.y - half});
        m_points.push_back(p);
    }
    void curve(Point c1, Point c2, Point p) {
        m_points.push_back(c1);
        m_points.push_back(c2);
        m_points.push_back(p);
    }
    /// Along `corner` to `p`, rounded at the corner.
    void corner(Point at, Point p) {
        const Point a = m_points.back();
        const auto towards = [](Point from, Point to, float most) {
            const float length = std::hypot(to.x - from.x, to.y - from.y);
            const float t = length == 0 ? 0 : std::min(most, length / 2) / length;
            return Point{from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t};
        };
        const Point in = towards(at, a, kCorner);
        const Point out = towards(at, p, kCorner);
        line(in);
        curve(at, at, out);
    }
    void finish(bool reversed) {
        if (m_points.size() == m_first + 1) // both ends in one place: still one curve
            curve(m_points.back(), m_points.back(), m_points.back());
        if (reversed)
            std::reverse(m_points.begin() + static_cast<std::ptrdiff_t>(m_first), m_points.end());
    }

private:
    std::vector<Point>& m_points;
    std::size_t m_first;
};

/// Lanes to the right of the ranks: long edges into one node, or out of one node, share a lane.
class Lanes {
public:
    explicit Lanes(LayerGraph& graph)
        : g(graph)
        , m_right(static_cast<std::size_t>(graph.rankCount), 0) { }

    void assign() {
        std::vector<int> fanOut(static_cast<std::size_t>(g.itemCount), 0),
            fanIn(static_cast<std::size_t>(g.itemCount), 0);
        bool any = false;
        for (const LayeredEdge& e : g.edges) {
            if (e.bundled) {
                any = true;
                ++fanOut[e.upper];
                ++fanIn[e.lower];
            }
        }
        if (!any)
            return;
        m_lane.assign(g.edges.size(), 0);
        m_level.assign(g.edges.size(), 0);
        // Negative keys: fan-out of that vertex.
        std::map<int, Bundle> bundles;
        for (std::size_t i = 0; i < g.edges.size(); ++i) {
            const LayeredEdge& e = g.edges[i];
            if (!e.bundled)
                continue;
            const int key = fanIn[e.lower] >= fanOut[e.upper] ? e.lower : -1 - e.upper;
            Bundle& b = bundles[key];
            b.first = std::min(b.first, g.rank[e.upper] + 1);
            b.last = std::max(b.last, g.rank[e.lower] - 1);
            b.edges.push_back(static_cast<int>(i));
        }
        for (int v = 0; v < g.vertexCount(); ++v)
            m_right[g.rank[v]] = std::max(m_right[g.rank[v]], g.x[v] + g.width[v] / 2);
        std::vector<const Bundle*> shortest;
        for (const auto& [key, b] : bundles)
            shortest.push_back(&b);
        std::stable_sort(shortest.begin(), shortest.end(),
            [](const Bundle* a, const Bundle* b) { return a->last - a->first < b->last - b->first; });
        int level = 0;
        for (const Bundle* b : shortest)
            place(*b, level++);
    }
    float x(std::size_t edge) const { return m_lane[edge]; }
    /// Small vertical offset, so that lanes that turn in one gap do not lie on each other.
    float level(std::size_t edge) const { return m_level[edge]; }

private:
    struct Bundle {
        int first = std::numeric_limits<int>::max();
        int last = -1;
        std::vector<int> edges;
    };
    LayerGraph& g;
    std::vector<float> m_right, m_lane, m_level;

    void place(const Bundle& b, int level) {
        const float gap = g.problem->spacing.edgeGap;
        const auto begin = m_right.begin() + b.first;
        const auto end = m_right.begin() + b.last + 1;
        const float x = *std::max_element(begin, end) + gap + kCorner;
        std::fill(begin, end, x);
        for (const int e : b.edges) {
            m_lane[e] = x;
            m_level[e] = static_cast<float>(level % 3 - 1) * 4;
        }
    }
};

/// Spreads the arrow heads along the top of a box, in the order in which the edges arrive; an edge that comes straight
/// from above keeps the middle.
void spreadArrivals(LayerGraph& g, const Lanes& lanes) {
    struct Arrival {
        int vertex, port, edge;
        float x;
    };
    std::vector<Arrival> arrivals;
    for (std::size_t i = 0; i < g.edges.size(); ++i) {
        const LayeredEdge& e = g.edges[i];
        if (e.selfLoop || e.reversed || !std::isnan(g.problem->edges[i].toOffset))
            continue;
        float x = g.x[e.upper] + e.upperOffset;
        if (e.bundled)
            x = lanes.x(i);
        else if (e.dummyCount > 0)
            x = g.x[e.firstDummy + e.dummyCount - 1];
        arrivals.push_back({e.lower, g.problem->edges[i].toPort, static_cast<int>(i), x});
    }
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return std::tie(a.vertex, a.x, a.port, a.edge) < std::tie(b.vertex, b.x, b.port, b.edge);
    });
    for (std::size_t i = 0; i < arrivals.size();) {
        std::size_t end = i;
        while (end < arrivals.size() && arrivals[end].vertex == arrivals[i].vertex)
            ++end;
        const auto count = static_cast<float>(end - i);
        const int v = arrivals[i].vertex;
        const float usable = g.problem->items[v].width * 0.7f;
        const float step = std::min(24.0f, usable / count);
        float middle = (count - 1) / 2;
        for (std::size_t k = i; k < end; ++k) {
            if (std::abs(arrivals[k].x - g.x[v]) < 1)
                middle = static_cast<float>(k - i);
        }
        for (std::size_t k = i; k < end; ++k)
            g.edges[arrivals[k].edge].lowerOffset
                = std::clamp((static_cast<float>(k - i) - middle) * step, -usable / 2, usable / 2);
        i = end;
    }
}

class Router {
public:
    Router(LayerGraph& graph, const Lanes& lanes, ScopeLayout& result)
        : g(graph)
        , m_lanes(lanes)
        , m_result(result) { }

    void route(std::size_t index) {
        const LayeredEdge& e = g.edges[index];
        Pen pen(m_result.points);
        if (e.selfLoop)
            loop(pen, e.upper);
        else if (e.bundled)
            lane(pen, e, index);
        else
            descend(pen, e);
        pen.finish(e.reversed);
    }

private:
    LayerGraph& g;
    const Lanes& m_lanes;
    ScopeLayout& m_result;

    float rowBottom(int r) const { return g.rowTop[r] + g.rowHeight[r]; }
    Point leave(const LayeredEdge& e) const {
        return {g.x[e.upper] + e.upperOffset, g.rowTop[g.rank[e.upper]] + g.problem->items[e.upper].height};
    }
    Point arrive(const LayeredEdge& e) const { return {g.x[e.lower] + e.lowerOffset, g.rowTop[g.rank[e.lower]]}; }

    void loop(Pen& pen, int v) const {
        const ScopeItem& item = g.problem->items[v];
        const float top = g.rowTop[g.rank[v]];
        const float x = g.x[v] + item.width / 4;
        const float out = g.x[v] + item.width / 2 + 24;
        pen.start({x, top + item.height});
        pen.curve({x, top + item.height + 24}, {out, top + item.height + 16}, {out, top + item.height / 2});
        pen.curve({out, top - 16}, {x, top - 24}, {x, top});
    }

    void descend(Pen& pen, const LayeredEdge& e) const {
        const Point start = leave(e);
        // A port lies on the border; its edge starts there and runs straight through the header.
        const bool entry = g.problem->items[e.upper].role == ItemRole::Entry;
        pen.start(entry ? Point{start.x, g.rowTop[g.rank[e.upper]]} : start);
        pen.line({start.x, rowBottom(g.rank[e.upper])});
        for (int k = 0; k < e.dummyCount; ++k) {
            const int d = e.firstDummy + k;
            pen.swing({g.x[d], g.rowTop[g.rank[d]]});
            while (k + 1 < e.dummyCount && g.x[e.firstDummy + k + 1] == g.x[d])
                ++k;
            pen.line({g.x[d], rowBottom(g.rank[e.firstDummy + k])});
        }
        pen.swing(arrive(e));
    }

    void lane(Pen& pen, const LayeredEdge& e, std::size_t index) const {
        const Point start = leave(e);
        const Point end = arrive(e);
        const float x = m_lanes.x(index);
        const int r = g.rank[e.upper];
        const int last = g.rank[e.lower];
        const float out = (rowBottom(r) + g.rowTop[r + 1]) / 2 + m_lanes.level(index);
        const float in = (rowBottom(last - 1) + g.rowTop[last]) / 2 + m_lanes.level(index);
        const bool entry = g.problem->items[e.upper].role == ItemRole::Entry;
        pen.start(entry ? Point{start.x, g.rowTop[r]} : start);
        pen.corner({start.x, out}, {x, out});
        pen.corner({x, out}, {x, in});
        pen.corner({x, in}, {end.x, in});
        pen.corner({end.x, in}, end);
        pen.line(end);
    }
};

} // namespace

ScopeLayout routeLayers(LayerGraph& g) {
    ScopeLayout result;
    Lanes lanes(g);
    lanes.assign();
    spreadArrivals(g, lanes);
    float left = std::numeric_limits<float>::infinity();
    float right = -left;
    float bottom = 0;
    result.centres.resize(static_cast<std::size_t>(g.itemCount));
    for (int v = 0; v < g.itemCount; ++v) {
        const ScopeItem& item = g.problem->items[v];
        const float top = g.rowTop[g.rank[v]];
        result.centres[v] = {g.x[v], top + item.height / 2};
        left = std::min(left, g.x[v] - g.width[v] / 2);
        right = std::max(right, g.x[v] + g.width[v] / 2);
        bottom = std::max(bottom, top + item.height);
    }
    result.points.reserve(g.segments.size() * 6);
    result.firstPoint.reserve(g.edges.size() + 1);
    result.firstPoint.push_back(0);
    Router router(g, lanes, result);
    for (std::size_t e = 0; e < g.edges.size(); ++e) {
        router.route(e);
        result.firstPoint.push_back(static_cast<std::uint32_t>(result.points.size()));
    }
    float top = 0;
    for (const Point p : result.points) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    if (g.itemCount == 0)
        return result;
    for (Point& p : result.centres)
        p = {p.x - left, p.y - top};
    for (Point& p : result.points)
        p = {p.x - left, p.y - top};
    result.width = right - left;
    result.height = bottom - top;
    return result;
}

} // namespace nabla::views
