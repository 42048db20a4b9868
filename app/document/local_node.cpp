// Copies a node into an empty graph of the same document.
#include "app/document/local_node.h"

#include <fmt/format.h>

#include "engine/graph/graph_editor.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

struct Cutter {
    GraphEditor editor;
    LocalNode out;
    const Graph& graph;
    const ValueOf& valueOf;
    const std::set<ValueId>& free;

    Result<ValueId> bring(ValueId outer) {
        if (!outer)
            return ValueId{};
        if (const auto it = out.local.find(outer); it != out.local.end())
            return it->second;
        NABLA_TRY(RuntimeValue value, valueOf(outer));
        const std::string& name = graph.value(outer)->name;
        ValueId made;
        if (value.isTensor() && !free.contains(outer)) {
            made = editor.addInitializer(name, std::make_shared<const Tensor>(value.tensor()));
        } else {
            const ValueType type = value.isTensor() ? ValueType::tensor(value.tensor().dtype(), value.tensor().shape()) : graph.value(outer)->declared;
            made = editor.addInput(name, type);
            out.inputs[editor.graph().value(made)->name] = std::move(value);
        }
        out.local.emplace(outer, made);
        return made;
    }
};

} // namespace

Result<LocalNode> cutOut(const Graph& graph, const Node& node, const ValueOf& valueOf, const std::set<ValueId>& free) {
    Cutter cutter{GraphEditor::empty(node.name, graph.infoPtr(), graph.ids()), {}, graph, valueOf, free};
    cutter.editor.setFunctions(graph.functions());
    NodeSpec spec{.opType = node.opType, .inputs = {}, .attributes = node.attributes, .domain = node.domain, .name = node.name};
    spec.overload = node.overload;
    spec.outputCount = node.outputs.size();
    for (const ValueId input : node.inputs) {
        NABLA_TRY(const ValueId here, cutter.bring(input));
        spec.inputs.push_back(here);
    }
    for (const ValueId capture : node.captures) {
        NABLA_TRY(const ValueId here, cutter.bring(capture));
        spec.captures.push_back(here);
    }
    for (const ValueId output : node.outputs)
        spec.outputNames.push_back(output ? graph.value(output)->name : std::string());
    const std::vector<ValueId> made = cutter.editor.outputs(cutter.editor.add(std::move(spec)));
    std::vector<ValueId> outputs;
    for (std::size_t k = 0; k < made.size(); ++k) {
        if (!node.outputs[k])
            continue;
        cutter.out.local.emplace(node.outputs[k], made[k]);
        outputs.push_back(made[k]);
    }
    cutter.editor.setOutputs(std::move(outputs));
    cutter.out.graph = cutter.editor.finish();
    return std::move(cutter.out);
}

SessionOptions referenceInDouble() {
    SessionOptions options;
    options.inDouble = true;
    options.optimisedKernels = false;
    return options;
}

} // namespace nabla::app
