// Builds a cgraph from a layout request, runs dot, and reads positions and splines back.
#include "views/layout/worker/graphviz_layout.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <graphviz/gvc.h>

#include "views/layout/layered_layout.h"

namespace nabla::views {

using engine::Result;
using engine::runError;
using engine::usageError;

namespace {

constexpr double kPointsPerInch = 72;
// Above this, straight edges and the coarsest settings: measured in milliseconds for 1,000 nodes.
constexpr std::size_t kCurvedNodes = 600;
// Up to here dot may take its time for straight lines: 29 ms at 300 nodes.
constexpr std::size_t kThoroughNodes = 300;

struct GraphCloser {
    GVC_t* context;
    bool laidOut = false;
    void operator()(Agraph_t* g) const {
        if (laidOut)
            gvFreeLayout(context, g);
        agclose(g);
    }
};

/// cgraph wants writable strings but does not write to them.
void set(void* object, const char* name, const std::string& value) {
    agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.c_str()), const_cast<char*>(""));
}
std::string inches(float units) {
    return fmt::format("{:.4f}", static_cast<double>(units) / kPointsPerInch);
}

class DotGraph {
public:
    DotGraph(GVC_t* context, const LayoutRequest& request)
        : m_request(request)
        , m_graph(agopen(const_cast<char*>("g"), Agdirected, nullptr), GraphCloser{context}) { }

    Result<LayoutResult> run() {
        graphAttributes();
        addGroups();
        addNodes();
        addEdges();
        GVC_t* context = m_graph.get_deleter().context;
        if (gvLayout(context, m_graph.get(), "dot") != 0)
            return runError(
                "dot found no layout of {} nodes and {} edges", m_request.nodes.size(), m_request.edges.size());
        m_graph.get_deleter().laidOut = true;
        return read();
    }

private:
    const LayoutRequest& m_request;
    std::unique_ptr<Agraph_t, GraphCloser> m_graph;
    std::vector<Agraph_t*> m_groups;
    std::vector<Agnode_t*> m_nodes;
    std::vector<Agedge_t*> m_edges;
    float m_top = 0; ///< Graphviz's y of the upper border: its y grows upwards

    void graphAttributes() {
        Agraph_t* g = m_graph.get();
        const LayoutSpacing& s = m_request.spacing;
        float gap = s.rankGap * 1.2f;
        for (const LayoutEdge& e : m_request.edges)
            gap = std::max(gap, e.labelHeight > 0 ? e.labelHeight + 22 : 0);
        set(g, "nodesep", inches(s.nodeGap));
        set(g, "ranksep", inches(gap));
        if (m_request.nodes.size() > kThoroughNodes) {
            // All three are needed: with one global mask read by every layer each alone runs for 15 s at 1,000 nodes.
            set(g, "nslimit", "0.1");
            set(g, "nslimit1", "0.5");
            set(g, "mclimit", "0.1");
        }
        set(g, "splines", m_request.nodes.size() <= kCurvedNodes ? "spline" : "line");
        // A blank cluster label keeps the title row free; names are never handed to Graphviz.
        set(g, "fontsize", fmt::format("{:.1f}", static_cast<double>(s.groupHeader) * 0.7));
        set(g, "margin", "0");
        agattr(g, AGNODE, const_cast<char*>("shape"), const_cast<char*>("box"));
        agattr(g, AGNODE, const_cast<char*>("fixedsize"), const_cast<char*>("true"));
        agattr(g, AGNODE, const_cast<char*>("label"), const_cast<char*>(""));
        agattr(g, AGNODE, const_cast<char*>("width"), const_cast<char*>("1"));
        agattr(g, AGNODE, const_cast<char*>("height"), const_cast<char*>("1"));
        agattr(g, AGEDGE, const_cast<char*>("arrowhead"), const_cast<char*>("none"));
    }

    Agraph_t* groupGraph(int group) { return group < 0 ? m_graph.get() : m_groups[group]; }

