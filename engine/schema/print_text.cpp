// Text out, in the syntax that parseGraphText reads.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "engine/schema/onnx_file/write_graph.h"
#include "engine/schema/text_form.h"
#include "engine/tensor/element.h"

#include "onnx/defs/parser.h"

namespace nabla::engine {

namespace {

using Names = std::unordered_map<ValueId, std::string>;

std::string inQuotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + '"';
}

bool isWord(std::string_view text) {
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || std::isdigit(static_cast<unsigned char>(c)); });
}

/// A word that the parser would take for a type or a number.
bool isReserved(const std::string& word) {
    static constexpr std::string_view kWords[] = {"seq", "map", "optional", "sparse_tensor", "opaque", "inf", "infinity", "nan"};
    return onnx::PrimitiveTypeNameMap::Lookup(word) != 0 || std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

std::string identifier(const std::string& name) { return isWord(name) && !isReserved(name) ? name : inQuotes(name); }

/// A body's name cannot be quoted in an attribute.
std::string plainName(std::string name) {
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
            c = '_';
    }
    return isWord(name) && !isReserved(name) ? name : "g_" + name;
}

template <typename T> std::string number(T value) {
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos)
        text += ".0";
    return text;
}

std::string shapeText(const std::optional<SymbolicShape>& shape) {
    if (!shape)
        return "[]";
    std::string out;
    for (const Dim& dim : *shape) {
        const std::string text = dim.text();
        out += (out.empty() ? "" : ",") + (dim.isUnknown() || dim.constant() || isWord(text) ? text : inQuotes(text));
    }
    return shape->empty() ? "" : "[" + out + "]";
}

std::string elementText(DType type) { return onnx::PrimitiveTypeNameMap::ToString(static_cast<int>(type)); }

std::string typeText(const ValueType& type) {
    using Kind = ValueType::Kind;
    const std::string inner = type.element ? typeText(*type.element) : "";
    switch (type.kind) {
    case Kind::Tensor: return elementText(type.elementType) + shapeText(type.shape);
    case Kind::SparseTensor: return "sparse_tensor(" + elementText(type.elementType) + shapeText(type.shape) + ")";
    case Kind::Sequence: return "seq(" + inner + ")";
    case Kind::Optional: return "optional(" + inner + ")";
    case Kind::Map: return "map(" + elementText(type.elementType) + ", " + inner + ")";
    case Kind::Opaque: return "opaque()";
    case Kind::Unknown: return "";
    }
    return "";
}

/// One element as the parser wants it: 16- and 8-bit floats as their bits, complex numbers as two.
std::string literal(const Tensor& tensor, std::int64_t i) {
    switch (tensor.dtype()) {
    case DType::Float32: return number(tensor.data<float>()[static_cast<std::size_t>(i)]);
    case DType::Float64: return number(tensor.asDouble(i));
    case DType::Complex64:
    case DType::Complex128: {
        const auto value = readComplex(tensor.dtype(), tensor.raw(), i);
        return number(value.real()) + ", " + number(value.imag());
    }
    case DType::String: return inQuotes(tensor.data<std::string>()[static_cast<std::size_t>(i)]);
    case DType::Float16: return std::to_string(tensor.data<Half>()[static_cast<std::size_t>(i)].bits);
    case DType::BFloat16: return std::to_string(tensor.data<BFloat16>()[static_cast<std::size_t>(i)].bits);
    case DType::Bool: return tensor.asInt64(i) ? "1" : "0";
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return tensor.asText(i);
    default: return std::to_string(std::to_integer<unsigned>(tensor.raw()[i])); // a byte of 8-bit floats or packed elements
    }
}

std::string elements(const Tensor& tensor, std::size_t limit) {
    const bool packed = bitWidth(tensor.dtype()) > 0 && bitWidth(tensor.dtype()) < 8;
    const std::int64_t count = packed ? tensor.bytes() : tensor.elementCount();
    if (count > static_cast<std::int64_t>(limit))
        return "{…}";
    std::string out;
    for (std::int64_t i = 0; i < count; ++i)
        out += (i ? ", " : "") + literal(tensor, i);
    return "{" + out + "}";
}

