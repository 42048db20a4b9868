// Reverse mode over a batch of one-hot cotangents.
#include "engine/autodiff/jacobian.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "engine/analysis/topology.h"
#include "engine/autodiff/batching.h"
#include "engine/autodiff/grad.h"
#include "engine/graph/dead_nodes.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

namespace {

std::optional<std::int64_t> elementsOf(const ValueType& type) {
    const std::optional<Shape> shape = type.concreteShape();
    return shape ? std::optional(elementCount(*shape)) : std::nullopt;
}

/// Adds the rows of one differentiated value to a joint graph.
class Rows {
public:
    Rows(const JointGraph& joint, ValueId of)
        : m_joint(joint)
        , m_of(of)
        , m_types(types(joint.graph))
        , m_editor(joint.graph)
        , m_batching(m_editor, m_types, Dim::unknown()) { }

    Result<Graph> make(const JobControl& job, const std::function<std::string(ValueId)>& nameOf, std::map<ValueId, ValueId>& blocks) {
        const ValueId cotangent = m_joint.cotangentInput.at(m_of);
        m_count = made("Reshape", {made("Size", {m_of}), ints({1})});
        m_ofShape = made("Shape", {m_of});
        m_batching.set(cotangent, identity());
        NABLA_CHECK(m_batching.run(topologicalOrder(m_joint.graph)->order, job).in("rows of a Jacobian, all at once"));
        std::vector<ValueId> outputs;
        for (const ValueId output : m_joint.graph.outputs()) {
            const bool isGradient = std::any_of(m_joint.wrt.begin(), m_joint.wrt.end(), [&](ValueId w) { return m_joint.gradientOf.at(w) == output; });
            if (!isGradient)
                outputs.push_back(output);
        }
        for (const ValueId value : m_joint.wrt) {
            const ValueId shape = made("Shape", {value});
            const Batched rows = m_batching.forAll(m_joint.gradientOf.at(value));
            const ValueId all = rows.isBatched ? rows.value : made("Expand", {rows.value, concat({m_count, shape})}); // no path: zeros
            const ValueId block = made("Reshape", {all, concat({m_ofShape, shape})}, {{"allowzero", std::int64_t{1}}});
            declare(block, value);
            m_editor.renameValue(block, m_editor.freshName(nameOf(value)));
            outputs.push_back(block);
            blocks[value] = block;
        }
        m_editor.setOutputs(std::move(outputs));
        removeUnneeded(m_editor);
        m_editor.removeValue(cotangent);
        return m_editor.finish();
    }

private:
    ValueId made(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
        NodeSpec spec;
        spec.opType = opType;
        spec.inputs = std::move(inputs);
        spec.attributes = std::move(attributes);
        if (const Node* producer = m_joint.graph.producer(m_of)) {
            spec.origins = producer->origins;
            spec.gradientOf = producer->gradientOf ? producer->gradientOf : producer->id;
        }
        spec.createdBy = m_createdBy;
        return m_editor.addValue(std::move(spec));
    }
    ValueId ints(std::vector<std::int64_t> values) {
        const auto size = static_cast<std::int64_t>(values.size());
        return m_editor.addInitializer("jacobian_ints", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({size}, values)));
    }
    ValueId concat(std::vector<ValueId> parts) { return made("Concat", std::move(parts), {{"axis", std::int64_t{0}}}); }

    /// [n, of.shape]: row k is 1 at element k.
    ValueId identity() {
        const ValueId square = made("Expand", {ints({0}), concat({m_count, m_count})});
        const ValueId eye = made("EyeLike", {square}, {{"dtype", std::int64_t{1}}});
        const ValueId typed = made("CastLike", {eye, m_of});
        const ValueId rows = made("Reshape", {typed, concat({m_count, m_ofShape})}, {{"allowzero", std::int64_t{1}}});
        if (const ValueType& type = m_types->of(m_of); type.isTensor())
            m_editor.setDeclaredType(rows, batchedType(type, elementsOf(type) ? Dim(*elementsOf(type)) : Dim::unknown()));
        return rows;
    }

    void declare(ValueId block, ValueId wrt) {
        const ValueType &rows = m_types->of(m_of), &columns = m_types->of(wrt);
        if (!rows.shape || !columns.shape)
            return;
        SymbolicShape shape = *rows.shape;
        shape.insert(shape.end(), columns.shape->begin(), columns.shape->end());
        m_editor.setDeclaredType(block, ValueType::tensor(columns.elementType, std::move(shape)));
    }

    const JointGraph& m_joint;
    ValueId m_of;
    std::shared_ptr<const TypeMap> m_types;
    GraphEditor m_editor;
    Batching m_batching;
    ValueId m_count, m_ofShape;
    std::shared_ptr<const std::string> m_createdBy = std::make_shared<const std::string>("jacobian/rows");
};

