// Edits on the copy-on-write tables, with indexes of names and uses built when first asked for.
#include "engine/graph/graph_editor.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/graph/verifier.h"

namespace nabla::engine {

GraphEditor::GraphEditor(Graph graph) : m_graph(std::move(graph)) { m_graph.m_memo = std::make_shared<AnalysisMemo>(); }

GraphEditor GraphEditor::empty(std::string name, ModelInfoPtr info, IdSourcePtr ids) {
    Graph graph;
    graph.m_name = std::move(name);
    graph.m_info = std::move(info);
    graph.m_ids = std::move(ids);
    return GraphEditor(std::move(graph));
}

void GraphEditor::indexNames() {
    if (m_namesIndexed)
        return;
    m_namesIndexed = true;
    m_graph.forEachValue([this](const Value& value) { m_names.emplace(value.name, value.id); });
}

std::string GraphEditor::freshName(const std::string& base) {
    indexNames();
    if (!base.empty() && !m_names.contains(base))
        return base;
    int& suffix = m_suffixes.try_emplace(base, base.empty() ? 0 : 1).first->second;
    std::string name;
    do {
        name = base.empty() ? fmt::format("v{}", ++suffix) : fmt::format("{}_{}", base, ++suffix);
    } while (m_names.contains(name));
    return name;
}

void GraphEditor::putValue(Value value) {
    indexNames();
    value.name = freshName(value.name);
    m_names.emplace(value.name, value.id);
    const std::uint32_t id = value.id.value;
    m_graph.m_values.set(id, std::make_shared<const Value>(std::move(value)));
}

ValueId GraphEditor::declareValue(std::string name, ValueType type) {
    Value value;
    value.id = m_graph.m_ids->nextValue();
    value.name = std::move(name);
    value.declared = std::move(type);
    const ValueId id = value.id;
    putValue(std::move(value));
    return id;
}

ValueId GraphEditor::addInput(std::string name, ValueType type) {
    const ValueId id = declareValue(std::move(name), std::move(type));
    m_graph.m_inputs.push_back(id);
    return id;
}

ValueId GraphEditor::addCapture(std::string name, ValueType type) {
    const ValueId id = declareValue(std::move(name), std::move(type));
    m_graph.m_captures.push_back(id);
    return id;
}

ValueId GraphEditor::addInitializer(std::string name, TensorPtr tensor) {
    const ValueId id = declareValue(std::move(name));
    setConstant(id, std::move(tensor));
    return id;
}

ValueId GraphEditor::addDangling(std::string name) { return declareValue(std::move(name)); }

void GraphEditor::setDefault(ValueId input, TensorPtr tensor) { setConstant(input, std::move(tensor)); }

namespace {
Value copyOf(const Graph& graph, ValueId id) {
    const Value* value = graph.value(id);
    NABLA_ASSERT(value, "the value edited is in the graph");
    return *value;
}
} // namespace

void GraphEditor::setConstant(ValueId id, TensorPtr tensor) {
    Value value = copyOf(m_graph, id);
    value.constant = std::move(tensor);
    m_graph.m_values.set(id.value, std::make_shared<const Value>(std::move(value)));
}

void GraphEditor::setDeclaredType(ValueId id, ValueType type) {
    Value value = copyOf(m_graph, id);
    value.declared = std::move(type);
    m_graph.m_values.set(id.value, std::make_shared<const Value>(std::move(value)));
}

void GraphEditor::setValueDoc(ValueId id, std::string doc) {
    Value value = copyOf(m_graph, id);
    value.doc = std::move(doc);
    m_graph.m_values.set(id.value, std::make_shared<const Value>(std::move(value)));
}

void GraphEditor::renameValue(ValueId id, std::string name) {
    indexNames();
    Value value = copyOf(m_graph, id);
    if (value.name == name)
        return;
    m_names.erase(value.name);
    value.name = freshName(name);
    m_names.emplace(value.name, id);
    m_graph.m_values.set(id.value, std::make_shared<const Value>(std::move(value)));
}

NodeId GraphEditor::add(NodeSpec spec) {
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < spec.outputCount; ++i) {
        if (i < spec.outputNames.size() && spec.outputNames[i].empty()) {
            outputs.emplace_back();
            continue;
        }
        std::string name = i < spec.outputNames.size() ? spec.outputNames[i]
            : !spec.name.empty()                       ? (i == 0 ? spec.name : fmt::format("{}.{}", spec.name, i))
                                                       : fmt::format("{}_out", spec.opType);
        outputs.push_back(declareValue(std::move(name)));
    }
    return addWithOutputs(std::move(spec), std::move(outputs));
}

