// Gathers the figures from the analyses.
#include "app/document/summary.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/document/judge.h"
#include "engine/analysis/cost.h"
#include "engine/analysis/input_shapes.h"
#include "engine/analysis/topology.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

void countNodes(const Graph& graph, ModelSummary& out) {
    graph.forEachNode([&](const Node& node) {
        ++out.nodesWithBodies;
        ++out.operators[node.domain.empty() ? node.opType : fmt::format("{}.{}", node.domain, node.opType)];
        for (const auto& [name, body] : node.bodies())
            countNodes(*body, out);
    });
}

std::string_view severityName(Diagnostic::Severity severity) {
    switch (severity) {
    case Diagnostic::Severity::Info: return "note";
    case Diagnostic::Severity::Warning: return "warning";
    case Diagnostic::Severity::Error: return "error";
    }
    return "?";
}

std::vector<Diagnostic> allProblems(const Graph& graph, const TypeMap& typeMap) {
    std::vector<Diagnostic> out = problems(graph);
    out.insert(out.end(), typeMap.diagnostics.begin(), typeMap.diagnostics.end());
    return out;
}

} // namespace

std::string diagnosticText(const Diagnostic& d) {
    return fmt::format("{}: {}", severityName(d.severity), d.message);
}

ModelSummary summarize(const Graph& graph, const DimBindings& dims) {
    ModelSummary out;
    const ModelInfo& info = graph.info();
    out.path = info.path.string();
    out.format = info.format;
    out.producer = info.producer;
    out.producerVersion = info.producerVersion;
    out.doc = info.doc.empty() ? graph.doc() : info.doc;
    out.irVersion = info.irVersion;
    out.opsets = info.opsets;
    out.metadata = info.metadata;
    const auto typeMap = types(graph, dims);
    for (const ValueId id : graph.inputs()) {
        const Value* value = graph.value(id);
        out.inputs.push_back({value->name, typeMap->of(id).text(), value->constant != nullptr});
    }
    for (const ValueId id : graph.outputs())
        out.outputs.push_back({graph.value(id)->name, typeMap->of(id).text(), false});
    out.nodes = graph.nodeCount();
    countNodes(graph, out);
    out.functions = graph.functions().size();
    graph.forEachValue([&](const Value& value) { out.initializers += value.constant ? 1 : 0; });
    // Edges as people count them: every reading of a value that is no weight, and one to each graph output.
    graph.forEachNode([&](const Node& node) {
        for (const ValueId id : node.inputs)
            out.edges += id && graph.value(id) && !graph.constant(id) ? 1U : 0U;
        out.edges += node.captures.size();
    });
    out.edges += graph.outputs().size();
    const auto total = cost(graph, dims);
    out.parameters = total->parameters;
    out.parameterBytes = total->parameterBytes;
    Judge judge(dims);
    if (const auto price = judge.price(graph)) {
        out.flops = price->flops;
        out.bytesMoved = price->bytesMoved;
        out.peakBytes = price->peakBytes;
        out.lowerBoundBytes = price->lowerBoundBytes;
    }
    out.dims = typeMap->dims;
    out.knownDims = typeMap->knownDims;
    const ShapeCoverage coverage = shapeCoverage(graph, *typeMap);
    out.untyped = coverage.untyped;
    out.unknownRanks = coverage.unknownRanks;
    out.problems = allProblems(graph, *typeMap);
    for (const Diagnostic& d : out.problems)
        out.problemTexts.push_back(diagnosticText(d));
    return out;
}

std::vector<ModelSummary::Port> listValues(const Graph& graph, const DimBindings& dims) {
    const auto typeMap = types(graph, dims);
    std::vector<ModelSummary::Port> out;
    const std::function<void(const Graph&)> list = [&](const Graph& each) {
        const std::set<ValueId> captured(each.captures().begin(), each.captures().end()); // the outer values have them
        each.forEachValue([&](const Value& value) {
            if (!captured.contains(value.id))
                out.push_back({value.name, typeMap->of(value.id).text(), value.constant != nullptr});
        });
        each.forEachNode([&](const Node& node) {
            for (const auto& [name, body] : node.bodies())
                list(*body);
        });
    };
    list(graph);
    return out;
}

