// How messages call a node.
#pragma once

#include <string>

#include "engine/graph/node.h"

namespace nabla::engine {

/// `node "conv1" (Conv)`, or `node #12 (Conv)` where it has no name.
std::string nodeText(const Node& node);

} // namespace nabla::engine
