// Lays out one scope: unconnected parts are laid out by themselves and packed in shelves.
#include "views/layout/scope_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "views/layout/layer_graph.h"

namespace nabla::views {
namespace {

/// Number of the connected part of every item, in the order in which the parts first appear.
std::vector<int> connectedParts(const ScopeProblem& problem, int& count) {
    const auto n = problem.items.size();
    std::vector<int> parent(n);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int v) {
        while (parent[v] != v) {
            parent[v] = parent[parent[v]];
            v = parent[v];
        }
        return v;
    };
    for (const ScopeEdge& e : problem.edges)
        parent[root(e.from)] = root(e.to);
    std::vector<int> part(n, -1), number(n, -1);
    count = 0;
    for (std::size_t v = 0; v < n; ++v) {
        const int r = root(static_cast<int>(v));
        if (number[r] < 0)
            number[r] = count++;
        part[v] = number[r];
    }
    return part;
}

std::optional<ScopeLayout> layoutConnected(const ScopeProblem& problem, const std::stop_token& stop) {
    LayerGraph g = buildLayers(problem);
    if (stop.stop_requested())
        return std::nullopt;
    orderLayers(g, stop);
    placeLayers(g, stop);
    if (stop.stop_requested())
        return std::nullopt;
    return routeLayers(g);
}

struct Part {
    std::vector<int> items, edges;
    ScopeLayout layout;
    float x = 0, y = 0;
};

/// Rows of parts, in order, in about the shape of a screen.
void pack(std::vector<Part>& parts, float gap, ScopeLayout& result) {
    double area = 0;
    float widest = 0;
    for (const Part& p : parts) {
        area += static_cast<double>(p.layout.width + gap) * (p.layout.height + gap);
        widest = std::max(widest, p.layout.width);
    }
    const float limit = std::max(widest, static_cast<float>(std::sqrt(area) * 1.3));
    float x = 0, y = 0, shelf = 0;
    for (Part& p : parts) {
        if (x > 0 && x + p.layout.width > limit) {
            y += shelf + gap;
            x = shelf = 0;
        }
        p.x = x;
        p.y = y;
        x += p.layout.width + gap;
        shelf = std::max(shelf, p.layout.height);
        result.width = std::max(result.width, p.x + p.layout.width);
        result.height = std::max(result.height, p.y + p.layout.height);
    }
}

ScopeProblem subProblem(const ScopeProblem& whole, const Part& part, std::vector<int>& localIndex) {
    ScopeProblem sub;
    sub.spacing = whole.spacing;
    for (const int v : part.items) {
        localIndex[v] = static_cast<int>(sub.items.size());
        sub.items.push_back(whole.items[v]);
    }
    for (const int e : part.edges) {
        ScopeEdge edge = whole.edges[e];
        edge.from = localIndex[edge.from];
        edge.to = localIndex[edge.to];
        sub.edges.push_back(edge);
    }
    return sub;
}

std::optional<ScopeLayout> layoutParts(
    const ScopeProblem& problem, const std::vector<int>& part, int count, const std::stop_token& stop) {
    std::vector<Part> parts(static_cast<std::size_t>(count));
    for (std::size_t v = 0; v < part.size(); ++v)
        parts[part[v]].items.push_back(static_cast<int>(v));
    for (std::size_t e = 0; e < problem.edges.size(); ++e)
        parts[part[problem.edges[e].from]].edges.push_back(static_cast<int>(e));
    std::vector<int> localIndex(problem.items.size());
    for (Part& p : parts) {
        if (p.items.size() == 1 && p.edges.empty()) {
            const ScopeItem& item = problem.items[p.items[0]];
            p.layout.centres = {{item.width / 2, item.height / 2}};
            p.layout.width = item.width;
            p.layout.height = item.height;
            continue;
        }
        auto layout = layoutConnected(subProblem(problem, p, localIndex), stop);
        if (!layout)
            return std::nullopt;
        p.layout = std::move(*layout);
    }
    // The parts that are graphs come first, lone nodes after them.
    std::stable_partition(parts.begin(), parts.end(), [](const Part& p) { return p.items.size() > 1; });
    ScopeLayout result;
    pack(parts, problem.spacing.componentGap, result);
    result.centres.resize(problem.items.size());
    std::vector<std::pair<const Part*, int>> owner(problem.edges.size());
    for (const Part& p : parts) {
        for (std::size_t i = 0; i < p.items.size(); ++i)
            result.centres[p.items[i]] = {p.layout.centres[i].x + p.x, p.layout.centres[i].y + p.y};
        for (std::size_t i = 0; i < p.edges.size(); ++i)
            owner[p.edges[i]] = {&p, static_cast<int>(i)};
    }
    result.firstPoint.push_back(0);
    for (const auto& [p, index] : owner) {
        for (std::uint32_t i = p->layout.firstPoint[index]; i < p->layout.firstPoint[index + 1]; ++i)
            result.points.push_back({p->layout.points[i].x + p->x, p->layout.points[i].y + p->y});
        result.firstPoint.push_back(static_cast<std::uint32_t>(result.points.size()));
    }
    return result;
}

/// Makes the scope taller; the exits and the ends of their edges stay on the lower border.
void lowerExits(const ScopeProblem& problem, float height, ScopeLayout& layout) {
    std::vector<Point> points;
    std::vector<std::uint32_t> firstPoint{0};
    for (std::size_t e = 0; e < problem.edges.size(); ++e) {
        points.insert(points.end(), layout.points.begin() + layout.firstPoint[e],
            layout.points.begin() + layout.firstPoint[e + 1]);
        if (problem.items[problem.edges[e].to].role == ItemRole::Exit) {
            const Point end = points.back();
            const float third = (height - end.y) / 3;
            points.insert(points.end(), {{end.x, end.y + third}, {end.x, end.y + 2 * third}, {end.x, height}});
        }
        firstPoint.push_back(static_cast<std::uint32_t>(points.size()));
    }
    for (std::size_t v = 0; v < problem.items.size(); ++v) {
        if (problem.items[v].role == ItemRole::Exit)
            layout.centres[v].y = height;
    }
    layout.points = std::move(points);
    layout.firstPoint = std::move(firstPoint);
    layout.height = height;
}

/// A scope with border ports: what no edge touches (tags of constants) stands in columns to the right of the rest.
std::optional<ScopeLayout> layoutBordered(const ScopeProblem& problem, const std::stop_token& stop) {
    std::vector<bool> joined(problem.items.size(), false);
    for (const ScopeEdge& e : problem.edges)
        joined[e.from] = joined[e.to] = true;
    Part rest, alone;
    for (std::size_t v = 0; v < problem.items.size(); ++v)
        (joined[v] ? rest : alone).items.push_back(static_cast<int>(v));
    if (alone.items.empty())
        return layoutConnected(problem, stop);
    for (std::size_t e = 0; e < problem.edges.size(); ++e)
        rest.edges.push_back(static_cast<int>(e));
    std::vector<int> localIndex(problem.items.size());
    auto result = layoutConnected(subProblem(problem, rest, localIndex), stop);
    if (!result)
        return std::nullopt;
    std::vector<Point> centres(problem.items.size());
    for (std::size_t i = 0; i < rest.items.size(); ++i)
        centres[rest.items[i]] = result->centres[i];
    const LayoutSpacing& spacing = problem.spacing;
    const float top = spacing.groupHeader + spacing.rankGap;
    float left = result->width + spacing.nodeGap, column = 0, y = top, lowest = 0;
    for (const int v : alone.items) {
        const ScopeItem& item = problem.items[v];
        if (y > top && y + item.height > result->height - spacing.rankGap) {
            left += column + spacing.nodeGap;
            column = 0;
            y = top;
        }
        centres[v] = {left + item.width / 2, y + item.height / 2};
        lowest = std::max(lowest, y + item.height);
        y += item.height + spacing.edgeGap;
        column = std::max(column, item.width);
    }
    result->centres = std::move(centres);
    result->width = left + column;
    if (lowest + spacing.rankGap > result->height)
        lowerExits(problem, lowest + spacing.rankGap, *result);
    return result;
}

} // namespace

std::optional<ScopeLayout> layoutScope(const ScopeProblem& problem, const std::stop_token& stop) {
    const bool bordered = std::any_of(
        problem.items.begin(), problem.items.end(), [](const ScopeItem& i) { return i.role != ItemRole::Node; });
    if (bordered)
        return layoutBordered(problem, stop);
    int count = 0;
    const std::vector<int> part = connectedParts(problem, count);
    return count > 1 ? layoutParts(problem, part, count, stop) : layoutConnected(problem, stop);
}

} // namespace nabla::views