nlohmann::json toJson(const ModelSummary& s) {
    const auto ports = [](const std::vector<ModelSummary::Port>& list) {
        nlohmann::json out = nlohmann::json::array();
        for (const auto& port : list)
            out.push_back({{"name", port.name}, {"type", port.type}, {"has_default", port.hasDefault}});
        return out;
    };
    const auto maybe = [](const std::optional<std::int64_t>& value) { return value ? nlohmann::json(*value) : nlohmann::json(nullptr); };
    nlohmann::json opsets = nlohmann::json::object();
    for (const auto& [domain, version] : s.opsets)
        opsets[domain.empty() ? "ai.onnx" : domain] = version;
    nlohmann::json metadata = nlohmann::json::object();
    for (const auto& [key, value] : s.metadata)
        metadata[key] = value;
    return {{"schema", 1}, {"path", s.path}, {"format", s.format}, {"producer", s.producer}, {"producer_version", s.producerVersion}, {"doc", s.doc},
        {"ir_version", s.irVersion}, {"opsets", opsets}, {"inputs", ports(s.inputs)}, {"outputs", ports(s.outputs)}, {"operators", s.operators},
        {"nodes", s.nodes}, {"nodes_with_bodies", s.nodesWithBodies}, {"edges", s.edges}, {"initializers", s.initializers}, {"functions", s.functions},
        {"parameters", s.parameters}, {"parameter_bytes", s.parameterBytes}, {"flops", maybe(s.flops)}, {"bytes_moved", maybe(s.bytesMoved)},
        {"peak_bytes", maybe(s.peakBytes)}, {"lower_bound_bytes", maybe(s.lowerBoundBytes)}, {"dims", s.dims}, {"known_dims", s.knownDims}, {"data_dependent_dims", s.dims - s.knownDims},
        {"untyped_values", s.untyped}, {"unknown_ranks", s.unknownRanks},
        {"problems", s.problemTexts}, {"metadata", metadata}};
}

std::string toText(const ModelSummary& s) {
    std::string out;
    const auto line = [&](std::string_view key, const std::string& value) { out += fmt::format("{:<16} {}\n", key, value); };
    const auto maybe = [](const std::optional<std::int64_t>& value, std::string_view unit) {
        return value ? fmt::format("{} {}", *value, unit) : std::string("not known before running");
    };
    line("file", s.path);
    line("format", fmt::format("{}, IR version {}", s.format, s.irVersion));
    if (!s.producer.empty())
        line("producer", fmt::format("{} {}", s.producer, s.producerVersion));
    for (const auto& [domain, version] : s.opsets)
        line("opset", fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
    for (const auto& port : s.inputs)
        line("input", fmt::format("{}: {}{}", port.name, port.type, port.hasDefault ? " (has a default)" : ""));
    for (const auto& port : s.outputs)
        line("output", fmt::format("{}: {}", port.name, port.type));
    line("nodes", fmt::format("{} ({} with bodies), {} edges, {} initializers, {} functions", s.nodes, s.nodesWithBodies, s.edges, s.initializers, s.functions));
    line("parameters", fmt::format("{} ({} bytes)", s.parameters, s.parameterBytes));
    line("work", maybe(s.flops, "FLOP"));
    line("moved", maybe(s.bytesMoved, "bytes"));
    if (!s.lowerBoundBytes)
        line("planned peak", maybe(s.peakBytes, "bytes"));
    else
        line("planned peak", fmt::format("{}, lower bound {} bytes{}{}", maybe(s.peakBytes, "bytes"), *s.lowerBoundBytes,
            s.flops ? "" : ", with sizes that are not known as 1", s.nodesWithBodies > s.nodes ? ", beside what the bodies take" : ""));
    line("dimensions", fmt::format("{} of {} known before running, {} depend{} on data{}", s.knownDims, s.dims, s.dims - s.knownDims, s.dims - s.knownDims == 1 ? "s" : "",
        s.unknownRanks ? fmt::format("; {} value{} of a rank that depends on data", s.unknownRanks, s.unknownRanks == 1 ? "" : "s") : ""));
    if (s.untyped)
        line("untyped", fmt::format("{} value{} of no known type", s.untyped, s.untyped == 1 ? "" : "s"));
    std::vector<std::pair<std::int64_t, std::string>> counts;
    for (const auto& [op, count] : s.operators)
        counts.emplace_back(-count, op);
    std::sort(counts.begin(), counts.end());
    for (const auto& [count, op] : counts)
        line("operator", fmt::format("{:>6}  {}", -count, op));
    for (const std::string& text : s.problemTexts)
        line("problem", text);
    return out;
}

} // namespace nabla::app
