// Graphs from parsed messages: all values first, then the nodes, so that nodes may stand in any order.
#include "engine/schema/onnx_file/read_graph.h"

#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/graph/graph_editor.h"
#include "engine/schema/onnx_file/read_attribute.h"

namespace nabla::engine {

namespace {

using Severity = Diagnostic::Severity;
using ValueTable = std::unordered_map<std::string_view, ValueId>;

std::string shown(std::string_view name) { return name.size() <= 200 ? std::string(name) : fmt::format("{}…", name.substr(0, 200)); }
std::string describe(const ParsedNode& node) { return node.name.empty() ? fmt::format("a node of {}", shown(node.opType)) : fmt::format("node \"{}\" ({})", shown(node.name), shown(node.opType)); }

std::map<std::string, std::int64_t> opsetTable(const std::vector<std::pair<std::string_view, std::int64_t>>& list) {
    std::map<std::string, std::int64_t> table;
    for (const auto& [domain, version] : list)
        table.insert_or_assign(domain == "ai.onnx" ? std::string() : std::string(domain), version);
    return table;
}

std::vector<std::pair<std::string, std::string>> copied(const ParsedPairs& pairs) { return {pairs.begin(), pairs.end()}; }

/// What is shared by all graphs of one file.
struct Context {
    const OnnxReadOptions& options;
    WireStatus status;
    IdSourcePtr ids;
    std::vector<Diagnostic> diagnostics;
    std::size_t nodesMade = 0;

    void report(Severity severity, NodeId node, ValueId value, std::string message, bool blocksRun) {
        diagnostics.push_back({severity, node, value, std::move(message), blocksRun});
    }
};

enum class Role { Main, Function, Body };

class Builder {
public:
    Builder(Context& context, const ParsedGraph& parsed, ModelInfoPtr info, Role role)
        : m_context(context), m_parsed(parsed), m_info(info), m_role(role), m_editor(GraphEditor::empty(std::string(parsed.name), std::move(info), context.ids)) {
        m_editor.setDoc(std::string(parsed.doc));
    }

    /// captures: the formal captures this body is to have, with the types of the outer values.
    Result<void> build(const std::vector<std::pair<std::string_view, ValueType>>& captures = {});
    Graph finish() { return m_editor.finish(); }
    GraphEditor& editor() { return m_editor; }
    Result<Attribute> attribute(const ParsedGraph& owner, const ParsedAttribute& parsed, const std::vector<std::pair<std::string_view, ValueType>>& captures, const ParsedNode* node);

private:
    ValueType declaredType(std::string_view name);
    Result<void> addInputs();
    Result<void> addInitializers();
    Result<void> addInitializer(const ReadTensor& read, std::string_view name, std::string_view doc);
    void addNodeOutputs();
    ValueId find(std::string_view name);
    std::vector<std::pair<std::string_view, ValueType>> findCaptures(const ParsedNode& node, std::vector<ValueId>& values);
    Result<void> addNode(const ParsedNode& node, std::size_t index);
    void addOutputs();

