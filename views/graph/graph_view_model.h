// From an engine graph to a scene of the canvas: which scopes are open, what each card says, which edges cross. No Qt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/analysis/types.h"
#include "engine/graph/graph.h"
#include "views/canvas/graph_scene.h"
#include "views/graph/scope_tree.h"

namespace nabla::views {

/// Numbers by node that colour the graph: time, bytes, gradient norms, own data.
struct Overlay {
    std::string title, low, high;                        ///< legend
    OverlayRamp ramp = OverlayRamp::Heat;
    std::unordered_map<engine::NodeId, float> position;  ///< on the ramp
    std::unordered_map<engine::NodeId, std::string> text; ///< right-hand text of the card
    std::unordered_map<engine::NodeId, float> share;      ///< bar, 0..1
    /// What a node adds to its scopes: a sum, or parts of one norm (the root of the sum of squares).
    std::unordered_map<engine::NodeId, double> amount;
    enum class Total : std::uint8_t { Sum, Norm } total = Total::Sum;
    std::function<std::string(double)> totalText;         ///< right-hand text of a scope
    std::function<float(double)> place;                   ///< of a closed scope's total on the ramp
    struct Edge {
        float position = 0;
        std::string text;
    };
    std::unordered_map<engine::ValueId, Edge> edges;      ///< of values; Health only
};

struct GraphViewOptions {
    std::set<std::string> closed;        ///< scope paths shown as one card
    std::string focus;                   ///< only this scope's content; empty = all
    bool showConstants = false;          ///< Constant nodes and initializers as portals
    /// Difference to another state of the same document: nodes of `other` that are gone stand as ghosts (side After) or plain (side Before).
    const engine::Graph* other = nullptr;
    enum class Side : std::uint8_t { Single, Before, After } side = Side::Single;
    const Overlay* overlay = nullptr;
    /// Stepping: nodes that have not run yet.
    const std::unordered_set<engine::NodeId>* notYet = nullptr;
    /// Nodes with NaN among their outputs.
    const std::unordered_set<engine::NodeId>* withNan = nullptr;
};

/// A scene that still wants a layout, with the way back from scene nodes to the graph.
struct GraphView {
    GraphScene scene;
    std::vector<engine::NodeId> nodeOf;        ///< per scene node; none for inputs, outputs, portals and closed scopes
    std::vector<engine::ValueId> valueOf;      ///< per scene node: graph inputs and outputs, portals
    std::vector<std::string> scopeOf;          ///< per scene node: path of a closed scope, else empty
    std::vector<std::string> groupScope;       ///< per scene group: its path
    std::vector<engine::ValueId> edgeValue;    ///< per scene edge
    std::unordered_map<engine::NodeId, int> sceneOf; ///< nodes inside closed scopes map to that card
};

GraphView buildGraphView(const engine::Graph& graph, const engine::TypeMap& types, const ScopeTree& scopes, const GraphViewOptions& options);

/// Scopes to close so that at most about `limit` cards are open: the largest first, outermost first. Small graphs: none.
std::set<std::string> defaultClosed(const ScopeTree& scopes, std::size_t limit = 400);

} // namespace nabla::views
