// Field numbers as in onnx-ml.proto of ONNX 1.23.2.
#include "engine/schema/onnx_file/parsed_model.h"

#include <unordered_set>

#include <fmt/format.h>

namespace nabla::engine {

namespace {

std::pair<std::string_view, std::string_view> parsePair(WireReader r) {
    std::pair<std::string_view, std::string_view> pair;
    while (r.next()) {
        if (r.field() == 1)
            pair.first = r.bytes();
        else if (r.field() == 2)
            pair.second = r.bytes();
    }
    return pair;
}

std::pair<std::string_view, std::int64_t> parseOpset(WireReader r) {
    std::pair<std::string_view, std::int64_t> opset{"", 0};
    while (r.next()) {
        if (r.field() == 1)
            opset.first = r.bytes();
        else if (r.field() == 2)
            opset.second = r.int64();
    }
    return opset;
}

ParsedValueInfo parseValueInfo(WireReader r) {
    ParsedValueInfo info;
    while (r.next()) {
        switch (r.field()) {
        case 1: info.name = r.bytes(); break;
        case 2: info.type = r.bytes(), info.hasType = true; break;
        case 3: info.doc = r.bytes(); break;
        default: break;
        }
    }
    return info;
}

void parseGraph(WireReader r, ParsedGraph& graph, int depth);

void addBody(WireReader r, ParsedGraph& owner, ParsedAttribute& attribute, int depth) {
    owner.bodies.push_back(std::make_unique<ParsedGraph>());
    ++attribute.bodyCount;
    parseGraph(r, *owner.bodies.back(), depth + 1);
}

ParsedAttribute parseAttribute(std::string_view bytes, WireStatus& status, ParsedGraph& owner, int depth) {
    ParsedAttribute attribute;
    attribute.bytes = bytes;
    attribute.bodyBegin = static_cast<std::uint32_t>(owner.bodies.size());
    WireReader r(bytes, status);
    while (r.next()) {
        switch (r.field()) {
        case 1: attribute.name = r.bytes(); break;
        case 6:
        case 11: addBody(r.message(), owner, attribute, depth); break;
        case 20: attribute.type = r.int32(); break;
        case 21: attribute.reference = r.bytes(); break;
        default: break;
        }
    }
    return attribute;
}

void parseNode(WireReader r, ParsedGraph& graph, int depth) {
    ParsedNode node;
    std::vector<std::string_view> outputs; // usually after the inputs, but the wire allows any order
    node.inputBegin = static_cast<std::uint32_t>(graph.names.size());
    node.attributeBegin = static_cast<std::uint32_t>(graph.attributes.size());
    while (r.next()) {
        switch (r.field()) {
        case 1: graph.names.push_back(r.bytes()); break;
        case 2: outputs.push_back(r.bytes()); break;
        case 3: node.name = r.bytes(); break;
        case 4: node.opType = r.bytes(); break;
        case 5: graph.attributes.push_back(parseAttribute(r.bytes(), r.status(), graph, depth)); break;
        case 6: node.doc = r.bytes(); break;
        case 7: node.domain = r.bytes(); break;
        case 8: node.overload = r.bytes(); break;
        case 9: node.metadata.push_back(parsePair(r.message())); break;
        default: break;
        }
    }
    node.inputCount = static_cast<std::uint32_t>(graph.names.size()) - node.inputBegin;
    node.outputBegin = static_cast<std::uint32_t>(graph.names.size());
    node.outputCount = static_cast<std::uint32_t>(outputs.size());
    graph.names.insert(graph.names.end(), outputs.begin(), outputs.end());
    node.attributeCount = static_cast<std::uint32_t>(graph.attributes.size()) - node.attributeBegin;
    if (node.domain == "ai.onnx")
        node.domain = {};
    graph.nodes.push_back(std::move(node));
}

std::string_view initializerName(std::string_view bytes, WireStatus& status) {
    WireReader r(bytes, status);
    while (r.next()) {
        if (r.field() == 8)
            return r.bytes();
    }
    return {};
}

std::string_view sparseName(std::string_view bytes, WireStatus& status) {
    WireReader r(bytes, status);
    while (r.next()) {
        if (r.field() == 1)
            return initializerName(r.bytes(), status);
    }
    return {};
}

/// Only for bodies: the main graph's missing values are found while it is built.
void findFreeNames(ParsedGraph& graph, WireStatus& status) {
    std::unordered_set<std::string_view> made;
    for (const ParsedValueInfo& input : graph.inputs)
        made.insert(input.name);
    for (const std::string_view bytes : graph.initializers)
        made.insert(initializerName(bytes, status));
    for (const std::string_view bytes : graph.sparseInitializers)
        made.insert(sparseName(bytes, status));
    for (const ParsedNode& node : graph.nodes) {
        for (std::uint32_t i = 0; i < node.outputCount; ++i)
            made.insert(graph.names[node.outputBegin + i]);
    }
    std::unordered_set<std::string_view> seen;
    const auto read = [&](std::string_view name) {
        if (!name.empty() && !made.contains(name) && seen.insert(name).second)
            graph.freeNames.push_back(name);
    };
    for (const ParsedNode& node : graph.nodes) {
        for (std::uint32_t i = 0; i < node.inputCount; ++i)
            read(graph.names[node.inputBegin + i]);
        for (std::uint32_t a = 0; a < node.attributeCount; ++a) {
            const ParsedAttribute& attribute = graph.attributes[node.attributeBegin + a];
            for (std::uint32_t b = 0; b < attribute.bodyCount; ++b) {
                for (const std::string_view name : graph.bodies[attribute.bodyBegin + b]->freeNames)
                    read(name);
            }
        }
    }
    for (const ParsedValueInfo& output : graph.outputs)
        read(output.name);
}

void parseGraph(WireReader r, ParsedGraph& graph, int depth) {
    if (depth > kMaxNesting) {
        r.status().failCorrupt(r.status().fileEnd(), fmt::format("bodies nest deeper than the limit of {} levels (depth)", kMaxNesting));
        return;
    }
    while (r.next()) {
        switch (r.field()) {
        case 1: parseNode(r.message(), graph, depth); break;
        case 2: graph.name = r.bytes(); break;
        case 5: graph.initializers.push_back(r.bytes()); break;
        case 10: graph.doc = r.bytes(); break;
        case 11: graph.inputs.push_back(parseValueInfo(r.message())); break;
        case 12: graph.outputs.push_back(parseValueInfo(r.message())); break;
        case 13: graph.valueInfos.push_back(parseValueInfo(r.message())); break;
        case 15: graph.sparseInitializers.push_back(r.bytes()); break;
        default: break;
        }
    }
    if (depth > 0)
        findFreeNames(graph, r.status());
}

ParsedFunction parseFunctionFields(WireReader r) {
    ParsedFunction function;
    while (r.next()) {
        switch (r.field()) {
        case 1: function.name = r.bytes(); break;
        case 4: function.body.inputs.push_back({r.bytes(), {}, {}, false}); break;
        case 5: function.body.outputs.push_back({r.bytes(), {}, {}, false}); break;
        case 6: function.attributes.push_back(r.bytes()); break;
        case 7: parseNode(r.message(), function.body, 0); break;
        case 8: function.doc = r.bytes(); break;
        case 9: function.opsets.push_back(parseOpset(r.message())); break;
        case 10: function.domain = r.bytes(); break;
        case 11: function.defaults.push_back(parseAttribute(r.bytes(), r.status(), function.body, 0)); break;
        case 12: function.body.valueInfos.push_back(parseValueInfo(r.message())); break;
        case 13: function.overload = r.bytes(); break;
        default: break;
        }
    }
    if (function.domain == "ai.onnx")
        function.domain = {};
    function.body.name = function.name;
    return function;
}

ParsedModel parseModelFields(WireReader r) {
    ParsedModel model;
    while (r.next()) {
        switch (r.field()) {
        case 1: model.irVersion = r.int64(); break;
        case 2: model.producer = r.bytes(); break;
        case 3: model.producerVersion = r.bytes(); break;
        case 4: model.domain = r.bytes(); break;
        case 5: model.modelVersion = r.int64(); break;
        case 6: model.doc = r.bytes(); break;
        case 7: parseGraph(r.message(), model.graph, 0), model.hasGraph = true; break;
        case 8: model.opsets.push_back(parseOpset(r.message())); break;
        case 14: model.metadata.push_back(parsePair(r.message())); break;
        case 20: model.hasTraining = true; break;
        case 25: model.functions.push_back(parseFunctionFields(r.message())); break;
        default: break;
        }
    }
    return model;
}

SymbolicShape parseShape(WireReader r) {
    SymbolicShape shape;
    while (r.next()) {
        if (r.field() != 1)
            continue;
        Dim dim;
        WireReader d = r.message();
        while (d.next()) {
            if (d.field() == 1) {
                const std::int64_t value = d.int64();
                dim = value >= 0 ? Dim(value) : Dim::unknown();
            } else if (d.field() == 2) {
                const std::string_view name = d.bytes();
                dim = name.empty() || name == "?" ? Dim::unknown() : Dim::symbol(std::string(name)); // some exporters write `?` for every size they do not know
            }
        }
        shape.push_back(std::move(dim));
    }
    return shape;
}

DType elementType(std::int32_t number) { return number > 0 && number <= kLastDType ? static_cast<DType>(number) : DType::Undefined; }

/// TypeProto.Tensor and SparseTensor: elem_type = 1, shape = 2.
ValueType parseTensorType(WireReader r, ValueType::Kind kind) {
    ValueType type;
    type.kind = kind;
    while (r.next()) {
        if (r.field() == 1)
            type.elementType = elementType(r.int32());
        else if (r.field() == 2)
            type.shape = parseShape(r.message());
    }
    return type;
}

/// Sequence and Optional: elem_type = 1. Map: key_type = 1 (a number), value_type = 2.
ValueType parseContainerType(WireReader r, ValueType::Kind kind, int depth) {
    ValueType type;
    type.kind = kind;
    const std::uint32_t elementField = kind == ValueType::Kind::Map ? 2 : 1;
    while (r.next()) {
        if (r.field() == elementField)
            type.element = std::make_shared<const ValueType>(parseType(r.bytes(), r.status(), depth + 1));
        else if (r.field() == 1)
            type.elementType = elementType(r.int32());
    }
    return type;
}

} // namespace

Result<ParsedModel> parseModel(std::string_view file) {
    WireStatus status(file);
    ParsedModel model = parseModelFields(WireReader(file, status));
    NABLA_CHECK(status.result());
    return model;
}

Result<ParsedFunction> parseFunction(std::string_view file) {
    WireStatus status(file);
    ParsedFunction function = parseFunctionFields(WireReader(file, status));
    NABLA_CHECK(status.result());
    return function;
}

ValueType parseType(std::string_view bytes, WireStatus& status, int depth) {
    ValueType type;
    if (depth > kMaxNesting) {
        status.failCorrupt(bytes.data(), fmt::format("types nest deeper than the limit of {} levels (depth)", kMaxNesting));
        return type;
    }
    WireReader r(bytes, status);
    while (r.next()) {
        switch (r.field()) {
        case 1: type = parseTensorType(r.message(), ValueType::Kind::Tensor); break;
        case 4: type = parseContainerType(r.message(), ValueType::Kind::Sequence, depth); break;
        case 5: type = parseContainerType(r.message(), ValueType::Kind::Map, depth); break;
        case 7: type.kind = ValueType::Kind::Opaque; break;
        case 8: type = parseTensorType(r.message(), ValueType::Kind::SparseTensor); break;
        case 9: type = parseContainerType(r.message(), ValueType::Kind::Optional, depth); break;
        default: break;
        }
    }
    return type;
}

ParsedTensor parseTensor(std::string_view bytes, WireStatus& status) {
    ParsedTensor tensor;
    tensor.bytes = bytes;
    WireReader r(bytes, status);
    while (r.next()) {
        switch (r.field()) {
        case 1: r.forEachVarint([&](std::uint64_t dim) { tensor.dims.push_back(static_cast<std::int64_t>(dim)); }); break;
        case 2: tensor.dataType = r.int32(); break;
        case 8: tensor.name = r.bytes(); break;
        case 9: tensor.raw = r.bytes(), tensor.hasRaw = true; break;
        case 12: tensor.doc = r.bytes(); break;
        case 13: tensor.externalData.push_back(parsePair(r.message())); break;
        case 14: tensor.external = r.int32() == 1; break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 10:
        case 11: tensor.typedFields |= 1U << r.field(); break;
        default: break;
        }
    }
    return tensor;
}

} // namespace nabla::engine
