// vmap by one Scan whose body is the graph.
#include "engine/autodiff/vmap.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/analysis/types.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

namespace {

ValueType batched(const ValueType& type, const Dim& batch) {
    ValueType result = type;
    if (result.shape)
        result.shape->insert(result.shape->begin(), batch);
    return result;
}

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

} // namespace

Result<VmapGraph> vmap(const Graph& graph, const VmapOptions& given) {
    const std::shared_ptr<const TypeMap> typeMap = types(graph);
    VmapOptions options;
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
        const ValueId outer = editor.addInput(value.name, isMapped ? batched(value.declared, batch) : value.declared);
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
        editor.setDeclaredType(outputs[i], batched(typeMap->of(graph.outputs()[i]), batch));
    editor.setOutputs(outputs);

    VmapGraph result;
    result.graph = editor.finish();
    result.notes.push_back({Diagnostic::Severity::Info, {}, {},
        fmt::format("{} nodes run once per example, by a Scan over \"{}\"", graph.nodeCount(), batch.text()), false});
    return result;
}

} // namespace nabla::engine
