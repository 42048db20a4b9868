// Formal inputs, attributes and small shorthands of the bodies.
#include "engine/ops/contrib/contrib_body.h"

#include <algorithm>

#include <fmt/format.h>

namespace nabla::engine {

namespace {

ModelInfoPtr newestInfo() {
    ModelInfo info;
    info.opsets[""] = newestOpset("");
    info.opsets["com.microsoft"] = 1;
    return std::make_shared<const ModelInfo>(std::move(info));
}

template <typename T> T attributeOf(const Node& node, std::string_view name) {
    const std::optional<AttributeValue> value = attributeOrDefault(node, name, 1);
    const T* typed = value ? std::get_if<T>(&*value) : nullptr;
    return typed ? *typed : T{};
}

} // namespace

ContribBody::ContribBody(const Node& node, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids, Inner inner)
    : m_node(node)
    , m_types(inputTypes)
    , m_editor(GraphEditor::empty(node.opType, newestInfo(), ids))
    , m_sheet(m_editor, inputTypes.empty() ? DType::Float32 : inputTypes[0].elementType) {
    m_types.resize(std::max(m_types.size(), node.inputs.size()));
    const OperatorSchema* schema = findSchema(node.opType, node.domain, 1);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const FormalParameter* formal = schema ? schema->input(i) : nullptr;
        std::string name = formal ? formal->name : "input";
        if (formal && formal->kind == FormalParameter::Kind::Variadic)
            name += fmt::format("_{}", i);
        ValueId value = m_editor.addInput(std::move(name), m_types[i]);
        if (DType& type = m_types[i].elementType; inner == Inner::Float && (type == DType::Float16 || type == DType::BFloat16)) {
            if (i == 0)
                m_rounded = type;
            type = DType::Float32;
            value = cast(value, DType::Float32);
        }
        m_formals.push_back(node.inputs[i] ? value : ValueId{});
    }
}

std::int64_t ContribBody::integer(std::string_view name) const { return attributeOf<std::int64_t>(m_node, name); }
float ContribBody::real(std::string_view name) const { return attributeOf<float>(m_node, name); }
std::string ContribBody::text(std::string_view name) const { return attributeOf<std::string>(m_node, name); }
std::vector<std::int64_t> ContribBody::integers(std::string_view name) const { return attributeOf<std::vector<std::int64_t>>(m_node, name); }

std::vector<Attribute> ContribBody::copied(std::initializer_list<std::string_view> names) const {
    std::vector<Attribute> out;
    for (const std::string_view name : names) {
        if (const Attribute* attribute = m_node.attribute(name))
            out.push_back(*attribute);
    }
    return out;
}

ValueId ContribBody::scalar(DType type, double value) {
    Tensor t = *Tensor::make(type, {}); // one element: cannot be over the limit
    writeDouble(type, t.mutableRaw(), 0, value);
    return m_sheet.constant(std::move(t));
}

std::vector<ValueId> ContribBody::split(ValueId a, std::int64_t axis, const std::vector<std::int64_t>& sizes) {
    return ops("Split", {a, ints(sizes)}, sizes.size(), {number("axis", axis)});
}

std::vector<ValueId> ContribBody::splitEqually(ValueId a, std::int64_t axis, std::int64_t parts) {
    return ops("Split", {a}, static_cast<std::size_t>(parts), {number("axis", axis), number("num_outputs", parts)});
}

Result<GraphPtr> ContribBody::finish(std::vector<ValueId> outputs) {
    outputs.resize(std::min(outputs.size(), std::max<std::size_t>(m_node.outputs.size(), 1)));
    const OperatorSchema* schema = m_rounded == DType::Undefined ? nullptr : findSchema(m_node.opType, m_node.domain, 1);
    for (std::size_t i = 0; schema && i < outputs.size(); ++i) { // those of the type of input 0
        if (outputs[i] && schema->output(i) && schema->output(i)->typeText == schema->inputs.front().typeText)
            outputs[i] = cast(outputs[i], m_rounded);
    }
    const auto made = std::find_if(outputs.begin(), outputs.end(), [](ValueId value) { return static_cast<bool>(value); });
    if (made == outputs.end())
        return runError("none of its outputs is wanted");
    for (ValueId& output : outputs) {
        if (!output)
            output = *made; // a place nobody reads
    }
    m_editor.setOutputs(std::move(outputs));
    return std::make_shared<const Graph>(m_editor.finish());
}

Result<void> checkBodyInputs(const Node& node, const std::vector<ValueType>& inputTypes) {
    const OperatorSchema* schema = findSchema(node.opType, node.domain, 1);
    for (std::size_t i = 0; schema && i < schema->inputs.size(); ++i) {
        const bool given = i < node.inputs.size() && node.inputs[i];
        if (!given && schema->inputs[i].kind == FormalParameter::Kind::Single)
            return runError("its input {} (\"{}\") is missing", i, schema->inputs[i].name);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i])
            continue;
        if (schema && !schema->input(i))
            return runError("it takes {} inputs, {} are given", schema->inputs.size(), node.inputs.size());
        if (i >= inputTypes.size() || !inputTypes[i].isTensor() || inputTypes[i].elementType == DType::Undefined || !inputTypes[i].shape)
            return runError("the type and rank of its input {} are not known", i);
    }
    return {};
}

} // namespace nabla::engine
