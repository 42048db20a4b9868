// How messages call a node.
#include "engine/plan/node_text.h"

#include <fmt/format.h>

namespace nabla::engine {

std::string nodeText(const Node& node) {
    return node.name.empty() ? fmt::format("node #{} ({})", node.id.value, node.opType)
                             : fmt::format("node \"{}\" ({})", node.name, node.opType);
}

} // namespace nabla::engine
