// ReverseSweep: the chain rule, from seeds back to the values asked for, over nodes that stand in an editor already.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/autodiff/value_types.h"
#include "engine/base/stop.h"
#include "engine/graph/graph_editor.h"
#include "engine/ops/gradient_builder.h"

namespace nabla::engine {

/// What all sweeps of one grad() share: the main graph's and those of bodies inside it.
struct SweepContext {
    ValueTypes& types;
    const JobControl& job;
    std::vector<Diagnostic>& notes;
};

/// Linear in the nodes. Cotangents of one value are summed by Add (two) or Sum (more).
class ReverseSweep {
public:
    /// `order`: forward nodes, producers first. A gradient is carried only between `wrt` and the seeds.
    ReverseSweep(
        SweepContext& context, GraphEditor& editor, std::vector<NodeId> order, const std::vector<ValueId>& wrt);

    /// Adds a cotangent that arrives from outside.
    void seed(ValueId value, ValueId cotangent) { contribute(value, cotangent); }
    /// Errors (Run): a node on the way without rule, by name.
    Result<void> run();
    /// The sum of all cotangents of a value after run(); none when no path reaches it.
    ValueId cotangent(ValueId value);
    /// Every value that has one, with it.
    const std::unordered_map<ValueId, ValueId>& cotangents() const { return m_totals; }

private:
    void contribute(ValueId value, ValueId cotangent);
    Result<ValueId> total(ValueId value);
    Result<void> visit(NodeId id);
    Result<std::vector<ValueId>> applyRule(
        const Node& node, const std::vector<ValueId>& outputGrads, const std::vector<bool>& wanted);
    Result<std::vector<ValueId>> bodyVjp(const BodyVjpRequest& request);

    SweepContext& m_context;
    GraphEditor& m_editor;
    std::vector<NodeId> m_order;
    std::unordered_set<ValueId> m_active; ///< reached from wrt through values that carry a gradient
    std::unordered_map<ValueId, std::vector<ValueId>> m_contributions;
    std::unordered_map<ValueId, ValueId> m_totals;
};

/// Values reached from `wrt` over `order`, as far as a gradient can flow.
std::unordered_set<ValueId> reachedFrom(
    const Graph& graph, const std::vector<NodeId>& order, const std::vector<ValueId>& wrt, ValueTypes& types);

} // namespace nabla::engine
