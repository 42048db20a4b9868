// The part of the graph cut out, differentiated and put in the node's place.
#include "engine/passes/legalize/gradient_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/autodiff/grad.h"
#include "engine/graph/copy_graph.h"
#include "engine/graph/dead_nodes.h"
#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

constexpr std::string_view kDomain = "ai.onnx.preview.training";

bool isGradient(const Node& node) {
    return node.opType == "Gradient" && node.domain == kDomain;
}

bool hasInBodies(const Graph& graph) {
    bool found = false;
    graph.forEachNode([&](const Node& node) {
        found = found || isGradient(node);
        for (const auto& [name, body] : node.bodies())
            found = found || hasInBodies(*body);
    });
    return found;
}

/// What a Gradient node's attributes name.
struct Cut {
    std::vector<ValueId> formals; ///< xs, then zs
    std::size_t xs = 0;
    ValueId y;
};

class GradientExpander {
public:
    explicit GradientExpander(PassContext& context)
        : m_context(context) { }

    Result<std::optional<Graph>> expand(const Graph& lifted, const Graph& imported) {
        NABLA_CHECK(m_context.job.check());
        Graph current = lifted;
        bool any = false;
        for (const NodeId id : topologicalOrder(lifted)->order) {
            const Node* node = current.node(id);
            if (!node || !isGradient(*node))
                continue;
            NABLA_TRY(current, expandOne(current, *node, imported).in(describe(*node)));
            any = true;
        }
        GraphEditor editor(current);
        const auto inBody = [&](const Graph& body) { return expand(body, body); };
        NABLA_TRY(const bool inBodies, rewriteBodies(editor, inBody));
        if (inBodies)
            return std::optional<Graph>(editor.finish());
        return any ? std::optional<Graph>(std::move(current)) : std::nullopt;
    }

private:
    Result<ValueId> named(const Graph& imported, const Graph& current, const std::string& name, const char* attribute) {
        ValueId found;
        imported.forEachValue([&](const Value& value) {
            if (value.name == name)
                found = value.id;
        });
        if (!found || !current.value(found))
            return runError("attribute {} names \"{}\", which is no value of the graph the node is in", attribute, name);
        return found;
    }

    Result<Cut> readCut(const Graph& current, const Node& node, const Graph& imported) {
        Cut cut;
        for (const char* attribute : {"xs", "zs"}) {
            const Attribute* list = node.attribute(attribute);
            const auto* names = list ? std::get_if<std::vector<std::string>>(&list->value) : nullptr;
            for (const std::string& name : names ? *names : std::vector<std::string>{}) {
                NABLA_TRY(const ValueId value, named(imported, current, name, attribute));
                if (std::find(cut.formals.begin(), cut.formals.end(), value) != cut.formals.end())
                    return runError("\"{}\" stands twice in xs and zs", name);
                cut.formals.push_back(value);
            }
            if (cut.xs == 0)
                cut.xs = cut.formals.size();
        }
        const Attribute* y = node.attribute("y");
        const auto* name = y ? std::get_if<std::string>(&y->value) : nullptr;
        if (!name || cut.xs == 0)
            return runError("attributes xs and y have to name what is differentiated");
        NABLA_TRY(cut.y, named(imported, current, *name, "y"));
        if (node.inputs.size() != cut.formals.size() || std::find(node.inputs.begin(), node.inputs.end(), ValueId{}) != node.inputs.end())
            return runError("xs and zs name {} values, and {} are given", cut.formals.size(), node.inputs.size());
        if (node.outputs.size() > cut.xs)
            return runError("xs names {} values, and {} gradients are wanted", cut.xs, node.outputs.size());
        return cut;
    }

    /// The graph of `y` with an input in place of each formal; inputs of `current` that it reads besides follow.
    Result<Graph> cutOut(const Graph& current, const Cut& cut, std::vector<ValueId>& others) {
        const std::shared_ptr<const TypeMap> typeMap = types(current, m_context.dims);
        GraphEditor part(current);
        const ValueId y = part.addValue({.opType = "Identity", .inputs = {cut.y}});
        part.setOutputs({y});
        std::vector<ValueId> inputs;
        for (const ValueId formal : cut.formals) {
            const std::string name = part.freshName("at:" + current.value(formal)->name);
            inputs.push_back(part.addInput(name, typeMap->of(formal)));
            part.replaceUses(formal, inputs.back());
        }
        removeUnneeded(part);
        for (const ValueId input : current.inputs()) {
            if (part.consumers(input).empty()) {
                part.removeValue(input);
                continue;
            }
            others.push_back(input);
        }
        inputs.insert(inputs.end(), others.begin(), others.end());
        part.setInputs(std::move(inputs));
        Graph result = part.finish();
        const Node* left = nullptr;
        result.forEachNode([&](const Node& node) { left = isGradient(node) ? &node : left; });
        if (left)
            return runError("y depends on {}, which is no earlier node", describe(*left));
        return result;
    }

    Result<Graph> expandOne(const Graph& current, const Node& node, const Graph& imported) {
        NABLA_TRY(const Cut cut, readCut(current, node, imported));
        std::vector<ValueId> others;
        NABLA_TRY(const Graph part, cutOut(current, cut, others));
        GradOptions options;
        options.of = {part.outputs()[0]};
        options.wrt.assign(part.inputs().begin(), part.inputs().begin() + static_cast<std::ptrdiff_t>(cut.xs));
        options.cotangents = GradOptions::Cotangents::Ones;
        options.job = m_context.job;
        NABLA_TRY(const JointGraph joint, grad(part, options));
        GraphEditor backward(joint.graph);
        std::vector<ValueId> gradients;
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            gradients.push_back(joint.gradientOf.at(options.wrt[i]));
        backward.setOutputs(gradients);
        removeUnneeded(backward);
        const Graph body = backward.finish();

        GraphEditor editor(current);
        CopyOptions copy;
        copy.inputs = node.inputs;
        copy.inputs.insert(copy.inputs.end(), others.begin(), others.end());
        copy.captures.assign(current.captures().begin(), current.captures().end());
        copy.outputs = node.outputs;
        copy.namePrefix = node.name.empty() ? "Gradient/" : node.name + "/";
        copy.origins = node.origins;
        copy.createdBy = m_context.createdBy("gradient");
        const std::string reason = fmt::format("{} asks for the gradient of \"{}\" in {} of its {} variables", describe(node),
            current.value(cut.y)->name, cut.xs, cut.formals.size());
        const NodeId id = node.id;
        editor.removeNodeKeepingOutputs(id);
        m_context.record("expand-gradient", {id}, copyInto(editor, body, copy).nodes, reason);
        return editor.finish();
    }

    PassContext& m_context;
};

} // namespace

bool hasGradientNodes(const Graph& graph) {
    bool found = hasInBodies(graph);
    for (const auto& [key, function] : graph.functions())
        found = found || (function->body && hasInBodies(*function->body));
    return found;
}

Result<std::optional<Graph>> expandGradientNodes(const Graph& lifted, const Graph& imported, PassContext& context) {
    if (!hasInBodies(lifted))
        return std::optional<Graph>{};
    return GradientExpander(context).expand(lifted, imported);
}

} // namespace nabla::engine
