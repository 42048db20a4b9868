// Nested layout: every scope solved by itself, innermost first, then put together in one coordinate system.
#include "views/layout/layered_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "views/layout/scope_layout.h"

namespace nabla::views {

using engine::Error;
using engine::ErrorKind;
using engine::Result;
using engine::usageError;

namespace {

using CacheKey = std::vector<std::uint32_t>;

struct CacheKeyHash {
    std::size_t operator()(const CacheKey& key) const {
        std::uint64_t h = 0xcbf29ce484222325; // FNV-1a by words
        for (const std::uint32_t word : key)
            h = (h ^ word) * 0x100000001b3;
        return h ^ (h >> 29);
    }
};

std::uint32_t bits(float f) {
    return std::bit_cast<std::uint32_t>(f);
}

CacheKey keyOf(const ScopeProblem& p) {
    CacheKey key;
    key.reserve(p.items.size() * 4 + p.edges.size() * 6 + 8);
    key.push_back(static_cast<std::uint32_t>(p.items.size()));
    for (const ScopeItem& i : p.items)
        key.insert(key.end(), {bits(i.width), bits(i.height), static_cast<std::uint32_t>(i.role), bits(i.previousX)});
    for (const ScopeEdge& e : p.edges)
        key.insert(key.end(),
            {static_cast<std::uint32_t>(e.from), static_cast<std::uint32_t>(e.to), bits(e.fromOffset), bits(e.toOffset),
                bits(e.labelHeight), static_cast<std::uint32_t>(e.toPort)});
    const LayoutSpacing& s = p.spacing;
    key.insert(key.end(),
        {bits(s.nodeGap), bits(s.rankGap), bits(s.edgeGap), bits(s.groupPadding), bits(s.groupHeader),
            bits(s.componentGap)});
    return key;
}

} // namespace

struct LayoutCache::Data {
    std::unordered_map<CacheKey, std::shared_ptr<const ScopeLayout>, CacheKeyHash> layouts;
    std::size_t words = 0;
    std::int64_t hits = 0, misses = 0;
};

LayoutCache::LayoutCache()
    : m_data(std::make_unique<Data>()) { }
LayoutCache::~LayoutCache() = default;
LayoutCache::LayoutCache(LayoutCache&&) noexcept = default;
LayoutCache& LayoutCache::operator=(LayoutCache&&) noexcept = default;
std::int64_t LayoutCache::hits() const {
    return m_data->hits;
}
std::int64_t LayoutCache::misses() const {
    return m_data->misses;
}

namespace {

/// Part of an edge's way inside one scope.
struct Piece {
    int scope = 0;
    int edge = 0;
};

/// A group, or (index 0) the top level.
struct Scope {
    int parent = -1;
    int depth = 0;
    int item = -1; ///< this scope's box as an item of its parent
    ScopeProblem problem;
    std::vector<int> innerFromPort, innerToPort; ///< by edge: port items of the child scopes it joins, or -1
    std::vector<int> itemScope; ///< by item: the scope whose box it is, or -1
    std::vector<int> itemNode; ///< by item: the node, or -1
    std::unordered_map<std::uint64_t, int> entryPorts, exitPorts; ///< by source node and output: port item
    std::unordered_map<std::uint64_t, int> edgeByEnds; ///< by the two end points: edge
    std::vector<int> portEdge; ///< by item: the edge of the request it first served
    std::shared_ptr<const ScopeLayout> layout;
    float top = 0; ///< where the layout's own y = 0 lies inside the box
    float left = 0;
    Box box;
};

class Nester {
public:
    Nester(const LayoutRequest& request, std::stop_token stop, LayoutCache* cache)
        : m_request(request)
        , m_stop(std::move(stop))
        , m_cache(cache) { }

    Result<LayoutResult> run() {
        makeScopes();
        for (std::size_t e = 0; e < m_request.edges.size(); ++e) {
            if (e % 4096 == 0 && m_stop.stop_requested())
                return cancelled();
            splitEdge(static_cast<int>(e));
        }
        m_pieceStart.push_back(static_cast<std::uint32_t>(m_pieces.size()));
        // Children have larger depth, so this order is innermost first.
        std::vector<int> order(m_scopes.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<int>(i);
        std::stable_sort(
            order.begin(), order.end(), [&](int a, int b) { return m_scopes[a].depth > m_scopes[b].depth; });
        for (const int s : order) {
            if (!solve(s))
                return cancelled();
        }
        return compose(order);
    }

private:
    const LayoutRequest& m_request;
    std::stop_token m_stop;
    LayoutCache* m_cache;
    std::vector<Scope> m_scopes;
    std::vector<int> m_nodeItem;
    std::vector<Piece> m_pieces;
    std::vector<std::uint32_t> m_pieceStart;

    static Error cancelled() { return {ErrorKind::Cancelled, "layout cancelled"}; }
    static std::uint64_t pack(int a, int b) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
    }

