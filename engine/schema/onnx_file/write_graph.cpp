// Field numbers as in onnx-ml.proto of ONNX 1.23.2. Captures become names again: a body reads the outer value by the name it is written under.
#include "engine/schema/onnx_file/write_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <protozero/pbf_writer.hpp>

namespace nabla::engine {

namespace {

using Writer = protozero::pbf_writer;
using Names = std::unordered_map<ValueId, std::string>;

void addText(Writer& w, protozero::pbf_tag_type field, std::string_view text) {
    if (!text.empty())
        w.add_bytes(field, text.data(), text.size());
}

void addPairs(Writer& w, protozero::pbf_tag_type field, const std::vector<std::pair<std::string, std::string>>& pairs) {
    for (const auto& [key, value] : pairs) {
        Writer entry(w, field);
        entry.add_bytes(1, key);
        entry.add_bytes(2, value);
    }
}

/// A message without fields: protozero's nested writer would leave it out, but that it is there says something.
void addEmpty(Writer& w, protozero::pbf_tag_type field) { w.add_message(field, "", 0); }

void writeShape(Writer& w, protozero::pbf_tag_type field, const SymbolicShape& shape) {
    if (shape.empty())
        return addEmpty(w, field);
    Writer message(w, field);
    for (const Dim& dim : shape) {
        if (dim.isUnknown()) {
            addEmpty(message, 1);
            continue;
        }
        Writer d(message, 1);
        if (const auto value = dim.constant())
            d.add_int64(1, *value);
        else
            d.add_bytes(2, dim.text());
    }
}

void writeType(Writer& w, const ValueType& type) {
    using Kind = ValueType::Kind;
    const auto tensor = [&](protozero::pbf_tag_type field) {
        Writer t(w, field);
        t.add_int32(1, static_cast<std::int32_t>(type.elementType));
        if (type.shape)
            writeShape(t, 2, *type.shape);
    };
    const auto container = [&](protozero::pbf_tag_type field, protozero::pbf_tag_type elementField) {
        if (type.kind != Kind::Map && !type.element)
            return addEmpty(w, field);
        Writer c(w, field);
        if (type.kind == Kind::Map)
            c.add_int32(1, static_cast<std::int32_t>(type.elementType));
        if (type.element) {
            Writer element(c, elementField);
            writeType(element, *type.element);
        }
    };
    switch (type.kind) {
    case Kind::Tensor: tensor(1); break;
    case Kind::SparseTensor: tensor(8); break;
    case Kind::Sequence: container(4, 1); break;
    case Kind::Optional: container(9, 1); break;
    case Kind::Map: container(5, 2); break;
    case Kind::Opaque: addEmpty(w, 7); break;
    case Kind::Unknown: break;
    }
}

void writeTensor(Writer& w, const Tensor& tensor, std::string_view name, std::string_view doc = {}, const OnnxWriteOptions* options = nullptr) {
    if (!tensor.shape().empty())
        w.add_packed_int64(1, tensor.shape().begin(), tensor.shape().end());
    w.add_int32(2, static_cast<std::int32_t>(tensor.dtype()));
    addText(w, 8, name);
    addText(w, 12, doc);
    if (tensor.dtype() == DType::String) {
        for (const std::string& text : tensor.data<std::string>())
            w.add_bytes(6, text);
        return;
    }
    const auto place = options && options->external ? options->external(tensor) : std::nullopt;
    if (!place) {
        w.add_bytes(9, reinterpret_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes()));
        return;
    }
    addPairs(w, 13, {{"location", place->location}, {"offset", std::to_string(place->offset)}, {"length", std::to_string(tensor.bytes())}});
    w.add_int32(14, 1);
}

class GraphWriter {
public:
    explicit GraphWriter(const OnnxWriteOptions& options, std::int64_t irVersion) : m_options(options), m_irVersion(irVersion) { }

    Result<void> writeMain(Writer& w, const Graph& graph) { return write(w, graph, {}, true); }
    Result<void> writeFunction(Writer& w, const Function& function);

private:
    Result<void> write(Writer& w, const Graph& graph, const std::vector<std::string>& captures, bool isMain);
    Result<void> writeNode(Writer& w, const Graph& graph, const Node& node, const Names& names);
    Result<void> writeAttribute(Writer& w, const Attribute& attribute, const std::vector<std::string>& captures);
    void writeValueInfo(Writer& w, protozero::pbf_tag_type field, const Value& value, const std::string& name, ValueType type) const;
    ValueType typeOf(const Value& value) const {
        return value.declared.kind == ValueType::Kind::Unknown && m_options.typeOf ? m_options.typeOf(value.id) : value.declared;
    }

