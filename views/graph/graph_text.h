// A laid-out graph as DOT and as JSON text; names are escaped, never interpreted. No Qt.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "views/graph/graph_view_model.h"

namespace nabla::views {

/// A digraph whose node ids are n0, n1, … and whose labels read back as the names, with clusters for open scopes.
std::string graphDot(const GraphView& view);
/// `nodes` (name, op, box, scope), `edges` (from, to, label, points), `groups`.
nlohmann::json graphJson(const engine::Graph& graph, const GraphView& view);

} // namespace nabla::views
