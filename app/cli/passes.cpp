// passes FILE: the pass timeline with its prices.
#include <fmt/format.h>

#include "app/cli/save_model.h"
#include "app/cli/verbs.h"
#include "app/document/document.h"
#include "app/document/sample_inputs.h"
#include "engine/base/write_file.h"
#include "engine/passes/report.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct PassesOptions {
    std::string file, report, save;
    std::vector<std::string> only, without;
    std::int64_t opset = 0;
    bool list = false, verify = false;
    DimOptions dims;
};

void listPasses(Context& context) {
    nlohmann::json out = nlohmann::json::array();
    for (const PassDef& pass : allPasses()) {
        if (context.json)
            out.push_back({{"name", pass.name}, {"title", pass.title}, {"summary", pass.summary}, {"on", pass.onByDefault}, {"changes_values", pass.changesValues}});
        else
            context.print(fmt::format("{:<34} {}{}", pass.name, pass.summary, pass.changesValues ? " (may change values; off by default)" : pass.onByDefault ? "" : " (off by default)"));
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"passes", out}});
}

Result<void> passes(const PassesOptions& options, Context& context) {
    if (options.list) {
        listPasses(context);
        return {};
    }
    if (options.file.empty())
        return usageError("passes wants a model file, or --list");
    OptimiseOptions pipeline;
    pipeline.pipeline.only = options.only;
    pipeline.pipeline.without = options.without;
    pipeline.pipeline.verifyValues = options.verify;
    pipeline.pipeline.job = context.job;
    NABLA_TRY(pipeline.pipeline.dims, options.dims.bindings());
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    NABLA_CHECK(checkDims(document.chosen()->graph, pipeline.pipeline.dims));
    // As in the window: sizes that the inputs beside the model imply, so that prices are known.
    if (pipeline.pipeline.dims.empty())
        pipeline.pipeline.dims = sampleBindings(document.chosen()->graph);
    NABLA_TRY(const auto records, optimise(document.chosen()->graph, pipeline).in(options.file));
    if (context.json)
        context.printJson(reportJson(records, options.file));
    else
        context.print(reportText(records));
    if (!options.report.empty()) {
        const bool html = options.report.ends_with(".html");
        NABLA_CHECK(writeFile(options.report, html ? reportHtml(records, options.file) : reportJson(records, options.file).dump(1)));
    }
    if (!options.save.empty()) {
        const Graph saved = records.empty() ? document.chosen()->graph : records.back().after;
        NABLA_CHECK(saveModel(saved, options.save, options.opset, context));
    }
    for (const PassRecord& record : records) {
        if (record.error)
            return Error{ErrorKind::Check, fmt::format("pass {}: {}", record.pass, *record.error)};
        for (const OutputDifference& d : record.differences.value_or(std::vector<OutputDifference>{})) {
            if (!(d.relativeToLargestEntry <= 1e-6))
                return Error{ErrorKind::Check, fmt::format("pass {} changes output \"{}\" by {:.3g} of its largest entry in double", record.pass, d.output, d.relativeToLargestEntry)};
        }
    }
    return {};
}

} // namespace

void addPasses(::CLI::App& app, Context& context) {
    auto options = std::make_shared<PassesOptions>();
    auto* verb = app.add_subcommand("passes", "optimise pass by pass, with the price of each state");
    verb->add_option("FILE", options->file, "model file");
    verb->add_option("--only", options->only, "these passes only, in pipeline order")->delimiter(',');
    verb->add_option("--without", options->without, "all but these")->delimiter(',');
    verb->add_flag("--list", options->list, "list the passes");
    verb->add_flag("--verify", options->verify, "run every changed state in double and compare the outputs; exit 1 above 1e-6");
    verb->add_option("--report", options->report, "write the report as .json or .html");
    verb->add_option("--save", options->save, "write the last state as ONNX");
    verb->add_option("--opset", options->opset, "opset of --save");
    addDims(*verb, options->dims);
    verb->callback([options, &context] {
        if (auto result = passes(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
