// Types of one node's outputs by the library's own function, through contexts over our values.
#include "engine/schema/schema.h"

#include <memory>

#include "engine/schema/arity.h"
#include "engine/schema/proto_convert.h"
#include "engine/schema/registry.h"

#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"

namespace nabla::engine {

namespace {

/// Asks our side for the types of a body's outputs.
class BodyInferencer final : public onnx::GraphInferencer {
public:
    BodyInferencer(GraphPtr body, const BodyInference& infer, DimNames& names) : m_body(std::move(body)), m_infer(infer), m_names(names) { }

    std::vector<const onnx::TypeProto*> doInferencing(const std::vector<const onnx::TypeProto*>& inputTypes, const std::vector<const onnx::TensorProto*>&) override {
        std::vector<ValueType> inputs;
        for (const auto* type : inputTypes)
            inputs.push_back(type ? fromTypeProto(*type, &m_names) : ValueType{});
        auto outputs = m_infer(m_body, inputs);
        if (!outputs)
            throw onnx::InferenceError(outputs.error().message());
        m_outputs.clear();
        std::vector<const onnx::TypeProto*> pointers;
        for (const ValueType& type : *outputs) {
            m_outputs.push_back(std::make_unique<onnx::TypeProto>());
            toTypeProto(type, *m_outputs.back(), &m_names);
            pointers.push_back(m_outputs.back().get());
        }
        return pointers;
    }

private:
    GraphPtr m_body;
    const BodyInference& m_infer;
    DimNames& m_names;
    std::vector<std::unique_ptr<onnx::TypeProto>> m_outputs;
};

class Context final : public onnx::InferenceContext {
public:
    Context(const Node& node, const InferenceInputs& inputs, const BodyInference& inferBody)
        : m_node(node), m_inputs(inputs), m_inferBody(inferBody), m_inputTypes(node.inputs.size()), m_outputTypes(node.outputs.size()),
          m_data(node.inputs.size()), m_symbolic(node.inputs.size()) {
        for (std::size_t i = 0; i < m_inputTypes.size() && i < inputs.types.size(); ++i)
            toTypeProto(inputs.types[i], m_inputTypes[i], &m_names);
    }

    const onnx::AttributeProto* getAttribute(const std::string& name) const override {
        for (const auto& made : m_attributes) {
            if (made->name() == name)
                return made.get();
        }
        const Attribute* attribute = m_node.attribute(name);
        if (!attribute || std::holds_alternative<AttributeReference>(attribute->value))
            return nullptr;
        m_attributes.push_back(std::make_unique<onnx::AttributeProto>());
        toAttributeProto(*attribute, *m_attributes.back(), kMaxInferenceElements);
        return m_attributes.back().get();
    }
    std::size_t getNumInputs() const override { return m_inputTypes.size(); }
    const onnx::TypeProto* getInputType(std::size_t i) const override {
        return i < m_inputTypes.size() && m_inputTypes[i].value_case() != onnx::TypeProto::VALUE_NOT_SET ? &m_inputTypes[i] : nullptr;
    }
    bool hasInput(std::size_t i) const override { return i < m_node.inputs.size() && m_node.inputs[i]; }
    const onnx::TensorProto* getInputData(std::size_t i) const override {
        if (i >= m_inputs.constants.size() || i >= m_data.size() || !m_inputs.constants[i])
            return nullptr;
        const Tensor& tensor = *m_inputs.constants[i];
        if (!tensor.defined() || tensor.elementCount() > kMaxInferenceElements)
            return nullptr;
        if (!m_data[i]) {
            m_data[i] = std::make_unique<onnx::TensorProto>();
            toTensorProto(tensor, *m_data[i], kMaxInferenceElements);
        }
        return m_data[i].get();
    }
    std::size_t getNumOutputs() const override { return m_outputTypes.size(); }
    /// Inference functions write to outputs that a node leaves out without asking whether they are there.
    onnx::TypeProto* getOutputType(std::size_t i) override { return i < m_outputTypes.size() ? &m_outputTypes[i] : &m_leftOut; }
    bool hasOutput(std::size_t i) override { return i < m_node.outputs.size() && m_node.outputs[i]; }
    onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
        GraphPtr body = m_node.graphAttribute(name);
        if (!body || !m_inferBody)
            return nullptr;
        m_bodies.push_back(std::make_unique<BodyInferencer>(std::move(body), m_inferBody, m_names));
        return m_bodies.back().get();
    }
    const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
    const onnx::TensorShapeProto* getSymbolicInput(std::size_t i) const override {
        if (i >= m_inputs.shapeData.size() || i >= m_symbolic.size() || !m_inputs.shapeData[i])
            return nullptr;
        if (!m_symbolic[i]) {
            m_symbolic[i] = std::make_unique<onnx::TensorShapeProto>();
            toShapeProto(*m_inputs.shapeData[i], *m_symbolic[i], &m_names);
        }
        return m_symbolic[i].get();
    }
    std::string getDisplayName() const override { return {}; }

