// conformance DIR…: runs folders in ONNX's backend-test layout.
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "app/document/conformance.h"

namespace nabla::app::cli {

using namespace nabla::engine;

namespace {

struct ConformanceOptions {
    std::vector<std::string> folders;
    std::string list, outputs;
    bool reference = false;
};

struct NameList {
    std::set<std::string> names, random; // `kind/name`, or `name`
};

/// Lines `kind/name`, `# …` is a comment, and a line that ends in `# random` marks a random output.
Result<NameList> readList(const std::string& path) {
    NameList out;
    std::ifstream file(path);
    if (!file)
        return readError("{}: cannot be read", path);
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t hash = line.find('#');
        std::string name = line.substr(0, hash);
        while (!name.empty() && (name.back() == ' ' || name.back() == '\r' || name.back() == '\t'))
            name.pop_back();
        if (name.empty())
            continue;
        out.names.insert(name);
        if (hash != std::string::npos && line.find("random", hash) != std::string::npos)
            out.random.insert(name);
    }
    return out;
}

Result<void> conformance(const ConformanceOptions& options, Context& context) {
    std::optional<NameList> list;
    if (!options.list.empty()) {
        NABLA_TRY(list, readList(options.list));
    }
    std::map<CaseResult::Outcome, std::int64_t> counts;
    std::map<std::string, std::int64_t> skips;
    nlohmann::json report = nlohmann::json::array();
    for (const std::string& root : options.folders) {
        const auto cases = conformanceCases(root);
        if (cases.empty())
            return readError("{}: no folder with a model.onnx in it", root);
        for (const auto& folder : cases) {
            NABLA_CHECK(context.job.check());
            const std::string key = folder.parent_path().filename().string() + "/" + folder.filename().string();
            if (list && !list->names.contains(key) && !list->names.contains(folder.filename().string()))
                continue;
            const bool random = list && (list->random.contains(key) || list->random.contains(folder.filename().string()));
            const CaseResult result = runConformanceCase(folder, {random, options.reference, context.job, options.outputs});
            ++counts[result.outcome];
            if (result.outcome == CaseResult::Outcome::Skipped)
                ++skips[result.text];
            const char* word = result.outcome == CaseResult::Outcome::Passed ? "passed" : result.outcome == CaseResult::Outcome::Failed ? "FAILED" : "skipped";
            if (context.json)
                report.push_back({{"name", key}, {"outcome", word}, {"text", result.text}});
            else if (result.outcome == CaseResult::Outcome::Failed)
                context.print(fmt::format("FAILED {}: {}", key, result.text));
        }
    }
    const auto passed = counts[CaseResult::Outcome::Passed], failed = counts[CaseResult::Outcome::Failed], skipped = counts[CaseResult::Outcome::Skipped];
    if (context.json) {
        context.printJson(nlohmann::json{{"schema", 1}, {"passed", passed}, {"failed", failed}, {"skipped", skipped}, {"cases", report}});
    } else {
        for (const auto& [why, count] : skips)
            context.print(fmt::format("skipped {:>4}: {}", count, why));
        context.print(fmt::format("{} passed, {} failed, {} skipped", passed, failed, skipped));
    }
    if (passed + failed + skipped == 0)
        return usageError("no case of the list is in these folders");
    if (failed > 0)
        context.exitCode = kCheckFailed;
    return {};
}

} // namespace

void addConformance(::CLI::App& app, Context& context) {
    auto options = std::make_shared<ConformanceOptions>();
    auto* verb = app.add_subcommand("conformance", "run test folders in the layout of ONNX's backend tests");
    verb->add_option("DIR", options->folders, "folders of cases, searched at any depth")->required();
    verb->add_option("--list", options->list, "only the cases named in this file, one `kind/name` a line; `# random` compares form only");
    verb->add_option("--outputs", options->outputs, "write our outputs to DIR/CASE/SET/output_K.pb; cases without expected outputs need only run");
    verb->add_flag("--reference", options->reference, "reference kernels only");
    verb->callback([options, &context] {
        if (auto result = conformance(*options, context); !result)
            context.fail(result.error());
    });
}

} // namespace nabla::app::cli
