// KernelContext: inputs, outputs and attributes as kernels ask for them.
#include "engine/ops/op_def.h"

namespace nabla::engine {

namespace {

template <typename T> T typedAttribute(const Node& node, std::string_view name, std::int64_t opset) {
    if (const Attribute* own = node.attribute(name)) {
        const T* value = std::get_if<T>(&own->value);
        return value ? *value : T{};
    }
    const std::optional<AttributeValue> value = attributeOrDefault(node, name, opset);
    const T* typed = value ? std::get_if<T>(&*value) : nullptr;
    return typed ? *typed : T{};
}

const RuntimeValue& nothing() {
    static const RuntimeValue absent;
    return absent;
}

} // namespace

const RuntimeValue& KernelContext::inputValue(std::size_t i) const { return i < m_inputs.size() ? m_inputs[i] : nothing(); }
const Tensor& KernelContext::input(std::size_t i) const { return inputValue(i).tensor(); }

Result<Tensor> KernelContext::makeOutput(std::size_t i, DType dtype, const Shape& shape) const {
    if (place && dtype != DType::String)
        return place(i, dtype, shape);
    return Tensor::make(dtype, shape);
}

std::int64_t KernelContext::intAttribute(std::string_view name) const { return typedAttribute<std::int64_t>(m_node, name, m_opset); }
float KernelContext::floatAttribute(std::string_view name) const { return typedAttribute<float>(m_node, name, m_opset); }
std::string KernelContext::stringAttribute(std::string_view name) const { return typedAttribute<std::string>(m_node, name, m_opset); }
std::vector<std::int64_t> KernelContext::intsAttribute(std::string_view name) const {
    return typedAttribute<std::vector<std::int64_t>>(m_node, name, m_opset);
}
std::vector<float> KernelContext::floatsAttribute(std::string_view name) const { return typedAttribute<std::vector<float>>(m_node, name, m_opset); }

} // namespace nabla::engine