    int addItem(Scope& scope, ScopeItem item, int node, int child) {
        scope.problem.items.push_back(item);
        scope.itemNode.push_back(node);
        scope.itemScope.push_back(child);
        scope.portEdge.push_back(-1);
        return static_cast<int>(scope.problem.items.size()) - 1;
    }

    void makeScopes() {
        const auto& groups = m_request.groups;
        m_scopes.resize(groups.size() + 1);
        m_scopes[0].problem.spacing = m_request.spacing;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            Scope& s = m_scopes[g + 1];
            s.parent = groups[g].parent + 1;
            s.problem.spacing = m_request.spacing;
            for (int p = groups[g].parent; p >= 0; p = groups[p].parent)
                ++s.depth;
            ++s.depth;
        }
        m_nodeItem.resize(m_request.nodes.size());
        for (std::size_t n = 0; n < m_request.nodes.size(); ++n) {
            const LayoutNode& node = m_request.nodes[n];
            m_nodeItem[n] = addItem(m_scopes[node.group + 1], {node.width, node.height, ItemRole::Node, node.previousX},
                static_cast<int>(n), -1);
        }
        for (std::size_t g = 0; g < groups.size(); ++g)
            m_scopes[g + 1].item = addItem(m_scopes[m_scopes[g + 1].parent], {}, -1, static_cast<int>(g) + 1);
    }

    /// The port of one value on a scope's border; made when first asked for.
    int port(Scope& scope, ItemRole role, const LayoutEdge& e, int edge) {
        constexpr float kPortWidth = 14;
        auto& ports = role == ItemRole::Entry ? scope.entryPorts : scope.exitPorts;
        const auto [it, added] = ports.try_emplace(pack(e.from, e.fromPort), 0);
        if (added) {
            const float height = role == ItemRole::Entry ? m_request.spacing.groupHeader : 0;
            it->second = addItem(scope, {kPortWidth, height, role}, -1, -1);
            scope.portEdge[it->second] = edge;
        }
        return it->second;
    }

    /// Adds the edge of a scope once per pair of end points when it joins ports, and always when it joins nodes.
    int scopeEdge(Scope& scope, int from, int fromPort, int to, int toPort, const LayoutEdge& e, bool shared) {
        if (shared) {
            // Items and ports of one scope stay below 2^16 in practice; where they do not, edges are only drawn twice.
            const std::uint64_t key = pack(from, to) ^ (pack(fromPort, toPort) * 0x9e3779b97f4a7c15);
            const auto [it, added] = scope.edgeByEnds.try_emplace(key, static_cast<int>(scope.problem.edges.size()));
            if (!added && scope.problem.edges[it->second].from == from && scope.problem.edges[it->second].to == to
                && scope.innerFromPort[it->second] == fromPort && scope.innerToPort[it->second] == toPort)
                return it->second;
        }
        ScopeEdge edge{from, to, 0, std::numeric_limits<float>::quiet_NaN(), e.labelHeight, toPort < 0 ? e.toPort : -1};
        // Only a node with several outputs says which one an edge starts at.
        if (fromPort < 0 && scope.itemNode[from] >= 0 && e.fromPort > 0)
            edge.fromOffset = outputOffset(scope.problem.items[from].width, e.fromPort);
        if (scope.problem.items[to].role == ItemRole::Exit)
            edge.toOffset = 0;
        scope.problem.edges.push_back(edge);
        scope.innerFromPort.push_back(fromPort);
        scope.innerToPort.push_back(toPort);
        return static_cast<int>(scope.problem.edges.size()) - 1;
    }

    /// Output 0 leaves at the middle, the others alternate to its right and left.
    static float outputOffset(float width, int port) {
        const float step = std::min(24.0f, width / 10);
        const float away = static_cast<float>((port + 1) / 2) * step;
        return std::clamp(port % 2 == 1 ? away : -away, -width * 0.4f, width * 0.4f);
    }

