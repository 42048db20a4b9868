// Nodes to cards, values to edges; closed scopes swallow what is inside them.
#include "views/graph/graph_view_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/graph/graph_diff.h"
#include "views/graph/node_text.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

constexpr std::uint64_t kValueKey = std::uint64_t{1} << 40;
constexpr std::uint64_t kScopeKey = std::uint64_t{1} << 41;
constexpr std::size_t kPortalFanOut = 8; // more readers than this: tags in place of edges

std::uint64_t scopeKey(const std::string& path) { return kScopeKey | (std::hash<std::string>{}(path) & 0xffffffffU); }

class Builder {
public:
    Builder(const Graph& graph, const TypeMap& types, const ScopeTree& scopes, const GraphViewOptions& options)
        : m_graph(graph), m_types(types), m_scopes(scopes), m_options(options), m_uses(uses(graph)) { }

    GraphView build() {
        readDifference();
        openScopes();
        addInputs();
        m_graph.forEachNode([this](const Node& node) { addNode(node); });
        addOutputs();
        m_graph.forEachNode([this](const Node& node) { addEdges(node); });
        addOutputEdges();
        writeTotals();
        return std::move(m_view);
    }

private:
    // ---- difference
    void readDifference() {
        if (!m_options.other)
            return;
        const bool after = m_options.side == GraphViewOptions::Side::After;
        m_otherDiff = after ? diff(*m_options.other, m_graph) : diff(m_graph, *m_options.other);
        for (const NodeId id : after ? m_otherDiff.added : m_otherDiff.removed)
            m_mark[id] = after ? DiffState::Added : DiffState::Removed;
        for (const NodeId id : m_otherDiff.changed)
            m_mark[id] = DiffState::Changed;
    }

    // ---- scopes
    bool closedSelf(int scope) const { return scope > 0 && m_options.closed.contains(m_scopes.scopes[static_cast<std::size_t>(scope)].path); }

    void openScopes() {
        const std::size_t count = m_scopes.scopes.size();
        m_groupOf.assign(count, -1);
        m_closedBy.assign(count, -1);
        m_inFocus.assign(count, m_options.focus.empty());
        m_cardOf.assign(count, -1);
        for (std::size_t i = 0; i < count; ++i) { // parents come before children
            const auto& scope = m_scopes.scopes[i];
            if (i > 0 && scope.parent < 0)
                continue; // dissolved
            const auto parent = static_cast<std::size_t>(std::max(0, scope.parent));
            if (i > 0) {
                m_inFocus[i] = m_inFocus[parent] || scope.path == m_options.focus;
                m_closedBy[i] = m_closedBy[parent] >= 0 ? m_closedBy[parent] : closedSelf(static_cast<int>(i)) ? static_cast<int>(i) : -1;
            }
            if (i == 0 || !m_inFocus[i] || m_closedBy[i] >= 0 || scope.path == m_options.focus)
                continue;
            SceneGroup group;
            group.key = scopeKey(scope.path);
            group.parent = m_groupOf[parent];
            group.title = scope.name;
            group.countText = fmt::format("{} {}", scope.nodeCount, scope.nodeCount == 1 ? "node" : "nodes");
            m_groupOf[i] = static_cast<int>(m_view.scene.groups.size());
            m_view.scene.groups.push_back(std::move(group));
            m_view.groupScope.push_back(scope.path);
        }
    }

    int push(SceneNode node, NodeId id, ValueId value, std::string scope) {
        m_view.scene.nodes.push_back(std::move(node));
        m_view.nodeOf.push_back(id);
        m_view.valueOf.push_back(value);
        m_view.scopeOf.push_back(std::move(scope));
        return static_cast<int>(m_view.scene.nodes.size()) - 1;
    }

    int closedCard(int scopeIndex) {
        int& card = m_cardOf[static_cast<std::size_t>(scopeIndex)];
        if (card >= 0)
            return card;
        const auto& scope = m_scopes.scopes[static_cast<std::size_t>(scopeIndex)];
        SceneNode node;
        node.key = scopeKey(scope.path);
        node.form = NodeForm::CollapsedGroup;
        node.name = scope.name;
        node.subtitle = fmt::format("{} nodes", scope.nodeCount);
        node.group = scope.parent >= 0 ? m_groupOf[static_cast<std::size_t>(scope.parent)] : -1;
        return card = push(std::move(node), {}, {}, scope.path);
    }

    // ---- nodes
    bool hidden(const Node& node) const { return node.is("Constant") && !m_options.showConstants; }

    void addNode(const Node& node) {
        if (hidden(node))
            return;
        const int scope = m_scopes.scope(node.id);
        if (!m_inFocus[static_cast<std::size_t>(scope)])
            return;
        if (const int closed = m_closedBy[static_cast<std::size_t>(scope)]; closed >= 0) {
            const int card = closedCard(closed);
            m_view.sceneOf[node.id] = card;
            SceneNode& cardNode = m_view.scene.nodes[static_cast<std::size_t>(card)];
            cardNode.hasNan = cardNode.hasNan || (m_options.withNan && m_options.withNan->contains(node.id));
            if (m_mark.contains(node.id) && cardNode.diff == DiffState::None)
                cardNode.diff = DiffState::Changed;
            return;
        }
        m_view.sceneOf[node.id] = push(card(node, scope), node.id, {}, {});
    }

