// What is in a model, as one plain struct: the verb `info` prints it and the window shows it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/analysis/types.h"
#include "engine/graph/graph.h"

namespace nabla::app {

struct ModelSummary {
    std::string path, format, producer, producerVersion, doc;
    std::int64_t irVersion = 0;
    std::map<std::string, std::int64_t> opsets;
    struct Port {
        std::string name, type;
        bool hasDefault = false;
    };
    std::vector<Port> inputs, outputs;
    std::map<std::string, std::int64_t> operators;      ///< `domain.Op` -> count, main graph and bodies
    std::size_t nodes = 0, nodesWithBodies = 0, edges = 0, initializers = 0, functions = 0;
    std::int64_t parameters = 0, parameterBytes = 0;
    std::optional<std::int64_t> flops, bytesMoved, peakBytes, lowerBoundBytes;
    std::int64_t dims = 0, knownDims = 0;               ///< those that are not known depend on data
    std::int64_t untyped = 0, unknownRanks = 0;         ///< values nothing is known of; tensors whose rank depends on data
    std::vector<engine::Diagnostic> problems;
    std::vector<std::string> problemTexts;              ///< `severity: node: message`
    std::vector<std::pair<std::string, std::string>> metadata;
};

ModelSummary summarize(const engine::Graph& graph, const engine::DimBindings& dims = {});
nlohmann::json toJson(const ModelSummary& summary);
std::string toText(const ModelSummary& summary);

/// Every value of the graph and its bodies that has a node, an input or a weight behind it: its name and its type.
std::vector<ModelSummary::Port> listValues(const engine::Graph& graph, const engine::DimBindings& dims = {});

/// Name of the place of a diagnostic and its message in one line.
std::string diagnosticText(const engine::Diagnostic& diagnostic);

} // namespace nabla::app