    void splitEdge(int index) {
        const LayoutEdge& e = m_request.edges[index];
        m_pieceStart.push_back(static_cast<std::uint32_t>(m_pieces.size()));
        int a = m_request.nodes[e.from].group + 1;
        int b = m_request.nodes[e.to].group + 1;
        int fromItem = m_nodeItem[e.from], fromPort = -1;
        int toItem = m_nodeItem[e.to], toPort = -1;
        LayoutEdge inner = e;
        inner.labelHeight = 0; // the label stands where the edge leaves its scope
        std::vector<Piece> arriving;
        while (a != b) {
            if (m_scopes[a].depth >= m_scopes[b].depth) {
                Scope& s = m_scopes[a];
                const int p = port(s, ItemRole::Exit, e, index);
                m_pieces.push_back({a, scopeEdge(s, fromItem, fromPort, p, -1, inner, true)});
                fromItem = s.item;
                fromPort = p;
                a = s.parent;
            } else {
                Scope& s = m_scopes[b];
                const int p = port(s, ItemRole::Entry, e, index);
                arriving.push_back({b, scopeEdge(s, p, -1, toItem, toPort, inner, toPort >= 0)});
                toItem = s.item;
                toPort = p;
                b = s.parent;
            }
        }
        const bool shared = fromPort >= 0 || toPort >= 0;
        m_pieces.push_back({a, scopeEdge(m_scopes[a], fromItem, fromPort, toItem, toPort, e, shared)});
        m_pieces.insert(m_pieces.end(), arriving.rbegin(), arriving.rend());
    }

    float portOffset(const Scope& child, int portItem) const {
        return child.left + child.layout->centres[portItem].x - child.box.width / 2;
    }

    bool solve(int index) {
        constexpr std::size_t kLargestCached = 4096;
        Scope& s = m_scopes[index];
        for (std::size_t i = 0; i < s.itemScope.size(); ++i) {
            if (s.itemScope[i] > 0) {
                s.problem.items[i].width = m_scopes[s.itemScope[i]].box.width;
                s.problem.items[i].height = m_scopes[s.itemScope[i]].box.height;
            }
        }
        for (std::size_t e = 0; e < s.problem.edges.size(); ++e) {
            ScopeEdge& edge = s.problem.edges[e];
            if (s.innerFromPort[e] >= 0)
                edge.fromOffset = portOffset(m_scopes[s.itemScope[edge.from]], s.innerFromPort[e]);
            if (s.innerToPort[e] >= 0)
                edge.toOffset = portOffset(m_scopes[s.itemScope[edge.to]], s.innerToPort[e]);
        }
        if (m_cache != nullptr && s.problem.items.size() <= kLargestCached) {
            LayoutCache::Data& cache = m_cache->data();
            CacheKey key = keyOf(s.problem);
            const auto found = cache.layouts.find(key);
            if (found != cache.layouts.end()) {
                ++cache.hits;
                s.layout = found->second;
            } else {
                ++cache.misses;
                s.layout = freshLayout(s.problem);
                if (!s.layout)
                    return false;
                remember(cache, std::move(key), s.layout);
            }
        } else {
            s.layout = freshLayout(s.problem);
        }
        if (!s.layout)
            return false;
        boxAround(s, index);
        return true;
    }

    std::shared_ptr<const ScopeLayout> freshLayout(const ScopeProblem& problem) const {
        auto layout = layoutScope(problem, m_stop);
        return layout ? std::make_shared<const ScopeLayout>(std::move(*layout)) : nullptr;
    }

    static void remember(LayoutCache::Data& cache, CacheKey key, std::shared_ptr<const ScopeLayout> layout) {
        constexpr std::size_t kMostWords = 8'000'000; // 32 MB of keys, about as much again of layouts
        if (cache.words + key.size() > kMostWords) {
            cache.layouts.clear();
            cache.words = 0;
        }
        cache.words += key.size();
        cache.layouts.emplace(std::move(key), std::move(layout));
    }

    void boxAround(Scope& s, int index) const {
        if (index == 0)
            return;
        const LayoutSpacing& spacing = m_request.spacing;
        s.box.width = std::max(s.layout->width + 2 * spacing.groupPadding, m_request.groups[index - 1].minWidth);
        s.left = (s.box.width - s.layout->width) / 2;
        s.top = s.entryPorts.empty() ? spacing.groupHeader + spacing.groupPadding : 0;
        s.box.height = s.top + s.layout->height + (s.exitPorts.empty() ? spacing.groupPadding : 0);
    }

    Result<LayoutResult> compose(const std::vector<int>& innermostFirst) {
        LayoutResult result;
        result.nodes.resize(m_request.nodes.size());
        result.groups.resize(m_request.groups.size());
        for (auto it = innermostFirst.rbegin(); it != innermostFirst.rend(); ++it) {
            Scope& s = m_scopes[*it];
            if (*it > 0) {
                const Scope& parent = m_scopes[s.parent];
                const Point centre = parent.layout->centres[s.item];
                s.box.x = parent.box.x + parent.left + centre.x - s.box.width / 2;
                s.box.y = parent.box.y + parent.top + centre.y - s.box.height / 2;
                result.groups[*it - 1] = s.box;
            }
            placeItems(s, *it, result);
        }
        result.firstPoint.push_back(0);
        for (std::size_t e = 0; e < m_request.edges.size(); ++e) {
            joinPieces(e, result);
            result.firstPoint.push_back(static_cast<std::uint32_t>(result.points.size()));
        }
        result.bounds = {0, 0, m_scopes[0].layout->width, m_scopes[0].layout->height};
        return result;
    }

