// GradientBuilder: what a gradient rule writes with. Rules emit ordinary ONNX nodes of the newest opset.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph_editor.h"
#include "engine/ops/op_def.h"

namespace nabla::engine {

/// What a control-flow rule asks for: the vector-Jacobian product of a body, written into a backward body under construction.
struct BodyVjpRequest {
    GraphEditor& editor;              ///< of the backward body
    GraphPtr body;                    ///< the forward body; its nodes are copied and run again
    std::vector<ValueId> inputs;      ///< values of `editor` that the body's inputs stand for
    std::vector<ValueId> captures;    ///< the same for its captures
    std::vector<ValueId> outputGrads; ///< cotangent per body output; none = no path
    std::vector<bool> wanted;         ///< per input, then per capture
    const Node& forward;              ///< the control-flow node
};
/// Supplied by autodiff to the rules of If, Loop and Scan.
struct BodySupport {
    /// Cotangents of the body's inputs, then captures; none = not wanted or not reached.
    std::function<Result<std::vector<ValueId>>(const BodyVjpRequest&)> vjp;
    /// Types of the values of another editor.
    std::function<std::function<ValueType(ValueId)>(const GraphEditor&)> typesIn;
};

/// Appends nodes to the joint graph on behalf of one forward node. Every node made carries gradientOf and createdBy `grad/<Op>`.
class GradientBuilder {
public:
    using TypeOf = std::function<ValueType(ValueId)>;

    GradientBuilder(GraphEditor& editor, const Node& forward, TypeOf typeOf, std::vector<bool> wanted);

    GraphEditor& editor() { return m_editor; }
    const Node& forward() const { return m_forward; }
    /// Whether anyone asks for the cotangent of input i; rules may skip the others.
    bool wants(std::size_t input) const { return input < m_wanted.size() && m_wanted[input]; }

    /// One node with one output; the newest version of the operator.
    ValueId op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}, std::string_view domain = "");
    std::vector<ValueId> ops(std::string_view opType, std::vector<ValueId> inputs, std::size_t outputs, std::vector<Attribute> attributes = {}, std::string_view domain = "");
    ValueId constant(Tensor tensor);                       ///< an initializer
    ValueId ints(std::vector<std::int64_t> values);        ///< int64 vector
    ValueId intScalar(std::int64_t value);
    /// A rank-0 constant with the element type of `like`.
    ValueId scalar(ValueId like, double value);

    // Shorthands that keep rules to a few readable lines.
    ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
    ValueId sub(ValueId a, ValueId b) { return op("Sub", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    ValueId div(ValueId a, ValueId b) { return op("Div", {a, b}); }
    ValueId neg(ValueId a) { return op("Neg", {a}); }
    ValueId where(ValueId condition, ValueId a, ValueId b) { return op("Where", {condition, a, b}); }
    ValueId shapeOf(ValueId a) { return op("Shape", {a}); }
    ValueId reshapeLike(ValueId a, ValueId like);          ///< Reshape to the run-time shape of `like`
    ValueId zerosLike(ValueId like);                       ///< ConstantOfShape of its shape and type
    ValueId castLike(ValueId a, ValueId like);             ///< Cast to the static element type of `like`
    /// No axes: `a` itself.
    ValueId reduceSum(ValueId a, std::vector<std::int64_t> axes, bool keepDims);
    /// Undoes broadcasting: sums `cotangent` over the axes along which `like` was repeated, and gives it the shape of `like`. With static
    /// shapes a ReduceSum and Reshape; with symbolic ones the axes are computed at run time. The only place that does this.
    ValueId unbroadcast(ValueId cotangent, ValueId like);

    /// What the caller knows of it; for values this rule made, inferred from the nodes it emitted.
    ValueType type(ValueId value) const;
    DType dtype(ValueId value) const { return type(value).elementType; }
    std::optional<std::size_t> rank(ValueId value) const;

    /// For the rules of control flow (control_flow_grad.cpp); null where bodies cannot be differentiated.
    const BodySupport* bodySupport() const { return m_bodySupport; }
    void setBodySupport(const BodySupport* support) { m_bodySupport = support; }

private:
    GraphEditor& m_editor;
    const Node& m_forward;
    TypeOf m_typeOf;
    std::vector<bool> m_wanted;
    std::shared_ptr<const std::string> m_createdBy;
    mutable std::unordered_map<ValueId, ValueType> m_inferred; // of values made by this rule
    const BodySupport* m_bodySupport = nullptr;
};

inline Attribute intAttr(std::string name, std::int64_t value) { return {std::move(name), value}; }
inline Attribute floatAttr(std::string name, float value) { return {std::move(name), value}; }
inline Attribute intsAttr(std::string name, std::vector<std::int64_t> value) { return {std::move(name), std::move(value)}; }
inline Attribute stringAttr(std::string name, std::string value) { return {std::move(name), std::move(value)}; }

} // namespace nabla::engine
