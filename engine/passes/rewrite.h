// The table form of a pass: rules of {name, operator, pattern, guard, replace}, applied until nothing changes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/autodiff/value_types.h"
#include "engine/graph/graph_editor.h"
#include "engine/passes/pass.h"

namespace nabla::engine {

/// The node a rule looks at, in the graph as rewritten so far.
class RewriteSite {
public:
    RewriteSite(GraphEditor& e, ValueTypes& types, PassContext& c, NodePtr n)
        : editor(e)
        , context(c)
        , m_types(types)
        , m_node(std::move(n)) { }

    GraphEditor& editor;
    PassContext& context;

    const Node& node() const { return *m_node; }
    const Node* producer(ValueId value) const { return editor.graph().producer(value); }
    const ValueType& type(ValueId value) { return m_types.of(editor.graph(), value); }
    /// An initializer's tensor or that of a Constant node; null otherwise.
    TensorPtr constant(ValueId value) const;
    /// The integers of a constant tensor; nothing when it is not constant.
    std::optional<std::vector<std::int64_t>> ints(ValueId value) const;
    bool sameShape(ValueId a, ValueId b);
    /// Exactly one node reads it, and it is no output.
    bool hasOneReader(ValueId value) const { return editor.consumers(value).size() == 1 && !editor.isOutput(value); }
    const std::string& name(ValueId value) const { return editor.graph().value(value)->name; }

private:
    ValueTypes& m_types;
    NodePtr m_node;
};

/// What an application did.
struct Applied {
    std::vector<NodeId> removed, added;
    std::string reason;
};

struct RewriteRule {
    std::string_view name;
    std::string_view opType; ///< of ai.onnx
    /// Whether the shape of the rewrite is there at all.
    bool (*pattern)(RewriteSite&);
    /// The predicate that fails, for people; nothing when the rewrite is right here.
    std::optional<std::string> (*guard)(RewriteSite&);
    Applied (*replace)(RewriteSite&);
};

/// Applies the rules to the graph and its bodies; returns the graph it was given when none applied.
Result<Graph> applyRules(const Graph& graph, PassContext& context, std::span<const RewriteRule> rules);

/// Every reader of the node's first output reads `to`; the node is gone.
Applied redirect(RewriteSite& site, ValueId to, std::string reason);
/// Why redirect() is not possible: the output's name could not be kept. A guard for rules that end in it.
std::optional<std::string> redirectGuard(const RewriteSite& site, ValueId to);
/// Puts another operator into the node's slot; its outputs keep their ids. Inputs none at the end are dropped.
Applied replaceInPlace(RewriteSite& site, std::string_view rule, std::string opType, std::vector<ValueId> inputs,
    std::vector<Attribute> attributes, std::string reason);

} // namespace nabla::engine
