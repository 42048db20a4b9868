// Constants through reference kernels, in execution order.
#include "engine/passes/fold_constants.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"
#include "engine/passes/random_ops.h"
#include "engine/passes/walk_bodies.h"

namespace nabla::engine {

namespace {

class Folder {
public:
    Folder(const Graph& main, PassContext& context)
        : m_main(main)
        , m_context(context)
        , m_types(types(main)) { }

    Result<std::optional<Graph>> fold(const Graph& graph) {
        GraphEditor editor(graph);
        NABLA_TRY(bool changed, rewriteBodies(editor, [this](const Graph& body) { return fold(body); }));
        std::size_t visited = 0;
        for (const NodeId id : topologicalOrder(graph)->order) {
            if (visited++ % 64 == 0)
                NABLA_CHECK(m_context.job.check());
            changed = foldNode(editor, id) || changed;
        }
        if (!changed)
            return std::optional<Graph>{};
        return std::optional<Graph>(editor.finish());
    }

private:
    bool foldNode(GraphEditor& editor, NodeId id) {
        const NodePtr node = editor.graph().nodePtr(id);
        if (!node->bodies().empty() || node->outputs.empty())
            return false;
        const auto inputs = constantInputs(editor, *node);
        if (auto known = inputs ? std::nullopt : fromTypes(*node)) {
            if (!mayReplace(editor, *node, "known-before-running"))
                return false;
            place(editor, *node, std::move(*known), "known-before-running",
                fmt::format("shape arithmetic gives the result of {} before running", describe(*node)));
            return true;
        }
        const bool random = inputs && isRandom(m_main, *node);
        const OpDef* op = inputs && !random && !m_main.function(*node) ? findOp(node->opType, node->domain) : nullptr;
        if (!op || !op->run.run() || op->run.isControlFlow()) {
            if (random)
                m_context.nearMiss("all-inputs-constant", id, "it draws random numbers");
            return false;
        }
        const bool isConstant = node->is("Constant");
        if (!mayReplace(editor, *node, isConstant ? "constant-node" : "all-inputs-constant"))
            return false;
        std::optional<std::vector<TensorPtr>> results = run(editor, *node, *op, *inputs);
        if (!results)
            return false;
        place(editor, *node, std::move(*results), isConstant ? "constant-node" : "all-inputs-constant",
            isConstant ? "a Constant node is an initializer"
                       : fmt::format("every input of {} is constant", describe(*node)));
        return true;
    }

    /// All outputs by type inference: Shape of a static shape and the arithmetic after it.
    std::optional<std::vector<TensorPtr>> fromTypes(const Node& node) const {
        if (node.inputs.empty())
            return std::nullopt;
        std::vector<TensorPtr> results;
        for (const ValueId output : node.outputs) {
            const auto it = output ? m_types->constants.find(output) : m_types->constants.end();
            if (output && it == m_types->constants.end())
                return std::nullopt;
            results.push_back(output ? it->second : nullptr);
        }
        return results;
    }

    bool mayReplace(const GraphEditor& editor, const Node& node, std::string_view rule) {
        for (const ValueId output : node.outputs) {
            if (output && editor.isOutput(output)) {
                m_context.nearMiss(std::string(rule), node.id,
                    fmt::format("it makes the output \"{}\", and an output is made by a node",
                        editor.graph().value(output)->name));
                return false;
            }
            const ValueType& type = output ? m_types->of(output) : kUnknown;
            if (const auto shape = type.isTensor() ? type.concreteShape() : std::nullopt) {
                if (tooLarge(type.elementType, *shape)) {
                    m_context.nearMiss(std::string(rule), node.id,
                        fmt::format(
                            "its result {} is above the limit of {} bytes", type.text(), m_context.foldLimitBytes));
                    return false;
                }
            }
        }
        return true;
    }

    /// Without multiplying out dimensions that may overflow.
    bool tooLarge(DType type, const Shape& shape) const {
        const auto limit = static_cast<double>(m_context.foldLimitBytes);
        double bytes = std::max(1, bitWidth(type)) / 8.0;
        for (const std::int64_t dim : shape)
            bytes *= static_cast<double>(dim);
        return bytes > limit;
    }

    static std::optional<std::vector<RuntimeValue>> constantInputs(const GraphEditor& editor, const Node& node) {
        std::vector<RuntimeValue> inputs;
        for (const ValueId input : node.inputs) {
            const TensorPtr tensor = input ? editor.graph().constant(input) : nullptr;
            if (input && !tensor)
                return std::nullopt;
            inputs.push_back(tensor ? RuntimeValue(*tensor) : RuntimeValue());
        }
        return inputs;
    }

    std::optional<std::vector<TensorPtr>> run(
        const GraphEditor& editor, const Node& node, const OpDef& op, const std::vector<RuntimeValue>& inputs) {
        std::vector<RuntimeValue> outputs(node.outputs.size());
        KernelContext kernel(node, editor.graph().opset(node.domain), inputs, outputs);
        kernel.job = &m_context.job;
        kernel.place = [this](std::size_t, DType type, const Shape& shape) -> Result<Tensor> {
            if (tooLarge(type, shape))
                return runError(
                    "a result of shape {} is above the limit of {} bytes", toString(shape), m_context.foldLimitBytes);
            return Tensor::make(type, shape);
        };
        const Result<void> done = op.run.run()(kernel);
        if (!done) {
            m_context.nearMiss(
                "all-inputs-constant", node.id, fmt::format("it cannot be computed: {}", done.error().message()));
            return std::nullopt;
        }
        std::vector<TensorPtr> results;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (node.outputs[i] && !outputs[i].isTensor()) // sequences have no initializer
                return std::nullopt;
            results.push_back(node.outputs[i] ? std::make_shared<const Tensor>(outputs[i].tensor()) : nullptr);
        }
        return results;
    }

    void place(
        GraphEditor& editor, const Node& node, std::vector<TensorPtr> results, std::string rule, std::string reason) {
        m_context.record(std::move(rule), {node.id}, {}, std::move(reason));
        const std::vector<ValueId> outputs = node.outputs;
        editor.removeNodeKeepingOutputs(node.id);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i])
                editor.setConstant(outputs[i], results[i]);
        }
    }

    inline static const ValueType kUnknown;
    const Graph& m_main;
    PassContext& m_context;
    std::shared_ptr<const TypeMap> m_types;
};

} // namespace

Result<Graph> foldConstants(const Graph& graph, PassContext& context) {
    NABLA_TRY(std::optional<Graph> folded, Folder(graph, context).fold(graph));
    return folded ? std::move(*folded) : graph;
}

} // namespace nabla::engine
