// Lifting of old operator versions: the edits that several families share.
#include "engine/ops/upgrade_tools.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/tensor/element.h"

namespace nabla::engine {

Node withoutAttributes(const Node& node, std::initializer_list<std::string_view> names) {
    Node copy = node;
    std::erase_if(copy.attributes, [&](const Attribute& a) { return std::find(names.begin(), names.end(), a.name) != names.end(); });
    return copy;
}

Result<void> replaceWith(UpgradeContext& c, Node changed) {
    c.editor.replaceNode(std::move(changed));
    return {};
}

ValueId upgradeConstant(UpgradeContext& c, std::string_view what, Tensor tensor) {
    const std::string& base = c.node.name.empty() ? c.node.opType : c.node.name;
    return c.editor.addInitializer(fmt::format("{}.{}", base, what), std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId upgradeInts(UpgradeContext& c, std::string_view what, std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return upgradeConstant(c, what, Tensor::of<std::int64_t>({count}, values));
}

Result<ValueId> upgradeScalar(UpgradeContext& c, std::string_view what, std::size_t like, double value) {
    const DType type = c.type(c.node.input(like)).elementType;
    if (type == DType::Undefined || type == DType::String)
        return runError("{}: the element type of input {} is not known, so version {} of {} cannot be brought up to date", describe(c.node), like,
            c.opset, c.node.opType);
    NABLA_TRY(Tensor t, Tensor::make(type, {}));
    writeDouble(type, t.mutableRaw(), 0, value);
    return upgradeConstant(c, what, std::move(t));
}

ValueId upgradeNode(UpgradeContext& c, std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
    NodeSpec spec;
    spec.opType = std::string(opType);
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.name = c.node.name.empty() ? std::string{} : fmt::format("{}.{}", c.node.name, opType);
    spec.origins = c.node.origins;
    spec.gradientOf = c.node.gradientOf;
    spec.createdBy = std::make_shared<const std::string>(fmt::format("upgrade/{}", c.node.opType));
    return c.editor.addValue(std::move(spec));
}

Result<std::size_t> upgradeRank(UpgradeContext& c, std::size_t input) {
    const ValueType type = c.type(c.node.input(input));
    if (!type.shape)
        return runError("{}: the rank of input {} is not known, so opset {}'s {} cannot be brought up to date", describe(c.node), input, c.opset,
            c.node.opType);
    return type.shape->size();
}

Result<void> dropConsumedInputs(UpgradeContext& c) { return replaceWith(c, withoutAttributes(c.node, {"consumed_inputs"})); }

namespace {

/// The second operand with axes of size 1 behind, as many as the ranks say at run time: [*B, 1, …] with rank(A) - axis axes.
ValueId alignedWhenRun(UpgradeContext& c, std::int64_t axis) {
    const auto rankOf = [&](ValueId shape) { return upgradeNode(c, "Shape", {shape}); };
    const ValueId a = upgradeNode(c, "Shape", {c.node.inputs[0]}), b = upgradeNode(c, "Shape", {c.node.inputs[1]});
    const ValueId from = axis < 0 ? upgradeInts(c, "axes_behind", {-axis})
                                  : upgradeNode(c, "Sub", {rankOf(a), upgradeInts(c, "axis", {axis})});
    const ValueId count = upgradeNode(c, "Sub", {from, rankOf(b)}); // negative when the operand goes past the end: ConstantOfShape refuses it
    const ValueId ones = upgradeNode(c, "ConstantOfShape", {count},
        {{"value", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1}))}});
    const ValueId shape = upgradeNode(c, "Concat", {b, ones}, {{"axis", std::int64_t{0}}});
    return upgradeNode(c, "Reshape", {c.node.inputs[1], shape}, {{"allowzero", std::int64_t{1}}});
}

} // namespace

Result<void> upgradeLegacyBroadcast(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"axis", "broadcast", "consumed_inputs"});
    const Attribute* axisAttribute = c.node.attribute("axis");
    if (c.node.intAttribute("broadcast", 0) != 0 && axisAttribute && c.node.inputs.size() == 2) {
        if (!c.type(c.node.input(0)).shape || !c.type(c.node.input(1)).shape) {
            changed.inputs[1] = alignedWhenRun(c, c.node.intAttribute("axis", 0));
            return replaceWith(c, std::move(changed));
        }
        NABLA_TRY(const std::size_t rankA, upgradeRank(c, 0));
        NABLA_TRY(const std::size_t rankB, upgradeRank(c, 1));
        NABLA_TRY(const std::int64_t axis, normalizeAxis(c.node.intAttribute("axis", 0), rankA));
        const auto end = axis + static_cast<std::int64_t>(rankB);
        if (end > static_cast<std::int64_t>(rankA))
            return runError("{}: axis {} with a second operand of rank {} goes past rank {}", describe(c.node), axis, rankB, rankA);
        std::vector<std::int64_t> trailing;
        for (auto i = static_cast<std::int64_t>(rankB); i < static_cast<std::int64_t>(rankA) - axis; ++i)
            trailing.push_back(i);
        if (!trailing.empty())
            changed.inputs[1] = upgradeNode(c, "Unsqueeze", {c.node.inputs[1], upgradeInts(c, "axes", std::move(trailing))});
    }
    return replaceWith(c, std::move(changed));
}

void setInput(Node& node, std::size_t position, ValueId value) {
    if (node.inputs.size() <= position)
        node.inputs.resize(position + 1);
    node.inputs[position] = value;
}

void setDefault(Node& node, std::string_view name, AttributeValue value) {
    if (!node.attribute(name))
        node.attributes.push_back({std::string(name), std::move(value)});
}

Result<void> attributeToInput(UpgradeContext& c, std::string_view attribute, std::size_t position) {
    Node changed = withoutAttributes(c.node, {attribute, "consumed_inputs"});
    if (c.node.attribute(attribute))
        setInput(changed, position, upgradeInts(c, attribute, c.node.intsAttribute(attribute)));
    return replaceWith(c, std::move(changed));
}

} // namespace nabla::engine
