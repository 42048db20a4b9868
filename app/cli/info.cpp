// info FILE: what is in a model.
#include "app/cli/verbs.h"
#include "app/document/document.h"
#include "app/document/summary.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct InfoOptions {
    std::string file;
    DimOptions dims;
};

Result<void> info(const InfoOptions& options, Context& context) {
    NABLA_TRY(const DimBindings dims, options.dims.bindings());
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    NABLA_CHECK(checkDims(document.imported()->graph, dims));
    const ModelSummary summary = summarize(document.imported()->graph, dims);
    if (context.json)
        context.printJson(toJson(summary));
    else
        context.print(toText(summary));
    return {};
}

} // namespace

void addInfo(::CLI::App& app, Context& context) {
    auto options = std::make_shared<InfoOptions>();
    auto* verb = app.add_subcommand("info", "what is in a model: shapes, operators, parameters, FLOPs, bytes, problems");
    verb->add_option("FILE", options->file, "model file")->required();
    addDims(*verb, options->dims);
    verb->callback([options, &context] {
        if (auto result = info(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
