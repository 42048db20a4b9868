// Batching: nodes of a graph made to work on many examples at once, one by one, in an editor.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/autodiff/batch_builder.h"
#include "engine/base/stop.h"

namespace nabla::engine {

/// Nodes that no example changes stay as they are. Of the others, those with a rule (batch_rules.cpp) work on all examples at once; one without
/// becomes the body of a Scan over the batch, whose outputs must have one shape for all examples.
class Batching {
public:
    /// `types`: of the graph that the editor began with. `batch`: the size of the batch, for the types of what is made.
    Batching(GraphEditor& editor, std::shared_ptr<const TypeMap> types, Dim batch);

    /// From now on `value` is `batched` for all examples: the same with an axis in front.
    void set(ValueId value, ValueId batched) { m_batched[value] = batched; }
    /// `order`: producers first. Errors (Run): a batched value that is no tensor; Cancelled.
    Result<void> run(const std::vector<NodeId>& order, const JobControl& job);
    /// None when all examples share the value.
    ValueId batched(ValueId value) const;
    /// What the value is for all examples.
    Batched forAll(ValueId value) const;

    std::size_t atOnce() const { return m_atOnce; }          ///< nodes by rules
    const std::vector<NodeId>& oneByOne() const { return m_oneByOne; } ///< nodes in Scans

private:
    Result<void> visit(const Node& node);
    std::vector<Batched> shared(const Node& node);
    std::vector<Batched> scan(const Node& node);

    GraphEditor& m_editor;
    std::shared_ptr<const TypeMap> m_types;
    Dim m_batch;
    std::unordered_map<ValueId, ValueId> m_batched, m_shared; ///< m_shared: what was batched for one example, but is the same for all
    std::size_t m_atOnce = 0;
    std::vector<NodeId> m_oneByOne;
};

/// The type of a value with the batch in front.
ValueType batchedType(const ValueType& type, const Dim& batch);

} // namespace nabla::engine
