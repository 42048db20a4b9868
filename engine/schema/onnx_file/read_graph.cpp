// Graphs from parsed messages: all values first, then the nodes, so that nodes may stand in any order.
#include "engine/schema/onnx_file/read_graph.h"

#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/graph/graph_editor.h"
#include "engine/schema/onnx_file/name_table.h"
#include "engine/schema/onnx_file/read_attribute.h"

namespace nabla::engine {

namespace {

using Severity = Diagnostic::Severity;

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

/// Makes one graph. Values are collected first, with their names made unique, and put into the table at the end of build().
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
    using Index = std::uint32_t; ///< in m_values
    static constexpr Index kNone = 0xFFFFFFFF;

    Index add(std::string_view name, ValueType type);
    /// The same under a name that nothing here has: `name_2`, `name_3`, …
    Index addRenamed(std::string_view name, ValueType type);
    ValueType declaredType(std::string_view name);
    void addDoc(Index index, std::string_view name);
    Result<void> addInputs();
    Result<void> addInitializers();
    void addInitializer(const ReadTensor& read, std::string_view name, std::string_view doc);
    void addNodeOutputs();
    void addCaptures(const std::vector<std::pair<std::string_view, ValueType>>& captures);
    Index find(std::string_view name);
    ValueId idOf(Index index) const { return index == kNone ? ValueId{} : m_values[index].id; }
    std::vector<std::pair<std::string_view, ValueType>> findCaptures(const ParsedNode& node, std::vector<ValueId>& values);
    Result<void> addNode(const ParsedNode& node, NodeId id);
    void addOutputs();

    Context& m_context;
    const ParsedGraph& m_parsed;
    ModelInfoPtr m_info;
    Role m_role;
    GraphEditor m_editor;
    std::vector<Value> m_values;
    NameTable<Index> m_names;
    NameTable<const ParsedValueInfo*> m_infos;
    std::deque<std::string> m_madeNames;
    std::vector<Index> m_nodeOutputs; ///< of all nodes, in order
    std::vector<NodeId> m_nodeIds;
    std::size_t m_nextOutput = 0;
    /// Outputs of nodes are added one after the other: indices from m_made up to m_outputEnd belong to nodes still to come.
    Index m_made = 0, m_outputEnd = 0;
    bool m_unsorted = false;
    std::string m_firstUnsorted;
};

Builder::Index Builder::add(std::string_view name, ValueType type) {
    const auto index = static_cast<Index>(m_values.size());
    Value& value = m_values.emplace_back();
    value.id = m_context.ids->nextValue();
    value.name = std::string(name);
    value.declared = std::move(type);
    return index;
}

Builder::Index Builder::addRenamed(std::string_view name, ValueType type) {
    int suffix = 1;
    do {
        m_madeNames.push_back(fmt::format("{}_{}", name, ++suffix));
    } while (m_names.find(m_madeNames.back()));
    const Index index = add(m_madeNames.back(), std::move(type));
    m_names.emplace(m_madeNames.back(), index);
    return index;
}

ValueType Builder::declaredType(std::string_view name) {
    const auto* info = m_infos.find(name);
    return !info || !(*info)->hasType ? ValueType{} : parseType((*info)->type, m_context.status);
}

void Builder::addDoc(Index index, std::string_view name) {
    if (const auto* info = m_infos.find(name); info && !(*info)->doc.empty())
        m_values[index].doc = std::string((*info)->doc);
}

Result<void> Builder::addInputs() {
    std::unordered_set<std::string_view> initializers;
    if (m_role == Role::Main && m_info->irVersion < 4) { // there every initializer had to be listed as an input: it says nothing
        for (const std::string_view bytes : m_parsed.initializers)
            initializers.insert(parseTensor(bytes, m_context.status).name);
    }
    std::vector<ValueId> inputs;
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
        const bool isNew = !m_names.find(input.name);
        const Index index = isNew ? add(input.name, std::move(type)) : addRenamed(input.name, std::move(type));
        inputs.push_back(idOf(index));
        m_values[index].doc = std::string(input.doc);
        if (isNew)
            m_names.emplace(input.name, index);
        else
            m_context.report(Severity::Error, {}, idOf(index), fmt::format("graph input \"{}\" is there twice (duplicate name)", shown(input.name)), true);
    }
    m_editor.setInputs(std::move(inputs));
    return {};
}

