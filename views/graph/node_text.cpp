// One rule a family of operators, else the first short attributes.
#include "views/graph/node_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nabla::views {

using namespace nabla::engine;

namespace {

constexpr std::size_t kMaxItems = 24; // of a list shown as text

template <typename T> std::string listText(const std::vector<T>& list) {
    const std::size_t shown = std::min(list.size(), kMaxItems);
    std::vector<T> head(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown));
    return fmt::format("[{}{}]", fmt::join(head, ", "), shown < list.size() ? fmt::format(", … {} in all", list.size()) : "");
}

std::string product(const std::vector<std::int64_t>& sizes) { return fmt::format("{}", fmt::join(sizes, "\u00d7")); }

/// One number for equal entries, else all of them.
std::string folded(const std::vector<std::int64_t>& values) {
    const bool equal = std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values.front(); });
    return equal ? fmt::format("{}", values.front()) : product(values);
}

void addWindow(const Node& node, std::vector<std::string>& parts) {
    if (const auto strides = node.intsAttribute("strides"); !strides.empty())
        parts.push_back("stride " + folded(strides));
    if (const auto pads = node.intsAttribute("pads"); !pads.empty() && std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; }))
        parts.push_back("pad " + folded(pads));
    if (const std::int64_t group = node.intAttribute("group", 1); group > 1)
        parts.push_back(fmt::format("group {}", group));
}

std::string convolution(const Node& node, const TypeMap& types) {
    std::vector<std::int64_t> kernel = node.intsAttribute("kernel_shape");
    std::string channels;
    const auto weight = types.of(node.input(1)).concreteShape();
    if (weight && weight->size() >= 2) {
        if (kernel.empty())
            kernel.assign(weight->begin() + 2, weight->end());
        const std::int64_t group = std::max<std::int64_t>(1, node.intAttribute("group", 1));
        channels = node.opType == "Conv" ? fmt::format("{}\u2192{}", (*weight)[1] * group, (*weight)[0]) : fmt::format("{}\u2192{}", (*weight)[0], (*weight)[1] * group);
    }
    std::vector<std::string> parts{kernel.empty() ? node.opType : fmt::format("{} {}", node.opType, product(kernel))};
    addWindow(node, parts);
    if (!channels.empty())
        parts.push_back(channels);
    return fmt::format("{}", fmt::join(parts, " \u00b7 "));
}

std::string matrix(const Node& node, const TypeMap& types) {
    const auto weight = types.of(node.input(1)).concreteShape();
    if (!weight || weight->size() != 2)
        return node.opType;
    const bool transposed = node.intAttribute("transB", 0) != 0;
    return fmt::format("{} \u00b7 {}\u2192{}", node.opType, (*weight)[transposed ? 1 : 0], (*weight)[transposed ? 0 : 1]);
}

} // namespace

std::string attributeText(const AttributeValue& value) {
    struct Visitor {
        std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
        std::string operator()(float v) const { return fmt::format("{}", v); }
        std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v.substr(0, 400)); }
        std::string operator()(const TensorPtr& v) const {
            if (!v)
                return "none";
            if (v->elementCount() == 1)
                return fmt::format("{} {}", name(v->dtype()), v->asText(0).substr(0, 200));
            return fmt::format("{}{}", name(v->dtype()), toString(v->shape()));
        }
        std::string operator()(const GraphPtr& v) const { return v ? fmt::format("graph \"{}\", {} nodes", v->name().substr(0, 100), v->nodeCount()) : "none"; }
        std::string operator()(const SparseTensorPtr& v) const { return v ? fmt::format("sparse {}", toString(v->shape)) : "none"; }
        std::string operator()(const ValueType& v) const { return v.text(); }
        std::string operator()(const std::vector<std::int64_t>& v) const { return listText(v); }
        std::string operator()(const std::vector<float>& v) const { return listText(v); }
        std::string operator()(const std::vector<std::string>& v) const { return listText(v); }
        std::string operator()(const std::vector<TensorPtr>& v) const { return fmt::format("{} tensors", v.size()); }
        std::string operator()(const std::vector<GraphPtr>& v) const { return fmt::format("{} graphs", v.size()); }
        std::string operator()(const std::vector<ValueType>& v) const { return fmt::format("{} types", v.size()); }
        std::string operator()(const AttributeReference& v) const { return fmt::format("@{}", v.name); }
    };
    return std::visit(Visitor{}, value);
}

std::string operatorText(const Node& node, const TypeMap& types) {
    if (node.domain.empty()) {
        if (node.opType == "Conv" || node.opType == "ConvTranspose")
            return convolution(node, types);
        if (node.opType == "MatMul" || node.opType == "Gemm")
            return matrix(node, types);
        if (node.opType.ends_with("Pool")) {
            const auto kernel = node.intsAttribute("kernel_shape");
            std::vector<std::string> parts{kernel.empty() ? node.opType : fmt::format("{} {}", node.opType, product(kernel))};
            addWindow(node, parts);
            return fmt::format("{}", fmt::join(parts, " \u00b7 "));
        }
    }
    std::string out = node.domain.empty() ? node.opType : fmt::format("{}.{}", node.domain, node.opType);
    int shown = 0;
    for (const Attribute& a : node.attributes) {
        const bool small = std::holds_alternative<std::int64_t>(a.value) || std::holds_alternative<float>(a.value) || std::holds_alternative<std::vector<std::int64_t>>(a.value)
            || std::holds_alternative<std::string>(a.value);
        if (!small || shown == 2)
            continue;
        ++shown;
        out += fmt::format(" \u00b7 {} {}", a.name == "epsilon" ? "\u03b5" : a.name, attributeText(a.value));
    }
    return out;
}

std::string shapeText(const ValueType& type) {
    if (type.kind == ValueType::Kind::Unknown)
        return {};
    if (!type.isTensor())
        return type.text();
    return fmt::format("{} {}", type.shape ? toString(*type.shape) : "[?]", shortName(type.elementType));
}

std::optional<std::int64_t> bytesOf(const ValueType& type) {
    if (!type.isTensor() || type.elementType == DType::String)
        return std::nullopt;
    const auto shape = type.concreteShape();
    if (!shape || !checkShape(*shape))
        return std::nullopt;
    return storageBytes(type.elementType, elementCount(*shape));
}

} // namespace nabla::views
