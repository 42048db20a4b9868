// convert FILE -o M.onnx: the legalized model as ONNX.
#include "app/cli/save_model.h"
#include "app/cli/verbs.h"
#include "app/document/document.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct ConvertOptions {
    std::string file, output;
    std::int64_t opset = 0;
    bool text = false;
};

Result<void> convert(const ConvertOptions& options, Context& context) {
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    Graph graph = document.chosen()->graph;
    // The file's own opset needs no legalization; any other target starts from the newest form.
    if (options.opset != 0 && options.opset != graph.opset("")) {
        NABLA_TRY(graph, legalized(graph));
    }
    NABLA_CHECK(saveModel(graph, options.output, options.opset, context));
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"written", options.output}, {"opset", options.opset ? options.opset : graph.opset("")}});
    else
        context.say("written to " + options.output);
    return {};
}

} // namespace

void addConvert(::CLI::App& app, Context& context) {
    auto options = std::make_shared<ConvertOptions>();
    auto* verb = app.add_subcommand("convert", "write a model as ONNX");
    verb->add_option("FILE", options->file, "model file")->required();
    verb->add_option("-o,--output", options->output, "file to write")->required();
    verb->add_option("--opset", options->opset, "opset of the result (default: the file's own)");
    verb->callback([options, &context] {
        if (auto result = convert(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