ValueId GraphEditor::addValue(NodeSpec spec) {
    spec.outputCount = 1;
    return outputs(add(std::move(spec))).front();
}

NodeId GraphEditor::addWithOutputs(NodeSpec spec, std::vector<ValueId> outputs) {
    Node node;
    node.id = m_graph.m_ids->nextNode();
    node.opType = std::move(spec.opType);
    node.domain = std::move(spec.domain);
    node.overload = std::move(spec.overload);
    node.name = std::move(spec.name);
    node.inputs = std::move(spec.inputs);
    node.outputs = std::move(outputs);
    node.attributes = std::move(spec.attributes);
    node.captures = std::move(spec.captures);
    node.doc = std::move(spec.doc);
    node.metadata = std::move(spec.metadata);
    node.createdBy = std::move(spec.createdBy);
    node.gradientOf = spec.gradientOf;
    node.origins = std::move(spec.origins);
    if (node.origins.empty() && !node.createdBy)
        node.origins.push_back(node.id);
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i])
            continue;
        Value value = copyOf(m_graph, node.outputs[i]);
        value.producer = node.id;
        value.outputIndex = i;
        m_graph.m_values.set(value.id.value, std::make_shared<const Value>(std::move(value)));
    }
    const NodeId id = node.id;
    if (m_usesIndexed)
        addUses(node);
    m_graph.m_nodes.set(id.value, std::make_shared<const Node>(std::move(node)));
    return id;
}

void GraphEditor::removeOutput(NodeId id, std::size_t position) {
    Node node = *m_graph.node(id);
    const ValueId gone = node.outputs[position];
    node.outputs.erase(node.outputs.begin() + static_cast<std::ptrdiff_t>(position));
    for (std::size_t i = position; i < node.outputs.size(); ++i) {
        if (!node.outputs[i])
            continue;
        Value value = copyOf(m_graph, node.outputs[i]);
        value.outputIndex = static_cast<std::uint32_t>(i);
        m_graph.m_values.set(value.id.value, std::make_shared<const Value>(std::move(value)));
    }
    replaceNode(std::move(node));
    if (gone)
        removeValue(gone);
}

void GraphEditor::place(Value value) {
    NABLA_ASSERT(!m_namesIndexed, "values are placed before names are asked for");
    const std::uint32_t id = value.id.value;
    m_graph.m_values.set(id, std::make_shared<const Value>(std::move(value)));
}

void GraphEditor::place(Node node) {
    NABLA_ASSERT(!m_usesIndexed, "nodes are placed before uses are asked for");
    const std::uint32_t id = node.id.value;
    m_graph.m_nodes.set(id, std::make_shared<const Node>(std::move(node)));
}

std::vector<ValueId> GraphEditor::outputs(NodeId id) const {
    const Node* node = m_graph.node(id);
    NABLA_ASSERT(node, "the node asked for is in the graph");
    return node->outputs;
}

void GraphEditor::setOutputs(std::vector<ValueId> outputs) { m_graph.m_outputs = std::move(outputs); }
void GraphEditor::setInputs(std::vector<ValueId> inputs) { m_graph.m_inputs = std::move(inputs); }

void GraphEditor::indexUses() {
    if (m_usesIndexed)
        return;
    m_usesIndexed = true;
    m_graph.forEachNode([this](const Node& node) { addUses(node); });
}

void GraphEditor::addUses(const Node& node) {
    const auto add = [&](ValueId value) {
        if (!value)
            return;
        auto& list = m_uses[value];
        if (list.empty() || list.back() != node.id) {
            if (std::find(list.begin(), list.end(), node.id) == list.end())
                list.push_back(node.id);
        }
    };
    for (const ValueId value : node.inputs)
        add(value);
    for (const ValueId value : node.captures)
        add(value);
}

void GraphEditor::removeUse(ValueId value, NodeId node) {
    if (const auto it = m_uses.find(value); it != m_uses.end())
        std::erase(it->second, node);
}

const std::vector<NodeId>& GraphEditor::consumers(ValueId id) {
    indexUses();
    return m_uses[id];
}

void GraphEditor::replaceNode(Node node) {
    const Node* old = m_graph.node(node.id);
    NABLA_ASSERT(old, "the node replaced is in the graph");
    if (m_usesIndexed) {
        for (const ValueId value : old->inputs)
            removeUse(value, node.id);
        for (const ValueId value : old->captures)
            removeUse(value, node.id);
        addUses(node);
    }
    const std::uint32_t id = node.id.value;
    m_graph.m_nodes.set(id, std::make_shared<const Node>(std::move(node)));
}