    void addGroups() {
        // Parents first, whatever their numbers.
        const int count = static_cast<int>(m_request.groups.size());
        m_groups.assign(m_request.groups.size(), nullptr);
        std::vector<int> chain;
        for (int g = 0; g < count; ++g) {
            chain.clear();
            for (int at = g; at >= 0 && m_groups[at] == nullptr; at = m_request.groups[at].parent)
                chain.push_back(at);
            for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
                std::string name = fmt::format("cluster_{}", *it);
                Agraph_t* sub = agsubg(groupGraph(m_request.groups[*it].parent), name.data(), 1);
                set(sub, "label", " ");
                set(sub, "margin", fmt::format("{:.1f}", static_cast<double>(m_request.spacing.groupPadding)));
                m_groups[*it] = sub;
            }
        }
    }

    void addNodes() {
        for (std::size_t n = 0; n < m_request.nodes.size(); ++n) {
            const LayoutNode& node = m_request.nodes[n];
            std::string name = fmt::format("n{}", n);
            Agnode_t* made = agnode(groupGraph(node.group), name.data(), 1);
            set(made, "width", inches(std::max(node.width, 1.0f)));
            set(made, "height", inches(std::max(node.height, 1.0f)));
            m_nodes.push_back(made);
        }
    }

    void addEdges() {
        for (std::size_t e = 0; e < m_request.edges.size(); ++e) {
            std::string key = fmt::format("e{}", e);
            m_edges.push_back(
                agedge(m_graph.get(), m_nodes[m_request.edges[e].from], m_nodes[m_request.edges[e].to], key.data(), 1));
        }
    }

    Point flip(pointf p) const { return {static_cast<float>(p.x), m_top - static_cast<float>(p.y)}; }
    Box flip(boxf b) const {
        const auto width = static_cast<float>(b.UR.x - b.LL.x);
        const auto height = static_cast<float>(b.UR.y - b.LL.y);
        return {static_cast<float>(b.LL.x), m_top - static_cast<float>(b.UR.y), width, height};
    }

    Result<LayoutResult> read() {
        LayoutResult result;
        m_top = static_cast<float>(GD_bb(m_graph.get()).UR.y);
        result.bounds = flip(GD_bb(m_graph.get()));
        for (std::size_t n = 0; n < m_nodes.size(); ++n) {
            const Point c = flip(ND_coord(m_nodes[n]));
            const LayoutNode& node = m_request.nodes[n];
            result.nodes.push_back({c.x - node.width / 2, c.y - node.height / 2, node.width, node.height});
        }
        for (Agraph_t* sub : m_groups)
            result.groups.push_back(flip(GD_bb(sub)));
        result.firstPoint.push_back(0);
        for (std::size_t e = 0; e < m_edges.size(); ++e) {
            readRoute(m_edges[e], result);
            result.firstPoint.push_back(static_cast<std::uint32_t>(result.points.size()));
            addPorts(static_cast<int>(e), result);
        }
        return result;
    }

    void readRoute(Agedge_t* edge, LayoutResult& result) const {
        const splines* route = ED_spl(edge);
        if (route == nullptr || route->size == 0 || route->list[0].size < 4 || route->list[0].size % 3 != 1) {
            // dot sometimes loses an edge ("lost edge" in its log); a straight line still shows it.
            const Point a = flip(ND_coord(agtail(edge)));
            const Point b = flip(ND_coord(aghead(edge)));
            result.points.insert(result.points.end(), {a, {a.x, (a.y + b.y) / 2}, {b.x, (a.y + b.y) / 2}, b});
            return;
        }
        // dot draws an edge against the rank order from head to tail's side as well; its first point is at the tail.
        for (int i = 0; i < route->list[0].size; ++i)
            result.points.push_back(flip(route->list[0].list[i]));
    }

    static Point at(std::span<const Point> c, float t) {
        const float s = 1 - t;
        const float a = s * s * s, b = 3 * s * s * t, d = 3 * s * t * t, e = t * t * t;
        return {a * c[0].x + b * c[1].x + d * c[2].x + e * c[3].x, a * c[0].y + b * c[1].y + d * c[2].y + e * c[3].y};
    }

    /// A port where the route first crosses the border of each group that holds one of its ends only.
    void addPorts(int edge, LayoutResult& result) const {
        const LayoutEdge& e = m_request.edges[edge];
        const auto holds = [&](int group, int node) {
            for (int g = m_request.nodes[node].group; g >= 0; g = m_request.groups[g].parent) {
                if (g == group)
                    return true;
            }
            return false;
        };
        for (const int end : {e.from, e.to}) {
            for (int g = m_request.nodes[end].group; g >= 0; g = m_request.groups[g].parent) {
                if (holds(g, end == e.from ? e.to : e.from))
                    break;
                addPort(g, edge, result);
            }
        }
    }

    static void addPort(int group, int edge, LayoutResult& result) {
        constexpr int kSteps = 24;
        const Box& box = result.groups[group];
        const auto points = result.route(static_cast<std::size_t>(edge));
        bool inside = box.contains(points[0]);
        for (std::size_t i = 0; i + 3 < points.size(); i += 3) {
            for (int k = 1; k <= kSteps; ++k) {
                Point p = at(points.subspan(i, 4), static_cast<float>(k) / kSteps);
                if (box.contains(p) == inside)
                    continue;
                // On the nearest side of the border.
                const float toTop = std::abs(p.y - box.y), toBottom = std::abs(p.y - box.bottom());
                const float toLeft = std::abs(p.x - box.x), toRight = std::abs(p.x - box.right());
                const float least = std::min({toTop, toBottom, toLeft, toRight});
                if (least == toTop || least == toBottom)
                    p.y = least == toTop ? box.y : box.bottom();
                else
                    p.x = least == toLeft ? box.x : box.right();
                result.ports.push_back({group, edge, p});
                return;
            }
        }
    }
};

} // namespace

struct GraphvizLayout::Context {
    GVC_t* gvc = gvContext();
    ~Context() { gvFreeContext(gvc); }
};

GraphvizLayout::GraphvizLayout()
    : m_context(std::make_unique<Context>()) { }
GraphvizLayout::~GraphvizLayout() = default;

Result<LayoutResult> GraphvizLayout::layout(const LayoutRequest& request) {
    NABLA_CHECK(checkRequest(request));
    if (request.nodes.size() > kMaxNodes)
        return usageError("dot is asked for {} nodes, more than {}", request.nodes.size(), kMaxNodes);
    return DotGraph(m_context->gvc, request).run();
}

} // namespace nabla::views