std::string tensorType(const Tensor& tensor) { return typeText(ValueType::tensor(tensor.dtype(), ShapeView(tensor.shape()))); }

class Printer {
public:
    explicit Printer(std::size_t maxElements) : m_max(maxElements) { }

    std::string model(const Graph& graph);

private:
    std::string graphText(const Graph& graph, const std::string& name, const std::vector<std::string>& captures, int depth);
    std::string nodes(const Graph& graph, const Names& names, int depth);
    std::string node(const Node& node, const Names& names, int depth);
    std::string attribute(const Attribute& attribute, const std::vector<std::string>& captures, int depth);
    std::string function(const Function& function);

    std::size_t m_max;
};

std::string join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }
std::string indent(int depth) { return std::string(static_cast<std::size_t>(depth) * 3, ' '); }

std::string opsetText(const std::map<std::string, std::int64_t>& opsets) {
    std::vector<std::string> parts;
    for (const auto& [domain, version] : opsets)
        parts.push_back(fmt::format("{} : {}", inQuotes(domain), version));
    return fmt::format("opset_import: [{}]", join(parts));
}

std::string Printer::attribute(const Attribute& a, const std::vector<std::string>& captures, int depth) {
    const auto list = [&](const auto& values, std::string_view type, auto&& print) {
        std::vector<std::string> parts;
        for (const auto& value : values)
            parts.push_back(print(value));
        return fmt::format("{}: {} = [{}]", a.name, type, join(parts));
    };
    const auto tensor = [&](const TensorPtr& t) { return t ? tensorType(*t) + " " + elements(*t, m_max) : std::string("{…}"); };
    const auto body = [&](const GraphPtr& g) { return g ? graphText(*g, plainName(g->name()), captures, depth + 1) : std::string("{…}"); };
    static constexpr std::string_view kKinds[] = {"undefined", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};
    if (const auto* v = std::get_if<std::int64_t>(&a.value))
        return fmt::format("{} = {}", a.name, *v);
    if (const auto* v = std::get_if<float>(&a.value))
        return fmt::format("{}: float = {}", a.name, number(*v));
    if (const auto* v = std::get_if<std::string>(&a.value))
        return fmt::format("{} = {}", a.name, inQuotes(*v));
    if (const auto* v = std::get_if<TensorPtr>(&a.value))
        return fmt::format("{} = {}", a.name, tensor(*v));
    if (const auto* v = std::get_if<GraphPtr>(&a.value))
        return fmt::format("{} = {}", a.name, body(*v));
    if (const auto* v = std::get_if<ValueType>(&a.value))
        return fmt::format("{}: type_proto = {}", a.name, typeText(*v));
    if (const auto* v = std::get_if<std::vector<std::int64_t>>(&a.value))
        return list(*v, "ints", [](std::int64_t x) { return std::to_string(x); });
    if (const auto* v = std::get_if<std::vector<float>>(&a.value))
        return list(*v, "floats", [](float x) { return number(x); });
    if (const auto* v = std::get_if<std::vector<std::string>>(&a.value))
        return list(*v, "strings", [](const std::string& x) { return inQuotes(x); });
    if (const auto* v = std::get_if<AttributeReference>(&a.value))
        return fmt::format("{}: {} = @{}", a.name, v->kind < std::size(kKinds) ? kKinds[v->kind] : kKinds[0], identifier(v->name));
    if (const auto* v = std::get_if<std::vector<GraphPtr>>(&a.value))
        return list(*v, "graphs", body);
    if (const auto* v = std::get_if<std::vector<TensorPtr>>(&a.value))
        return list(*v, "tensors", tensor);
    if (const auto* v = std::get_if<std::vector<ValueType>>(&a.value))
        return list(*v, "type_protos", typeText);
    return fmt::format("{}: sparse_tensor = {{…}}", a.name); // the syntax has no form for it
}

