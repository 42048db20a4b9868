// jvp by two vjps.
#include "engine/autodiff/jvp.h"

#include <fmt/format.h>

#include "engine/autodiff/grad.h"
#include "engine/graph/dead_nodes.h"
#include "engine/graph/graph_editor.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

/// Zeros of the shape and type of `value` in place of the input `cotangent`, which is gone afterwards. J v does not depend on
/// it: what still reads it wants its shape only.
void replaceCotangent(GraphEditor& editor, ValueId cotangent, ValueId value) {
    const Value* old = editor.graph().value(cotangent);
    const DType dtype = old->declared.elementType;
    const Node* producer = editor.graph().producer(value);
    const auto createdBy = std::make_shared<const std::string>("jvp/cotangent");
    const auto made = [&](NodeSpec spec) {
        spec.gradientOf = producer ? producer->id : NodeId{};
        spec.origins = producer ? producer->origins : std::vector<NodeId>{};
        spec.createdBy = createdBy;
        return editor.addValue(std::move(spec));
    };
    const ValueId shape = made({.opType = "Shape", .inputs = {value}});
    const DType fillType = dtype == DType::Undefined ? DType::Float32 : dtype;
    auto fill = *Tensor::make(fillType, {1}); // one element: below any limit
    writeDouble(fillType, fill.mutableRaw(), 0, 0);
    ValueId zeros = made({.opType = "ConstantOfShape",
        .inputs = {shape},
        .attributes = {{"value", std::make_shared<const Tensor>(std::move(fill))}}});
    if (dtype == DType::Undefined)
        zeros = made({.opType = "CastLike", .inputs = {zeros, value}});
    editor.replaceUses(cotangent, zeros);
    editor.removeValue(cotangent);
}

} // namespace

Result<JvpGraph> jvp(const Graph& graph, const JvpOptions& options) {
    GradOptions inner;
    inner.of = options.of;
    inner.wrt = options.wrt;
    inner.job = options.job;
    NABLA_TRY(const JointGraph back, grad(graph, inner));

    GradOptions outer;
    for (const ValueId value : back.wrt)
        outer.of.push_back(back.gradientOf.at(value));
    for (const auto& [value, cotangent] : back.cotangentInput)
        outer.wrt.push_back(cotangent);
    outer.job = options.job;
    NABLA_TRY(const JointGraph twice, grad(back.graph, outer).in("forward mode, the backward graph once more"));

    JvpGraph result;
    result.wrt = back.wrt;
    result.notes = back.notes;
    GraphEditor editor(twice.graph);
    std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
    for (const auto& [value, cotangent] : back.cotangentInput) {
        const ValueId tangent = twice.gradientOf.at(cotangent);
        editor.renameValue(tangent, editor.freshName(fmt::format("tangent:{}", graph.value(value)->name)));
        result.tangentOf.emplace(value, tangent);
        outputs.push_back(tangent);
    }
    for (const ValueId value : back.wrt) {
        const ValueId input = twice.cotangentInput.at(back.gradientOf.at(value));
        editor.renameValue(input, editor.freshName(fmt::format("tangent:{}", graph.value(value)->name)));
        result.tangentInput.emplace(value, input);
    }
    editor.setOutputs(std::move(outputs));
    removeUnneeded(editor);
    for (const auto& [value, cotangent] : back.cotangentInput)
        replaceCotangent(editor, cotangent, value);
    removeUnneeded(editor);
    result.graph = editor.finish();
    return result;
}

} // namespace nabla::engine
