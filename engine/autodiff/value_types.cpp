// Inference on demand over the graph of an editor.
#include "engine/autodiff/value_types.h"

#include <vector>

#include "engine/schema/schema.h"

namespace nabla::engine {

const ValueType* ValueTypes::known(ValueId value) const {
    if (const auto it = m_known.find(value); it != m_known.end())
        return &it->second;
    const ValueType& type = m_forward->of(value);
    return type.kind == ValueType::Kind::Unknown ? nullptr : &type;
}

void ValueTypes::infer(const Graph& graph, const Node& node) {
    InferenceInputs inputs;
    for (const ValueId input : node.inputs) {
        const ValueType* type = input ? known(input) : nullptr;
        inputs.types.push_back(type ? *type : ValueType{});
        inputs.constants.push_back(input ? graph.constant(input) : nullptr);
        inputs.shapeData.emplace_back();
    }
    const BodyInference noBodies
        = [](const GraphPtr&, const std::vector<ValueType>&) -> Result<std::vector<ValueType>> {
        return runError("types of bodies are declared by the rules that make them");
    };
    auto outputs = inferNodeTypes(graph, node, inputs, noBodies);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i])
            m_known.try_emplace(node.outputs[i], outputs && i < outputs->size() ? (*outputs)[i] : ValueType{});
    }
}

const ValueType& ValueTypes::of(const Graph& graph, ValueId value) {
    static const ValueType kUnknown;
    if (!value)
        return kUnknown;
    std::vector<ValueId> stack{value};
    while (!stack.empty()) {
        const ValueId top = stack.back();
        const Value* v = graph.value(top);
        if (known(top) || !v) {
            stack.pop_back();
            continue;
        }
        const Node* producer = graph.node(v->producer);
        if (v->constant || v->declared.kind != ValueType::Kind::Unknown || !producer) {
            m_known[top] = v->declared.kind != ValueType::Kind::Unknown ? v->declared
                : v->constant ? ValueType::tensor(v->constant->dtype(), ShapeView(v->constant->shape()))
                              : ValueType{};
            stack.pop_back();
            continue;
        }
        const std::size_t before = stack.size();
        for (const ValueId input : producer->inputs) {
            if (input && !known(input) && graph.value(input))
                stack.push_back(input);
        }
        if (stack.size() == before)
            infer(graph, *producer);
    }
    const ValueType* type = known(value);
    return type ? *type : kUnknown;
}

void ValueTypes::copy(const std::unordered_map<ValueId, ValueId>& oldToNew) {
    for (const auto& [from, to] : oldToNew) {
        if (const ValueType* type = from && to ? known(from) : nullptr)
            m_known.try_emplace(to, ValueType(*type));
    }
}

bool ValueTypes::carriesGradient(const Graph& graph, ValueId value) {
    const ValueType* type = &of(graph, value);
    while ((type->kind == ValueType::Kind::Sequence || type->kind == ValueType::Kind::Optional) && type->element)
        type = type->element.get();
    return type->kind == ValueType::Kind::Unknown
        || (type->isTensor() && (type->elementType == DType::Undefined || isDifferentiable(type->elementType)));
}

} // namespace nabla::engine
