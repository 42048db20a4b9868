// The grid, built by counting twice: first how many, then where.
#include "views/canvas/scene_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace nabla::views {
namespace {

Box boxOf(std::span<const Point> points) {
    float left = points[0].x, right = left, top = points[0].y, bottom = top;
    for (const Point p : points) {
        left = std::min(left, p.x);
        right = std::max(right, p.x);
        top = std::min(top, p.y);
        bottom = std::max(bottom, p.y);
    }
    return {left, top, right - left, bottom - top};
}

bool meets(const Box& a, const Box& b) {
    return a.x <= b.right() && b.x <= a.right() && a.y <= b.bottom() && b.y <= a.bottom();
}

Point bezier(std::span<const Point> c, float t) {
    const float s = 1 - t;
    const float w0 = s * s * s, w1 = 3 * s * s * t, w2 = 3 * s * t * t, w3 = t * t * t;
    return {
        w0 * c[0].x + w1 * c[1].x + w2 * c[2].x + w3 * c[3].x, w0 * c[0].y + w1 * c[1].y + w2 * c[2].y + w3 * c[3].y};
}

float distanceToLine(Point p, Point a, Point b) {
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float length = dx * dx + dy * dy;
    const float t = length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0f, 1.0f);
    return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

} // namespace

SceneIndex::SceneIndex(const GraphScene& scene)
    : m_scene(scene) {
    constexpr float kMostCells = 250'000;
    const Box& b = scene.bounds;
    while ((b.width / m_cell + 1) * (b.height / m_cell + 1) > kMostCells)
        m_cell *= 2;
    m_columns = static_cast<int>(b.width / m_cell) + 1;
    m_rows = static_cast<int>(b.height / m_cell) + 1;
    fill(m_nodes, [&](auto add) {
        for (std::size_t n = 0; n < scene.nodes.size(); ++n)
            add(static_cast<int>(n), scene.nodes[n].box);
    });
    fill(m_edges, [&](auto add) {
        for (std::size_t e = 0; e < scene.edges.size(); ++e) {
            const auto points = scene.route(e);
            // By curve, so that a long edge lies only in the cells that it passes.
            for (std::size_t i = 0; i + 3 < points.size(); i += 3)
                add(static_cast<int>(e), boxOf(points.subspan(i, 4)));
        }
    });
    joinNodes();
}

int SceneIndex::column(float x) const {
    return static_cast<int>(std::clamp((x - m_scene.bounds.x) / m_cell, 0.0f, static_cast<float>(m_columns - 1)));
}

int SceneIndex::row(float y) const {
    return static_cast<int>(std::clamp((y - m_scene.bounds.y) / m_cell, 0.0f, static_cast<float>(m_rows - 1)));
}

template <typename Boxes> void SceneIndex::fill(Cells& cells, Boxes forEachBox) const {
    const auto eachCell = [this](const Box& b, auto f) {
        const int lastColumn = column(b.right()), lastRow = row(b.bottom());
        for (int r = row(b.y); r <= lastRow; ++r) {
            for (int c = column(b.x); c <= lastColumn; ++c)
                f(static_cast<std::size_t>(r) * static_cast<std::size_t>(m_columns) + static_cast<std::size_t>(c));
        }
    };
    cells.start.assign(static_cast<std::size_t>(m_columns) * static_cast<std::size_t>(m_rows) + 1, 0);
    forEachBox([&](int, const Box& b) { eachCell(b, [&](std::size_t cell) { ++cells.start[cell + 1]; }); });
    std::partial_sum(cells.start.begin(), cells.start.end(), cells.start.begin());
    cells.item.resize(cells.start.back());
    std::vector<std::uint32_t> next(cells.start.begin(), cells.start.end() - 1);
    forEachBox(
        [&](int item, const Box& b) { eachCell(b, [&](std::size_t cell) { cells.item[next[cell]++] = item; }); });
}

template <typename Visit> void SceneIndex::visit(const Cells& cells, const Box& area, Visit f) const {
    const int lastColumn = column(area.right()), lastRow = row(area.bottom());
    for (int r = row(area.y); r <= lastRow; ++r) {
        for (int c = column(area.x); c <= lastColumn; ++c) {
            const std::size_t cell
                = static_cast<std::size_t>(r) * static_cast<std::size_t>(m_columns) + static_cast<std::size_t>(c);
            for (std::uint32_t i = cells.start[cell]; i < cells.start[cell + 1]; ++i)
                f(cells.item[i]);
        }
    }
}

