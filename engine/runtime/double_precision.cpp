// Widening of types, constants and attributes, and casts around what cannot be double.
#include "engine/runtime/double_precision.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "engine/analysis/types.h"
#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

constexpr auto kDouble = static_cast<std::int64_t>(DType::Float64);
constexpr auto kFloat = static_cast<std::int64_t>(DType::Float32);

bool isNarrow(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
}
bool isNarrow(std::int64_t type) {
    return type > 0 && type <= kLastDType && isNarrow(static_cast<DType>(type));
}

ValueType widened(const ValueType& type) {
    ValueType wide = type;
    if (isNarrow(wide.elementType) && wide.kind != ValueType::Kind::Map)
        wide.elementType = DType::Float64;
    if (wide.element)
        wide.element = std::make_shared<const ValueType>(widened(*wide.element));
    return wide;
}

Result<TensorPtr> widened(const TensorPtr& tensor) {
    NABLA_TRY(Tensor wide, castTensor(*tensor, DType::Float64));
    return std::make_shared<const Tensor>(std::move(wide));
}

bool allows(const FormalParameter& parameter, std::string_view type) {
    return std::find(parameter.types.begin(), parameter.types.end(), type) != parameter.types.end();
}
/// Runs as nodes that are widened when they are made, whatever types the operator itself may have.
bool runsByBody(const Node& node) {
    const OpDef* op = findOp(node.opType, node.domain);
    return op && op->run.expands();
}
/// Takes float32 but not double.
bool isSingleOnly(const FormalParameter* parameter) {
    return parameter && allows(*parameter, "tensor(float)") && !allows(*parameter, "tensor(double)");
}

class Widener {
public:
    explicit Widener(const Graph& graph)
        : m_graph(graph)
        , m_types(types(graph))
        , m_editor(graph) { }

    Result<Graph> run() {
        NABLA_CHECK(widenValues());
        std::vector<NodeId> nodes;
        m_graph.forEachNode([&](const Node& node) { nodes.push_back(node.id); });
        for (const NodeId id : nodes) {
            NABLA_CHECK(widenAttributes(id));
            if (runsByBody(*m_editor.graph().node(id)))
                continue;
            castInputs(id);
            castOutputs(id);
        }
        if (!m_graph.functions().empty()) {
            NABLA_TRY(FunctionMap functions, widenFunctions());
            m_editor.setFunctions(std::move(functions));
        }
        return m_editor.finish();
    }

private:
    Result<void> widenValues() {
        std::vector<const Value*> values;
        m_graph.forEachValue([&](const Value& value) { values.push_back(&value); });
        for (const Value* value : values) {
            if (const ValueType wide = widened(value->declared); !(wide == value->declared))
                m_editor.setDeclaredType(value->id, wide);
            if (!value->constant || !isNarrow(value->constant->dtype()))
                continue;
            NABLA_TRY(TensorPtr wide, widened(value->constant));
            m_editor.setConstant(value->id, std::move(wide));
        }
        return {};
    }

    Result<FunctionMap> widenFunctions() {
        FunctionMap functions = m_graph.functions();
        for (auto& [key, function] : functions) {
            Function copy = *function;
            NABLA_TRY(Graph body, inDoublePrecision(*function->body));
            copy.body = std::make_shared<const Graph>(std::move(body));
            function = std::make_shared<const Function>(std::move(copy));
        }
        return functions;
    }

    Result<void> widenAttributes(NodeId id) {
        Node node = *m_editor.graph().node(id);
        bool changed = false;
        for (Attribute& attribute : node.attributes) {
            NABLA_TRY(const bool widenedIt, widenAttribute(attribute));
            changed |= widenedIt;
        }
        NABLA_TRY(const bool added, writeDefaults(node));
        if (changed || added)
            m_editor.replaceNode(std::move(node));
        return {};
    }

    static Result<bool> widenAttribute(Attribute& attribute) {
        if (auto* tensor = std::get_if<TensorPtr>(&attribute.value);
            tensor && *tensor && isNarrow((*tensor)->dtype())) {
            NABLA_TRY(*tensor, widened(*tensor));
            return true;
        }
        if (auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
            NABLA_TRY(Graph wide, inDoublePrecision(**body));
            *body = std::make_shared<const Graph>(std::move(wide));
            return true;
        }
        if (auto* type = std::get_if<ValueType>(&attribute.value)) {
            *type = widened(*type);
            return true;
        }
        if (auto* number = std::get_if<std::int64_t>(&attribute.value);
            number && namesType(attribute.name) && isNarrow(*number)) {
            *number = kDouble;
            return true;
        }
        return false;
    }

