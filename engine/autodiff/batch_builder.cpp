// Emits nodes with the origin of the node that they stand for.
#include "engine/autodiff/batch_builder.h"

#include <numeric>
#include <unordered_map>

namespace nabla::engine {

BatchBuilder::BatchBuilder(GraphEditor& editor, const Node& node, std::vector<Batched> inputs, const TypeMap& types)
    : m_editor(editor)
    , m_node(node)
    , m_inputs(std::move(inputs))
    , m_types(types)
    , m_createdBy(std::make_shared<const std::string>("vmap/" + node.opType)) { }

bool BatchBuilder::areShared(std::size_t first) const {
    for (std::size_t i = first; i < m_inputs.size(); ++i) {
        if (isBatched(i))
            return false;
    }
    return true;
}

std::vector<ValueId> BatchBuilder::all() const {
    std::vector<ValueId> out;
    for (const Batched& input : m_inputs)
        out.push_back(input.value);
    return out;
}

std::optional<std::size_t> BatchBuilder::rank(std::size_t i) const {
    const ValueType& type = m_types.of(m_node.input(i));
    if (!type.isTensor() || !type.shape)
        return std::nullopt;
    return type.shape->size();
}

std::optional<std::size_t> BatchBuilder::length(std::size_t i) const {
    const ValueType& type = m_types.of(m_node.input(i));
    if (!type.isTensor() || !type.shape || type.shape->size() != 1)
        return std::nullopt;
    const std::optional<std::int64_t> size = type.shape->front().constant();
    if (!size || *size < 0)
        return std::nullopt;
    return static_cast<std::size_t>(*size);
}

std::optional<std::vector<std::int64_t>> BatchBuilder::ints(std::size_t i) const {
    const ValueId id = m_node.input(i);
    if (!id || isBatched(i))
        return std::nullopt;
    TensorPtr tensor = m_editor.graph().constant(id);
    if (const auto it = m_types.constants.find(id); !tensor && it != m_types.constants.end())
        tensor = it->second;
    if (!tensor || (tensor->dtype() != DType::Int64 && tensor->dtype() != DType::Int32 && tensor->dtype() != DType::Bool))
        return std::nullopt;
    std::vector<std::int64_t> values(static_cast<std::size_t>(tensor->elementCount()));
    for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = tensor->asInt64(static_cast<std::int64_t>(k));
    return values;
}

ValueId BatchBuilder::op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
    NodeSpec spec;
    spec.opType = opType;
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.origins = m_node.origins;
    spec.gradientOf = m_node.gradientOf;
    spec.createdBy = m_createdBy;
    return m_editor.addValue(std::move(spec));
}

std::vector<Batched> BatchBuilder::again(std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
    NodeSpec spec;
    spec.opType = m_node.opType;
    spec.domain = m_node.domain;
    spec.name = m_node.name;
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.outputCount = m_node.outputs.size();
    for (const ValueId output : m_node.outputs)
        spec.outputNames.push_back(output ? "all:" + m_editor.graph().value(output)->name : "");
    spec.origins = m_node.origins;
    spec.gradientOf = m_node.gradientOf;
    spec.createdBy = m_createdBy;
    std::vector<Batched> outputs;
    for (const ValueId output : m_editor.outputs(m_editor.add(std::move(spec))))
        outputs.push_back({output, true});
    return outputs;
}

ValueId BatchBuilder::vector(std::vector<std::int64_t> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return m_editor.addInitializer("vmap_ints", std::make_shared<const Tensor>(Tensor::of<std::int64_t>({size}, values)));
}

ValueId BatchBuilder::batchSize() {
    for (std::size_t i = 0; !m_batchSize && i < m_inputs.size(); ++i) {
        if (isBatched(i))
            m_batchSize = op("Shape", {in(i)}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    }
    return m_batchSize;
}

ValueId BatchBuilder::withRank(std::size_t i, std::size_t to) {
    const std::size_t from = *rank(i);
    if (!isBatched(i) || from == to)
        return in(i);
    std::vector<std::int64_t> axes(to - from);
    std::iota(axes.begin(), axes.end(), 1);
    return op("Unsqueeze", {in(i), vector(std::move(axes))});
}

ValueId BatchBuilder::repeated(std::size_t i) {
    if (isBatched(i))
        return in(i);
    const std::size_t r = *rank(i);
    const ValueId shape = r == 0 ? batchSize() : concat({batchSize(), vector(std::vector<std::int64_t>(r, 1))});
    return op("Expand", {in(i), shape});
}

BatchRule findBatchRule(const Node& node) {
    static const std::unordered_map<std::string_view, BatchRule> kRules = [] {
        std::unordered_map<std::string_view, BatchRule> rules;
        for (const auto& rows : {arithmeticBatchRows(), layoutBatchRows()}) {
            for (const BatchRow& row : rows)
                rules.emplace(row.opType, row.rule);
        }
        return rules;
    }();
    if (!node.domain.empty())
        return nullptr;
    const auto it = kRules.find(node.opType);
    return it == kRules.end() ? nullptr : it->second;
}

} // namespace nabla::engine
