// ValueTypes: types while a joint graph is being built: known ones of the forward graph, others inferred when first
// asked for.
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/analysis/types.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

/// Ids are unique in a document, so one object serves the joint graph and every backward body.
class ValueTypes {
public:
    explicit ValueTypes(std::shared_ptr<const TypeMap> forward)
        : m_forward(std::move(forward)) { }

    /// By what was set, the forward graph's inference, the declaration, or inference from the producer (iterative:
    /// chains may be long).
    const ValueType& of(const Graph& graph, ValueId value);
    void set(ValueId value, ValueType type) { m_known[value] = std::move(type); }
    /// Copies of values have the types of what they were copied from.
    void copy(const std::unordered_map<ValueId, ValueId>& oldToNew);

    /// Whether a gradient can flow through: a float tensor or a sequence of them. What is not known may.
    bool carriesGradient(const Graph& graph, ValueId value);

private:
    const ValueType* known(ValueId value) const;
    void infer(const Graph& graph, const Node& node);

    std::shared_ptr<const TypeMap> m_forward;
    std::unordered_map<ValueId, ValueType> m_known;
};

} // namespace nabla::engine