void SceneIndex::joinNodes() {
    const auto join = [&](std::vector<int>& start, std::vector<int>& all, auto end) {
        start.assign(m_scene.nodes.size() + 1, 0);
        all.resize(m_scene.edges.size());
        for (const SceneEdge& e : m_scene.edges)
            ++start[end(e) + 1];
        std::partial_sum(start.begin(), start.end(), start.begin());
        std::vector<int> next(start.begin(), start.end() - 1);
        for (std::size_t e = 0; e < m_scene.edges.size(); ++e)
            all[next[end(m_scene.edges[e])]++] = static_cast<int>(e);
    };
    join(m_intoStart, m_into, [](const SceneEdge& e) { return e.to; });
    join(m_fromStart, m_from, [](const SceneEdge& e) { return e.from; });
    std::vector<int> depth(m_scene.groups.size(), 0);
    for (std::size_t g = 0; g < m_scene.groups.size(); ++g) {
        for (int p = m_scene.groups[g].parent; p >= 0; p = m_scene.groups[p].parent)
            ++depth[g];
    }
    m_groupOrder.resize(m_scene.groups.size());
    std::iota(m_groupOrder.begin(), m_groupOrder.end(), 0);
    std::stable_sort(m_groupOrder.begin(), m_groupOrder.end(), [&](int a, int b) { return depth[a] < depth[b]; });
}

void SceneIndex::query(const Box& area, Scratch& s) const {
    s.nodeStamp.resize(m_scene.nodes.size(), 0);
    s.edgeStamp.resize(m_scene.edges.size(), 0);
    ++s.stamp;
    s.nodes.clear();
    s.edges.clear();
    visit(m_nodes, area, [&](int n) {
        if (std::exchange(s.nodeStamp[n], s.stamp) != s.stamp && meets(m_scene.nodes[n].box, area))
            s.nodes.push_back(n);
    });
    visit(m_edges, area, [&](int e) {
        if (std::exchange(s.edgeStamp[e], s.stamp) != s.stamp)
            s.edges.push_back(e);
    });
    // Painting order must not depend on the cells, or neighbouring tiles would differ.
    std::sort(s.nodes.begin(), s.nodes.end());
    std::sort(s.edges.begin(), s.edges.end());
}

std::optional<int> SceneIndex::nodeAt(Point p) const {
    std::optional<int> found;
    visit(m_nodes, {p.x, p.y, 0, 0}, [&](int n) {
        if (m_scene.nodes[n].box.contains(p))
            found = n;
    });
    return found;
}

std::optional<int> SceneIndex::groupAt(Point p) const {
    std::optional<int> found;
    for (const int g : m_groupOrder) {
        if (m_scene.groups[g].box.contains(p))
            found = g;
    }
    return found;
}

std::optional<int> SceneIndex::edgeAt(Point p, float distance) const {
    constexpr int kSteps = 12;
    std::optional<int> found;
    float least = distance;
    visit(m_edges, {p.x - distance, p.y - distance, 2 * distance, 2 * distance}, [&](int e) {
        const auto points = m_scene.route(static_cast<std::size_t>(e));
        for (std::size_t i = 0; i + 3 < points.size(); i += 3) {
            const Box b = boxOf(points.subspan(i, 4));
            if (!meets(b, {p.x - distance, p.y - distance, 2 * distance, 2 * distance}))
                continue;
            Point last = points[i];
            for (int k = 1; k <= kSteps; ++k) {
                const Point next = bezier(points.subspan(i, 4), static_cast<float>(k) / kSteps);
                const float d = distanceToLine(p, last, next);
                last = next;
                if (d < least) {
                    least = d;
                    found = e;
                }
            }
        }
    });
    return found;
}

std::shared_ptr<const PreparedScene> PreparedScene::make(GraphScene scene) {
    if (scene.firstPoint.size() != scene.edges.size() + 1)
        scene.firstPoint.assign(scene.edges.size() + 1, 0); // not laid out: no routes
    return std::make_shared<const PreparedScene>(std::move(scene));
}

} // namespace nabla::views
