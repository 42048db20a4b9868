// Splits names at `/`, counts, dissolves scopes of one.
#include "views/graph/scope_tree.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace nabla::views {

using engine::Graph;
using engine::Node;
using engine::NodeId;

namespace {

constexpr std::size_t kMaxDepth = 16;      // deeper names keep their tail as the title
constexpr std::size_t kMaxNameBytes = 512; // a hostile name of a megabyte is cut before it is split

class Builder {
public:
    explicit Builder(const Graph& graph) : m_graph(graph) { m_tree.scopes.emplace_back(); }

    ScopeTree build() {
        m_graph.forEachNode([this](const Node& node) { place(node); });
        dissolveSingles();
        count();
        return std::move(m_tree);
    }

private:
    struct Split {
        std::vector<std::string_view> scopes;
        std::string_view leaf;
    };

    static Split split(std::string_view name) {
        Split out;
        name = name.substr(0, kMaxNameBytes);
        std::size_t begin = 0;
        while (begin <= name.size()) {
            const std::size_t slash = out.scopes.size() < kMaxDepth ? name.find('/', begin) : std::string_view::npos;
            const std::string_view part = name.substr(begin, slash == std::string_view::npos ? slash : slash - begin);
            if (slash == std::string_view::npos) {
                out.leaf = part;
                break;
            }
            if (!part.empty())
                out.scopes.push_back(part);
            begin = slash + 1;
        }
        return out;
    }

    int child(int parent, std::string_view name) {
        std::string path = m_tree.scopes[static_cast<std::size_t>(parent)].path;
        if (!path.empty())
            path += '/';
        path += name;
        if (const auto it = m_byPath.find(path); it != m_byPath.end())
            return it->second;
        const int index = static_cast<int>(m_tree.scopes.size());
        ScopeTree::Scope scope;
        scope.name = name;
        scope.path = path;
        scope.parent = parent;
        m_tree.scopes.push_back(std::move(scope));
        m_tree.scopes[static_cast<std::size_t>(parent)].children.push_back(index);
        m_byPath.emplace(std::move(path), index);
        return index;
    }

    void place(const Node& node) {
        const Node* named = &node;
        int scope = 0;
        if (node.gradientOf) { // stands beside its forward node's scope
            scope = child(0, "backward");
            if (const Node* forward = m_graph.node(node.gradientOf))
                named = forward;
        }
        const Split parts = split(named->name);
        for (const std::string_view part : parts.scopes)
            scope = child(scope, part);
        std::string title;
        if (node.gradientOf)
            title = fmt::format("{} \u00b7 grad", node.opType); // its scope says whose gradient it is
        else
            title = parts.leaf.empty() ? fmt::format("{} #{}", node.opType, node.id.value) : std::string(parts.leaf);
        m_tree.titles.emplace(node.id, std::move(title));
        m_tree.scopeOf.emplace(node.id, scope);
        m_tree.scopes[static_cast<std::size_t>(scope)].nodes.push_back(node.id);
    }

    /// Children have larger indices than their parents, so one walk from the back dissolves chains of singles too.
    void dissolveSingles() {
        for (std::size_t i = m_tree.scopes.size(); i-- > 1;) {
            auto& scope = m_tree.scopes[i];
            if (scope.nodes.size() != 1 || !scope.children.empty() || scope.path == "backward")
                continue;
            const NodeId node = scope.nodes.front();
            auto& parent = m_tree.scopes[static_cast<std::size_t>(scope.parent)];
            const Node& engineNode = *m_graph.node(node);
            m_tree.titles[node] = engineNode.gradientOf ? fmt::format("{} \u00b7 grad", scope.name) : scope.name;
            m_tree.scopeOf[node] = scope.parent;
            parent.nodes.push_back(node);
            scope.nodes.clear();
            std::erase(parent.children, static_cast<int>(i));
            m_dissolved.push_back(static_cast<int>(i));
        }
        for (auto& scope : m_tree.scopes)
            std::sort(scope.nodes.begin(), scope.nodes.end());
        for (const int i : m_dissolved)
            m_tree.scopes[static_cast<std::size_t>(i)].parent = -1;
    }

    void count() {
        for (std::size_t i = m_tree.scopes.size(); i-- > 0;) {
            auto& scope = m_tree.scopes[i];
            scope.nodeCount += scope.nodes.size();
            if (scope.parent >= 0)
                m_tree.scopes[static_cast<std::size_t>(scope.parent)].nodeCount += scope.nodeCount;
        }
    }

    const Graph& m_graph;
    ScopeTree m_tree;
    std::unordered_map<std::string, int> m_byPath;
    std::vector<int> m_dissolved;
};

} // namespace

int ScopeTree::scope(NodeId node) const {
    const auto it = scopeOf.find(node);
    return it == scopeOf.end() ? 0 : it->second;
}

const std::string& ScopeTree::title(NodeId node) const {
    static const std::string kNone = "?";
    const auto it = titles.find(node);
    return it == titles.end() ? kNone : it->second;
}

int ScopeTree::find(std::string_view path) const {
    for (std::size_t i = 0; i < scopes.size(); ++i) {
        if (scopes[i].path == path && (i == 0 || scopes[i].parent >= 0))
            return static_cast<int>(i);
    }
    return -1;
}

ScopeTree scopeTree(const Graph& graph) { return Builder(graph).build(); }

} // namespace nabla::views