std::string Printer::node(const Node& node, const Names& names, int depth) {
    const auto list = [&](const std::vector<ValueId>& values) {
        std::vector<std::string> parts;
        for (const ValueId id : values)
            parts.push_back(id ? identifier(names.at(id)) : "\"\"");
        return join(parts);
    };
    std::vector<std::string> captures, attributes;
    for (const ValueId id : node.captures)
        captures.push_back(names.at(id));
    for (const Attribute& a : node.attributes)
        attributes.push_back(attribute(a, captures, depth));
    std::string out = indent(depth);
    if (!node.name.empty())
        out += "[" + identifier(node.name) + "] ";
    out += list(node.outputs) + " = " + (node.domain.empty() ? "" : node.domain + ".") + node.opType + (node.overload.empty() ? "" : ":" + node.overload);
    if (!attributes.empty())
        out += " <" + join(attributes) + ">";
    return out + " (" + list(node.inputs) + ")\n";
}

std::string Printer::nodes(const Graph& graph, const Names& names, int depth) {
    std::string out = indent(depth) + "{\n";
    graph.forEachNode([&](const Node& each) { out += node(each, names, depth + 1); });
    return out + indent(depth) + "}";
}

std::string Printer::graphText(const Graph& graph, const std::string& name, const std::vector<std::string>& captures, int depth) {
    const Names names = writtenNames(graph, captures);
    const auto info = [&](ValueId id) {
        const std::string type = typeText(graph.value(id)->declared);
        return (type.empty() ? "" : type + " ") + identifier(names.at(id));
    };
    const auto isGiven = [&](ValueId id) {
        const auto in = [&](std::span<const ValueId> list) { return std::find(list.begin(), list.end(), id) != list.end(); };
        return in(graph.inputs()) || in(graph.outputs()) || in(graph.captures());
    };
    std::vector<std::string> inputs, outputs, values;
    for (const ValueId id : graph.inputs()) {
        const TensorPtr& otherwise = graph.value(id)->constant;
        inputs.push_back(info(id) + (otherwise ? " = " + elements(*otherwise, m_max) : ""));
    }
    for (const ValueId id : graph.outputs())
        outputs.push_back(info(id));
    graph.forEachValue([&](const Value& value) {
        const bool isInput = std::find(graph.inputs().begin(), graph.inputs().end(), value.id) != graph.inputs().end();
        if (value.constant && !isInput)
            values.push_back(tensorType(*value.constant) + " " + identifier(names.at(value.id)) + " = " + elements(*value.constant, m_max));
        else if (value.declared.kind != ValueType::Kind::Unknown && !value.constant && !isGiven(value.id))
            values.push_back(info(value.id));
    });
    std::string out = fmt::format("{} ({}) => ({})", name, join(inputs), join(outputs));
    if (!values.empty())
        out += fmt::format("\n{}<{}>", indent(depth), join(values));
    return out + "\n" + nodes(graph, names, depth);
}

std::string Printer::function(const Function& f) {
    const Names names = writtenNames(*f.body, {});
    const auto list = [&](std::span<const ValueId> values) {
        std::vector<std::string> parts;
        for (const ValueId id : values)
            parts.push_back(identifier(names.at(id)));
        return join(parts);
    };
    std::vector<std::string> attributes(f.attributes);
    for (const Attribute& a : f.attributeDefaults)
        attributes.push_back(attribute(a, {}, 0));
    std::string out = fmt::format("<\n   domain: {}, {}{}\n>\n{}", inQuotes(f.domain), opsetText(f.body->info().opsets), f.overload.empty() ? "" : ", overload: " + inQuotes(f.overload), identifier(f.name));
    if (!attributes.empty())
        out += " <" + join(attributes) + ">";
    return out + fmt::format(" ({}) => ({})\n", list(f.body->inputs()), list(f.body->outputs())) + nodes(*f.body, names, 0) + "\n";
}

std::string Printer::model(const Graph& graph) {
    const ModelInfo& info = graph.info();
    std::string out = fmt::format("<\n   ir_version: {}, {}", info.irVersion > 0 ? info.irVersion : irVersionFor(graph.opset("")), opsetText(info.opsets));
    if (!info.producer.empty())
        out += fmt::format(", producer_name: {}", inQuotes(info.producer));
    out += "\n>\n" + graphText(graph, identifier(graph.name().empty() ? "graph" : graph.name()), {}, 0) + "\n";
    for (const auto& [key, each] : graph.functions())
        out += function(*each);
    return out;
}

} // namespace

std::string printGraphText(const Graph& graph, std::size_t maxElements) { return Printer(maxElements).model(graph); }

} // namespace nabla::engine
