// operators: what runs here, in which versions, with which gradient and kernels.
#include <algorithm>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "app/document/nearest.h"
#include "engine/plan/operator_facts.h"

namespace nabla::app::cli {

void addOperators(::CLI::App& app, Context& context) {
    auto* verb = app.add_subcommand("operators", "the operators that run: versions, types, gradient, kernels, cost");
    const auto name = std::make_shared<std::string>();
    verb->add_option("name", *name, "only operators of this name");
    verb->callback([&context, name] {
        nlohmann::json list = nlohmann::json::array();
        const std::vector<engine::OperatorFacts> all = engine::allOperatorFacts();
        std::vector<std::string> names;
        for (const engine::OperatorFacts& each : all)
            names.push_back(each.name);
        if (!name->empty() && std::find(names.begin(), names.end(), *name) == names.end())
            return context.fail(engine::usageError("no operator that runs here is called \"{}\"; near it: {}", *name, nearest(names, *name)));
        for (const engine::OperatorFacts& each : all) {
            if (!name->empty() && each.name != *name)
                continue;
            if (context.json) {
                list.push_back({{"name", each.name}, {"domain", each.domain}, {"versions", each.versions}, {"types", each.types}, {"run", each.run},
                    {"gradient", each.gradient}, {"kernels", each.kernels}, {"cost", each.cost}});
                continue;
            }
            context.print(fmt::format("{}{}  versions {}; {}; gradient: {}; kernel: {}; cost: {}", each.domain.empty() ? "" : each.domain + ".", each.name,
                engine::versionsText(each), each.types, each.gradient, engine::kernelsText(each), each.cost));
        }
        if (context.json)
            context.printJson(nlohmann::json{{"schema", 1}, {"operators", list}});
    });
}

} // namespace nabla::app::cli