    Context& m_context;
    const ParsedGraph& m_parsed;
    ModelInfoPtr m_info;
    Role m_role;
    GraphEditor m_editor;
    ValueTable m_values;
    std::unordered_map<std::string_view, const ParsedValueInfo*> m_infos;
    std::vector<ValueId> m_nodeOutputs; ///< of all nodes, in order
    std::size_t m_nextOutput = 0;
    std::vector<NodeId> m_nodeIds;
    bool m_unsorted = false;
    std::string m_firstUnsorted;
    /// Outputs of nodes are declared one after the other, so their ids ascend: what is above m_lastMade and not above m_lastOutput is still to come.
    ValueId m_lastMade, m_lastOutput;
};

ValueType Builder::declaredType(std::string_view name) {
    const auto it = m_infos.find(name);
    return it == m_infos.end() || !it->second->hasType ? ValueType{} : parseType(it->second->type, m_context.status);
}

Result<void> Builder::addInputs() {
    std::unordered_set<std::string_view> initializers;
    if (m_role == Role::Main && m_info->irVersion < 4) { // there every initializer had to be listed as an input: it says nothing
        for (const std::string_view bytes : m_parsed.initializers)
            initializers.insert(parseTensor(bytes, m_context.status).name);
    }
    for (const ParsedValueInfo& input : m_parsed.inputs) {
        ValueType type = input.hasType ? parseType(input.type, m_context.status) : ValueType{};
        if (m_role == Role::Main && type.kind == ValueType::Kind::Unknown)
            return readError("graph input \"{}\" has no type", shown(input.name));
        if (initializers.contains(input.name)) {
            m_infos.emplace(input.name, &input);
            continue;
        }
        if (m_role == Role::Main && type.kind == ValueType::Kind::Tensor && type.elementType == DType::Undefined)
            return readError("graph input \"{}\" has no element type that is known", shown(input.name));
        const ValueId id = m_editor.addInput(std::string(input.name), std::move(type));
        if (!m_values.emplace(input.name, id).second)
            m_context.report(Severity::Error, {}, id, fmt::format("graph input \"{}\" is there twice (duplicate name)", shown(input.name)), true);
        if (!input.doc.empty())
            m_editor.setValueDoc(id, std::string(input.doc));
    }
    return {};
}

Result<void> Builder::addInitializer(const ReadTensor& read, std::string_view name, std::string_view doc) {
    const auto existing = m_values.find(name);
    TensorPtr tensor = read.missing.empty() ? std::make_shared<const Tensor>(read.tensor) : nullptr;
    ValueId id;
    if (existing != m_values.end()) {
        id = existing->second;
        if (m_editor.graph().value(id)->constant) {
            m_context.report(Severity::Error, {}, id, fmt::format("initializer \"{}\" is there twice (duplicate name)", shown(name)), true);
            return {};
        }
        m_editor.setDefault(id, std::move(tensor));
    } else {
        id = m_editor.declareValue(std::string(name), tensor ? declaredType(name) : ValueType::tensor(read.dtype, ShapeView(read.shape)));
        if (tensor)
            m_editor.setConstant(id, std::move(tensor));
        m_values.emplace(name, id);
    }
    if (!doc.empty())
        m_editor.setValueDoc(id, std::string(doc));
    if (!read.missing.empty())
        m_context.report(Severity::Error, {}, id, read.missing, true);
    return {};
}

Result<void> Builder::addInitializers() {
    for (const std::string_view bytes : m_parsed.initializers) {
        const ParsedTensor tensor = parseTensor(bytes, m_context.status);
        NABLA_TRY(const ReadTensor read, readTensor(tensor, m_context.status, m_context.options.source));
        NABLA_CHECK(addInitializer(read, tensor.name, tensor.doc));
    }
    for (const std::string_view bytes : m_parsed.sparseInitializers) {
        NABLA_TRY(const SparseTensorPtr sparse, readSparseTensor(bytes, m_context.status, m_context.options.source));
        ReadTensor read;
        NABLA_TRY(read.tensor, densify(*sparse));
        std::string_view name;
        WireReader r(bytes, m_context.status);
        while (r.next()) {
            if (r.field() == 1)
                name = parseTensor(r.bytes(), m_context.status).name;
        }
        NABLA_CHECK(addInitializer(read, name, {}));
    }
    return m_context.status.result();
}

void Builder::addNodeOutputs() {
    for (const ParsedNode& node : m_parsed.nodes) {
        for (std::uint32_t i = 0; i < node.outputCount; ++i) {
            const std::string_view name = m_parsed.names[node.outputBegin + i];
            if (name.empty()) {
                m_nodeOutputs.emplace_back();
                continue;
            }
            const ValueId id = m_editor.declareValue(std::string(name), declaredType(name));
            m_nodeOutputs.push_back(id);
            if (const auto it = m_infos.find(name); it != m_infos.end() && !it->second->doc.empty())
                m_editor.setValueDoc(id, std::string(it->second->doc));
            m_lastOutput = id;
            if (!m_lastMade)
                m_lastMade = ValueId{id.value - 1};
            if (!m_values.emplace(name, id).second)
                m_context.report(Severity::Error, {}, id, fmt::format("value \"{}\" is made twice (duplicate): {} makes it again; readers get the first", shown(name), describe(node)), true);
        }
    }
}

/// The value of a name here; a value that nothing makes when there is none.
ValueId Builder::find(std::string_view name) {
    if (name.empty())
        return {};
    const auto it = m_values.find(name);
    if (it != m_values.end())
        return it->second;
    const ValueId id = m_editor.addDangling(std::string(name));
    m_values.emplace(name, id);
    return id;
}

/// Every body of a node has the same formal captures: what any of them reads from outside.
std::vector<std::pair<std::string_view, ValueType>> Builder::findCaptures(const ParsedNode& node, std::vector<ValueId>& values) {
    std::vector<std::pair<std::string_view, ValueType>> captures;
    std::unordered_set<std::string_view> seen;
    for (std::uint32_t a = 0; a < node.attributeCount; ++a) {
        const ParsedAttribute& attribute = m_parsed.attributes[node.attributeBegin + a];
        for (std::uint32_t b = 0; b < attribute.bodyCount; ++b) {
            for (const std::string_view name : m_parsed.bodies[attribute.bodyBegin + b]->freeNames) {
                if (!seen.insert(name).second)
                    continue;
                const ValueId value = find(name);
                const Value& outer = *m_editor.graph().value(value);
                captures.emplace_back(name, outer.constant ? ValueType::tensor(outer.constant->dtype(), ShapeView(outer.constant->shape())) : outer.declared);
                values.push_back(value);
            }
        }
    }
    return captures;
}

Result<Attribute> Builder::attribute(const ParsedGraph& owner, const ParsedAttribute& parsed, const std::vector<std::pair<std::string_view, ValueType>>& captures, const ParsedNode* node) {
    Attribute out;
    out.name = std::string(parsed.name);
    if (!parsed.reference.empty()) {
        out.value = AttributeReference{std::string(parsed.reference), static_cast<std::uint8_t>(parsed.type)};
        return out;
    }
    const int type = parsed.type != 0 ? parsed.type : guessAttributeType(parsed, m_context.status);
    if (type == 5 || type == 10) {
        std::vector<GraphPtr> bodies;
        for (std::uint32_t b = 0; b < parsed.bodyCount; ++b) {
            Builder body(m_context, *owner.bodies[parsed.bodyBegin + b], m_info, Role::Body);
            NABLA_CHECK(body.build(captures));
            bodies.push_back(std::make_shared<const Graph>(body.finish()));
        }
        if (type == 10)
            out.value = std::move(bodies);
        else
            out.value = bodies.empty() ? GraphPtr() : bodies.back();
        return out;
    }
    const std::string where = node ? fmt::format("{}: attribute \"{}\"", describe(*node), shown(parsed.name)) : fmt::format("attribute \"{}\"", shown(parsed.name));
    auto read = readAttribute(parsed, type, m_context.status, m_context.options.source).in(where);
    if (!read)
        return read.error();
    if (!read->missing.empty())
        m_context.report(Severity::Error, {}, {}, fmt::format("{}: {}", where, read->missing), true);
    if (!read->value)
        m_context.report(Severity::Warning, {}, {}, fmt::format("{} has the kind {}, which is not kept", where, type), true);
    out.value = read->value.value_or(std::string());
    return out;
}

Result<void> Builder::addNode(const ParsedNode& node, std::size_t index) {
    if (++m_context.nodesMade % 4096 == 0) {
        NABLA_CHECK(m_context.options.job.check());
        m_context.options.job.say("reading nodes", static_cast<std::int64_t>(index), static_cast<std::int64_t>(m_parsed.nodes.size()));
    }
    NodeSpec spec;
    spec.opType = std::string(node.opType);
    spec.domain = std::string(node.domain);
    spec.overload = std::string(node.overload);
    spec.name = std::string(node.name);
    spec.doc = std::string(node.doc);
    spec.metadata = copied(node.metadata);
    spec.inputs.reserve(node.inputCount);
    for (std::uint32_t i = 0; i < node.inputCount; ++i) {
        spec.inputs.push_back(find(m_parsed.names[node.inputBegin + i]));
        if (!m_unsorted && spec.inputs.back() > m_lastMade && spec.inputs.back() <= m_lastOutput) {
            m_unsorted = true;
            m_firstUnsorted = fmt::format("{} reads \"{}\", which a later node makes", describe(node), shown(m_parsed.names[node.inputBegin + i]));
        }
    }
    const auto captures = findCaptures(node, spec.captures);
    spec.attributes.reserve(node.attributeCount);
    for (std::uint32_t a = 0; a < node.attributeCount; ++a) {
        NABLA_TRY(Attribute made, attribute(m_parsed, m_parsed.attributes[node.attributeBegin + a], captures, &node));
        if (const auto* body = std::get_if<GraphPtr>(&made.value); body && !*body)
            return readError("{}: attribute \"{}\" is to be a graph and holds none", describe(node), shown(made.name));
        spec.attributes.push_back(std::move(made));
    }
    std::vector<ValueId> outputs(m_nodeOutputs.begin() + static_cast<std::ptrdiff_t>(m_nextOutput), m_nodeOutputs.begin() + static_cast<std::ptrdiff_t>(m_nextOutput + node.outputCount));
    m_nextOutput += node.outputCount;
    for (const ValueId id : outputs)
        m_lastMade = std::max(m_lastMade, id);
    m_nodeIds.push_back(m_editor.addWithOutputs(std::move(spec), std::move(outputs)));
    return {};
}

void Builder::addOutputs() {
    std::vector<ValueId> outputs;
    for (const ParsedValueInfo& output : m_parsed.outputs) {
        const ValueId id = find(output.name);
        if (!id) {
            m_context.report(Severity::Error, {}, {}, "a graph output has no name", true);
            continue;
        }
        outputs.push_back(id);
        if (const Value& value = *m_editor.graph().value(id); value.declared.kind == ValueType::Kind::Unknown && output.hasType)
            m_editor.setDeclaredType(id, parseType(output.type, m_context.status));
    }
    m_editor.setOutputs(std::move(outputs));
}

Result<void> Builder::build(const std::vector<std::pair<std::string_view, ValueType>>& captures) {
    for (const auto* list : {&m_parsed.outputs, &m_parsed.valueInfos}) {
        for (const ParsedValueInfo& info : *list)
            m_infos.emplace(info.name, &info);
    }
    NABLA_CHECK(addInputs());
    NABLA_CHECK(addInitializers());
    addNodeOutputs();
    for (const auto& [name, type] : captures) { // after the body's own values: a name that the body makes itself is not the outer one
        const ValueId id = m_editor.addCapture(std::string(name), type);
        m_values.emplace(name, id);
    }
    NABLA_CHECK(m_context.status.result());
    for (std::size_t i = 0; i < m_parsed.nodes.size(); ++i)
        NABLA_CHECK(addNode(m_parsed.nodes[i], i));
    addOutputs();
    if (m_unsorted)
        m_context.report(Severity::Warning, {}, {}, fmt::format("nodes are not in topological order: {}; they are sorted before running", m_firstUnsorted), false);
    return m_context.status.result();
}

Result<Function> buildFunction(Context& context, const ParsedFunction& parsed, const ModelInfo& model) {
    auto info = std::make_shared<ModelInfo>(model);
    info->doc.clear();
    info->metadata.clear();
    if (!parsed.opsets.empty())
        info->opsets = opsetTable(parsed.opsets);
    Builder builder(context, parsed.body, std::move(info), Role::Function);
    Function function;
    function.domain = std::string(parsed.domain);
    function.name = std::string(parsed.name);
    function.overload = std::string(parsed.overload);
    function.doc = std::string(parsed.doc);
    for (const std::string_view name : parsed.attributes)
        function.attributes.emplace_back(name);
    for (const ParsedAttribute& attribute : parsed.defaults) {
        NABLA_TRY(Attribute made, builder.attribute(parsed.body, attribute, {}, nullptr));
        function.attributeDefaults.push_back(std::move(made));
    }
    NABLA_CHECK(builder.build());
    function.body = std::make_shared<const Graph>(builder.finish());
    return function;
}

ModelInfo makeInfo(const ParsedModel& parsed, const std::filesystem::path& path) {
    ModelInfo info;
    info.format = "ONNX";
    info.path = path;
    info.producer = std::string(parsed.producer);
    info.producerVersion = std::string(parsed.producerVersion);
    info.modelDomain = std::string(parsed.domain);
    info.doc = std::string(parsed.doc);
    info.modelVersion = parsed.modelVersion;
    info.irVersion = parsed.irVersion;
    info.opsets = opsetTable(parsed.opsets);
    if (info.opsets.empty() && parsed.irVersion < 3)
        info.opsets[""] = 1; // before IR 3 there was only the first
    info.metadata = copied(parsed.metadata);
    return info;
}

} // namespace

Result<Graph> readOnnxModel(std::string_view bytes, const OnnxReadOptions& options) {
    NABLA_TRY(const ParsedModel parsed, parseModel(bytes));
    if (!parsed.hasGraph)
        return readError("not an ONNX model: the {} bytes parse as a message that holds no graph", bytes.size());
    Context context{options, WireStatus(bytes), options.ids ? options.ids : std::make_shared<IdSource>(), {}, 0};
    const auto info = std::make_shared<const ModelInfo>(makeInfo(parsed, options.path));
    FunctionMap functions;
    for (const ParsedFunction& function : parsed.functions) {
        auto made = buildFunction(context, function, *info).in(fmt::format("function \"{}\"", shown(function.name)));
        if (!made)
            return made.error();
        const std::string key = functionKey(made->domain, made->name, made->overload);
        if (!functions.emplace(key, std::make_shared<const Function>(*std::move(made))).second)
            context.report(Severity::Error, {}, {}, fmt::format("function \"{}\" is there twice (duplicate name)", shown(key)), true);
    }
    Builder builder(context, parsed.graph, info, Role::Main);
    NABLA_CHECK(builder.build());
    if (parsed.opsets.empty())
        context.report(Severity::Warning, {}, {}, "the model has no opset_import", false);
    if (parsed.hasTraining)
        context.report(Severity::Info, {}, {}, "training_info of the file is not shown and not kept", false);
    builder.editor().setFunctions(std::move(functions));
    builder.editor().setDiagnostics(std::move(context.diagnostics));
    return builder.finish();
}

Result<Function> readOnnxFunction(std::string_view bytes, const OnnxReadOptions& options) {
    NABLA_TRY(const ParsedFunction parsed, parseFunction(bytes));
    Context context{options, WireStatus(bytes), options.ids ? options.ids : std::make_shared<IdSource>(), {}, 0};
    ModelInfo info;
    info.format = "ONNX";
    info.irVersion = 10;
    return buildFunction(context, parsed, info);
}

} // namespace nabla::engine