using BlockName = std::function<std::string(ValueId of, ValueId wrt)>;

/// `outputs`: those of the result, before its blocks. Until the last row is made, everything that is still to be differentiated is an output.
Result<JacobianGraph> blocksOf(const Graph& graph, std::vector<ValueId> outputs, const JacobianOptions& options, const BlockName& nameOf) {
    JacobianGraph result;
    GraphEditor keeping(graph);
    std::vector<ValueId> kept = outputs;
    for (const ValueId of : options.of) {
        if (std::find(kept.begin(), kept.end(), of) == kept.end())
            kept.push_back(of);
    }
    keeping.setOutputs(std::move(kept));
    result.graph = keeping.finish();
    result.of = options.of;
    result.wrt = options.wrt;
    for (const ValueId of : options.of) {
        GradOptions single;
        single.of = {of};
        single.wrt = options.wrt;
        single.job = options.job;
        NABLA_TRY(const JointGraph joint, grad(result.graph, single));
        const std::shared_ptr<const TypeMap> typeMap = types(joint.graph);
        for (const ValueId wrt : options.wrt) {
            const auto rows = elementsOf(typeMap->of(of)), columns = elementsOf(typeMap->of(wrt));
            if (rows && columns)
                NABLA_CHECK(checkJacobianSize(graph.value(of)->name, *rows, graph.value(wrt)->name, *columns));
        }
        result.notes.insert(result.notes.end(), joint.notes.begin(), joint.notes.end());
        std::map<ValueId, ValueId> blocks;
        NABLA_TRY(result.graph, Rows(joint, of).make(options.job, [&](ValueId wrt) { return nameOf(of, wrt); }, blocks));
        for (const auto& [wrt, block] : blocks)
            result.blocks[{of, wrt}] = block;
    }
    for (const ValueId of : options.of) {
        for (const ValueId wrt : options.wrt)
            outputs.push_back(result.blocks.at({of, wrt}));
    }
    GraphEditor editor(result.graph);
    editor.setOutputs(std::move(outputs));
    removeUnneeded(editor);
    result.graph = editor.finish();
    return result;
}

} // namespace

Result<void> checkJacobianSize(const std::string& of, std::int64_t rows, const std::string& wrt, std::int64_t columns) {
    const std::int64_t width = std::max(rows, columns);
    if (rows > 0 && width > kMaxJacobianElements / rows)
        return usageError("the derivatives of the {} elements of \"{}\" by the {} elements of \"{}\" are too many: at most {} in a block, and {} rows", rows, of,
            columns, wrt, kMaxJacobianElements, std::int64_t{1} << 12);
    return {};
}

Result<JacobianGraph> jacobian(const Graph& graph, const JacobianOptions& given) {
    JacobianOptions options = given;
    if (options.of.empty())
        options.of = defaultOf(graph);
    if (options.of.empty())
        return usageError("the model has no float output to differentiate");
    if (options.wrt.empty())
        options.wrt = defaultWrt(graph);
    return blocksOf(graph, {graph.outputs().begin(), graph.outputs().end()}, options, [&](ValueId of, ValueId wrt) { return fmt::format("jacobian:{}:{}", graph.value(of)->name, graph.value(wrt)->name); });
}

Result<JacobianGraph> hessian(const Graph& graph, const JacobianOptions& options) {
    GradOptions first;
    first.of = options.of;
    first.wrt = options.wrt;
    first.cotangents = GradOptions::Cotangents::Ones;
    first.job = options.job;
    NABLA_TRY(const JointGraph joint, grad(graph, first));
    JacobianOptions second;
    second.wrt = joint.wrt;
    second.job = options.job;
    std::map<ValueId, ValueId> valueOf; // gradient -> what it is the gradient by
    for (const ValueId value : joint.wrt) {
        second.of.push_back(joint.gradientOf.at(value));
        valueOf[second.of.back()] = value;
    }
    const BlockName nameOf
        = [&](ValueId of, ValueId wrt) { return fmt::format("hessian:{}:{}", graph.value(valueOf.at(of))->name, graph.value(wrt)->name); };
    NABLA_TRY(JacobianGraph result, blocksOf(joint.graph, {graph.outputs().begin(), graph.outputs().end()}, second, nameOf).in("second derivative"));
    DerivativeBlocks blocks;
    for (const auto& [pair, block] : result.blocks)
        blocks[{valueOf.at(pair.first), pair.second}] = block;
    result.blocks = std::move(blocks);
    result.of = result.wrt;
    result.notes.insert(result.notes.begin(), joint.notes.begin(), joint.notes.end());
    return result;
}

} // namespace nabla::engine
