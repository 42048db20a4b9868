// Jacobians and Hessians on the command line.
#include "app/cli/jacobian.h"

#include "app/cli/derivative_output.h"
#include "app/cli/save_model.h"
#include "app/document/document.h"
#include "app/document/values_io.h"
#include "engine/autodiff/grad.h"
#include "engine/autodiff/jacobian.h"
#include "engine/graph/graph_editor.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

/// Shapes that only running tells, before anything large is made.
Result<void> checkSizes(const Graph& forward, const JacobianGraph& made, const NamedValues& inputs, const SessionOptions& sessionOptions, MatrixMode mode, Context& context) {
    GraphEditor editor(forward);
    std::vector<ValueId> wanted;
    for (const ValueId value : mode == MatrixMode::Hessian ? made.wrt : made.of) {
        if (std::find(wanted.begin(), wanted.end(), value) == wanted.end())
            wanted.push_back(value);
    }
    for (const ValueId value : made.wrt) {
        if (std::find(wanted.begin(), wanted.end(), value) == wanted.end())
            wanted.push_back(value);
    }
    editor.setOutputs(std::move(wanted));
    NABLA_TRY(const auto session, Session::create(editor.finish(), sessionOptions));
    NABLA_TRY(const NamedValues values, session->run(inputs, context.job));
    const auto elements = [&](ValueId value) { return values.at(forward.value(value)->name).tensor().elementCount(); };
    for (const auto& [pair, block] : made.blocks) {
        const auto& [row, column] = pair;
        NABLA_CHECK(checkJacobianSize(forward.value(row)->name, elements(row), forward.value(column)->name, elements(column)));
    }
    return {};
}

} // namespace

Result<void> derivativeMatrices(const ExecutionOptions& execution, const MatrixOptions& options, Context& context) {
    const bool isHessian = options.mode == MatrixMode::Hessian;
    NABLA_TRY(const SessionOptions sessionOptions, execution.session());
    NABLA_TRY(const Graph forward, execution.open(context));
    JacobianOptions derive;
    NABLA_TRY(derive.of, valuesByName(forward, options.of));
    NABLA_TRY(derive.wrt, valuesByName(forward, options.wrt));
    derive.job = context.job;
    NABLA_TRY(const JacobianGraph made, (isHessian ? hessian(forward, derive) : jacobian(forward, derive)).in(execution.file));
    if (!options.save.empty()) {
        NABLA_CHECK(saveModel(made.graph, options.save, options.opset, context));
        context.say("graph of the derivatives written to " + options.save);
    }
    NABLA_TRY(const NamedValues inputs, execution.values(forward));
    NABLA_CHECK(checkSizes(forward, made, inputs, sessionOptions, options.mode, context).in(execution.file));
    NABLA_TRY(const auto session, Session::create(made.graph, sessionOptions).in(execution.file));
    NABLA_TRY(const NamedValues all, session->run(inputs, context.job).in(execution.file));
    NamedValues results;
    std::vector<std::string> order;
    for (const ValueId row : made.of) {
        for (const ValueId column : made.wrt) {
            order.push_back(made.graph.value(made.blocks.at({row, column}))->name);
            results[order.back()] = all.at(order.back());
        }
    }
    if (!options.outputs.empty())
        NABLA_CHECK(writeValues(options.outputs, results, order));
    printDerivatives(order, results, isHessian ? "hessian" : "jacobian", "blocks", made.notes, context);
    return {};
}

} // namespace nabla::app::cli
