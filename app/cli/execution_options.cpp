// Reading of shared options; a wrong word is a usage error that lists the right ones.
#include "app/cli/execution_options.h"

#include "app/document/document.h"
#include "app/document/values_io.h"

namespace nabla::app::cli {

using namespace nabla::engine;

Result<SessionOptions> ExecutionOptions::session() const {
    SessionOptions out;
    if (executor == "compiled")
        out.mode = ExecutorMode::Compiled;
    else if (executor == "stepping")
        out.mode = ExecutorMode::Stepping;
    else if (executor == "eager")
        out.mode = ExecutorMode::Eager;
    else
        return usageError("--executor {}: must be compiled, stepping or eager", executor);
    out.threads = threads;
    out.seed = seed;
    out.inDouble = inDouble;
    out.optimisedKernels = !reference;
    return out;
}

Result<NamedValues> ExecutionOptions::values(const Graph& graph) const {
    NABLA_TRY(const DimBindings bindings, dims.bindings());
    NABLA_CHECK(checkDims(graph, bindings));
    if (inputs.empty())
        return generateInputs(graph, seed, bindings);
    return readValues(inputs, graph, Side::Inputs);
}

Result<Graph> ExecutionOptions::open(const Context& context) const {
    NABLA_TRY(const Document document, Document::open(file, context.job));
    NABLA_TRY(Graph graph, legalized(document.chosen()->graph).in(file));
    if (passes.empty() || passes == std::vector<std::string>{"none"})
        return graph;
    OptimiseOptions options;
    options.price = false;
    options.pipeline.job = context.job;
    if (passes != std::vector<std::string>{"all"})
        options.pipeline.only = passes;
    NABLA_TRY(const auto records, optimise(graph, options));
    return records.empty() ? graph : records.back().after;
}

void addExecution(::CLI::App& verb, ExecutionOptions& options) {
    verb.add_option("FILE", options.file, "model file")->required();
    verb.add_option("--inputs", options.inputs, "values by name or in_K from an .npz, or a folder of input_K.pb");
    verb.add_option("--seed", options.seed, "seed of generated inputs and random operators")->capture_default_str();
    verb.add_option("--threads", options.threads, "threads, 0 = one per core")->capture_default_str();
    verb.add_option("--executor", options.executor, "compiled, stepping or eager")->capture_default_str();
    verb.add_flag("--double", options.inDouble, "hold every float tensor as float64");
    verb.add_flag("--reference", options.reference, "reference kernels only");
    verb.add_option("--passes", options.passes, "passes to apply first: all, none, or names")->delimiter(',');
    addDims(verb, options.dims);
}

} // namespace nabla::app::cli
