// The way from the main graph into the bodies of its nodes: of If, Loop and Scan, and of functions that are called.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/analysis/cost.h"
#include "engine/runtime/stepper.h"
#include "views/view_state.h"

namespace nabla::app {

using BodyPath = std::vector<views::BodyPlace>;

/// Every body of a node with its name; of a call, the function's.
std::vector<std::pair<std::string, engine::GraphPtr>> bodiesOf(const engine::Graph& main, const engine::Node& node);
/// One step further in; none when the node has no such body (`body` empty: its first).
std::optional<views::BodyPlace> placeOf(const engine::Graph& main, const engine::Node& node, const std::string& body = {});
/// The way to the graph that holds the selected node or value; none: no body does.
std::optional<BodyPath> pathTo(const engine::Graph& main, const views::Selection& wanted);
/// The bodies that stepping is inside of. As the file says them; as they are executed where a pass made them.
BodyPath pathOf(const engine::Stepper& stepper, const engine::Graph& main);
bool samePath(const BodyPath& a, const BodyPath& b);

/// What is computed of the last body of a path (of the main graph for an empty one) before views show it.
struct ShownGraph {
    BodyPath bodies;
    std::shared_ptr<const engine::TypeMap> types;
    std::shared_ptr<const engine::GraphCost> cost;
    std::shared_ptr<const views::ScopeTree> scopes;
};
ShownGraph analysed(const engine::Graph& main, BodyPath bodies, const engine::DimBindings& dims);

} // namespace nabla::app
