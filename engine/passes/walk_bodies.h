// Running a pass's work on the main graph and on the bodies inside it.
#pragma once

#include <memory>
#include <optional>

#include "engine/graph/graph_editor.h"

namespace nabla::engine {

/// Rewrites each body of each node by `work(const Graph&) -> Result<std::optional<Graph>>` (nothing = unchanged); true
/// when one changed.
template <typename F> Result<bool> rewriteBodies(GraphEditor& editor, F&& work) {
    std::vector<NodePtr> controls;
    editor.graph().forEachNode([&](const Node& node) {
        if (!node.bodies().empty())
            controls.push_back(editor.graph().nodePtr(node.id));
    });
    bool any = false;
    for (const NodePtr& control : controls) {
        Node node = *control;
        bool changed = false;
        for (Attribute& attribute : node.attributes) {
            auto* body = std::get_if<GraphPtr>(&attribute.value);
            if (!body || !*body)
                continue;
            NABLA_TRY(std::optional<Graph> better, work(**body));
            if (better) {
                *body = std::make_shared<const Graph>(std::move(*better));
                changed = true;
            }
        }
        if (changed)
            editor.replaceNode(std::move(node));
        any = any || changed;
    }
    return any;
}

} // namespace nabla::engine
