// The parts that gradient rules share: making nodes and constants, and undoing broadcasting.
#include "engine/ops/gradient_builder.h"

#include <fmt/format.h>

#include "engine/tensor/element.h"

namespace nabla::engine {

GradientBuilder::GradientBuilder(GraphEditor& editor, const Node& forward, TypeOf typeOf, std::vector<bool> wanted)
    : m_editor(editor), m_forward(forward), m_typeOf(std::move(typeOf)), m_wanted(std::move(wanted)),
      m_createdBy(std::make_shared<const std::string>(fmt::format("grad/{}", forward.opType))) { }

std::vector<ValueId> GradientBuilder::ops(
    std::string_view opType, std::vector<ValueId> inputs, std::size_t outputs, std::vector<Attribute> attributes, std::string_view domain) {
    NodeSpec spec;
    spec.opType = std::string(opType);
    spec.domain = std::string(domain);
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.outputCount = outputs;
    spec.gradientOf = m_forward.id;
    spec.origins = m_forward.origins;
    spec.createdBy = m_createdBy;
    return m_editor.outputs(m_editor.add(std::move(spec)));
}

ValueId GradientBuilder::op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes, std::string_view domain) {
    return ops(opType, std::move(inputs), 1, std::move(attributes), domain).front();
}

ValueId GradientBuilder::constant(Tensor tensor) {
    return m_editor.addInitializer(fmt::format("grad.{}.const", m_forward.opType), std::make_shared<const Tensor>(std::move(tensor)));
}
ValueId GradientBuilder::ints(std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return constant(Tensor::of<std::int64_t>({count}, values));
}
ValueId GradientBuilder::intScalar(std::int64_t value) { return constant(Tensor::scalar(value)); }

namespace {
Tensor filled(DType dtype, Shape shape, double value) {
    Tensor t = *Tensor::make(dtype, std::move(shape)); // one element: cannot be over the limit
    writeDouble(dtype, t.mutableRaw(), 0, value);
    return t;
}
} // namespace

ValueId GradientBuilder::scalar(ValueId like, double value) {
    const DType known = dtype(like);
    if (known != DType::Undefined)
        return constant(filled(known, {}, value));
    return op("CastLike", {constant(filled(DType::Float64, {}, value)), like});
}

ValueId GradientBuilder::reshapeLike(ValueId a, ValueId like) {
    const ValueType t = type(like);
    const std::optional<Shape> known = t.concreteShape();
    return op("Reshape", {a, known ? ints(*known) : shapeOf(like)}, {intAttr("allowzero", 1)});
}

ValueId GradientBuilder::zerosLike(ValueId like) {
    const DType known = dtype(like);
    if (known == DType::Undefined)
        return op("CastLike", {op("ConstantOfShape", {shapeOf(like)}), like});
    return op("ConstantOfShape", {shapeOf(like)}, {{"value", std::make_shared<const Tensor>(filled(known, {1}, 0))}});
}

ValueId GradientBuilder::castLike(ValueId a, ValueId like) {
    const DType to = dtype(like);
    if (to == DType::Undefined)
        return op("CastLike", {a, like});
    return dtype(a) == to ? a : op("Cast", {a}, {intAttr("to", static_cast<std::int64_t>(to))});
}

ValueId GradientBuilder::reduceSum(ValueId a, std::vector<std::int64_t> axes, bool keepDims) {
    if (axes.empty())
        return a;
    return op("ReduceSum", {a, ints(std::move(axes))}, {intAttr("keepdims", keepDims ? 1 : 0)});
}

std::optional<std::size_t> GradientBuilder::rank(ValueId value) const {
    const ValueType t = type(value);
    return t.shape ? std::optional(t.shape->size()) : std::nullopt;
}

