// hvp: the gradient, differentiated along a direction.
#include "engine/autodiff/hvp.h"

#include <fmt/format.h>

#include "engine/autodiff/grad.h"
#include "engine/graph/dead_nodes.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

Result<HvpGraph> hvp(const Graph& graph, const HvpOptions& options) {
    GradOptions inner;
    inner.of = options.of;
    inner.wrt = options.wrt;
    inner.cotangents = GradOptions::Cotangents::Ones;
    inner.job = options.job;
    NABLA_TRY(const JointGraph first, grad(graph, inner));

    GradOptions outer;
    outer.wrt = first.wrt;
    for (const ValueId value : first.wrt)
        outer.of.push_back(first.gradientOf.at(value));
    outer.job = options.job;
    NABLA_TRY(const JointGraph second, grad(first.graph, outer).in("second derivative"));

    HvpGraph result;
    result.wrt = first.wrt;
    result.notes = first.notes;
    result.notes.insert(result.notes.end(), second.notes.begin(), second.notes.end());
    GraphEditor editor(second.graph);
    for (const ValueId value : first.wrt) {
        const std::string& name = graph.value(value)->name;
        const ValueId gradient = first.gradientOf.at(value);
        const ValueId direction = second.cotangentInput.at(gradient);
        const ValueId product = second.gradientOf.at(value);
        editor.renameValue(direction, editor.freshName(fmt::format("direction:{}", name)));
        editor.renameValue(product, editor.freshName(fmt::format("hvp:{}", name)));
        result.directionInput.emplace(value, direction);
        result.gradientOf.emplace(value, gradient);
        result.productOf.emplace(value, product);
    }
    removeUnneeded(editor);
    result.graph = editor.finish();
    return result;
}

} // namespace nabla::engine
