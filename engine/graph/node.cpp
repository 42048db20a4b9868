// Typed access to attributes.
#include "engine/graph/node.h"

#include <fmt/format.h>

namespace nabla::engine {

const Attribute* Node::attribute(std::string_view attributeName) const {
    for (const Attribute& a : attributes) {
        if (a.name == attributeName)
            return &a;
    }
    return nullptr;
}

namespace {
template <typename T, typename D> T typed(const Node& node, std::string_view name, D&& otherwise) {
    const Attribute* a = node.attribute(name);
    const T* value = a ? std::get_if<T>(&a->value) : nullptr;
    return value ? *value : T(std::forward<D>(otherwise));
}
} // namespace

std::int64_t Node::intAttribute(std::string_view n, std::int64_t otherwise) const { return typed<std::int64_t>(*this, n, otherwise); }
float Node::floatAttribute(std::string_view n, float otherwise) const { return typed<float>(*this, n, otherwise); }
std::string Node::stringAttribute(std::string_view n, std::string_view otherwise) const { return typed<std::string>(*this, n, otherwise); }
std::vector<std::int64_t> Node::intsAttribute(std::string_view n) const { return typed<std::vector<std::int64_t>>(*this, n, std::vector<std::int64_t>{}); }
std::vector<float> Node::floatsAttribute(std::string_view n) const { return typed<std::vector<float>>(*this, n, std::vector<float>{}); }
std::vector<std::string> Node::stringsAttribute(std::string_view n) const { return typed<std::vector<std::string>>(*this, n, std::vector<std::string>{}); }
TensorPtr Node::tensorAttribute(std::string_view n) const { return typed<TensorPtr>(*this, n, nullptr); }
GraphPtr Node::graphAttribute(std::string_view n) const { return typed<GraphPtr>(*this, n, nullptr); }

std::vector<std::pair<std::string, GraphPtr>> Node::bodies() const {
    std::vector<std::pair<std::string, GraphPtr>> out;
    for (const Attribute& a : attributes) {
        if (const auto* body = std::get_if<GraphPtr>(&a.value); body && *body)
            out.emplace_back(a.name, *body);
        else if (const auto* list = std::get_if<std::vector<GraphPtr>>(&a.value)) {
            for (const GraphPtr& each : *list)
                out.emplace_back(a.name, each);
        }
    }
    return out;
}

std::string describe(const Node& node) {
    const std::string type = node.domain.empty() ? node.opType : fmt::format("{}.{}", node.domain, node.opType);
    return node.name.empty() ? fmt::format("node #{} ({})", node.id.value, type) : fmt::format("node \"{}\" ({})", node.name.substr(0, 200), type);
}

} // namespace nabla::engine
