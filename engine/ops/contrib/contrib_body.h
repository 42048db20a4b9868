// What the bodies of onnxruntime's operators are written with: a graph under construction that knows the node it stands for.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/body_sheet.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

/// Whether a body computes float16 and bfloat16 in float32 and rounds only its outputs, as onnxruntime's kernels do.
enum class Inner : bool { AsGiven, Float };

/// A body for one node. Formal inputs are there by position, none for omitted ones; attributes come with the schema's defaults.
class ContribBody {
public:
    ContribBody(const Node& node, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids, Inner inner = Inner::AsGiven);

    const Node& node() const { return m_node; }
    /// The formal input of a position; none when the node omits it.
    ValueId in(std::size_t i) const { return i < m_formals.size() ? m_formals[i] : ValueId{}; }
    std::size_t inputCount() const { return m_formals.size(); }
    DType type(std::size_t i) const { return i < m_types.size() ? m_types[i].elementType : DType::Undefined; }
    /// Rank of an input, which must be known: finish() is not reached before.
    std::size_t rank(std::size_t i) const { return m_types[i].shape->size(); }
    /// The size of one axis where it is a number.
    std::optional<std::int64_t> size(std::size_t i, std::size_t axis) const { return axis < rank(i) ? (*m_types[i].shape)[axis].constant() : std::nullopt; }
    bool wants(std::size_t output) const { return output < m_node.outputs.size() && m_node.outputs[output]; }

    std::int64_t integer(std::string_view name) const;
    float real(std::string_view name) const;
    std::string text(std::string_view name) const;
    std::vector<std::int64_t> integers(std::string_view name) const;
    bool has(std::string_view name) const { return m_node.attribute(name) != nullptr; }
    /// The node's own attributes of these names, for a node of the body.
    std::vector<Attribute> copied(std::initializer_list<std::string_view> names) const;

    ValueId op(std::string opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
        return m_sheet.op(std::move(opType), std::move(inputs), std::move(attributes));
    }
    std::vector<ValueId> ops(std::string opType, std::vector<ValueId> inputs, std::size_t outputs, std::vector<Attribute> attributes = {}) {
        return m_sheet.ops(std::move(opType), std::move(inputs), outputs, std::move(attributes));
    }
    ValueId ints(std::vector<std::int64_t> values) { return m_sheet.ints(std::move(values)); }
    ValueId intScalar(std::int64_t value) { return m_sheet.intScalar(value); }
    /// A scalar of an element type.
    ValueId scalar(DType type, double value);
    ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
    ValueId sub(ValueId a, ValueId b) { return op("Sub", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    ValueId cast(ValueId a, DType to) { return op("Cast", {a}, {number("to", static_cast<std::int64_t>(to))}); }
    /// 0 keeps the size of that axis, -1 is what is left.
    ValueId reshape(ValueId a, std::vector<std::int64_t> shape) { return op("Reshape", {a, ints(std::move(shape))}); }
    ValueId transpose(ValueId a, std::vector<std::int64_t> perm) { return op("Transpose", {a}, {{"perm", std::move(perm)}}); }
    ValueId concat(std::vector<ValueId> parts, std::int64_t axis) {
        return parts.size() == 1 ? parts.front() : op("Concat", std::move(parts), {number("axis", axis)});
    }
    ValueId unsqueeze(ValueId a, std::vector<std::int64_t> axes) { return op("Unsqueeze", {a, ints(std::move(axes))}); }
    /// The size of one axis, as a vector of one element.
    ValueId dim(ValueId a, std::int64_t axis) {
        return axis == -1 ? op("Shape", {a}, {number("start", -1)}) : op("Shape", {a}, {number("start", axis), number("end", axis + 1)});
    }
    ValueId asScalar(ValueId oneElement) { return op("Reshape", {oneElement, ints({})}); }
    /// 0 .. count - 1 in int64; count has one element.
    ValueId range(ValueId count) { return op("Range", {intScalar(0), asScalar(count), intScalar(1)}); }
    std::vector<ValueId> split(ValueId a, std::int64_t axis, const std::vector<std::int64_t>& sizes);
    std::vector<ValueId> splitEqually(ValueId a, std::int64_t axis, std::int64_t parts);

    /// The graph. A place for an output that nobody wants may be none.
    Result<GraphPtr> finish(std::vector<ValueId> outputs);

private:
    const Node& m_node;
    std::vector<ValueType> m_types;
    GraphEditor m_editor;
    Sheet m_sheet;
    std::vector<ValueId> m_formals;
    DType m_rounded = DType::Undefined; ///< the type outputs are rounded to; undefined: they are as computed
};

/// Refuses input types that a body cannot be built for: an input that must be there and is not, a rank that is not known.
Result<void> checkBodyInputs(const Node& node, const std::vector<ValueType>& inputTypes);

using ContribOutputs = Result<std::vector<ValueId>>;
/// OpDef::body of an operator whose body `write` writes.
template <ContribOutputs (*write)(ContribBody&), Inner inner = Inner::AsGiven>
Result<GraphPtr> contribBody(const Node& node, std::int64_t, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    NABLA_CHECK(checkBodyInputs(node, inputTypes));
    ContribBody body(node, inputTypes, ids, inner);
    NABLA_TRY(std::vector<ValueId> outputs, write(body));
    return body.finish(std::move(outputs));
}

} // namespace nabla::engine