    /// Integer attributes of the standard whose value is an element type.
    static bool namesType(std::string_view attribute) {
        constexpr std::array kNames = {std::string_view("dtype"), std::string_view("output_datatype"),
            std::string_view("output_dtype"), std::string_view("stash_type"), std::string_view("to")};
        return std::find(kNames.begin(), kNames.end(), attribute) != kNames.end();
    }

    /// What is float32 because nothing is said is written out.
    Result<bool> writeDefaults(Node& node) const {
        if (node.is("ConstantOfShape") && !node.attribute("value")) {
            node.attributes.push_back({"value", std::make_shared<const Tensor>(Tensor::of<double>({1}, {0.0}))});
            return true;
        }
        if (node.is("Constant"))
            return writeConstant(node);
        const OperatorSchema* schema = findSchema(node.opType, node.domain, m_graph.opset(node.domain));
        bool added = false;
        for (const FormalAttribute& attribute : schema ? schema->attributes : std::vector<FormalAttribute>{}) {
            const auto* number = attribute.otherwise ? std::get_if<std::int64_t>(&*attribute.otherwise) : nullptr;
            if (!number || !namesType(attribute.name) || !isNarrow(*number) || node.attribute(attribute.name))
                continue;
            node.attributes.push_back({attribute.name, kDouble});
            added = true;
        }
        return added;
    }

    static Result<bool> writeConstant(Node& node) {
        for (Attribute& attribute : node.attributes) {
            if (const auto* one = std::get_if<float>(&attribute.value)) {
                attribute = {"value", std::make_shared<const Tensor>(Tensor::scalar(static_cast<double>(*one)))};
                return true;
            }
            if (const auto* many = std::get_if<std::vector<float>>(&attribute.value)) {
                const std::vector<double> wide(many->begin(), many->end());
                attribute = {"value",
                    std::make_shared<const Tensor>(Tensor::of<double>({static_cast<std::int64_t>(wide.size())}, wide))};
                return true;
            }
        }
        return false;
    }

    ValueId cast(ValueId from, std::int64_t to, NodeId origin) {
        NodeSpec spec;
        spec.opType = "Cast";
        spec.inputs = {from};
        spec.attributes = {{"to", to}};
        spec.origins = {origin};
        spec.createdBy = m_createdBy;
        return m_editor.addValue(std::move(spec));
    }

    bool wasNarrow(ValueId id, const FormalParameter& parameter) const {
        const ValueType& type = m_types->of(id);
        if (type.kind == ValueType::Kind::Unknown || type.elementType == DType::Undefined)
            return parameter.types.size() == 1; // only float32 is possible
        return type.isTensor() && isNarrow(type.elementType);
    }

    void castInputs(NodeId id) {
        Node node = *m_editor.graph().node(id);
        const OperatorSchema* schema = findSchema(node.opType, node.domain, m_graph.opset(node.domain));
        bool changed = false;
        for (std::size_t i = 0; schema && i < node.inputs.size(); ++i) {
            const FormalParameter* parameter = schema->input(i);
            if (!node.inputs[i] || !isSingleOnly(parameter) || !wasNarrow(node.inputs[i], *parameter))
                continue;
            node.inputs[i] = cast(node.inputs[i], kFloat, id);
            changed = true;
        }
        if (changed)
            m_editor.replaceNode(std::move(node));
    }

    void castOutputs(NodeId id) {
        const Node node = *m_editor.graph().node(id);
        const OperatorSchema* schema = findSchema(node.opType, node.domain, m_graph.opset(node.domain));
        for (std::size_t k = 0; schema && k < node.outputs.size(); ++k) {
            const FormalParameter* parameter = schema->output(k);
            const ValueId made = node.outputs[k];
            if (!made || !isSingleOnly(parameter) || !wasNarrow(made, *parameter))
                continue;
            m_editor.setDeclaredType(made, {}); // float32 after all; what reads it reads the cast
            const ValueId wide = cast(made, kDouble, id);
            m_editor.replaceUses(made, wide);
            Node caster = *m_editor.graph().producer(wide);
            caster.inputs = {made};
            m_editor.replaceNode(std::move(caster));
        }
    }

    const Graph& m_graph;
    std::shared_ptr<const TypeMap> m_types;
    GraphEditor m_editor;
    std::shared_ptr<const std::string> m_createdBy = std::make_shared<const std::string>("double/cast");
};

} // namespace

Result<Graph> inDoublePrecision(const Graph& graph) {
    return Widener(graph).run();
}

} // namespace nabla::engine
