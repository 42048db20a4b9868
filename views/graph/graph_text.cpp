// Writers over the scene.
#include "views/graph/graph_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nabla::views {

namespace {

/// A quoted DOT string: quotes and backslashes escaped, so that `\N` and the like stay text; newlines as \n.
std::string dotQuoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (static_cast<unsigned char>(c) >= 0x20)
            out += c;
    }
    return out + "\"";
}

void writeCluster(const GraphView& view, int group, std::string& out) {
    const auto& groups = view.scene.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].parent != group)
            continue;
        out += fmt::format("subgraph cluster_{} {{ label={};\n", g, dotQuoted(groups[g].title));
        writeCluster(view, static_cast<int>(g), out); // as deep as scopes are, which is bounded
        out += "}\n";
    }
    for (std::size_t n = 0; n < view.scene.nodes.size(); ++n) {
        const SceneNode& node = view.scene.nodes[n];
        if (node.group == group)
            out += fmt::format("n{} [label={}];\n", n, dotQuoted(node.name));
    }
}

nlohmann::json boxJson(const Box& box) { return {{"x", box.x}, {"y", box.y}, {"width", box.width}, {"height", box.height}}; }

} // namespace

std::string graphDot(const GraphView& view) {
    std::string out = "digraph G {\nnode [shape=box, fontname=\"DejaVu Sans\"];\n";
    writeCluster(view, -1, out);
    for (const SceneEdge& edge : view.scene.edges)
        out += fmt::format("n{} -> n{} [label={}];\n", edge.from, edge.to, dotQuoted(edge.label));
    return out + "}\n";
}

nlohmann::json graphJson(const engine::Graph& graph, const GraphView& view) {
    nlohmann::json nodes = nlohmann::json::array(), edges = nlohmann::json::array(), groups = nlohmann::json::array();
    for (std::size_t n = 0; n < view.scene.nodes.size(); ++n) {
        const SceneNode& scene = view.scene.nodes[n];
        const engine::Node* node = graph.node(view.nodeOf[n]);
        const char* kind = node ? "node" : !view.scopeOf[n].empty() ? "group" : scene.form == NodeForm::Portal ? "portal" : scene.subtitle == "output" ? "output" : "input";
        nlohmann::json item = boxJson(scene.box);
        item["kind"] = kind;
        item["label"] = scene.name;
        item["name"] = node ? node->name : scene.name;
        item["op"] = node ? node->opType : "";
        item["id"] = node ? node->id.value : 0;
        item["group"] = scene.group;
        nodes.push_back(std::move(item));
    }
    for (std::size_t e = 0; e < view.scene.edges.size(); ++e) {
        const SceneEdge& edge = view.scene.edges[e];
        nlohmann::json points = nlohmann::json::array();
        for (const Point p : view.scene.route(e))
            points.push_back({p.x, p.y});
        edges.push_back({{"from", edge.from}, {"to", edge.to}, {"value", edge.name}, {"label", edge.label}, {"points", std::move(points)}});
    }
    for (std::size_t g = 0; g < view.scene.groups.size(); ++g) {
        nlohmann::json item = boxJson(view.scene.groups[g].box);
        item["title"] = view.scene.groups[g].title;
        item["parent"] = view.scene.groups[g].parent;
        groups.push_back(std::move(item));
    }
    return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"groups", std::move(groups)}, {"bounds", boxJson(view.scene.bounds)}};
}

} // namespace nabla::views