void Builder::addInitializer(const ReadTensor& read, std::string_view name, std::string_view doc) {
    TensorPtr tensor = read.missing.empty() ? std::make_shared<const Tensor>(read.tensor) : nullptr;
    Index index = kNone;
    if (const Index* existing = m_names.find(name)) {
        index = *existing;
        if (m_values[index].constant) {
            m_context.report(Severity::Error, {}, idOf(index), fmt::format("initializer \"{}\" is there twice (duplicate name)", shown(name)), true);
            return;
        }
    } else {
        index = add(name, tensor ? declaredType(name) : ValueType::tensor(read.dtype, ShapeView(read.shape)));
        m_names.emplace(name, index);
    }
    m_values[index].constant = std::move(tensor);
    if (!doc.empty())
        m_values[index].doc = std::string(doc);
    if (!read.missing.empty())
        m_context.report(Severity::Error, {}, idOf(index), read.missing, true);
}

Result<void> Builder::addInitializers() {
    for (const std::string_view bytes : m_parsed.initializers) {
        const ParsedTensor tensor = parseTensor(bytes, m_context.status);
        NABLA_TRY(const ReadTensor read, readTensor(tensor, m_context.status, m_context.options.source));
        addInitializer(read, tensor.name, tensor.doc);
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
        addInitializer(read, name, {});
    }
    return m_context.status.result();
}

void Builder::addNodeOutputs() {
    struct Again {
        std::size_t place; ///< in m_nodeOutputs
        std::string_view name;
        const ParsedNode* node;
        NodeId id;
        std::uint32_t output;
    };
    std::vector<Again> again; // named once all names are known
    m_made = static_cast<Index>(m_values.size());
    for (const ParsedNode& node : m_parsed.nodes) {
        m_nodeIds.push_back(m_context.ids->nextNode());
        for (std::uint32_t i = 0; i < node.outputCount; ++i) {
            const std::string_view name = m_parsed.names[node.outputBegin + i];
            const auto next = static_cast<Index>(m_values.size());
            if (name.empty() || !m_names.emplace(name, next).second) {
                if (!name.empty())
                    again.push_back({m_nodeOutputs.size(), name, &node, m_nodeIds.back(), i});
                m_nodeOutputs.push_back(kNone);
                continue;
            }
            const Index index = add(name, declaredType(name));
            addDoc(index, name);
            m_values[index].producer = m_nodeIds.back();
            m_values[index].outputIndex = i;
            m_nodeOutputs.push_back(index);
        }
    }
    m_outputEnd = static_cast<Index>(m_values.size());
    for (const Again& each : again) {
        const Index index = addRenamed(each.name, {});
        m_values[index].producer = each.id;
        m_values[index].outputIndex = each.output;
        m_nodeOutputs[each.place] = index;
        m_context.report(Severity::Error, each.id, idOf(index),
            fmt::format("value \"{}\" is made twice (duplicate): {} makes it again; readers get the first", shown(each.name), describe(*each.node)), true);
    }
}

/// After the body's own values: a name that the body makes itself is not the outer one.
void Builder::addCaptures(const std::vector<std::pair<std::string_view, ValueType>>& captures) {
    std::vector<ValueId> ids;
    for (const auto& [name, type] : captures) {
        const bool isNew = !m_names.find(name);
        const Index index = isNew ? add(name, type) : addRenamed(name, type);
        if (isNew)
            m_names.emplace(name, index);
        ids.push_back(idOf(index));
    }
    m_editor.setCaptures(std::move(ids));
}

