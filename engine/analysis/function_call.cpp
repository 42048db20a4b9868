// Attribute references resolved for one call.
#include "engine/analysis/function_call.h"

#include <algorithm>
#include <map>

#include "engine/analysis/lift_opset.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

namespace {

using Given = std::map<std::string, AttributeValue, std::less<>>;
constexpr int kMaxDepth = 100; // the importer bounds nesting lower; a guard for graphs made elsewhere

Result<Graph> withAttributes(const Graph& body, const Given& given, int depth);

Result<bool> resolve(Node& node, const Given& given, int depth) {
    bool changed = false;
    std::vector<Attribute> kept;
    for (Attribute& attribute : node.attributes) {
        if (const auto* reference = std::get_if<AttributeReference>(&attribute.value)) {
            changed = true;
            if (const auto it = given.find(reference->name); it != given.end())
                kept.push_back({attribute.name, it->second});
            continue;
        }
        if (const auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
            NABLA_TRY(Graph inner, withAttributes(**body, given, depth + 1));
            if (!inner.sameStateAs(**body)) {
                attribute.value = std::make_shared<const Graph>(std::move(inner));
                changed = true;
            }
        }
        kept.push_back(std::move(attribute));
    }
    node.attributes = std::move(kept);
    return changed;
}

Result<Graph> withAttributes(const Graph& body, const Given& given, int depth) {
    if (depth > kMaxDepth)
        return runError("bodies are nested more than {} deep", kMaxDepth);
    std::vector<Node> changed;
    Result<void> done;
    body.forEachNode([&](const Node& node) {
        const bool mayChange = std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& a) {
            return std::holds_alternative<AttributeReference>(a.value) || std::holds_alternative<GraphPtr>(a.value);
        });
        if (!mayChange || !done)
            return;
        Node copy = node;
        const Result<bool> resolved = resolve(copy, given, depth);
        if (!resolved)
            done = resolved.error();
        else if (*resolved)
            changed.push_back(std::move(copy));
    });
    if (!done)
        return done.error();
    if (changed.empty())
        return body;
    GraphEditor editor(body);
    for (Node& node : changed)
        editor.replaceNode(std::move(node));
    return editor.finish();
}

/// The body of a call makes only the outputs that the call wants (Attention's caches and scores): the place of another one is taken by one
/// that is made, since results go by position and nobody reads that one.
Graph wantedOutputsOnly(const Graph& body, const Node& call) {
    std::vector<ValueId> outputs(body.outputs().begin(), body.outputs().end());
    outputs.resize(std::min(outputs.size(), call.outputs.size()));
    const auto wanted = [&](std::size_t i) { return static_cast<bool>(call.outputs[i]); };
    std::size_t made = 0;
    while (made < outputs.size() && !wanted(made))
        ++made;
    if (made == outputs.size())
        return body;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!wanted(i))
            outputs[i] = outputs[made];
    }
    if (std::equal(outputs.begin(), outputs.end(), body.outputs().begin(), body.outputs().end()))
        return body;
    GraphEditor editor(body);
    editor.setOutputs(std::move(outputs));
    return editor.finish();
}

} // namespace

Result<Graph> functionForCall(const Function& function, const Node& call) {
    Given given;
    for (const Attribute& attribute : function.attributeDefaults)
        given[attribute.name] = attribute.value;
    for (const Attribute& attribute : call.attributes)
        given[attribute.name] = attribute.value;
    for (const std::string& name : function.attributes) {
        if (!given.contains(name))
            return runError("the function {} needs the attribute \"{}\"", function.name, name);
    }
    return withAttributes(*function.body, given, 0);
}

Result<Graph> bodyForCall(
    const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    NABLA_TRY(const GraphPtr body, newestOperatorBody(node, opset, inputTypes, ids));
    if (!body)
        return runError("the operator {} has no body for opset {} and these input types", node.opType, opset);
    return wantedOutputsOnly(*body, node);
}

} // namespace nabla::engine
