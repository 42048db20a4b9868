// vmap node by node; by one Scan whose body is the whole graph where shapes between depend on data.
#include "engine/autodiff/vmap.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/analysis/topology.h"
#include "engine/analysis/types.h"
#include "engine/autodiff/batching.h"
#include "engine/graph/dead_nodes.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

namespace {

Result<void> requireTensors(const Graph& graph, const TypeMap& typeMap, const VmapOptions& options) {
    if (options.over.empty())
        return usageError("nothing to map over: name at least one input");
    for (const ValueId value : options.over) {
        const Value* v = graph.value(value);
        if (!v || std::find(graph.inputs().begin(), graph.inputs().end(), value) == graph.inputs().end())
            return usageError("\"{}\" is no input of the model, and only inputs can be mapped over", v ? v->name : "?");
        if (!typeMap.of(value).isTensor())
            return usageError(
                "input \"{}\" is {}: only tensors have a batch axis", v->name, typeMap.of(value).text());
        if (v->constant)
            return usageError("input \"{}\" has a default, which has no batch axis", v->name);
    }
    for (const ValueId output : graph.outputs()) {
        const ValueType& type = typeMap.of(output);
        if (type.kind != ValueType::Kind::Unknown && !type.isTensor())
            return usageError("output \"{}\" is {}: results of several examples can be stacked only when they are tensors",
                graph.value(output)->name, type.text());
    }
    return {};
}

/// The body: mapped inputs stay inputs, in the order of `over`; the others become captures. Its names differ from those
/// outside, since ONNX forbids a body to shadow them.
Graph makeBody(const Graph& graph, const VmapOptions& options) {
    GraphEditor body(graph);
    std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
    std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
    for (ValueId& output : outputs) { // each made by a node of its own
        NodeSpec spec{.opType = "Identity", .inputs = {output}};
        spec.createdBy = std::make_shared<const std::string>("vmap/output");
        if (const Node* producer = graph.producer(output))
            spec.origins = producer->origins;
        output = body.addValue(std::move(spec));
    }
    body.setOutputs(outputs);
    for (const ValueId output : graph.outputs())
        body.renameValue(output, body.freshName("each:" + graph.value(output)->name));
    for (const ValueId input : inputs) {
        const std::string& name = graph.value(input)->name;
        if (std::find(options.over.begin(), options.over.end(), input) != options.over.end()) {
            body.renameValue(input, body.freshName("each:" + name));
            continue;
        }
        const ValueId capture = body.addCapture("shared:" + name, graph.value(input)->declared);
        body.replaceUses(input, capture);
        body.removeValue(input);
    }
    body.setInputs(options.over);
    body.setFunctions({});
    body.setName("each");
    return body.finish();
}

/// The whole graph as the body of one Scan.
Graph scanWhole(const Graph& graph, const VmapOptions& options, const TypeMap& typeMap, const Dim& batch) {
    GraphEditor editor = GraphEditor::empty(graph.name(), graph.infoPtr(), graph.ids());
    editor.setFunctions(graph.functions());
    editor.setDoc(graph.doc());
    NodeSpec scan;
    scan.opType = "Scan";
    std::vector<ValueId> mapped(options.over.size());
    for (const ValueId input : graph.inputs()) {
        const Value& value = *graph.value(input);
        const auto at = std::find(options.over.begin(), options.over.end(), input);
        const bool isMapped = at != options.over.end();
        const ValueId outer = editor.addInput(value.name, isMapped ? batchedType(value.declared, batch) : value.declared);
        if (isMapped) {
            mapped[static_cast<std::size_t>(at - options.over.begin())] = outer;
            continue;
        }
        if (value.constant)
            editor.setDefault(outer, value.constant);
        scan.captures.push_back(outer);
    }
    scan.inputs = mapped;
    scan.outputCount = graph.outputs().size();
    for (const ValueId output : graph.outputs())
        scan.outputNames.push_back(graph.value(output)->name);
    scan.attributes = {{"body", std::make_shared<const Graph>(makeBody(graph, options))},
        {"num_scan_inputs", static_cast<std::int64_t>(options.over.size())}};
    scan.name = "vmap";
    scan.createdBy = std::make_shared<const std::string>("vmap/scan");
    const std::vector<ValueId> outputs = editor.outputs(editor.add(std::move(scan)));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        editor.setDeclaredType(outputs[i], batchedType(typeMap.of(graph.outputs()[i]), batch));
    editor.setOutputs(outputs);

    return editor.finish();
}

/// Whether the type tells the whole shape by numbers and sizes of the model's inputs, so that it is one shape for all examples.
bool hasOneShape(const Graph& graph, const TypeMap& typeMap, const ValueType& type) {
    if (!type.isTensor() || !type.shape)
        return false;
    std::set<std::string> sizes;
    for (const ValueId input : graph.inputs()) {
        for (const Dim& dim : typeMap.of(input).shape.value_or(SymbolicShape{})) {
            const std::vector<std::string> atoms = dim.atoms();
            sizes.insert(atoms.begin(), atoms.end());
        }
    }
    return std::all_of(type.shape->begin(), type.shape->end(), [&](const Dim& dim) {
        const std::vector<std::string> atoms = dim.atoms();
        return !dim.isUnknown() && std::all_of(atoms.begin(), atoms.end(), [&](const std::string& atom) { return sizes.contains(atom); });
    });
}

/// Node by node in the graph itself.
class NodeByNode {
public:
    NodeByNode(const Graph& graph, std::shared_ptr<const TypeMap> typeMap, const Dim& batch)
        : m_graph(graph)
        , m_types(std::move(typeMap))
        , m_batch(batch)
        , m_editor(graph)
        , m_batching(m_editor, m_types, batch) { }

