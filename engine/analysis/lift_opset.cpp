// One walk over the nodes; each old one goes through the upgrade steps of its operator, oldest first.
#include "engine/analysis/lift_opset.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"
#include "engine/schema/arity.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

ModelInfoPtr newestInfo(const ModelInfo& info) {
    ModelInfo copy = info;
    copy.opsets[""] = newestOpset("");
    return std::make_shared<const ModelInfo>(std::move(copy));
}

/// One graph of the model with its bodies: the main graph or a function.
class Lifter {
public:
    Lifter(const Graph& root, std::string_view createdByPrefix, const DimBindings& dims, const JobControl& job,
        std::vector<LiftedNode>* lifted)
        : m_root(root)
        , m_prefix(createdByPrefix)
        , m_dims(dims)
        , m_job(job)
        , m_lifted(lifted)
        , m_opset(root.opset(""))
        , m_info(newestInfo(root.info())) { }

    Result<Graph> lift(const Graph& graph) {
        GraphEditor editor(graph);
        std::vector<NodeId> nodes;
        nodes.reserve(graph.nodeCount());
        graph.forEachNode([&](const Node& node) { nodes.push_back(node.id); });
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (i % 1024 == 0)
                NABLA_CHECK(m_job.check());
            NABLA_CHECK(liftBodies(editor, nodes[i]));
            NABLA_CHECK(liftNode(editor, nodes[i]));
        }
        editor.setInfo(m_info);
        return editor.finish();
    }

private:
    Result<void> liftBodies(GraphEditor& editor, NodeId id) {
        const NodePtr old = editor.graph().nodePtr(id);
        if (old->bodies().empty())
            return {};
        Node node = *old;
        for (Attribute& attribute : node.attributes) {
            if (auto* body = std::get_if<GraphPtr>(&attribute.value); body && *body) {
                NABLA_TRY(Graph lifted, lift(**body));
                *body = std::make_shared<const Graph>(std::move(lifted));
            } else if (auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
                for (GraphPtr& each : *list) {
                    NABLA_TRY(Graph lifted, lift(*each));
                    each = std::make_shared<const Graph>(std::move(lifted));
                }
            }
        }
        editor.replaceNode(std::move(node));
        return {};
    }

    Result<void> liftNode(GraphEditor& editor, NodeId id) {
        const NodePtr original = editor.graph().nodePtr(id);
        if (!original->domain.empty() || m_root.function(*original))
            return {};
        const OpDef* op = findOp(original->opType, original->domain);
        if (!op || op->upgrades.empty())
            return {};
        const OperatorSchema* schema = findSchema(original->opType, original->domain, m_opset);
        if (!schema)
            return {};
        NABLA_CHECK(checkArity(*original, m_opset).in(describe(*original))); // upgrades take it for granted
        std::vector<const Upgrade*> steps;
        for (const Upgrade& upgrade : op->upgrades) {
            if (schema->sinceVersion <= upgrade.through)
                steps.push_back(&upgrade);
        }
        std::stable_sort(
            steps.begin(), steps.end(), [](const Upgrade* a, const Upgrade* b) { return a->through < b->through; });
        for (const Upgrade* step : steps) {
            const NodePtr node = editor.graph().nodePtr(id);
            if (!node
                || node->opType != original->opType) // became another operator, which is written in its newest form
                break;
            NABLA_CHECK(apply(editor, *step, node).in(describe(*node)));
        }
        record(editor, *original, schema->sinceVersion, op->since);
        return {};
    }

    Result<void> apply(GraphEditor& editor, const Upgrade& step, const NodePtr& node) {
        const std::uint32_t firstNew = editor.graph().ids()->nextNode().value;
        UpgradeContext upgrade{editor, *node, m_opset, [this](ValueId value) { return typeOf(value); }};
        NABLA_CHECK(step.apply(upgrade));
        const std::uint32_t end = editor.graph().ids()->nextNode().value;
        for (std::uint32_t id = firstNew; id < end; ++id) {
            if (const Node* made = editor.graph().node(NodeId{id})) {
                mark(editor, *made, *node); // which replaces *made
                m_added.push_back(NodeId{id});
            }
        }
        if (const NodePtr now = editor.graph().nodePtr(node->id); now && now != node)
            mark(editor, *now, *node);
        return {};
    }

    /// What an upgrade makes comes from the node it replaces.
    void mark(GraphEditor& editor, const Node& made, const Node& from) {
        Node node = made;
        node.origins = from.origins;
        node.createdBy = createdBy(from.opType);
        editor.replaceNode(std::move(node));
    }

    void record(const GraphEditor& editor, const Node& original, std::int64_t from, std::int64_t to) {
        if (editor.graph().node(original.id) == &original) { // no step changed anything
            m_added.clear();
            return;
        }
        if (editor.graph().node(original.id))
            m_added.insert(m_added.begin(), original.id);
        if (m_lifted) {
            m_lifted->push_back({original.id, original.opType,
                fmt::format("{} is {}-{} in opset {}; the newest is version {}", describe(original), original.opType,
                    from, m_opset, to),
                std::move(m_added)});
        }
        m_added.clear();
    }

    std::shared_ptr<const std::string> createdBy(const std::string& opType) {
        auto& text = m_createdBy[opType];
        if (!text)
            text = std::make_shared<const std::string>(fmt::format("{}/lift-{}", m_prefix, opType));
        return text;
    }

    ValueType typeOf(ValueId value) {
        if (!m_types)
            m_types = types(m_root, m_dims);
        return m_types->of(value);
    }

    const Graph& m_root;
    std::string m_prefix;
    const DimBindings& m_dims;
    const JobControl& m_job;
    std::vector<LiftedNode>* m_lifted;
    std::int64_t m_opset;
    ModelInfoPtr m_info;
    std::shared_ptr<const TypeMap> m_types;
    std::vector<NodeId> m_added;
    std::unordered_map<std::string, std::shared_ptr<const std::string>> m_createdBy;
};

} // namespace

bool hasOldOpset(const Graph& graph) {
    const std::int64_t opset = graph.opset("");
    return opset > 0 && opset < newestOpset("");
}

Result<Graph> liftOpset(const Graph& graph, std::string_view createdByPrefix, const DimBindings& dims,
    const JobControl& job, std::vector<LiftedNode>* lifted) {
    if (!hasOldOpset(graph))
        return graph;
    return Lifter(graph, createdByPrefix, dims, job, lifted).lift(graph);
}

Result<GraphPtr> newestOperatorBody(
    const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    NABLA_TRY(GraphPtr body, operatorBody(node, opset, inputTypes, ids));
    if (!body || !hasOldOpset(*body))
        return body;
    GraphEditor editor(*body); // upgrade rules may ask for types
    for (std::size_t i = 0; i < body->inputs().size() && i < inputTypes.size(); ++i)
        editor.setDeclaredType(body->inputs()[i], inputTypes[i]);
    NABLA_TRY(Graph lifted, liftOpset(editor.finish(), "expand", {}, {}));
    return std::make_shared<const Graph>(std::move(lifted));
}

} // namespace nabla::engine
