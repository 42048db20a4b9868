// Sizes of scene items and the way from a scene to a layout request and back.
#include "views/canvas/graph_scene.h"

#include <algorithm>
#include <cmath>

#include "engine/base/assert.h"

namespace nabla::views {
namespace {

/// Room for text without font metrics: 7 units a character is wider than the card fonts on average.
float textRoom(const std::string& text, float most) {
    return std::min(most, 7.0f * static_cast<float>(std::min<std::size_t>(text.size(), 200)));
}

bool holds(const GraphScene& scene, int group, int node) {
    for (int g = scene.nodes[node].group; g >= 0; g = scene.groups[g].parent) {
        if (g == group)
            return true;
    }
    return false;
}

} // namespace

LayoutNode layoutNodeOf(const SceneNode& node) {
    switch (node.form) {
    case NodeForm::Card:
    case NodeForm::Ghost:
        return {kCardWidth, kCardHeight, node.group};
    case NodeForm::CollapsedGroup:
        return {kCardWidth, kCollapsedHeight, node.group};
    case NodeForm::Portal:
        return {48 + textRoom(node.name, kCardWidth - 48), kPortalHeight, node.group};
    }
    return {kCardWidth, kCardHeight, node.group};
}

LayoutRequest layoutRequestOf(const GraphScene& scene) {
    LayoutRequest request;
    request.nodes.reserve(scene.nodes.size());
    for (const SceneNode& n : scene.nodes)
        request.nodes.push_back(layoutNodeOf(n));
    for (const SceneGroup& g : scene.groups)
        request.groups.push_back(
            {g.parent, 60 + textRoom(g.title, 140) + textRoom(g.countText, 80) + textRoom(g.rightText, 80)});
    request.edges.reserve(scene.edges.size());
    for (const SceneEdge& e : scene.edges)
        request.edges.push_back({e.from, e.to, -1, -1, e.labelled && !e.label.empty() ? kLabelHeight : 0});
    return request;
}

void applyLayout(GraphScene& scene, const LayoutResult& layout) {
    NABLA_ASSERT(layout.nodes.size() == scene.nodes.size() && layout.groups.size() == scene.groups.size()
            && layout.firstPoint.size() == scene.edges.size() + 1,
        "the layout was made for another scene");
    for (std::size_t i = 0; i < scene.nodes.size(); ++i)
        scene.nodes[i].box = layout.nodes[i];
    for (std::size_t i = 0; i < scene.groups.size(); ++i)
        scene.groups[i].box = layout.groups[i];
    scene.points = layout.points;
    scene.firstPoint = layout.firstPoint;
    scene.ports = layout.ports;
    scene.bounds = layout.bounds;
}

float overlayEdgeWidth(float position) { return 3.5F + 2.5F * std::clamp(position, -1.0F, 1.0F); }

float edgeWidth(std::int64_t bytes) {
    if (bytes <= 0)
        return 1;
    return std::clamp(1 + 0.25f * std::log2(static_cast<float>(bytes) / (16 * 1024)), 1.0f, 4.0f);
}

Point labelAnchor(const GraphScene& scene, std::size_t edge) {
    constexpr float kBelow = 11 + kLabelHeight / 2;
    constexpr float kBetweenCards = 24; // where two edges of one source have parted
    const auto points = scene.route(edge);
    const SceneEdge& e = scene.edges[edge];
    const bool crosses = scene.nodes[e.from].group != scene.nodes[e.to].group;
    std::size_t at = 0;
    for (int g = scene.nodes[e.from].group; g >= 0 && !holds(scene, g, e.to); g = scene.groups[g].parent) {
        const Box& box = scene.groups[g].box;
        for (std::size_t k = at; k < points.size(); k += 3) {
            if (std::abs(points[k].y - box.bottom()) < 0.5f)
                at = k;
        }
    }
    // Along the route until it is low enough; an edge that goes up has its label at its middle.
    const float wanted = points[at].y + (crosses ? kBelow : kBetweenCards);
    Point last = points[at];
    for (std::size_t i = at; i + 3 < points.size(); i += 3) {
        for (int k = 1; k <= 16; ++k) {
            const float t = static_cast<float>(k) / 16, s = 1 - t;
            const auto mix = [&](float a, float b, float c, float d) {
                return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
            };
            const Point p{mix(points[i].x, points[i + 1].x, points[i + 2].x, points[i + 3].x),
                mix(points[i].y, points[i + 1].y, points[i + 2].y, points[i + 3].y)};
            if (p.y >= wanted) {
                const float f = p.y > last.y ? (wanted - last.y) / (p.y - last.y) : 0;
                return {last.x + (p.x - last.x) * f, wanted};
            }
            last = p;
        }
    }
    return points[at + (points.size() - at) / 2];
}

} // namespace nabla::views