ValueType GradientBuilder::type(ValueId value) const {
    if (ValueType known = m_typeOf(value); known.kind != ValueType::Kind::Unknown)
        return known;
    if (const auto it = m_inferred.find(value); it != m_inferred.end())
        return it->second;
    const Value* v = m_editor.graph().value(value);
    if (!v)
        return {};
    if (v->constant)
        return ValueType::tensor(v->constant->dtype(), ShapeView(v->constant->shape()));
    const Node* node = m_editor.graph().producer(value);
    // Only this rule's own nodes are looked through: a cotangent's type is the caller's to know, and the chain stays short.
    if (!node || node->gradientOf != m_forward.id)
        return v->declared;
    InferenceInputs inputs;
    for (const ValueId input : node->inputs) {
        inputs.types.push_back(input ? type(input) : ValueType{});
        inputs.constants.push_back(input ? m_editor.graph().constant(input) : nullptr);
        inputs.shapeData.emplace_back();
    }
    std::vector<ValueType> outputs(node->outputs.size());
    if (auto inferred = inferNodeTypes(m_editor.graph(), *node, inputs, nullptr))
        outputs = std::move(*inferred);
    for (std::size_t i = 0; i < node->outputs.size() && i < outputs.size(); ++i) {
        if (node->outputs[i])
            m_inferred[node->outputs[i]] = outputs[i];
    }
    return m_inferred[value];
}

namespace {

/// The axes of `cotangent` along which `like` was repeated, when the types tell; aligned at the end.
std::optional<std::vector<std::int64_t>> repeatedAxes(const SymbolicShape& cotangent, const SymbolicShape& like) {
    if (cotangent.size() < like.size())
        return std::nullopt;
    const std::size_t lead = cotangent.size() - like.size();
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < cotangent.size(); ++i) {
        if (i < lead) {
            axes.push_back(static_cast<std::int64_t>(i));
            continue;
        }
        const Dim& wide = cotangent[i];
        const Dim& narrow = like[i - lead];
        if (narrow.constant() == 1) {
            if (wide.constant() != 1)
                axes.push_back(static_cast<std::int64_t>(i));
        } else if (!narrow.constant() && !narrow.sameAs(wide)) {
            return std::nullopt; // may turn out to be 1
        }
    }
    return axes;
}

} // namespace

ValueId GradientBuilder::unbroadcast(ValueId cotangent, ValueId like) {
    const ValueType wide = type(cotangent), narrow = type(like);
    if (wide.shape && narrow.shape) {
        if (const auto axes = repeatedAxes(*wide.shape, *narrow.shape)) {
            const auto lead = wide.shape->size() - narrow.shape->size();
            if (axes->size() == lead)
                return reduceSum(cotangent, *axes, false);
            const ValueId summed = reduceSum(cotangent, *axes, true);
            std::vector<std::int64_t> leading;
            for (std::size_t i = 0; i < lead; ++i)
                leading.push_back(static_cast<std::int64_t>(i));
            return leading.empty() ? summed : op("Squeeze", {summed, ints(std::move(leading))});
        }
    }
    // At run time: the shape of `like` with leading ones; every axis where it is 1 is summed (over one element where nothing was repeated).
    const ValueId shape = shapeOf(like);
    const ValueId missing = sub(shapeOf(shapeOf(cotangent)), shapeOf(shape));
    const ValueId ones = op("ConstantOfShape", {missing}, {{"value", std::make_shared<const Tensor>(filled(DType::Int64, {1}, 1))}});
    const ValueId aligned = op("Concat", {ones, shape}, {intAttr("axis", 0)});
    const ValueId isOne = op("Equal", {aligned, intScalar(1)});
    const ValueId axes = op("Reshape", {op("NonZero", {isOne}), ints({-1})});
    const ValueId summed = op("ReduceSum", {cotangent, axes}, {intAttr("keepdims", 1), intAttr("noop_with_empty_axes", 1)});
    return op("Reshape", {summed, shape}, {intAttr("allowzero", 1)});
}

} // namespace nabla::engine
