// Which nodes give another result each time they run.
#pragma once

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Draws random numbers, itself or in a body or model function (of `main`) it calls.
bool isRandom(const Graph& main, const Node& node);

} // namespace nabla::engine
