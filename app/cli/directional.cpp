// Jacobian-vector and Hessian-vector products on the command line.
#include "app/cli/directional.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "app/cli/derivative_output.h"
#include "app/cli/save_model.h"
#include "app/document/document.h"
#include "app/document/values_io.h"
#include "engine/autodiff/hvp.h"
#include "engine/autodiff/jvp.h"
#include "engine/tensor/element.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

/// What both modes give: a graph, its extra inputs, and which of its outputs are asked for.
struct Directional {
    Graph graph;
    std::map<ValueId, ValueId> directionOf; ///< wrt value -> extra input
    std::vector<std::pair<std::string, ValueId>> results; ///< name in the forward graph -> output
    std::vector<ValueId> wrt;
    std::vector<Diagnostic> notes;
};

Result<Directional> derive(const Graph& forward, const DirectionalOptions& options, Context& context) {
    NABLA_TRY(const std::vector<ValueId> of, valuesByName(forward, options.of));
    NABLA_TRY(const std::vector<ValueId> wrt, valuesByName(forward, options.wrt));
    Directional made;
    if (options.mode == DirectionalMode::Forward) {
        NABLA_TRY(JvpGraph product, jvp(forward, {of, wrt, context.job}));
        for (const auto& [value, tangent] : product.tangentOf)
            made.results.emplace_back(forward.value(value)->name, tangent);
        made.graph = std::move(product.graph);
        made.directionOf = std::move(product.tangentInput);
        made.wrt = std::move(product.wrt);
        made.notes = std::move(product.notes);
        return made;
    }
    NABLA_TRY(HvpGraph product, hvp(forward, {of, wrt, context.job}));
    for (const ValueId value : product.wrt)
        made.results.emplace_back(forward.value(value)->name, product.productOf.at(value));
    made.graph = std::move(product.graph);
    made.directionOf = std::move(product.directionInput);
    made.wrt = std::move(product.wrt);
    made.notes = std::move(product.notes);
    return made;
}

Result<Tensor> filledLike(const Tensor& like, double each) {
    NABLA_TRY(Tensor filled, Tensor::make(like.dtype(), like.shape()));
    for (std::int64_t i = 0; i < filled.elementCount(); ++i)
        writeDouble(filled.dtype(), filled.mutableRaw(), i, each);
    return filled;
}

/// Values for the extra inputs: as given, else of the shape that the wrt value has.
Result<void> addDirections(
    const Directional& made, const DirectionalOptions& options, const Graph& forward, NamedValues& inputs) {
    NamedValues given;
    if (!options.direction.empty()) {
        NABLA_TRY(given, readValues(options.direction, forward, Side::Gradients));
        if (given.empty())
            return usageError("{}: holds no direction of a value of this model", options.direction);
    }
    for (const auto& [name, direction] : given) {
        const auto isIt = [&, &wanted = name](ValueId value) { return forward.value(value)->name == wanted; };
        if (std::none_of(made.wrt.begin(), made.wrt.end(), isIt))
            return usageError("{}: holds a direction of \"{}\", which is not differentiated by: name it in --wrt", options.direction, name);
    }
    for (const ValueId value : made.wrt) {
        const std::string& name = forward.value(value)->name;
        const std::string& extra = made.graph.value(made.directionOf.at(value))->name;
        if (const auto it = given.find(name); it != given.end()) {
            const auto at = inputs.find(name);
            const Shape shape = at != inputs.end() ? at->second.tensor().shape() : forward.value(value)->constant ? forward.value(value)->constant->shape() : it->second.tensor().shape();
            if (it->second.tensor().shape() != shape) // it would broadcast
                return usageError("direction of \"{}\" is {}, and the value is {}", name, toString(it->second.tensor().shape()), toString(shape));
            inputs[extra] = it->second;
            continue;
        }
        const auto input = inputs.find(name);
        const TensorPtr constant = forward.value(value)->constant;
        if (input == inputs.end() && !constant)
            return usageError("\"{}\" is no input and no weight: --direction must hold its direction", name);
        NABLA_TRY(Tensor filled, filledLike(input != inputs.end() ? input->second.tensor() : *constant, given.empty() ? 1.0 : 0.0));
        inputs[extra] = RuntimeValue(std::move(filled));
    }
    return {};
}

} // namespace

Result<void> directionalDerivatives(const ExecutionOptions& execution, const DirectionalOptions& options, Context& context) {
    NABLA_TRY(const SessionOptions sessionOptions, execution.session());
    NABLA_TRY(const Graph forward, execution.open(context));
    NABLA_TRY(const Directional made, derive(forward, options, context).in(execution.file));
    if (!options.save.empty()) {
        NABLA_CHECK(saveModel(made.graph, options.save, options.opset, context));
        context.say("graph of the derivative written to " + options.save);
    }
    NABLA_TRY(const auto session, Session::create(made.graph, sessionOptions).in(execution.file));
    NABLA_TRY(NamedValues inputs, execution.values(forward));
    NABLA_CHECK(addDirections(made, options, forward, inputs));
    NABLA_TRY(const NamedValues all, session->run(inputs, context.job).in(execution.file));
    NamedValues results;
    std::vector<std::string> order;
    for (const auto& [name, output] : made.results) {
        results[name] = all.at(made.graph.value(output)->name);
        order.push_back(name);
    }
    if (!options.outputs.empty())
        NABLA_CHECK(writeValues(options.outputs, results, order));
    const bool isHvp = options.mode == DirectionalMode::Hvp;
    printDerivatives(order, results, isHvp ? "hvp" : "forward", isHvp ? "products" : "tangents", made.notes, context);
    return {};
}

} // namespace nabla::app::cli