void GraphEditor::removeNode(NodeId id) {
    const NodePtr node = m_graph.nodePtr(id);
    NABLA_ASSERT(node, "the node removed is in the graph");
    if (m_usesIndexed) {
        for (const ValueId value : node->inputs)
            removeUse(value, id);
        for (const ValueId value : node->captures)
            removeUse(value, id);
    }
    m_graph.m_nodes.erase(id.value);
    for (const ValueId value : node->outputs) {
        if (value)
            removeValue(value);
    }
}

void GraphEditor::removeNodeKeepingOutputs(NodeId id) {
    Node node = *m_graph.node(id);
    for (const ValueId value : node.outputs) {
        if (!value)
            continue;
        Value kept = copyOf(m_graph, value);
        kept.producer = {};
        kept.outputIndex = 0;
        m_graph.m_values.set(value.value, std::make_shared<const Value>(std::move(kept)));
    }
    node.outputs.clear();
    replaceNode(std::move(node));
    removeNode(id);
}

void GraphEditor::takeOver(ValueId kept, ValueId made) {
    const Value old = copyOf(m_graph, made);
    Value value = copyOf(m_graph, kept);
    NABLA_ASSERT(old.producer && !value.producer, "a value without producer takes over one that has a producer");
    replaceUses(made, kept);
    value.producer = old.producer;
    value.outputIndex = old.outputIndex;
    m_graph.m_values.set(kept.value, std::make_shared<const Value>(std::move(value)));
    Node node = *m_graph.node(old.producer);
    node.outputs[old.outputIndex] = kept;
    replaceNode(std::move(node));
    removeValue(made);
}

ValueId GraphEditor::appendOutput(NodeId id, std::string name, ValueType type) {
    const Node* old = m_graph.node(id);
    NABLA_ASSERT(old, "the node that gets an output is in the graph");
    const ValueId made = declareValue(std::move(name), std::move(type));
    Value value = copyOf(m_graph, made);
    value.producer = id;
    value.outputIndex = static_cast<std::uint32_t>(old->outputs.size());
    m_graph.m_values.set(made.value, std::make_shared<const Value>(std::move(value)));
    Node node = *old;
    node.outputs.push_back(made);
    replaceNode(std::move(node));
    return made;
}

void GraphEditor::removeValue(ValueId id) {
    if (const Value* value = m_graph.value(id); value && m_namesIndexed)
        m_names.erase(value->name);
    m_graph.m_values.erase(id.value);
    std::erase(m_graph.m_inputs, id);
}

void GraphEditor::removeCapture(ValueId formal) {
    std::erase(m_graph.m_captures, formal);
    removeValue(formal);
}

bool GraphEditor::isOutput(ValueId id) const { return std::find(m_graph.m_outputs.begin(), m_graph.m_outputs.end(), id) != m_graph.m_outputs.end(); }

bool GraphEditor::canReplace(ValueId from, ValueId to) const {
    if (!isOutput(from))
        return true;
    const Value* target = m_graph.value(to);
    return target && target->producer && !isOutput(to);
}

void GraphEditor::replaceUses(ValueId from, ValueId to) {
    indexUses();
    const std::vector<NodeId> readers = m_uses[from];
    for (const NodeId reader : readers) {
        Node node = *m_graph.node(reader);
        std::replace(node.inputs.begin(), node.inputs.end(), from, to);
        std::replace(node.captures.begin(), node.captures.end(), from, to);
        replaceNode(std::move(node));
    }
    if (isOutput(from)) {
        NABLA_ASSERT(canReplace(from, to), "a graph output is replaced by a value that can take its name");
        const std::string name = m_graph.value(from)->name;
        renameValue(from, freshName(name));
        renameValue(to, name);
        std::replace(m_graph.m_outputs.begin(), m_graph.m_outputs.end(), from, to);
    }
}

Graph GraphEditor::finish() {
    m_graph.m_memo = std::make_shared<AnalysisMemo>();
#ifdef NABLA_DEBUG_CHECKS
    const auto faults = verify(m_graph);
    if (!faults.empty())
        std::fprintf(stderr, "%s\n", faults.front().c_str());
    NABLA_ASSERT(faults.empty(), "a finished graph is well formed");
#endif
    return m_graph;
}

} // namespace nabla::engine
