// Graph: a value. Copying one is cheap and is the snapshot; a published graph never changes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/cow_table.h"
#include "engine/graph/memo.h"
#include "engine/graph/node.h"

namespace nabla::engine {

/// Facts of the file a graph came from, shared by all its states. A function's graph has its own (opset imports differ).
struct ModelInfo {
    std::string format;    ///< "ONNX", …
    std::string dialect = "onnx";
    std::filesystem::path path;
    std::string producer, producerVersion, modelDomain, doc;
    std::int64_t modelVersion = 0;
    std::int64_t irVersion = 0;
    std::map<std::string, std::int64_t> opsets; ///< domain ("" = ai.onnx) -> version
    std::vector<std::pair<std::string, std::string>> metadata;
};
using ModelInfoPtr = std::shared_ptr<const ModelInfo>;

/// Something wrong that does not stop the model from being shown.
struct Diagnostic {
    enum class Severity : std::uint8_t { Info, Warning, Error };
    Severity severity = Severity::Warning;
    NodeId node;    ///< none = about the model
    ValueId value;
    std::string message;
    /// True: the model can be shown but not run while this stands.
    bool blocksRun = false;
};

/// Functions of the model by `domain:name[:overload]`. A function's formal inputs and outputs are its graph's.
struct Function {
    std::string domain, name, overload, doc;
    std::vector<std::string> attributes;        ///< names of required attributes
    std::vector<Attribute> attributeDefaults;
    GraphPtr body;
};
using FunctionMap = std::map<std::string, std::shared_ptr<const Function>>;
std::string functionKey(std::string_view domain, std::string_view name, std::string_view overload);

/// A table of immutable nodes and values whose edges are ValueIds. Inputs, captures and outputs are ordered.
class Graph {
public:
    Graph();

    const std::string& name() const { return m_name; }
    const std::string& doc() const { return m_doc; }
    const ModelInfo& info() const { return *m_info; }
    const ModelInfoPtr& infoPtr() const { return m_info; }
    const FunctionMap& functions() const { return *m_functions; }
    const Function* function(const Node& call) const;
    const IdSourcePtr& ids() const { return m_ids; }
    /// Opset of a domain here; 0 when not imported.
    std::int64_t opset(std::string_view domain) const;

    std::span<const ValueId> inputs() const { return m_inputs; }     ///< the caller provides them; an input with a constant has a default
    std::span<const ValueId> captures() const { return m_captures; } ///< bodies only: filled from the node's captures
    std::span<const ValueId> outputs() const { return m_outputs; }

    const Node* node(NodeId id) const { return m_nodes.find(id.value); }
    NodePtr nodePtr(NodeId id) const { return m_nodes.entry(id.value); }
    const Value* value(ValueId id) const { return m_values.find(id.value); }
    const Node* producer(ValueId id) const;
    /// The constant of an initializer (null otherwise). An initializer that is also a graph input is a default, not a constant.
    TensorPtr constant(ValueId id) const;
    std::size_t nodeCount() const { return m_nodes.size(); }
    std::size_t valueCount() const { return m_values.size(); }

    /// In order of id: the order of the file, then of creation. Not an execution order (see analysis/topology.h).
    template <typename F> void forEachNode(F&& f) const { m_nodes.forEach(f); }
    template <typename F> void forEachValue(F&& f) const { m_values.forEach(f); }

    const std::vector<Diagnostic>& diagnostics() const { return *m_diagnostics; } ///< of the importer
    AnalysisMemo& memo() const { return *m_memo; }
    /// The same object state: same memo, so every table is the same.
    bool sameStateAs(const Graph& other) const { return m_memo == other.m_memo; }

private:
    friend class GraphEditor;
    friend struct GraphDiff;
    friend struct GraphDiff diff(const Graph& before, const Graph& after);

    std::string m_name, m_doc;
    ModelInfoPtr m_info;
    IdSourcePtr m_ids;
    std::shared_ptr<const FunctionMap> m_functions;
    std::shared_ptr<const std::vector<Diagnostic>> m_diagnostics;
    std::vector<ValueId> m_inputs, m_captures, m_outputs;
    CowTable<Node> m_nodes;
    CowTable<Value> m_values;
    std::shared_ptr<AnalysisMemo> m_memo;
};

} // namespace nabla::engine
