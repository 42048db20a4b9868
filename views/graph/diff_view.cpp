// Union by key, one layout, two filters.
#include "views/graph/diff_view.h"

#include <map>

#include "views/layout/layered_layout.h"

namespace nabla::views {

namespace {

using EdgeKey = std::pair<std::uint64_t, std::uint64_t>;

/// The union scene with lookups from keys to its parts.
struct Union {
    GraphScene scene;
    std::unordered_map<std::uint64_t, int> node, group;
    std::map<EdgeKey, int> edge;

    int addGroups(const GraphScene& from, int index) { // parents come first in every scene
        const SceneGroup& group_ = from.groups[static_cast<std::size_t>(index)];
        const auto [it, isNew] = group.try_emplace(group_.key, static_cast<int>(scene.groups.size()));
        if (isNew) {
            SceneGroup copy = group_;
            copy.parent = group_.parent < 0 ? -1 : group.at(from.groups[static_cast<std::size_t>(group_.parent)].key);
            scene.groups.push_back(std::move(copy));
        }
        return it->second;
    }

    void add(const GraphScene& from) {
        for (std::size_t i = 0; i < from.groups.size(); ++i)
            addGroups(from, static_cast<int>(i));
        for (const SceneNode& each : from.nodes) {
            const auto [it, isNew] = node.try_emplace(each.key, static_cast<int>(scene.nodes.size()));
            if (!isNew)
                continue;
            SceneNode copy = each;
            copy.group = each.group < 0 ? -1 : group.at(from.groups[static_cast<std::size_t>(each.group)].key);
            scene.nodes.push_back(std::move(copy));
        }
        for (const SceneEdge& each : from.edges) {
            const EdgeKey key = keyOf(from, each);
            const auto [it, isNew] = edge.try_emplace(key, static_cast<int>(scene.edges.size()));
            if (!isNew)
                continue;
            SceneEdge copy = each;
            copy.from = node.at(key.first);
            copy.to = node.at(key.second);
            scene.edges.push_back(std::move(copy));
        }
    }

    static EdgeKey keyOf(const GraphScene& in, const SceneEdge& each) {
        return {in.nodes[static_cast<std::size_t>(each.from)].key, in.nodes[static_cast<std::size_t>(each.to)].key};
    }

    /// Boxes, routes and ports of the union for what `side` has.
    void place(GraphScene& side) const {
        for (SceneNode& each : side.nodes)
            each.box = scene.nodes[static_cast<std::size_t>(node.at(each.key))].box;
        std::unordered_map<int, int> groupBack, edgeBack;
        for (std::size_t i = 0; i < side.groups.size(); ++i) {
            const int index = group.at(side.groups[i].key);
            side.groups[i].box = scene.groups[static_cast<std::size_t>(index)].box;
            groupBack[index] = static_cast<int>(i);
        }
        side.points.clear();
        side.firstPoint.assign(1, 0);
        for (std::size_t i = 0; i < side.edges.size(); ++i) {
            const int index = edge.at(keyOf(side, side.edges[i]));
            const auto route = scene.route(static_cast<std::size_t>(index));
            side.points.insert(side.points.end(), route.begin(), route.end());
            side.firstPoint.push_back(static_cast<std::uint32_t>(side.points.size()));
            edgeBack[index] = static_cast<int>(i);
        }
        side.ports.clear();
        for (const LayoutPort& port : scene.ports) {
            const auto g = groupBack.find(port.group);
            const auto e = edgeBack.find(port.edge);
            if (g != groupBack.end() && e != edgeBack.end())
                side.ports.push_back({g->second, e->second, port.at});
        }
        side.bounds = scene.bounds;
    }
};

/// Removed nodes of `before` as ghosts of `after`.
void addGhosts(const GraphView& before, GraphView& after) {
    std::unordered_map<std::uint64_t, int> groups;
    for (std::size_t i = 0; i < after.scene.groups.size(); ++i)
        groups.emplace(after.scene.groups[i].key, static_cast<int>(i));
    std::unordered_set<std::uint64_t> there;
    for (const SceneNode& node : after.scene.nodes)
        there.insert(node.key);
    for (const SceneNode& node : before.scene.nodes) {
        if (there.contains(node.key) || node.form != NodeForm::Card)
            continue;
        SceneNode ghost = node;
        ghost.form = NodeForm::Ghost;
        ghost.diff = DiffState::Removed;
        ghost.subtitle = "removed";
        ghost.group = -1;
        if (node.group >= 0) {
            const auto it = groups.find(before.scene.groups[static_cast<std::size_t>(node.group)].key);
            ghost.group = it == groups.end() ? -1 : it->second;
        }
        after.scene.nodes.push_back(std::move(ghost));
        after.nodeOf.emplace_back();
        after.valueOf.emplace_back();
        after.scopeOf.emplace_back();
    }
}

} // namespace

engine::Result<DiffViews> layoutUnion(GraphView before, GraphView after, std::stop_token stop) {
    Union all;
    all.add(after.scene);
    all.add(before.scene);
    NABLA_TRY(const LayoutResult layout, layeredLayout(layoutRequestOf(all.scene), std::move(stop)));
    applyLayout(all.scene, layout);
    addGhosts(before, after);
    all.place(before.scene);
    all.place(after.scene);
    return DiffViews{std::move(before), std::move(after)};
}

} // namespace nabla::views