/// The value of a name here; a value that nothing makes when there is none.
Builder::Index Builder::find(std::string_view name) {
    if (name.empty())
        return kNone;
    if (const Index* found = m_names.find(name))
        return *found;
    const Index index = add(name, {});
    m_names.emplace(name, index);
    return index;
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
                const Value& outer = m_values[find(name)];
                captures.emplace_back(name, outer.constant ? ValueType::tensor(outer.constant->dtype(), ShapeView(outer.constant->shape())) : outer.declared);
                values.push_back(outer.id);
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

Result<void> Builder::addNode(const ParsedNode& parsed, NodeId id) {
    if (++m_context.nodesMade % 4096 == 0) {
        NABLA_CHECK(m_context.options.job.check());
        m_context.options.job.say("reading nodes", static_cast<std::int64_t>(m_context.nodesMade));
    }
    Node node;
    node.id = id;
    node.opType = std::string(parsed.opType);
    node.domain = std::string(parsed.domain);
    node.overload = std::string(parsed.overload);
    node.name = std::string(parsed.name);
    node.doc = std::string(parsed.doc);
    node.metadata = copied(parsed.metadata);
    node.origins = {id};
    node.inputs.reserve(parsed.inputCount);
    for (std::uint32_t i = 0; i < parsed.inputCount; ++i) {
        const Index input = find(m_parsed.names[parsed.inputBegin + i]);
        node.inputs.push_back(idOf(input));
        if (!m_unsorted && input >= m_made && input < m_outputEnd) {
            m_unsorted = true;
            m_firstUnsorted = fmt::format("{} reads \"{}\", which a later node makes", describe(parsed), shown(m_parsed.names[parsed.inputBegin + i]));
        }
    }
    const auto captures = findCaptures(parsed, node.captures);
    node.attributes.reserve(parsed.attributeCount);
    for (std::uint32_t a = 0; a < parsed.attributeCount; ++a) {
        NABLA_TRY(Attribute made, attribute(m_parsed, m_parsed.attributes[parsed.attributeBegin + a], captures, &parsed));
        if (const auto* body = std::get_if<GraphPtr>(&made.value); body && !*body)
            return readError("{}: attribute \"{}\" is to be a graph and holds none", describe(parsed), shown(made.name));
        node.attributes.push_back(std::move(made));
    }
    node.outputs.reserve(parsed.outputCount);
    for (std::uint32_t i = 0; i < parsed.outputCount; ++i) {
        const Index output = m_nodeOutputs[m_nextOutput++];
        node.outputs.push_back(idOf(output));
        if (output < m_outputEnd)
            m_made = output + 1;
    }
    m_editor.place(std::move(node));
    return {};
}

void Builder::addOutputs() {
    std::vector<ValueId> outputs;
    for (const ParsedValueInfo& output : m_parsed.outputs) {
        const Index index = find(output.name);
        if (index == kNone) {
            m_context.report(Severity::Error, {}, {}, "a graph output has no name", true);
            continue;
        }
        outputs.push_back(idOf(index));
        if (m_values[index].declared.kind == ValueType::Kind::Unknown && output.hasType)
            m_values[index].declared = parseType(output.type, m_context.status);
    }
    m_editor.setOutputs(std::move(outputs));
}

Result<void> Builder::build(const std::vector<std::pair<std::string_view, ValueType>>& captures) {
    m_infos.reserve(m_parsed.outputs.size() + m_parsed.valueInfos.size());
    for (const auto* list : {&m_parsed.outputs, &m_parsed.valueInfos}) {
        for (const ParsedValueInfo& info : *list)
            m_infos.emplace(info.name, &info);
    }
    const std::size_t expected = m_parsed.inputs.size() + m_parsed.initializers.size() + m_parsed.nodes.size() + captures.size();
    m_names.reserve(expected);
    m_values.reserve(expected + expected / 8);
    NABLA_CHECK(addInputs());
    NABLA_CHECK(addInitializers());
    addNodeOutputs();
    addCaptures(captures);
    NABLA_CHECK(m_context.status.result());
    for (std::size_t i = 0; i < m_parsed.nodes.size(); ++i)
        NABLA_CHECK(addNode(m_parsed.nodes[i], m_nodeIds[i]));
    addOutputs();
    for (Value& value : m_values)
        m_editor.place(std::move(value));
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