    SceneNode card(const Node& node, int scope) const {
        SceneNode out;
        out.key = node.id.value;
        out.kind = operatorKind(node.opType, node.domain);
        out.group = m_groupOf[static_cast<std::size_t>(scope)];
        out.name = m_scopes.title(node.id);
        out.subtitle = operatorText(node, m_types);
        if (const ValueId first = node.output(0)) {
            out.shapeText = shapeText(m_types.of(first));
            if (const auto bytes = bytesOf(m_types.of(first)))
                out.bytesText = formatBytes(*bytes);
        }
        if (const auto mark = m_mark.find(node.id); mark != m_mark.end())
            out.diff = mark->second;
        if (m_options.notYet && m_options.notYet->contains(node.id))
            out.notYet = true;
        out.hasNan = m_options.withNan && m_options.withNan->contains(node.id);
        if (m_options.overlay)
            paintOverlay(out, node.id);
        return out;
    }

    void paintOverlay(SceneNode& out, NodeId id) const {
        const Overlay& overlay = *m_options.overlay;
        if (const auto it = overlay.position.find(id); it != overlay.position.end())
            out.overlay = it->second;
        if (const auto it = overlay.text.find(id); it != overlay.text.end())
            out.rightText = it->second;
        if (const auto it = overlay.share.find(id); it != overlay.share.end())
            out.share = it->second;
    }

    /// Sums of the overlay's amounts on group boxes and closed cards.
    void writeTotals() {
        if (!m_options.overlay || !m_options.overlay->totalText)
            return;
        const Overlay& overlay = *m_options.overlay;
        const bool norm = overlay.total == Overlay::Total::Norm;
        std::map<int, double> totals; // by scope
        m_graph.forEachNode([&](const Node& node) {
            const auto it = overlay.amount.find(node.id);
            if (it == overlay.amount.end())
                return;
            for (int scope = m_scopes.scope(node.id); scope > 0; scope = m_scopes.scopes[static_cast<std::size_t>(scope)].parent)
                totals[scope] += norm ? it->second * it->second : it->second;
        });
        for (const auto& [scope, sum] : totals) {
            const double total = norm ? std::sqrt(sum) : sum;
            const auto index = static_cast<std::size_t>(scope);
            if (const int group = m_groupOf[index]; group >= 0)
                m_view.scene.groups[static_cast<std::size_t>(group)].rightText = overlay.totalText(total);
            if (const int card = m_cardOf[index]; card >= 0) {
                SceneNode& node = m_view.scene.nodes[static_cast<std::size_t>(card)];
                node.rightText = overlay.totalText(total);
                if (overlay.place)
                    node.overlay = overlay.place(total);
            }
        }
    }

    SceneNode terminal(ValueId id, const char* what) const {
        SceneNode node;
        node.key = kValueKey | id.value;
        node.kind = OperatorKind::Constant;
        node.name = m_graph.value(id)->name;
        node.subtitle = what;
        node.shapeText = shapeText(m_types.of(id));
        if (const auto bytes = bytesOf(m_types.of(id)))
            node.bytesText = formatBytes(*bytes);
        return node;
    }

    void addInputs() {
        if (!m_options.focus.empty())
            return;
        for (const auto list : {m_graph.inputs(), m_graph.captures()}) {
            for (const ValueId id : list)
                m_inputCard[id] = push(terminal(id, list.data() == m_graph.captures().data() ? "captured" : "input"), {}, id, {});
        }
    }

    void addOutputs() {
        if (!m_options.focus.empty())
            return;
        for (const ValueId id : m_graph.outputs()) {
            SceneNode node = terminal(id, "output");
            node.key |= std::uint64_t{1} << 42; // an input that is handed straight on has two cards
            m_outputCards.emplace_back(id, push(std::move(node), {}, id, {}));
        }
    }

    // ---- edges
    /// Scene node that makes a value; -1: none shown (weights, hidden constants, outside the focus).
    int source(ValueId id) const {
        if (const auto it = m_inputCard.find(id); it != m_inputCard.end())
            return it->second;
        const Value* value = m_graph.value(id);
        if (!value || !value->producer)
            return -1;
        const auto it = m_view.sceneOf.find(value->producer);
        return it == m_view.sceneOf.end() ? -1 : it->second;
    }

