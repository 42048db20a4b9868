// Interleaves child scopes and nodes by their smallest node id.
#include "views/outline/outline_view_model.h"

#include <algorithm>

#include "views/graph/node_text.h"
#include "views/theme/units.h"

namespace nabla::views {

using namespace nabla::engine;

namespace {

/// Smallest node id at or below each scope.
std::vector<std::uint32_t> firstNodes(const ScopeTree& scopes) {
    std::vector<std::uint32_t> first(scopes.scopes.size(), 0xffffffff);
    for (std::size_t i = scopes.scopes.size(); i-- > 0;) {
        const auto& scope = scopes.scopes[i];
        if (!scope.nodes.empty())
            first[i] = std::min(first[i], scope.nodes.front().value);
        if (scope.parent >= 0)
            first[static_cast<std::size_t>(scope.parent)] = std::min(first[static_cast<std::size_t>(scope.parent)], first[i]);
    }
    return first;
}

} // namespace

OutlineModel outlineModel(const ViewState& state) {
    OutlineModel model;
    OutlineItem root;
    root.title = state.documentTitle;
    for (const BodyPlace& place : state.bodies)
        root.title += " \u203a " + place.title + " \u203a " + place.body;
    root.kind = OperatorKind::Control;
    model.items.push_back(std::move(root));
    if (!state.scopes)
        return model;
    const ScopeTree& scopes = *state.scopes;
    const auto first = firstNodes(scopes);
    const auto push = [&](OutlineItem item) {
        const int index = static_cast<int>(model.items.size());
        auto& siblings = model.items[static_cast<std::size_t>(item.parent)].children;
        item.row = static_cast<int>(siblings.size());
        siblings.push_back(index);
        model.items.push_back(std::move(item));
        return index;
    };
    const auto terminal = [&](ValueId id) {
        OutlineItem item;
        item.parent = 0;
        item.value = id;
        item.title = state.graph.value(id)->name;
        item.kind = OperatorKind::Constant;
        push(std::move(item));
    };
    for (const auto list : {state.graph.inputs(), state.graph.captures()}) {
        for (const ValueId id : list)
            terminal(id);
    }
    std::vector<std::pair<int, int>> queue{{0, 0}}; // (scope, item)
    for (std::size_t q = 0; q < queue.size(); ++q) {
        const auto [scopeIndex, parentItem] = queue[q];
        const auto& scope = scopes.scopes[static_cast<std::size_t>(scopeIndex)];
        std::vector<std::pair<std::uint32_t, int>> order; // (first id, child scope or -1)
        for (const int child : scope.children)
            order.emplace_back(first[static_cast<std::size_t>(child)], child);
        for (const NodeId node : scope.nodes)
            order.emplace_back(node.value, -1);
        std::sort(order.begin(), order.end());
        for (const auto& [id, child] : order) {
            OutlineItem item;
            item.parent = parentItem;
            if (child >= 0) {
                const auto& childScope = scopes.scopes[static_cast<std::size_t>(child)];
                item.scope = childScope.path;
                item.title = childScope.name;
                queue.emplace_back(child, push(std::move(item)));
                continue;
            }
            const Node& node = *state.graph.node({id});
            item.node = node.id;
            item.title = scopes.title(node.id);
            item.kind = operatorKind(node.opType, node.domain);
            model.itemOf[node.id] = push(std::move(item));
        }
    }
    for (const ValueId id : state.graph.outputs())
        terminal(id);
    return model;
}

std::string outlineRightText(const ViewState& state, const OutlineItem& item) {
    if (item.value)
        return state.types ? [&] {
            const auto bytes = bytesOf(state.types->of(item.value));
            return bytes ? formatBytes(*bytes) : std::string();
        }() : std::string();
    const Node* node = item.node ? state.graph.node(item.node) : nullptr;
    if (!node)
        return {};
    if (node->gradientOf) {
        const ValueStats* stats = gradientStats(state, node->output(0));
        return stats ? formatNumber(stats->rms()) : std::string();
    }
    if (const auto it = state.medianNs.find(item.node); it != state.medianNs.end())
        return formatDurationNs(it->second);
    if (!state.types)
        return {};
    const auto bytes = bytesOf(state.types->of(node->output(0)));
    return bytes ? formatBytes(*bytes) : std::string();
}

} // namespace nabla::views
