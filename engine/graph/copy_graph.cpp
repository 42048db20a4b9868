// One pass that makes the values, one that makes the nodes; nested bodies by recursion.
#include "engine/graph/copy_graph.h"

#include <algorithm>

namespace nabla::engine {

namespace {

class Copier {
public:
    Copier(GraphEditor& editor, const Graph& source, const CopyOptions& options,
        std::unordered_map<ValueId, ValueId>& values)
        : m_editor(editor)
        , m_source(source)
        , m_options(options)
        , m_values(values) { }

    void bind(ValueId formal, ValueId actual) { m_values[formal] = actual; }

    void makeValues() {
        m_source.forEachValue([&](const Value& value) {
            if (m_values.contains(value.id))
                return;
            const std::string name = m_options.namePrefix + value.name;
            if (value.constant)
                m_values[value.id] = m_editor.addInitializer(name, value.constant);
            else
                m_values[value.id] = m_editor.declareValue(name, value.declared);
        });
    }

    std::vector<NodeId> makeNodes() {
        std::vector<NodeId> made;
        made.reserve(m_source.nodeCount());
        m_source.forEachNode([&](const Node& node) { made.push_back(copyNode(node)); });
        return made;
    }

    ValueId mapped(ValueId old) const {
        const auto it = old ? m_values.find(old) : m_values.end();
        return it == m_values.end() ? ValueId{} : it->second;
    }

private:
    NodeId copyNode(const Node& node) {
        NodeSpec spec;
        spec.opType = node.opType;
        spec.domain = node.domain;
        spec.overload = node.overload;
        spec.name = node.name.empty() ? std::string() : m_options.namePrefix + node.name;
        spec.doc = node.doc;
        spec.metadata = node.metadata;
        spec.origins = m_options.origins.empty() ? node.origins : m_options.origins;
        spec.gradientOf = m_options.gradientOf ? m_options.gradientOf : node.gradientOf;
        spec.createdBy = m_options.createdBy ? m_options.createdBy : node.createdBy;
        for (const ValueId value : node.inputs)
            spec.inputs.push_back(mapped(value));
        while (!spec.inputs.empty() && !spec.inputs.back()) // a call that omits its last inputs
            spec.inputs.pop_back();
        for (const ValueId value : node.captures)
            spec.captures.push_back(mapped(value));
        for (const Attribute& attribute : node.attributes)
            copyAttribute(attribute, spec.attributes);
        std::vector<ValueId> outputs;
        for (const ValueId value : node.outputs)
            outputs.push_back(mapped(value));
        return m_editor.addWithOutputs(std::move(spec), std::move(outputs));
    }

    void copyAttribute(const Attribute& attribute, std::vector<Attribute>& out) {
        if (const auto* reference = std::get_if<AttributeReference>(&attribute.value);
            reference && m_options.attribute) {
            if (auto value = m_options.attribute(*reference))
                out.push_back({attribute.name, std::move(*value)});
        } else if (const auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
            out.push_back({attribute.name, copyBody(**body)});
        } else if (const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
            std::vector<GraphPtr> copies;
            for (const GraphPtr& each : *list)
                copies.push_back(copyBody(*each));
            out.push_back({attribute.name, std::move(copies)});
        } else {
            out.push_back(attribute);
        }
    }

    GraphPtr copyBody(const Graph& body) {
        GraphEditor editor = GraphEditor::empty(body.name(), m_editor.graph().infoPtr(), m_editor.graph().ids());
        CopyOptions options = m_options;
        options.namePrefix.clear(); // names are a body's own
        Copier copier(editor, body, options, m_values);
        for (const ValueId input : body.inputs()) {
            const Value& formal = *body.value(input);
            copier.bind(input, editor.addInput(formal.name, formal.declared));
            if (formal.constant)
                editor.setDefault(copier.mapped(input), formal.constant);
        }
        for (const ValueId capture : body.captures())
            copier.bind(capture, editor.addCapture(body.value(capture)->name, body.value(capture)->declared));
        copier.makeValues();
        copier.makeNodes();
        std::vector<ValueId> outputs;
        for (const ValueId output : body.outputs())
            outputs.push_back(copier.mapped(output));
        editor.setOutputs(std::move(outputs));
        return std::make_shared<const Graph>(editor.finish());
    }

    GraphEditor& m_editor;
    const Graph& m_source;
    const CopyOptions& m_options;
    std::unordered_map<ValueId, ValueId>& m_values;
};

ValueId at(const std::vector<ValueId>& list, std::size_t i) {
    return i < list.size() ? list[i] : ValueId{};
}

} // namespace

CopiedGraph copyInto(GraphEditor& editor, const Graph& source, const CopyOptions& options) {
    CopiedGraph result;
    Copier copier(editor, source, options, result.values);
    for (std::size_t i = 0; i < source.inputs().size(); ++i)
        copier.bind(source.inputs()[i], at(options.inputs, i));
    for (std::size_t i = 0; i < source.captures().size(); ++i)
        copier.bind(source.captures()[i], at(options.captures, i));
    // An output that a node of the source makes becomes the wanted value itself; anything else is handed on by an
    // Identity below.
    std::vector<bool> bound(source.outputs().size());
    for (std::size_t i = 0; i < source.outputs().size(); ++i) {
        const ValueId output = source.outputs()[i];
        if (at(options.outputs, i) && !result.values.contains(output) && source.producer(output)) {
            copier.bind(output, options.outputs[i]);
            bound[i] = true;
        }
    }
    copier.makeValues();
    result.nodes = copier.makeNodes();
    for (std::size_t i = 0; i < source.outputs().size(); ++i) {
        const ValueId made = copier.mapped(source.outputs()[i]);
        const ValueId wanted = at(options.outputs, i);
        result.outputs.push_back(wanted && made ? wanted : made);
        if (!wanted || bound[i] || !made)
            continue;
        NodeSpec spec;
        spec.opType = "Identity";
        spec.inputs = {made};
        spec.origins = options.origins;
        spec.gradientOf = options.gradientOf;
        spec.createdBy = options.createdBy;
        result.nodes.push_back(editor.addWithOutputs(std::move(spec), {wanted}));
    }
    return result;
}

CopiedGraph inlineCall(GraphEditor& editor, NodeId call, const Graph& body, const Function* function,
    std::shared_ptr<const std::string> createdBy) {
    const NodePtr node = editor.graph().nodePtr(call);
    CopyOptions options;
    options.inputs = node->inputs;
    options.captures = node->captures;
    options.outputs = node->outputs;
    options.namePrefix = node->name.empty() ? node->opType + "/" : node->name + "/";
    options.origins = node->origins;
    options.gradientOf = node->gradientOf;
    options.createdBy = std::move(createdBy);
    options.attribute = [node, function](const AttributeReference& reference) -> std::optional<AttributeValue> {
        if (const Attribute* given = node->attribute(reference.name))
            return given->value;
        if (function) {
            for (const Attribute& otherwise : function->attributeDefaults) {
                if (otherwise.name == reference.name)
                    return otherwise.value;
            }
        }
        return std::nullopt;
    };
    editor.removeNodeKeepingOutputs(call);
    return copyInto(editor, body, options);
}

} // namespace nabla::engine
