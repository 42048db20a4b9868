// Two states side by side in one layout: what both have stands at the same place on both sides. No Qt.
#pragma once

#include <stop_token>

#include "engine/base/result.h"
#include "views/graph/graph_view_model.h"

namespace nabla::views {

struct DiffViews {
    GraphView before, after;
};

/// Lays out the union of both scenes (by key) once and places each side in it. The side After keeps a dashed ghost where a node was removed.
engine::Result<DiffViews> layoutUnion(GraphView before, GraphView after, std::stop_token stop = {});

} // namespace nabla::views
