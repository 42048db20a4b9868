// What a graph canvas shows, as plain values without Qt: cards, group boxes and edges, already placed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "views/layout/layout_types.h"
#include "views/theme/operator_kind.h"

namespace nabla::views {

enum class NodeForm : std::uint8_t {
    Card,
    CollapsedGroup, ///< a closed group: expand box, `repeat` as a badge
    Portal, ///< tag for a constant, mask or large fan-out; its true edges show on hover or selection
    Ghost, ///< place of a removed node: dashed outline, `name` and `subtitle` say where it went
};

enum class DiffState : std::uint8_t { None, Added, Removed, Changed };

struct SceneNode {
    Box box;
    std::uint64_t key = 0; ///< the same for the same thing in the next scene; 0: nobody's
    NodeForm form = NodeForm::Card;
    OperatorKind kind = OperatorKind::Unknown;
    DiffState diff = DiffState::None;
    bool hasNan = false; ///< diamond at the top right, also in the minimap
    bool notYet = false; ///< not run yet: muted
    int group = -1;
    int repeat = 0; ///< closed group standing for that many equal blocks
    float share = -1; ///< 0..1, the bar at the bottom; negative: no bar
    float overlay = std::numeric_limits<float>::quiet_NaN(); ///< position on the scene's overlay ramp; NaN: none
    std::string name; ///< conv1
    std::string subtitle; ///< Conv 3×3 · stride 2 · 64→128
    std::string shapeText; ///< [1,128,28,28] f32
    std::string bytesText; ///< 392 KiB
    std::string rightText; ///< 0.71 ms
};

struct SceneGroup {
    Box box;
    std::uint64_t key = 0;
    int parent = -1;
    DiffState diff = DiffState::None;
    int repeat = 0;
    std::string title;
    std::string countText; ///< 9 nodes
    std::string rightText; ///< 2.27 ms
};

enum class EdgeStyle : std::uint8_t {
    Value,
    Saved, ///< kept from the forward for the backward pass
    Gradient, ///< points from the gradient to whoever reads it
    NotYet, ///< not run yet
};

struct SceneEdge {
    int from = 0;
    int to = 0;
    std::int64_t bytes = 0; ///< of the value; sets the width
    EdgeStyle style = EdgeStyle::Value;
    DiffState diff = DiffState::None;
    float overlay = std::numeric_limits<float>::quiet_NaN(); ///< position on the health ramp: sets colour and width; NaN: none
    bool labelled = false; ///< label always drawn, because no card says it; else on hover and selection
    std::string label; ///< [1,64,56,56] f32 784 KiB
    std::string name; ///< of the value, for tool tips
};

/// A true edge that the layout leaves out because a portal stands for it; drawn on hover and selection of an end.
struct HiddenEdge {
    int from = 0;
    int to = 0;
};

/// What the overlay's numbers mean: `heat` from 0 to 1, `health` from -1 (vanishing) to 1 (exploding).
enum class OverlayRamp : std::uint8_t { None, Heat, Health };

struct GraphScene {
    std::vector<SceneNode> nodes;
    std::vector<SceneGroup> groups;
    std::vector<SceneEdge> edges;
    std::vector<Point> points; ///< routes as in LayoutResult
    std::vector<std::uint32_t> firstPoint;
    std::vector<LayoutPort> ports;
    std::vector<HiddenEdge> hiddenEdges;
    Box bounds;
    OverlayRamp overlayRamp = OverlayRamp::None;
    std::string overlayTitle, overlayLow, overlayHigh; ///< legend: "time, this run", "0", "2.91 ms"

    std::span<const Point> route(std::size_t edge) const {
        return std::span(points).subspan(firstPoint[edge], firstPoint[edge + 1] - firstPoint[edge]);
    }
};

constexpr float kCardWidth = 230;
constexpr float kCardHeight = 64;
constexpr float kCollapsedHeight = 46;
constexpr float kPortalHeight = 26;
constexpr float kLabelHeight = 18; ///< of an edge's pill

/// The size a node asks the layout for.
LayoutNode layoutNodeOf(const SceneNode& node);
/// The whole request for a scene whose boxes are not placed yet: nodes, groups and edges in the same order.
LayoutRequest layoutRequestOf(const GraphScene& scene);
/// Puts a layout of layoutRequestOf(scene) into the scene.
void applyLayout(GraphScene& scene, const LayoutResult& layout);

/// Of a position on the health ramp: 1 px where it vanishes, 3.5 where it is usual, 6 where it explodes.
float overlayEdgeWidth(float position);
/// clamp(1 + 0.25 log2(bytes / 16 KiB), 1, 4) px.
float edgeWidth(std::int64_t bytes);

/// Where an edge's label stands: in the gap below its source, or below the outermost group that it leaves.
Point labelAnchor(const GraphScene& scene, std::size_t edge);

} // namespace nabla::views
