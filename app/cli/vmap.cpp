// vmap FILE --over A,B -o M.onnx: the model over a batch of examples, batch axis first.
#include "app/cli/verbs.h"
#include "app/cli/save_model.h"
#include "app/document/document.h"
#include "engine/autodiff/vmap.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct VmapVerbOptions {
    std::string file, output;
    std::vector<std::string> over;
    std::int64_t opset = 0;
    bool wholeScan = false;
};

Result<void> mapOverBatch(const VmapVerbOptions& options, Context& context) {
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    NABLA_TRY(const Graph graph, legalized(document.chosen()->graph));
    VmapOptions vmapOptions;
    NABLA_TRY(vmapOptions.over, valuesByName(graph, options.over));
    vmapOptions.form = options.wholeScan ? VmapOptions::Form::WholeScan : VmapOptions::Form::NodeByNode;
    vmapOptions.job = context.job;
    NABLA_TRY(const VmapGraph mapped, vmap(graph, vmapOptions).in(options.file));
    NABLA_CHECK(saveModel(mapped.graph, options.output, options.opset, context));
    nlohmann::json notes = nlohmann::json::array();
    for (const Diagnostic& note : mapped.notes) {
        notes.push_back(note.message);
        context.say("note: " + note.message);
    }
    if (context.json)
        context.printJson(nlohmann::json{{"schema", 1}, {"written", options.output}, {"over", options.over}, {"notes", notes}});
    else
        context.say("written to " + options.output);
    return {};
}

} // namespace

void addVmap(::CLI::App& app, Context& context) {
    auto options = std::make_shared<VmapVerbOptions>();
    auto* verb = app.add_subcommand("vmap", "the model over a batch of examples, batch axis first");
    verb->add_option("FILE", options->file, "model file")->required();
    verb->add_option("--over", options->over, "inputs that get a batch axis; the others are shared")->delimiter(',')->required();
    verb->add_option("-o,--output", options->output, "file to write")->required();
    verb->add_flag("--scan", options->wholeScan, "the whole graph as the body of one Scan, one example after another");
    verb->add_option("--opset", options->opset, "opset of the result");
    verb->callback([options, &context] {
        if (auto result = mapOverBatch(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
