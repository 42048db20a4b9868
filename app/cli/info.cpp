// info FILE: what is in a model.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/verbs.h"
#include "app/document/document.h"
#include "app/document/summary.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct InfoOptions {
    std::string file;
    DimOptions dims;
    bool values = false;
};

/// The history of a saved session.
nlohmann::json statesJson(const Document& document) {
    nlohmann::json out = nlohmann::json::array();
    for (const HistoryStatePtr& state : document.states()) {
        out.push_back({{"id", state->id}, {"parent", state->parent}, {"title", state->title}, {"subtitle", state->subtitle}, {"nodes", state->graph.nodeCount()},
            {"gradient", state->joint != nullptr}});
    }
    return out;
}
std::string statesText(const Document& document) {
    std::string out = fmt::format("\nstates ({}; the facts above are of the chosen one)\n", document.states().size());
    for (const HistoryStatePtr& state : document.states())
        out += fmt::format("{} {:>3}  {}: {}\n", state == document.chosen() ? '*' : ' ', state->id, state->title, state->subtitle);
    return out;
}

Result<void> info(const InfoOptions& options, Context& context) {
    NABLA_TRY(const DimBindings dims, options.dims.bindings());
    NABLA_TRY(const Document document, Document::open(options.file, context.job));
    NABLA_CHECK(checkDims(document.chosen()->graph, dims));
    const ModelSummary summary = summarize(document.chosen()->graph, dims);
    const auto values = options.values ? listValues(document.chosen()->graph, dims) : std::vector<ModelSummary::Port>{};
    const bool session = document.states().size() > 1;
    if (context.json) {
        nlohmann::json out = toJson(summary);
        if (session) {
            out["chosen_state"] = document.chosen()->id;
            out["states"] = statesJson(document);
        }
        for (const auto& [name, type, weight] : values)
            out["values"].push_back({{"name", name}, {"type", type}, {"weight", weight}});
        context.printJson(out);
    } else {
        context.print(session ? toText(summary) + statesText(document) : toText(summary));
        for (const auto& [name, type, weight] : values)
            context.print(fmt::format("{:<16} {}: {}", weight ? "weight" : "value", name, type));
    }
    return {};
}

} // namespace

void addInfo(::CLI::App& app, Context& context) {
    auto options = std::make_shared<InfoOptions>();
    auto* verb = app.add_subcommand("info", "what is in a model: shapes, operators, parameters, FLOPs, bytes, problems");
    verb->add_option("FILE", options->file, "model file")->required();
    verb->add_flag("--values", options->values, "list every value with its type; ? depends on data");
    addDims(*verb, options->dims);
    verb->callback([options, &context] {
        if (auto result = info(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
