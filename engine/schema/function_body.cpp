// Function bodies of operators: the library's FunctionProto with the node's attributes put in, read like a file.
#include <limits>

#include "engine/schema/onnx_file/read_graph.h"
#include "engine/schema/onnx_file/write_graph.h"
#include "engine/schema/proto_convert.h"
#include "engine/schema/registry.h"

#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"

namespace nabla::engine {

namespace {

constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();

Result<onnx::NodeProto> callOf(const Node& node) {
    onnx::NodeProto call;
    call.set_op_type(node.opType);
    call.set_domain(node.domain);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        call.add_input(node.inputs[i] ? "i" + std::to_string(i) : "");
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        call.add_output(node.outputs[i] ? "o" + std::to_string(i) : "");
    for (const Attribute& attribute : node.attributes) {
        onnx::AttributeProto& out = *call.add_attribute();
        toAttributeProto(attribute, out, kEverything);
        if (const auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
            NABLA_TRY(const std::string bytes, writeOnnxGraph(**body));
            out.mutable_g()->ParseFromString(bytes);
        }
    }
    return call;
}

/// Puts the attributes of the call, else the defaults of the schema, where nodes of the body refer to them; what neither has is left out.
void bindAttributes(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const onnx::NodeProto& call, const onnx::OpSchema& schema) {
    const auto lookUp = [&](const std::string& name) -> const onnx::AttributeProto* {
        for (const auto& attribute : call.attribute()) {
            if (attribute.name() == name)
                return &attribute;
        }
        const auto formal = schema.attributes().find(name);
        const bool hasDefault = formal != schema.attributes().end() && formal->second.default_value.type() != onnx::AttributeProto::UNDEFINED;
        return hasDefault ? &formal->second.default_value : nullptr;
    };
    for (onnx::NodeProto& node : nodes) {
        for (int i = node.attribute_size() - 1; i >= 0; --i) {
            onnx::AttributeProto& attribute = *node.mutable_attribute(i);
            if (attribute.has_g())
                bindAttributes(*attribute.mutable_g()->mutable_node(), call, schema);
            if (!attribute.has_ref_attr_name() || attribute.ref_attr_name().empty())
                continue;
            const std::string name = attribute.name();
            if (const auto* value = lookUp(attribute.ref_attr_name())) {
                attribute = *value;
                attribute.set_name(name);
            } else {
                node.mutable_attribute()->DeleteSubrange(i, 1);
            }
        }
    }
}

} // namespace

Result<GraphPtr> functionBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    const SchemaEntry* entry = findSchemaEntry(node.opType, node.domain, opset);
    if (!entry || !entry->library || !entry->schema.hasFunctionBody)
        return GraphPtr();
    for (const auto& [name, body] : node.bodies()) {
        if (!body->captures().empty())
            return runError("{}: its function body cannot be built while its attribute \"{}\" reads values from outside", describe(node), name);
    }
    const onnx::OpSchema& schema = *entry->library;
    auto bytes = std::make_shared<std::string>();
    try {
        NABLA_TRY(const onnx::NodeProto call, callOf(node));
        onnx::FunctionProto function;
        const int version = static_cast<int>(std::min<std::int64_t>(opset, newestOpset(node.domain)));
        if (const auto* fixed = schema.HasFunction() ? schema.GetFunction(version) : nullptr) {
            function = *fixed;
        } else if (schema.HasContextDependentFunction()) {
            std::vector<onnx::TypeProto> types(inputTypes.size());
            for (std::size_t i = 0; i < inputTypes.size(); ++i)
                toTypeProto(inputTypes[i], types[i]);
            const onnx::FunctionBodyBuildContextImpl context(call, types);
            if (!schema.BuildContextDependentFunction(context, function, version))
                return GraphPtr();
        } else {
            return GraphPtr();
        }
        bindAttributes(*function.mutable_node(), call, schema);
        *bytes = function.SerializeAsString();
    } catch (const std::exception& e) {
        return runError("{}: no function body: {}", describe(node), e.what());
    }
    OnnxReadOptions options;
    options.source.owner = bytes;
    options.ids = ids;
    auto function = readOnnxFunction(*bytes, options).in(describe(node));
    if (!function)
        return function.error();
    return function->body;
}

} // namespace nabla::engine
