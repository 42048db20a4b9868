// FLOPs of calls: functions of the model, and operators that are counted by the body they expand to.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/analysis/cost.h"

namespace nabla::engine {

/// Counts each kind of call once: two calls of one operator with the same attributes, types and known values cost the same.
class ExpandedCosts {
public:
    using CountGraph = std::shared_ptr<const GraphCost> (*)(const Graph&, const TypeMap&, ExpandedCosts&);

    /// `model` has the functions; `count` counts the nodes of an expanded body.
    ExpandedCosts(const Graph& model, CountGraph count)
        : m_model(model)
        , m_count(count) { }

    /// FLOPs of one call; nothing when there is no body or something in it is not known before running.
    std::optional<std::int64_t> flops(
        const Graph& graph, const Node& call, const std::vector<ValueType>& inputTypes, const std::vector<TensorPtr>& constants);

private:
    Result<Graph> expanded(const Graph& graph, const Node& call, const std::vector<ValueType>& inputTypes) const;
    std::optional<std::int64_t> counted(Graph body, const std::vector<ValueType>& inputTypes, const std::vector<TensorPtr>& constants);

    const Graph& m_model;
    CountGraph m_count;
    std::unordered_map<std::string, std::optional<std::int64_t>> m_known;
    std::unordered_set<std::string> m_open; ///< calls being counted: one that leads to itself cannot run
    std::vector<Attribute> m_kept;          ///< tensors and graphs whose addresses stand in keys
    int m_depth = 0;
};

} // namespace nabla::engine