    /// Errors (Run): why it cannot be done so.
    Result<VmapGraph> map(const VmapOptions& options) {
        std::vector<ValueId> inputs(m_graph.inputs().begin(), m_graph.inputs().end());
        for (ValueId& input : inputs) {
            if (std::find(options.over.begin(), options.over.end(), input) == options.over.end())
                continue;
            const Value& value = *m_graph.value(input);
            m_editor.renameValue(input, m_editor.freshName("each:" + value.name));
            m_one = m_editor.addInput(value.name, batchedType(value.declared, m_batch));
            m_batching.set(input, m_one);
            input = m_one;
        }
        const auto order = topologicalOrder(m_graph);
        if (!order->inCycle.empty())
            return runError("{} is on or behind a cycle", describe(*m_graph.node(order->inCycle.front())));
        NABLA_CHECK(m_batching.run(order->order, options.job));
        NABLA_CHECK(requireOneShape());
        NABLA_CHECK(makeOutputs());
        removeUnneeded(m_editor);
        for (const ValueId input : options.over)
            m_editor.removeValue(input);
        m_editor.setInputs(std::move(inputs));
        VmapGraph result;
        result.graph = m_editor.finish();
        note(result);
        return result;
    }

private:
    Result<void> requireOneShape() const {
        for (const NodeId id : m_batching.oneByOne()) {
            const Node& node = *m_graph.node(id);
            for (const ValueId output : node.outputs) {
                if (output && !hasOneShape(m_graph, *m_types, m_types->of(output)))
                    return runError("{}: the shape of \"{}\" may differ between examples", describe(node), m_graph.value(output)->name);
            }
        }
        return {};
    }

