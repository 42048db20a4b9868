// PassContext and the pipeline.
#include "engine/passes/pass.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace nabla::engine {

void PassContext::record(std::string rule, std::vector<NodeId> removed, std::vector<NodeId> added, std::string reason) {
    m_rewrites.push_back({std::move(rule), std::move(removed), std::move(added), std::move(reason)});
}

void PassContext::nearMiss(std::string rule, NodeId node, std::string predicate) {
    // Sweeps that repeat until nothing changes meet the same place again.
    if (m_seenMisses.emplace(rule, node).second)
        m_nearMisses.push_back({std::move(rule), node, std::move(predicate)});
}

std::shared_ptr<const std::string> PassContext::createdBy(std::string_view rule) {
    auto& text = m_createdBy[std::string(rule)];
    if (!text)
        text = std::make_shared<const std::string>(fmt::format("{}/{}", m_pass, rule));
    return text;
}

const PassDef* findPass(std::string_view name) {
    for (const PassDef& pass : allPasses()) {
        if (pass.name == name)
            return &pass;
    }
    return nullptr;
}

namespace {

Result<std::vector<const PassDef*>> choose(const PipelineOptions& options) {
    for (const auto* list : {&options.only, &options.without}) {
        for (const std::string& name : *list) {
            if (!findPass(name))
                return usageError("no pass is called \"{}\"", name);
        }
    }
    const auto has = [](const std::vector<std::string>& list, std::string_view name) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    std::vector<const PassDef*> chosen;
    for (const PassDef& pass : allPasses()) {
        // Everything else reads newest operators only, so the first pass is not a matter of choice.
        const bool wanted = chosen.empty() || (options.only.empty() ? pass.onByDefault : has(options.only, pass.name));
        if (wanted && (chosen.empty() || !has(options.without, pass.name)))
            chosen.push_back(&pass);
    }
    return chosen;
}

/// Prices of both states; the one before is the one after of the previous pass.
Result<void> judge(PassRecord& record, std::optional<GraphPrice>& price, const PipelineOptions& options) {
    if (!options.judge)
        return {};
    if (!price) {
        NABLA_TRY(price, options.judge->price(record.before));
    }
    record.priceBefore = price;
    if (record.changed()) {
        NABLA_TRY(price, options.judge->price(record.after));
        if (options.verifyValues) {
            NABLA_TRY(record.differences, options.judge->compare(record.before, record.after));
        }
    }
    record.priceAfter = price;
    return {};
}

} // namespace

Result<std::vector<PassRecord>> runPasses(const Graph& graph, const PipelineOptions& options) {
    NABLA_TRY(const std::vector<const PassDef*> chosen, choose(options));
    std::vector<PassRecord> records;
    Graph current = graph;
    std::optional<GraphPrice> price;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        NABLA_CHECK(options.job.check());
        const PassDef& pass = *chosen[i];
        options.job.say(pass.title, static_cast<std::int64_t>(i), static_cast<std::int64_t>(chosen.size()));
        PassContext context{std::string(pass.name)};
        context.dims = options.dims;
        context.job = options.job;
        const auto start = std::chrono::steady_clock::now();
        Result<Graph> result = pass.run(current, context);
        PassRecord record;
        record.milliseconds
            = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        record.pass = pass.name;
        record.before = current;
        record.after = result ? *result : current;
        record.rewrites = context.rewrites();
        record.nearMisses = context.nearMisses();
        if (!result) {
            if (result.error().kind() == ErrorKind::Cancelled || i == 0)
                return result.error().in(pass.name);
            record.error = result.error().message();
        }
        NABLA_CHECK(judge(record, price, options));
        current = record.after;
        if (options.onRecord)
            options.onRecord(record);
        records.push_back(std::move(record));
    }
    return records;
}

} // namespace nabla::engine
