// Attributes of old versions, dropped or replaced.
#include "engine/ops/upgrade.h"

namespace nabla::engine {

Result<void> withAttributes(UpgradeContext& c, std::initializer_list<std::string_view> dropped, std::vector<Attribute> added) {
    Node node = withoutAttributes(c.node, dropped);
    std::erase_if(node.attributes, [&](const Attribute& a) {
        return std::any_of(added.begin(), added.end(), [&](const Attribute& b) { return a.name == b.name; });
    });
    for (Attribute& a : added)
        node.attributes.push_back(std::move(a));
    return replaceWith(c, std::move(node));
}

} // namespace nabla::engine