    const OnnxWriteOptions& m_options;
    std::int64_t m_irVersion;
    const NameScope* m_scope = nullptr; ///< of the graph around the one being written
};

/// A value that somebody reads and nobody makes would be a broken file.
Result<void> checkMade(const Graph& graph) {
    std::unordered_set<ValueId> given(graph.inputs().begin(), graph.inputs().end());
    given.insert(graph.captures().begin(), graph.captures().end());
    std::unordered_set<ValueId> read(graph.outputs().begin(), graph.outputs().end());
    graph.forEachNode([&](const Node& node) {
        read.insert(node.inputs.begin(), node.inputs.end());
        read.insert(node.captures.begin(), node.captures.end());
    });
    for (const ValueId id : read) {
        const Value* value = graph.value(id);
        if (value && !value->producer && !value->constant && !given.contains(id))
            return runError("\"{}\" has no elements and is made by no node: the model cannot be written", value->name.substr(0, 200));
    }
    return {};
}

/// Only a graph with bodies in it has to tell its names.
std::unordered_set<std::string> namesIfBodies(const Graph& graph, const Names& names) {
    bool any = false;
    graph.forEachNode([&](const Node& node) { any = any || !node.bodies().empty(); });
    std::unordered_set<std::string> out;
    for (const auto& [value, name] : names) {
        if (any)
            out.insert(name);
    }
    return out;
}

void GraphWriter::writeValueInfo(Writer& w, protozero::pbf_tag_type field, const Value& value, const std::string& name, ValueType type) const {
    Writer info(w, field);
    info.add_bytes(1, name);
    if (type.kind != ValueType::Kind::Unknown) {
        Writer message(info, 2);
        writeType(message, type);
    }
    addText(info, 3, value.constant ? std::string() : value.doc);
}

/// One overload per kind: field of the value, number of the type.
struct ScalarWriter {
    Writer& w;

