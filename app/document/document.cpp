// Opening, optimising and differentiating: thin compositions of the engine's own steps.
#include "app/document/document.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/document/judge.h"
#include "app/document/nearest.h"
#include "app/document/session_file.h"
#include "engine/importers/importer.h"
#include "profiler/store/file_kind.h"

namespace nabla::app {

using namespace nabla::engine;

Result<Document> Document::open(const std::filesystem::path& path, const JobControl& job) {
    if (const auto kind = profiler::fileKind(path); kind && *kind == profiler::FileKind::Sqlite) {
        NABLA_TRY(auto session, openSession(path, job));
        if (!session)
            return readError("{} holds recordings and no model", path.string());
        return std::move(session->document);
    }
    ImportContext context;
    context.job = job;
    NABLA_TRY(Model model, openModel(path, context));
    Document document = over(std::move(model.graph));
    document.m_path = path;
    return document;
}

Document Document::over(Graph graph) {
    Document document;
    HistoryState state;
    state.kind = HistoryState::Kind::Imported;
    state.title = "Imported";
    std::string format = graph.info().format.empty() ? std::string("graph") : graph.info().format;
    state.subtitle = fmt::format("{}, opset {}, {} nodes", format, graph.opset(""), graph.nodeCount());
    state.graph = std::move(graph);
    document.add(std::move(state));
    return document;
}

Document Document::restored(std::filesystem::path path, std::vector<HistoryState> states, std::uint32_t chosen) {
    NABLA_ASSERT(!states.empty(), "a history has a first state");
    Document document;
    document.m_path = std::move(path);
    for (HistoryState& state : states)
        document.add(std::move(state));
    document.m_chosen = document.state(chosen) ? chosen : 1;
    return document;
}

HistoryStatePtr Document::state(std::uint32_t id) const {
    return id >= 1 && id <= m_states.size() ? m_states[id - 1] : nullptr;
}

HistoryStatePtr Document::add(HistoryState state) {
    state.id = static_cast<std::uint32_t>(m_states.size()) + 1;
    m_states.push_back(std::make_shared<const HistoryState>(std::move(state)));
    return m_states.back();
}

Result<std::vector<PassRecord>> optimise(const Graph& from, const OptimiseOptions& options) {
    Judge judge(options.pipeline.dims, options.pipeline.job);
    PipelineOptions pipeline = options.pipeline;
    if (options.price && !pipeline.judge)
        pipeline.judge = &judge;
    return runPasses(from, pipeline);
}

std::vector<HistoryState> statesOf(const std::vector<PassRecord>& records) {
    std::vector<HistoryState> states;
    for (const PassRecord& record : records) {
        if (!record.changed())
            continue;
        HistoryState state;
        state.kind = HistoryState::Kind::Pass;
        state.title = record.pass;
        const auto delta = static_cast<std::int64_t>(record.after.nodeCount()) - static_cast<std::int64_t>(record.before.nodeCount());
        state.subtitle = fmt::format("{}{} nodes, {} rewrites", delta < 0 ? "\u2212" : "+", delta < 0 ? -delta : delta, record.rewrites.size());
        state.graph = record.after;
        state.pass = record;
        states.push_back(std::move(state));
    }
    return states;
}

namespace {

std::vector<std::string> namesOf(const Graph& graph) {
    std::vector<std::string> names;
    graph.forEachValue([&](const Value& value) { names.push_back(value.name); });
    return names;
}

} // namespace

Result<std::vector<ValueId>> valuesByName(const Graph& graph, const std::vector<std::string>& names) {
    std::unordered_map<std::string_view, ValueId> byName;
    graph.forEachValue([&](const Value& value) { byName.emplace(value.name, value.id); });
    std::vector<ValueId> ids;
    for (const std::string& each : names) {
        const auto it = byName.find(each);
        if (it == byName.end())
            return usageError("no value is called \"{}\"; near it: {}", each, nearest(namesOf(graph), each));
        ids.push_back(it->second);
    }
    return ids;
}

Result<HistoryState> differentiate(const Graph& from, const std::vector<std::string>& of, const std::vector<std::string>& wrt,
    GradOptions::Cotangents cotangents, const JobControl& job) {
    NABLA_TRY(const Graph graph, legalized(from));
    GradOptions options;
    NABLA_TRY(options.of, valuesByName(graph, of));
    NABLA_TRY(options.wrt, valuesByName(graph, wrt));
    options.cotangents = cotangents;
    options.job = job;
    NABLA_TRY(JointGraph joint, grad(graph, options));
    HistoryState state;
    state.kind = HistoryState::Kind::Gradient;
    state.title = of.empty() ? "gradient" : fmt::format("gradient of {}", fmt::join(of, ", "));
    state.subtitle = fmt::format("+{} nodes", joint.graph.nodeCount() - graph.nodeCount());
    state.graph = joint.graph;
    state.joint = std::make_shared<const JointGraph>(std::move(joint));
    return state;
}

} // namespace nabla::app