    void placeItems(const Scope& s, int index, LayoutResult& result) const {
        for (std::size_t i = 0; i < s.problem.items.size(); ++i) {
            const ScopeItem& item = s.problem.items[i];
            const Point c{s.box.x + s.left + s.layout->centres[i].x, s.box.y + s.top + s.layout->centres[i].y};
            if (s.itemNode[i] >= 0)
                result.nodes[s.itemNode[i]] = {c.x - item.width / 2, c.y - item.height / 2, item.width, item.height};
            else if (s.portEdge[i] >= 0)
                result.ports.push_back({index - 1, s.portEdge[i], {c.x, c.y - item.height / 2}});
        }
    }

    void joinPieces(std::size_t edge, LayoutResult& result) const {
        bool first = true;
        for (std::uint32_t i = m_pieceStart[edge]; i < m_pieceStart[edge + 1]; ++i) {
            const Piece piece = m_pieces[i];
            const Scope& s = m_scopes[piece.scope];
            const float dx = s.box.x + s.left;
            const float dy = s.box.y + s.top;
            // The first point of each further piece is the port where the last one ended.
            const std::uint32_t begin = s.layout->firstPoint[piece.edge] + (first ? 0 : 1);
            for (std::uint32_t p = begin; p < s.layout->firstPoint[piece.edge + 1]; ++p)
                result.points.push_back({s.layout->points[p].x + dx, s.layout->points[p].y + dy});
            first = false;
        }
    }
};

} // namespace

Result<void> checkRequest(const LayoutRequest& r) {
    constexpr std::size_t kMost = 20'000'000;
    constexpr float kLargest = 1e6f;
    constexpr int kDeepest = 512; // nesting of names in a file; each level costs every edge through it a piece
    if (r.nodes.size() > kMost || r.edges.size() > kMost || r.groups.size() > kMost)
        return usageError("layout of {} nodes, {} edges, {} groups: more than {} of one kind", r.nodes.size(),
            r.edges.size(), r.groups.size(), kMost);
    const int nodes = static_cast<int>(r.nodes.size());
    const int groups = static_cast<int>(r.groups.size());
    for (int n = 0; n < nodes; ++n) {
        const LayoutNode& node = r.nodes[n];
        if (!(node.width >= 0 && node.width <= kLargest && node.height >= 0 && node.height <= kLargest))
            return usageError("layout node {}: size {} x {} is not in 0 to {}", n, node.width, node.height, kLargest);
        if (node.group < -1 || node.group >= groups)
            return usageError("layout node {}: group {} of {}", n, node.group, groups);
    }
    for (std::size_t e = 0; e < r.edges.size(); ++e) {
        const LayoutEdge& edge = r.edges[e];
        if (edge.from < 0 || edge.from >= nodes || edge.to < 0 || edge.to >= nodes)
            return usageError("layout edge {}: {} to {}, but there are {} nodes", e, edge.from, edge.to, nodes);
        if (!(edge.labelHeight >= 0 && edge.labelHeight <= kLargest))
            return usageError("layout edge {}: label height {}", e, edge.labelHeight);
    }
    // A group is good when its chain of parents ends; `good` makes the check linear.
    std::vector<std::uint8_t> state(r.groups.size(), 0); // 0 unseen, 1 on this chain, 2 good
    std::vector<int> depth(r.groups.size(), 0);
    std::vector<int> chain;
    for (int g = 0; g < groups; ++g) {
        chain.clear();
        int at = g;
        while (at >= 0 && state[at] == 0) {
            state[at] = 1;
            chain.push_back(at);
            const int parent = r.groups[at].parent;
            if (parent < -1 || parent >= groups)
                return usageError("layout group {}: parent {} of {}", at, parent, groups);
            at = parent;
        }
        if (at >= 0 && state[at] == 1)
            return usageError("layout group {} contains itself", at);
        int level = at < 0 ? 0 : depth[at];
        for (auto c = chain.rbegin(); c != chain.rend(); ++c) {
            state[*c] = 2;
            depth[*c] = ++level;
        }
        if (level > kDeepest)
            return usageError("layout group {}: nested {} deep, more than {}", g, level, kDeepest);
        if (!(r.groups[g].minWidth >= 0 && r.groups[g].minWidth <= kLargest))
            return usageError("layout group {}: least width {}", g, r.groups[g].minWidth);
    }
    return {};
}

Result<LayoutResult> layeredLayout(const LayoutRequest& request, std::stop_token stop, LayoutCache* cache) {
    NABLA_CHECK(checkRequest(request));
    return Nester(request, std::move(stop), cache).run();
}

} // namespace nabla::views