    int operator()(std::int64_t v) const { return w.add_int64(3, v), 2; }
    int operator()(float v) const { return w.add_float(2, v), 1; }
    int operator()(const std::string& v) const { return w.add_bytes(4, v), 3; }
    int operator()(const TensorPtr& v) const {
        Writer message(w, 5);
        if (v)
            writeTensor(message, *v, {});
        return 4;
    }
    int operator()(const SparseTensorPtr& v) const {
        Writer message(w, 22);
        if (v) {
            {
                Writer values(message, 1);
                writeTensor(values, *v->values, {});
            }
            {
                Writer indices(message, 2);
                writeTensor(indices, *v->indices, {});
            }
            message.add_packed_int64(3, v->shape.begin(), v->shape.end());
        }
        return 11;
    }
    int operator()(const ValueType& v) const {
        Writer message(w, 14);
        writeType(message, v);
        return 13;
    }
    int operator()(const std::vector<std::int64_t>& v) const { return w.add_packed_int64(8, v.begin(), v.end()), 7; }
    int operator()(const std::vector<float>& v) const { return w.add_packed_float(7, v.begin(), v.end()), 6; }
    int operator()(const std::vector<std::string>& v) const {
        for (const std::string& text : v)
            w.add_bytes(9, text);
        return 8;
    }
    int operator()(const std::vector<TensorPtr>& v) const {
        for (const TensorPtr& tensor : v) {
            Writer message(w, 10);
            writeTensor(message, *tensor, {});
        }
        return 9;
    }
    int operator()(const std::vector<ValueType>& v) const {
        for (const ValueType& type : v) {
            Writer message(w, 15);
            writeType(message, type);
        }
        return 14;
    }
    int operator()(const AttributeReference& v) const { return w.add_bytes(21, v.name), v.kind; }
    int operator()(const GraphPtr&) const { return 5; }
    int operator()(const std::vector<GraphPtr>&) const { return 10; }
};

Result<void> GraphWriter::writeAttribute(Writer& w, const Attribute& attribute, const std::vector<std::string>& captures) {
    w.add_bytes(1, attribute.name);
    if (const auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
        Writer message(w, 6);
        NABLA_CHECK(write(message, **body, captures, false));
    } else if (const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
        for (const GraphPtr& each : *list) {
            Writer message(w, 11);
            NABLA_CHECK(write(message, *each, captures, false));
        }
    }
    w.add_int32(20, std::visit(ScalarWriter{w}, attribute.value));
    return {};
}

Result<void> GraphWriter::writeNode(Writer& w, const Graph& graph, const Node& node, const Names& names) {
    if (node.domain == "nabla")
        return runError("{}: an operator of the domain nabla is not ONNX; it has to be expanded before the model is written", describe(node));
    const auto add = [&](protozero::pbf_tag_type field, const std::vector<ValueId>& values) {
        for (const ValueId id : values)
            id ? w.add_bytes(field, names.at(id)) : w.add_bytes(field, "", 0);
    };
    add(1, node.inputs);
    add(2, node.outputs);
    addText(w, 3, node.name);
    w.add_bytes(4, node.opType);
    std::vector<std::string> captures;
    for (const ValueId id : node.captures)
        captures.push_back(names.at(id));
    for (const Attribute& attribute : node.attributes) {
        Writer message(w, 5);
        auto written = writeAttribute(message, attribute, captures).in(describe(node));
        if (!written)
            return written;
    }
    addText(w, 6, node.doc);
    addText(w, 7, node.domain);
    addText(w, 8, node.overload);
    addPairs(w, 9, node.metadata);
    static_cast<void>(graph);
    return {};
}

Result<void> GraphWriter::write(Writer& w, const Graph& graph, const std::vector<std::string>& captures, bool isMain) {
    NABLA_CHECK(checkMade(graph));
    const Names names = writtenNames(graph, captures, m_scope);
    const NameScope* const around = m_scope;
    const NameScope own{around, namesIfBodies(graph, names)};
    m_scope = &own;
    Result<void> result;
    graph.forEachNode([&](const Node& node) {
        if (!result)
            return;
        Writer message(w, 1);
        result = writeNode(message, graph, node, names);
    });
    m_scope = around;
    NABLA_CHECK(std::move(result));
    addText(w, 2, graph.name());
    graph.forEachValue([&](const Value& value) {
        if (!value.constant)
            return;
        Writer message(w, 5);
        writeTensor(message, *value.constant, names.at(value.id), value.doc, &m_options);
    });
    addText(w, 10, graph.doc());
    std::unordered_set<ValueId> listed(graph.captures().begin(), graph.captures().end());
    for (const ValueId id : graph.inputs()) {
        listed.insert(id);
        writeValueInfo(w, 11, *graph.value(id), names.at(id), typeOf(*graph.value(id)));
    }
    if (isMain && m_irVersion > 0 && m_irVersion < 4) { // there every initializer has to be listed as an input
        graph.forEachValue([&](const Value& value) {
            if (value.constant && listed.insert(value.id).second)
                writeValueInfo(w, 11, value, names.at(value.id), ValueType::tensor(value.constant->dtype(), ShapeView(value.constant->shape())));
        });
    }
    for (const ValueId id : graph.outputs()) {
        listed.insert(id);
        writeValueInfo(w, 12, *graph.value(id), names.at(id), typeOf(*graph.value(id)));
    }
    graph.forEachValue([&](const Value& value) {
        if (!listed.contains(value.id) && (value.declared.kind != ValueType::Kind::Unknown || (!value.doc.empty() && !value.constant)))
            writeValueInfo(w, 13, value, names.at(value.id), value.declared);
    });
    return {};
}

void writeOpsets(Writer& w, protozero::pbf_tag_type field, const std::map<std::string, std::int64_t>& opsets, std::int64_t replaced) {
    for (const auto& [domain, version] : opsets) {
        Writer message(w, field);
        message.add_bytes(1, domain);
        message.add_int64(2, domain.empty() && replaced > 0 ? replaced : version);
    }
}

Result<void> GraphWriter::writeFunction(Writer& w, const Function& function) {
    const Graph& body = *function.body;
    NABLA_CHECK(checkMade(body));
    const Names names = writtenNames(body, {});
    const NameScope own{nullptr, namesIfBodies(body, names)};
    m_scope = &own;
    w.add_bytes(1, function.name);
    for (const ValueId id : body.inputs())
        w.add_bytes(4, names.at(id));
    for (const ValueId id : body.outputs())
        w.add_bytes(5, names.at(id));
    for (const std::string& name : function.attributes)
        w.add_bytes(6, name);
    Result<void> result;
    body.forEachNode([&](const Node& node) {
        if (!result)
            return;
        Writer message(w, 7);
        result = writeNode(message, body, node, names);
    });
    m_scope = nullptr;
    NABLA_CHECK(std::move(result));
    addText(w, 8, function.doc);
    writeOpsets(w, 9, body.info().opsets, m_options.opset);
    w.add_bytes(10, function.domain);
    for (const Attribute& attribute : function.attributeDefaults) {
        Writer message(w, 11);
        NABLA_CHECK(writeAttribute(message, attribute, {}));
    }
    body.forEachValue([&](const Value& value) {
        if (value.declared.kind != ValueType::Kind::Unknown)
            writeValueInfo(w, 12, value, names.at(value.id), value.declared);
    });
    addText(w, 13, function.overload);
    return {};
}

} // namespace

