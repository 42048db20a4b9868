// Copying a graph's nodes into another one under fresh ids: inlining of function calls, bodies run again in a backward
// pass.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph_editor.h"

namespace nabla::engine {

struct CopyOptions {
    std::vector<ValueId>
        inputs; ///< values of the editor that stand for the inputs of the graph; none or missing = omitted
    std::vector<ValueId> captures; ///< the same for its captures
    /// Values without producer (GraphEditor::removeNodeKeepingOutputs) that the outputs become; none or missing = a
    /// fresh value.
    std::vector<ValueId> outputs;
    std::string namePrefix;
    std::vector<NodeId> origins; ///< of every node made; empty = those of the node copied
    NodeId gradientOf;
    std::shared_ptr<const std::string> createdBy;
    /// Value of an attribute reference; nothing = the attribute is left out. Null: references are copied as they are.
    std::function<std::optional<AttributeValue>(const AttributeReference&)> attribute;
};

struct CopiedGraph {
    std::unordered_map<ValueId, ValueId> values; ///< old to new, values of nested bodies too
    std::vector<NodeId> nodes; ///< made, in the order of the ids they come from
    std::vector<ValueId> outputs; ///< none where an omitted input was handed straight on
};

/// Appends a copy of every node and initializer of `source`; nested bodies are copied too, so that ids stay unique in
/// the document.
CopiedGraph copyInto(GraphEditor& editor, const Graph& source, const CopyOptions& options);

/// Replaces a call by the body of its function or operator. Its outputs keep their ids; `body` has the formal inputs
/// and outputs. Attribute references are bound to the call's attributes, else to the function's defaults.
CopiedGraph inlineCall(GraphEditor& editor, NodeId call, const Graph& body, const Function* function,
    std::shared_ptr<const std::string> createdBy);

} // namespace nabla::engine
