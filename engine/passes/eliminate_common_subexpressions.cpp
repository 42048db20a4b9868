// Nodes in execution order, looked up by what they compute.
#include "engine/passes/eliminate_common_subexpressions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/passes/random_ops.h"
#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

/// Initializers above this are not compared byte by byte (two large equal weights are rare, reading them is not free).
constexpr std::int64_t kMaxComparedBytes = 1 << 20;

bool sameTensor(const TensorPtr& a, const TensorPtr& b) {
    if (a == b)
        return true;
    if (!a || !b || a->dtype() != b->dtype() || a->shape() != b->shape() || a->bytes() > kMaxComparedBytes
        || a->dtype() == DType::String)
        return false;
    return a->bytes() == 0 || std::memcmp(a->raw(), b->raw(), static_cast<std::size_t>(a->bytes())) == 0;
}

/// Floats by their bits: -0 and 0 are different attributes.
template <typename T> bool sameBits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

bool sameAttribute(const AttributeValue& a, const AttributeValue& b) {
    if (a.index() != b.index())
        return false;
    if (const auto* tensor = std::get_if<TensorPtr>(&a))
        return sameTensor(*tensor, std::get<TensorPtr>(b));
    if (const auto* number = std::get_if<float>(&a))
        return sameBits(*number, std::get<float>(b));
    if (const auto* numbers = std::get_if<std::vector<float>>(&a)) {
        const auto& others = std::get<std::vector<float>>(b);
        return std::equal(numbers->begin(), numbers->end(), others.begin(), others.end(),
            [](float x, float y) { return sameBits(x, y); });
    }
    return a == b; // graphs and sparse tensors by identity
}

bool sameComputation(const Node& a, const Node& b) {
    if (a.opType != b.opType || a.domain != b.domain || a.overload != b.overload || a.inputs != b.inputs
        || a.attributes.size() != b.attributes.size() || a.outputs.size() != b.outputs.size())
        return false;
    for (const Attribute& attribute : a.attributes) {
        const Attribute* other = b.attribute(attribute.name);
        if (!other || !sameAttribute(attribute.value, other->value))
            return false;
    }
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
        if (b.outputs[i] && !a.outputs[i]) // the first one does not make what the second one makes
            return false;
    }
    return true;
}

std::size_t hashOf(const Node& node) {
    std::size_t hash = std::hash<std::string>{}(node.opType);
    for (const ValueId input : node.inputs)
        hash = hash * 1099511628211U + input.value;
    return hash;
}

class CommonSubexpressions {
public:
    CommonSubexpressions(const Graph& main, PassContext& context)
        : m_main(main)
        , m_context(context) { }

    Result<std::optional<Graph>> merge(const Graph& graph) {
        NABLA_CHECK(m_context.job.check());
        GraphEditor editor(graph);
        NABLA_TRY(bool changed, rewriteBodies(editor, [this](const Graph& body) { return merge(body); }));
        changed = mergeConstants(editor) || changed;
        changed = mergeNodes(editor, topologicalOrder(graph)->order) || changed;
        if (!changed)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    bool mergeConstants(GraphEditor& editor) {
        std::map<std::pair<DType, Shape>, std::vector<ValueId>> groups;
        editor.graph().forEachValue([&](const Value& value) {
            const TensorPtr tensor = editor.graph().constant(value.id);
            if (tensor && tensor->dtype() != DType::String && !editor.isOutput(value.id))
                groups[{tensor->dtype(), tensor->shape()}].push_back(value.id);
        });
        bool changed = false;
        for (const auto& [key, ids] : groups) {
            std::unordered_map<std::size_t, std::vector<ValueId>> byContent;
            for (const ValueId id : ids) {
                const TensorPtr tensor = editor.graph().constant(id);
                if (tensor->bytes() > kMaxComparedBytes)
                    continue;
                auto& same = byContent[std::hash<std::string_view>{}(
                    {reinterpret_cast<const char*>(tensor->raw()), static_cast<std::size_t>(tensor->bytes())})];
                const auto first = std::find_if(same.begin(), same.end(),
                    [&](ValueId other) { return sameTensor(editor.graph().constant(other), tensor); });
                if (first == same.end()) {
                    same.push_back(id);
                    continue;
                }
                m_context.record("same-initializer", {}, {},
                    fmt::format("initializers \"{}\" and \"{}\" hold the same elements",
                        editor.graph().value(*first)->name, editor.graph().value(id)->name));
                editor.replaceUses(id, *first);
                editor.removeValue(id);
                changed = true;
            }
        }
        return changed;
    }

    bool mergeNodes(GraphEditor& editor, const std::vector<NodeId>& order) {
        std::unordered_map<std::size_t, std::vector<NodeId>> seen;
        bool changed = false;
        for (const NodeId id : order) {
            const NodePtr node = editor.graph().nodePtr(id);
            if (!node->bodies().empty() || isRandom(m_main, *node))
                continue;
            auto& candidates = seen[hashOf(*node)];
            const auto first = std::find_if(candidates.begin(), candidates.end(),
                [&](NodeId other) { return sameComputation(*editor.graph().node(other), *node); });
            if (first == candidates.end()) {
                candidates.push_back(id);
                continue;
            }
            changed = mergeInto(editor, *editor.graph().node(*first), *node) || changed;
        }
        return changed;
    }

    bool mergeInto(GraphEditor& editor, const Node& first, const Node& second) {
        for (std::size_t i = 0; i < second.outputs.size(); ++i) {
            if (second.outputs[i] && !editor.canReplace(second.outputs[i], first.outputs[i])) {
                m_context.nearMiss("same-node", second.id,
                    fmt::format("it gives the output \"{}\" its name, which {} cannot give too",
                        editor.graph().value(second.outputs[i])->name, describe(first)));
                return false;
            }
        }
        const std::vector<ValueId> kept = first.outputs; // replaceUses makes new node objects
        const NodeId removed = second.id;
        m_context.record(
            "same-node", {removed}, {}, fmt::format("{} computes what {} computed", describe(second), describe(first)));
        for (std::size_t i = 0; i < kept.size(); ++i) {
            if (i < second.outputs.size() && second.outputs[i])
                editor.replaceUses(second.outputs[i], kept[i]);
        }
        editor.removeNode(removed);
        return true;
    }

    const Graph& m_main;
    PassContext& m_context;
};

} // namespace

Result<Graph> eliminateCommonSubexpressions(const Graph& graph, PassContext& context) {
    NABLA_TRY(std::optional<Graph> merged, CommonSubexpressions(graph, context).merge(graph));
    return merged ? std::move(*merged) : graph;
}

} // namespace nabla::engine