Names writtenNames(const Graph& graph, const std::vector<std::string>& captures, const NameScope* outer) {
    Names names;
    names.reserve(graph.valueCount());
    std::unordered_set<std::string> taken(captures.begin(), captures.end());
    for (std::size_t k = 0; k < captures.size(); ++k)
        names[graph.captures()[k]] = captures[k];
    if (!captures.empty() || outer)
        graph.forEachValue([&](const Value& value) { taken.insert(value.name); });
    const NameScope kept{nullptr, {captures.begin(), captures.end()}};
    const NameScope visible{outer, kept.names};
    graph.forEachValue([&](const Value& value) {
        if (names.contains(value.id))
            return;
        std::string name = value.name;
        const bool isFormal = !value.producer && !value.constant; // hides the outer one, which programs bear and some files do
        if (isFormal ? kept.has(value.name) : visible.has(value.name)) {
            int suffix = 2;
            do
                name = value.name + "_" + std::to_string(suffix++);
            while (visible.has(name) || !taken.insert(name).second);
        }
        names.emplace(value.id, std::move(name));
    });
    return names;
}

// onnx/docs/Versioning.md.
std::int64_t irVersionFor(std::int64_t opset) {
    if (opset <= 20)
        return 9;
    if (opset <= 22)
        return 10;
    if (opset == 23)
        return 11;
    if (opset == 24)
        return 12;
    return opset == 25 ? 13 : 14;
}

Result<std::string> writeOnnxModel(const Graph& graph, const OnnxWriteOptions& options) {
    const ModelInfo& info = graph.info();
    if (info.dialect != "onnx")
        return runError("a graph of the dialect \"{}\" has to be legalized before it is written as ONNX", info.dialect);
    const std::int64_t needed = irVersionFor(options.opset > 0 ? options.opset : graph.opset(""));
    const std::int64_t irVersion = info.irVersion == 0 || options.opset > 0 ? std::max(info.irVersion, needed) : info.irVersion;
    std::string bytes;
    Writer w(bytes);
    w.add_int64(1, irVersion);
    addText(w, 2, info.producer);
    addText(w, 3, info.producerVersion);
    addText(w, 4, info.modelDomain);
    if (info.modelVersion != 0)
        w.add_int64(5, info.modelVersion);
    addText(w, 6, info.doc);
    GraphWriter writer(options, irVersion);
    {
        Writer message(w, 7);
        NABLA_CHECK(writer.writeMain(message, graph));
    }
    writeOpsets(w, 8, info.opsets, options.opset);
    addPairs(w, 14, info.metadata);
    for (const auto& [key, function] : graph.functions()) {
        Writer message(w, 25);
        auto written = writer.writeFunction(message, *function).in(key);
        if (!written)
            return written.error();
    }
    return bytes;
}

Result<std::string> writeOnnxGraph(const Graph& graph) {
    std::string bytes;
    Writer w(bytes);
    const OnnxWriteOptions options;
    NABLA_CHECK(GraphWriter(options, 0).writeMain(w, graph));
    return bytes;
}

std::string writeOnnxTensor(const Tensor& tensor, std::string_view name) {
    std::string bytes;
    Writer w(bytes);
    writeTensor(w, tensor, name);
    return bytes;
}

} // namespace nabla::engine