    void connect(ValueId id, int from, int to) {
        if (from == to && (from < 0 || m_view.scene.nodes[static_cast<std::size_t>(from)].form == NodeForm::CollapsedGroup))
            return;
        const auto [it, isNew] = m_joined.try_emplace((static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to), static_cast<int>(m_view.scene.edges.size()));
        if (!isNew)
            return; // several values between two cards are one line
        SceneEdge edge;
        edge.from = from;
        edge.to = to;
        const ValueType& type = m_types.of(id);
        edge.bytes = bytesOf(type).value_or(0);
        edge.label = shapeText(type);
        if (edge.bytes > 0)
            edge.label += " " + formatBytes(edge.bytes);
        edge.name = m_graph.value(id) ? m_graph.value(id)->name : "";
        edge.style = styleOf(from, to);
        if (m_options.overlay) {
            if (const auto it2 = m_options.overlay->edges.find(id); it2 != m_options.overlay->edges.end()) {
                edge.overlay = it2->second.position;
                edge.label += (edge.label.empty() ? "" : " \u00b7 ") + it2->second.text;
            }
        }
        // Only a closed scope does not say itself what comes out of it.
        edge.labelled = m_view.scene.nodes[static_cast<std::size_t>(from)].form == NodeForm::CollapsedGroup && !edge.label.empty();
        m_view.scene.edges.push_back(std::move(edge));
        m_view.edgeValue.push_back(id);
    }

    EdgeStyle styleOf(int from, int to) const {
        const auto phase = [&](int index) {
            const Node* node = m_graph.node(m_view.nodeOf[static_cast<std::size_t>(index)]);
            return node ? (node->gradientOf ? 2 : 1) : 0;
        };
        if (m_options.notYet && m_view.scene.nodes[static_cast<std::size_t>(to)].notYet)
            return EdgeStyle::NotYet;
        const int a = phase(from), b = phase(to);
        if (a == 2 && b == 2)
            return EdgeStyle::Gradient;
        return a == 1 && b == 2 ? EdgeStyle::Saved : EdgeStyle::Value;
    }

    void read(ValueId id, int to) {
        if (!id || to < 0)
            return;
        const int from = source(id);
        if (from < 0)
            return;
        if (m_uses->of(id).size() > kPortalFanOut && m_view.scene.nodes.size() > 40) {
            connect(id, portal(id, to), to);
            return;
        }
        connect(id, from, to);
    }

    /// A tag beside the reader in place of a long edge.
    int portal(ValueId id, int to) {
        const std::uint64_t pair = (static_cast<std::uint64_t>(id.value) << 32) | static_cast<std::uint32_t>(to);
        if (const auto it = m_portals.find(pair); it != m_portals.end())
            return it->second;
        SceneNode node;
        node.key = (std::uint64_t{1} << 43) | pair;
        node.form = NodeForm::Portal;
        node.kind = OperatorKind::Constant;
        node.group = m_view.scene.nodes[static_cast<std::size_t>(to)].group;
        node.name = fmt::format("{} \u00b7 {} readers", m_graph.value(id)->name.substr(0, 60), m_uses->of(id).size());
        return m_portals[pair] = push(std::move(node), {}, id, {});
    }

    void addEdges(const Node& node) {
        const auto it = m_view.sceneOf.find(node.id);
        if (it == m_view.sceneOf.end())
            return;
        const int to = it->second;
        for (const ValueId id : node.inputs)
            read(id, to);
        for (const ValueId id : node.captures)
            read(id, to);
    }

    void addOutputEdges() {
        for (const auto& [id, card] : m_outputCards) {
            if (const int from = source(id); from >= 0)
                connect(id, from, card);
        }
    }

    const Graph& m_graph;
    const TypeMap& m_types;
    const ScopeTree& m_scopes;
    const GraphViewOptions& m_options;
    std::shared_ptr<const Uses> m_uses;
    GraphView m_view;
    GraphDiff m_otherDiff;
    std::unordered_map<NodeId, DiffState> m_mark;
    std::vector<int> m_groupOf, m_closedBy, m_cardOf;
    std::vector<bool> m_inFocus;
    std::unordered_map<ValueId, int> m_inputCard;
    std::vector<std::pair<ValueId, int>> m_outputCards;
    std::unordered_map<std::uint64_t, int> m_joined, m_portals;
};

} // namespace

GraphView buildGraphView(const Graph& graph, const TypeMap& types, const ScopeTree& scopes, const GraphViewOptions& options) {
    return Builder(graph, types, scopes, options).build();
}

std::set<std::string> defaultClosed(const ScopeTree& scopes, std::size_t limit) {
    std::set<std::string> closed;
    if (scopes.scopes.front().nodeCount <= limit)
        return closed;
    // Open breadth first while the budget lasts; whatever is left stays closed.
    std::size_t cards = scopes.scopes.front().nodes.size() + scopes.scopes.front().children.size();
    std::vector<int> queue = scopes.scopes.front().children;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const auto& scope = scopes.scopes[static_cast<std::size_t>(queue[i])];
        const std::size_t inside = scope.nodes.size() + scope.children.size();
        if (cards + inside > limit) {
            closed.insert(scope.path);
            continue;
        }
        cards += inside;
        queue.insert(queue.end(), scope.children.begin(), scope.children.end());
    }
    return closed;
}

} // namespace nabla::views