    std::vector<ValueType> outputs() const {
        std::vector<ValueType> out;
        for (const auto& type : m_outputTypes)
            out.push_back(fromTypeProto(type, &m_names));
        return out;
    }

private:
    const Node& m_node;
    const InferenceInputs& m_inputs;
    const BodyInference& m_inferBody;
    mutable DimNames m_names;
    std::vector<onnx::TypeProto> m_inputTypes, m_outputTypes;
    onnx::TypeProto m_leftOut; ///< written, never read
    mutable std::vector<std::unique_ptr<onnx::AttributeProto>> m_attributes;
    mutable std::vector<std::unique_ptr<onnx::TensorProto>> m_data;
    mutable std::vector<std::unique_ptr<onnx::TensorShapeProto>> m_symbolic;
    std::vector<std::unique_ptr<BodyInferencer>> m_bodies;
};

/// The library's words without its own prefix and context lines.
Error toError(std::string_view words) {
    if (const auto end = words.find("\n\n==> Context"); end != std::string_view::npos)
        words = words.substr(0, end);
    if (words.starts_with('[')) {
        if (const auto close = words.find("] "); close != std::string_view::npos && close < 40)
            words = words.substr(close + 2);
    }
    while (!words.empty() && (words.back() == '.' || words.back() == '\n' || words.back() == ' '))
        words.remove_suffix(1);
    return {ErrorKind::Run, std::string(words)};
}

} // namespace

Result<std::vector<ValueType>> inferNodeTypes(const Graph& graph, const Node& node, const InferenceInputs& inputs, const BodyInference& inferBody) {
    std::vector<ValueType> unknown(node.outputs.size());
    const std::int64_t opset = node.domain == "nabla" ? 1 : graph.opset(node.domain);
    const SchemaEntry* entry = findSchemaEntry(node.opType, node.domain, opset);
    if (!entry)
        return unknown;
    NABLA_CHECK(checkArity(node, *entry)); // the library's functions take what is demanded for granted
    if (!entry->library)
        return unknown;
    if (!entry->library->has_type_and_shape_inference_function() && entry->schema.hasFunctionBody && inferBody && node.captures.empty()) {
        NABLA_TRY(const GraphPtr body, functionBody(node, opset, inputs.types, std::make_shared<IdSource>()));
        if (!body)
            return unknown;
        std::vector<ValueType> types = inputs.types;
        types.resize(body->inputs().size());
        NABLA_TRY(std::vector<ValueType> outputs, inferBody(body, types));
        outputs.resize(node.outputs.size());
        return outputs;
    }
    try {
        Context context(node, inputs, inferBody);
        entry->library->GetTypeAndShapeInferenceFunction()(context);
        return context.outputs();
    } catch (const std::exception& e) {
        return toError(e.what());
    }
}

} // namespace nabla::engine
