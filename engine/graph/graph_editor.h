// GraphEditor: the only way to make a changed graph.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// What a new node is to be; ids and outputs are made by GraphEditor::add.
struct NodeSpec {
    std::string opType;
    std::vector<ValueId> inputs;
    std::vector<Attribute> attributes = {};
    std::string domain = {};
    std::string name = {};
    std::size_t outputCount = 1;
    std::vector<std::string> outputNames = {}; ///< made from the node's name where absent; "" = output not wanted
    std::vector<ValueId> captures = {};
    std::vector<NodeId> origins = {};
    NodeId gradientOf = {};
    std::shared_ptr<const std::string> createdBy = nullptr;
    std::string overload = {};
    std::string doc = {};
    std::vector<std::pair<std::string, std::string>> metadata = {};
};

/// Edits a private copy; untouched nodes stay shared with the graph it began from. Broken promises (an id that is not there)
/// are assertions: an importer checks the file before it calls.
class GraphEditor {
public:
    explicit GraphEditor(Graph graph);
    /// An empty graph over a document's ids.
    static GraphEditor empty(std::string name, ModelInfoPtr info, IdSourcePtr ids);

    const Graph& graph() const { return m_graph; } ///< the state so far; its memo must not be used

    ValueId addInput(std::string name, ValueType type);
    ValueId addCapture(std::string name, ValueType type);
    /// Names are made unique by a suffix `_2`, `_3`, …
    ValueId addInitializer(std::string name, TensorPtr tensor);
    /// A graph input that has a default.
    void setDefault(ValueId input, TensorPtr tensor);
    /// A value that nothing makes (a broken file): shown, not runnable.
    ValueId addDangling(std::string name);
    /// Makes the node and its outputs; returns the node. outputs(id) gives the values.
    NodeId add(NodeSpec spec);
    /// The same for one output.
    ValueId addValue(NodeSpec spec);
    /// For importers, which know the output values already: `node.outputs` must have been made by declareOutput.
    ValueId declareValue(std::string name, ValueType type = {});
    NodeId addWithOutputs(NodeSpec spec, std::vector<ValueId> outputs);
    std::vector<ValueId> outputs(NodeId id) const;
    /// One more output of a node that is there already (a Loop that also records its states).
    ValueId appendOutput(NodeId node, std::string name, ValueType type = {});

    /// Takes back an output that nobody reads; later ones move up.
    void removeOutput(NodeId node, std::size_t position);

    /// For importers of large files: a value or node as it is to stand in the table, its id already drawn from ids(). Promised by the caller:
    /// names are unique, outputs name their producer. finish() verifies it under NABLA_DEBUG_CHECKS.
    void place(Value value);
    void place(Node node);
    void setCaptures(std::vector<ValueId> captures) { m_graph.m_captures = std::move(captures); }

    void setOutputs(std::vector<ValueId> outputs);
    void setInputs(std::vector<ValueId> inputs);
    void setDeclaredType(ValueId value, ValueType type);
    void setValueDoc(ValueId value, std::string doc);
    void setConstant(ValueId initializer, TensorPtr tensor);
    void renameValue(ValueId value, std::string name);
    void setName(std::string name) { m_graph.m_name = std::move(name); }
    void setDoc(std::string doc) { m_graph.m_doc = std::move(doc); }
    void setInfo(ModelInfoPtr info) { m_graph.m_info = std::move(info); }
    void setFunctions(FunctionMap functions) { m_graph.m_functions = std::make_shared<const FunctionMap>(std::move(functions)); }
    void setDiagnostics(std::vector<Diagnostic> list) { m_graph.m_diagnostics = std::make_shared<const std::vector<Diagnostic>>(std::move(list)); }

    /// Puts another node into the slot of `node.id`; outputs must keep their ids.
    void replaceNode(Node node);
    void removeNode(NodeId id);     ///< its outputs go too; they must have no reader left
    /// Removes the node but keeps its output values, so that others made by addWithOutputs can take them over under the same ids.
    void removeNodeKeepingOutputs(NodeId id);
    /// The node that makes `made` makes `kept` instead, a value without producer; `made` is gone and its readers read `kept`.
    void takeOver(ValueId kept, ValueId made);
    void removeValue(ValueId id);   ///< an input, initializer or dangling value without readers
    void removeCapture(ValueId formal); ///< of a body, without readers; the node that owns the body loses the entry too
    /// Every reader of `from` (nodes, captures, graph outputs) reads `to` from now on. When `from` is a graph output, `to` takes over
    /// its name, since output names are part of the model; canReplace says whether that is possible.
    void replaceUses(ValueId from, ValueId to);
    /// False when `from` is a graph output and `to` cannot take its name (it is an input, an initializer or an output itself).
    bool canReplace(ValueId from, ValueId to) const;
    bool isOutput(ValueId id) const;
    /// Nodes that read the value (inputs or captures), each once.
    const std::vector<NodeId>& consumers(ValueId id);

    /// A name that no value of this graph has, `base` or `base_2` …
    std::string freshName(const std::string& base);

    /// The finished graph, with a fresh memo. Under NABLA_DEBUG_CHECKS it is verified and a fault is an assertion.
    Graph finish();

private:
    void indexNames();
    void indexUses();
    void removeUse(ValueId value, NodeId node);
    void addUses(const Node& node);
    void putValue(Value value);

    Graph m_graph;
    bool m_namesIndexed = false, m_usesIndexed = false;
    std::unordered_map<std::string, ValueId> m_names;
    std::unordered_map<std::string, int> m_suffixes;
    std::unordered_map<ValueId, std::vector<NodeId>> m_uses;
};

} // namespace nabla::engine