    /// Every output has the batch axis and is made by a node of its own.
    Result<void> makeOutputs() {
        std::vector<ValueId> outputs;
        for (const ValueId output : m_graph.outputs()) {
            const std::string name = m_graph.value(output)->name;
            const ValueType& type = m_types->of(output);
            auto [value, isBatched] = m_batching.forAll(output);
            NodeSpec spec{.opType = "Identity", .inputs = {value}};
            if (!isBatched) {
                if (!type.shape)
                    return runError("output \"{}\" is the same for all examples and of unknown rank", name);
                spec = {.opType = "Expand", .inputs = {value, repeatedShape(type.shape->size())}};
            }
            const Node* producer = m_editor.graph().producer(value);
            if (producer)
                spec.origins = producer->origins;
            spec.createdBy = std::make_shared<const std::string>("vmap/output");
            if (!isBatched || !producer || std::find(outputs.begin(), outputs.end(), value) != outputs.end())
                value = m_editor.addValue(std::move(spec));
            if (m_graph.producer(output) && m_editor.graph().value(output)->name == name)
                m_editor.renameValue(output, m_editor.freshName("each:" + name));
            m_editor.renameValue(value, m_editor.freshName(name));
            m_editor.setDeclaredType(value, batchedType(type, m_batch));
            outputs.push_back(value);
        }
        m_editor.setOutputs(std::move(outputs));
        return {};
    }

    ValueId repeatedShape(std::size_t rank) {
        const ValueId size = m_editor.addValue({.opType = "Shape", .inputs = {m_one}, .attributes = {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}}});
        const auto count = static_cast<std::int64_t>(rank);
        const ValueId ones = m_editor.addInitializer("vmap_ints", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({count}, std::vector<std::int64_t>(rank, 1))));
        return m_editor.addValue({.opType = "Concat", .inputs = {size, ones}, .attributes = {{"axis", std::int64_t{0}}}});
    }

    void note(VmapGraph& result) const {
        std::map<std::string, std::size_t> counts;
        for (const NodeId id : m_batching.oneByOne())
            ++counts[m_graph.node(id)->opType];
        std::vector<std::string> parts;
        for (const auto& [opType, count] : counts)
            parts.push_back(fmt::format("{} {}", count, opType));
        std::string text = fmt::format("{} nodes work on all examples at once", m_batching.atOnce());
        if (!parts.empty())
            text += fmt::format(", {} on one after another, each by a Scan: {}", m_batching.oneByOne().size(), fmt::join(parts, ", "));
        result.notes.push_back({Diagnostic::Severity::Info, {}, {}, std::move(text), false});
    }

    const Graph& m_graph;
    std::shared_ptr<const TypeMap> m_types;
    Dim m_batch;
    GraphEditor m_editor;
    Batching m_batching;
    ValueId m_one; ///< a mapped input
};

} // namespace

Result<VmapGraph> vmap(const Graph& graph, const VmapOptions& given) {
    const std::shared_ptr<const TypeMap> typeMap = types(graph);
    VmapOptions options = given;
    options.over.clear();
    std::string why;
    for (const ValueId value : given.over) {
        if (std::find(options.over.begin(), options.over.end(), value) == options.over.end())
            options.over.push_back(value);
    }
    NABLA_CHECK(requireTensors(graph, *typeMap, options));
    bool isTaken = false;
    graph.forEachValue([&](const Value& value) {
        for (const Dim& dim : value.declared.shape.value_or(SymbolicShape{}))
            isTaken = isTaken || dim.sameAs(Dim::symbol("batch"));
    });
    const Dim batch = Dim::symbol(isTaken ? "vmap_batch" : "batch");

    if (options.form == VmapOptions::Form::NodeByNode) {
        Result<VmapGraph> mapped = NodeByNode(graph, typeMap, batch).map(options);
        if (mapped || mapped.error().kind() == ErrorKind::Cancelled)
            return mapped;
        why = ": " + mapped.error().message();
    }
    VmapGraph result;
    result.graph = scanWhole(graph, options, *typeMap, batch);
    result.notes.push_back({Diagnostic::Severity::Info, {}, {},
        fmt::format("{} nodes run once per example, by a Scan over \"{}\"{}", graph.nodeCount(), batch.text(), why), false});
    return result;
}

} // namespace nabla::engine
