// BatchBuilder: what a batching rule writes with. One node for one example in, nodes for all examples at once out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/analysis/types.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

/// A value for all examples: with the batch axis in front, or one that they share.
struct Batched {
    ValueId value;
    bool isBatched = true;
};

/// Appends nodes on behalf of one node. Ranks and axes are those of one example unless said otherwise.
class BatchBuilder {
public:
    /// `inputs`: one per input of the node; none where omitted. `types`: of the graph before batching.
    BatchBuilder(GraphEditor& editor, const Node& node, std::vector<Batched> inputs, const TypeMap& types);

    const Node& node() const { return m_node; }
    std::size_t inputCount() const { return m_inputs.size(); }
    bool has(std::size_t i) const { return i < m_inputs.size() && m_inputs[i].value; }
    bool isBatched(std::size_t i) const { return has(i) && m_inputs[i].isBatched; }
    /// No input from `first` on is batched.
    bool areShared(std::size_t first) const;
    /// Input i as it is for all examples.
    ValueId in(std::size_t i) const { return has(i) ? m_inputs[i].value : ValueId{}; }
    std::vector<ValueId> all() const;

    std::optional<std::size_t> rank(std::size_t i) const;
    /// Number of elements of a vector input, where known.
    std::optional<std::size_t> length(std::size_t i) const;
    /// Whole numbers of a shared input that are known before running.
    std::optional<std::vector<std::int64_t>> ints(std::size_t i) const;

    ValueId op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
    /// The node again, for all examples, with these inputs.
    std::vector<Batched> again(std::vector<ValueId> inputs) { return again(std::move(inputs), m_node.attributes); }
    std::vector<Batched> again(std::vector<ValueId> inputs, std::vector<Attribute> attributes);
    ValueId vector(std::vector<std::int64_t> values);
    ValueId concat(std::vector<ValueId> parts) { return op("Concat", std::move(parts), {{"axis", std::int64_t{0}}}); }

    /// int64[1]: how many examples.
    ValueId batchSize();
    /// Input i of example rank `to`: ones between the batch axis and the rest. `to` is not below its rank; shared inputs stay.
    ValueId withRank(std::size_t i, std::size_t to);
    /// Input i with a batch axis, repeated where it is shared. Its rank must be known.
    ValueId repeated(std::size_t i);

private:
    GraphEditor& m_editor;
    const Node& m_node;
    std::vector<Batched> m_inputs;
    const TypeMap& m_types;
    ValueId m_batchSize;
    std::shared_ptr<const std::string> m_createdBy;
};

/// The outputs of a node for all examples; nothing where the rule does not know how (then the node runs once per example). What it emitted
/// before is unused and removed.
using BatchRule = std::optional<std::vector<Batched>> (*)(BatchBuilder&);

struct BatchRow {
    std::string_view opType; ///< of ai.onnx
    BatchRule rule;
};
/// The rules, family by family (batch_rules.cpp, batch_rules_layout.cpp).
std::span<const BatchRow> arithmeticBatchRows();
std::span<const BatchRow> layoutBatchRows();
/// Null for an operator without a rule.
BatchRule findBatchRule(const Node& node);

} // namespace nabla::engine
