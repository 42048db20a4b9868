// OpDef: all the engine knows about one operator, in one table row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/stop.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/schema/schema.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::engine {

/// Runs a body graph (If, Loop, Scan): its inputs, then its captures, in; its outputs out. Supplied by whoever executes.
using RunBody = std::function<Result<std::vector<RuntimeValue>>(const GraphPtr& body, std::vector<RuntimeValue> inputs, std::vector<RuntimeValue> captures)>;

/// Everything a kernel sees. Outputs are made through makeOutput so that the executor may place them in its arena.
class KernelContext {
public:
    KernelContext(const Node& node, std::int64_t opset, std::span<const RuntimeValue> inputs, std::span<RuntimeValue> outputs)
        : m_node(node), m_opset(opset), m_inputs(inputs), m_outputs(outputs) { }

    const Node& node() const { return m_node; }
    std::int64_t opset() const { return m_opset; }

    std::size_t inputCount() const { return m_inputs.size(); }
    bool hasInput(std::size_t i) const { return i < m_inputs.size() && !m_inputs[i].absent(); }
    /// The tensor of an input; undefined when omitted or not a tensor.
    const Tensor& input(std::size_t i) const;
    const RuntimeValue& inputValue(std::size_t i) const;
    std::size_t outputCount() const { return m_outputs.size(); }
    bool wantsOutput(std::size_t i) const { return i < m_node.outputs.size() && m_node.outputs[i]; }

    /// Memory for output i: in the arena when the plan placed it and the shape is as planned, else own memory. Contents are unspecified.
    Result<Tensor> makeOutput(std::size_t i, DType dtype, const Shape& shape) const;
    void setOutput(std::size_t i, RuntimeValue value) const { m_outputs[i] = std::move(value); }

    /// The node's attribute, else the schema's default, else 0 / empty.
    std::int64_t intAttribute(std::string_view name) const;
    float floatAttribute(std::string_view name) const;
    std::string stringAttribute(std::string_view name) const;
    std::vector<std::int64_t> intsAttribute(std::string_view name) const;
    std::vector<float> floatsAttribute(std::string_view name) const;
    bool hasAttribute(std::string_view name) const { return m_node.attribute(name) != nullptr; }

    // Set by the executor; all may be empty.
    RunBody runBody;
    ThreadPool* pool = nullptr;           ///< for parallelFor inside a large kernel
    std::mt19937_64* random = nullptr;    ///< the run's generator; its seed is recorded
    std::function<Result<Tensor>(std::size_t output, DType, const Shape&)> place; ///< arena placement
    const JobControl* job = nullptr;
    std::span<const RuntimeValue> captures; ///< values of node().captures

private:
    const Node& m_node;
    std::int64_t m_opset;
    std::span<const RuntimeValue> m_inputs;
    std::span<RuntimeValue> m_outputs;
};

/// The reference kernel: the definition, written to be read. Right in every type the schema allows.
using RunFunction = Result<void> (*)(const KernelContext&);

class GradientBuilder;
/// Cotangents that arrive at the outputs, one per output; none = no path leads there.
using OutputGrads = std::span<const ValueId>;
/// Cotangents of the inputs, one per input (captures after them for control flow); none = no gradient.
using Gradients = Result<std::vector<ValueId>>;
using GradientFunction = Gradients (*)(GradientBuilder&, const Node&, OutputGrads);

/// A rule, or the reason why there is none. Has no default: leaving it out of a row does not compile.
class GradientRule {
public:
    constexpr GradientRule(GradientFunction function) : m_rule(function) { }
    friend constexpr GradientRule notDifferentiable(std::string_view why);
    friend constexpr GradientRule throughBody();

    constexpr GradientFunction rule() const { return m_rule; }
    constexpr std::string_view reason() const { return m_reason; }
    constexpr bool usesBody() const { return m_body; }

private:
    constexpr GradientRule(std::string_view why, bool body) : m_reason(why), m_body(body) { }
    GradientFunction m_rule = nullptr;
    std::string_view m_reason;
    bool m_body = false;
};
/// No gradient flows through (integer results, comparisons, shapes): the path is cut with this reason.
constexpr GradientRule notDifferentiable(std::string_view why) { return {why, false}; }
/// Differentiate the operator's function body.
constexpr GradientRule throughBody() { return {"", true}; }

/// How an operator runs.
class RunRule {
public:
    constexpr RunRule(RunFunction function) : m_run(function) { }
    friend constexpr RunRule expandBody();
    friend constexpr RunRule controlFlow(RunFunction function);
    constexpr RunFunction run() const { return m_run; }
    constexpr bool expands() const { return m_expands; }
    constexpr bool isControlFlow() const { return m_control; }

private:
    constexpr RunRule(RunFunction function, bool expanding, bool control) : m_run(function), m_expands(expanding), m_control(control) { }
    RunFunction m_run = nullptr;
    bool m_expands = false, m_control = false;
};
/// By its function body only.
constexpr RunRule expandBody() { return {nullptr, true, false}; }
/// By a kernel that calls KernelContext::runBody.
constexpr RunRule controlFlow(RunFunction function) { return {function, false, true}; }

/// Work of one node on concrete shapes. The convention stands in docs/operators.md.
struct NodeCost {
    std::int64_t flops = 0;        ///< a multiply-add counts two
    std::int64_t bytesRead = 0, bytesWritten = 0;
    std::int64_t parameters = 0;   ///< what was learned: numbers of its float initializers of rank >= 1
    bool known = false;            ///< false: flops and bytes depend on a shape or value that is not known before running
};
struct CostInputs {
    const Node& node;
    std::span<const std::optional<Shape>> inputs, outputs;
    std::span<const DType> inputTypes, outputTypes;
    std::span<const TensorPtr> constants; ///< per input; null when not known before running
    std::int64_t opset = 0;               ///< the node is of any version of its operator
};
/// What a CostFunction returns when it depends on more than is known.
inline constexpr std::int64_t kUnknownFlops = -1;
/// FLOPs, from shapes that are all known, or kUnknownFlops.
using CostFunction = std::int64_t (*)(const CostInputs&);
/// Corrects `cost`, in which every input is read once and every output written once.
using BytesFunction = void (*)(const CostInputs&, NodeCost& cost);

/// Where the FLOPs of an operator come from. Has no default: leaving it out of a row does not compile.
class FlopsRule {
public:
    constexpr FlopsRule(CostFunction rule) : m_function(rule) { }
    friend constexpr FlopsRule flopsOfBody();
    friend constexpr FlopsRule flopsOfIterations();
    constexpr CostFunction function() const { return m_function; } ///< null: counted by engine/analysis/cost.cpp
    constexpr bool countsBody() const { return m_function == nullptr && !m_iterates; }
    constexpr bool countsIterations() const { return m_iterates; }

private:
    constexpr explicit FlopsRule(bool iterates) : m_iterates(iterates) { }
    CostFunction m_function = nullptr;
    bool m_iterates = false;
};
/// The nodes of the body that the operator expands to.
constexpr FlopsRule flopsOfBody() { return FlopsRule(false); }
/// Control flow: the bodies that run, as often as they run.
constexpr FlopsRule flopsOfIterations() { return FlopsRule(true); }

/// Lifts a node of an older version, by emitting the newer form. A row's entries are sorted by `through`, ascending; the first one that
/// applies (schema version of the node <= through) is used, alone, and lifts to the newest version.
class GraphEditor;
struct UpgradeContext {
    GraphEditor& editor;
    const Node& node;
    std::int64_t opset;                                     ///< of the graph the node came from
    std::function<ValueType(ValueId)> type;                 ///< what is known of a value's type
};
struct Upgrade {
    std::int64_t through;                                   ///< applies to nodes whose schema version is at most this
    Result<void> (*apply)(UpgradeContext&);                 ///< replaces the node (outputs keep their ids through replaceNode or replaceUses)
};

/// One operator. Documentation, attributes, defaults, types and shape inference come from its schema and are not typed again.
struct OpDef {
    std::string_view name;
    std::string_view domain = "";
    std::int64_t since;                 ///< version of the schema the row is written for: the newest
    std::string_view source;            ///< where the definition stands
    RunRule run;
    GradientRule gradient;
    FlopsRule flops;                    ///< shared rules: engine/ops/cost_rules.h
    BytesFunction bytes = nullptr;      ///< null: every input is read once, every output written once
    std::span<const Upgrade> upgrades = {};
    /// Rules for symbolic dimensions that the library loses.
    std::optional<ValueType> (*refineShape)(const Graph&, const Node&, const InferenceInputs&, std::size_t output) = nullptr;
    /// An expansion into standard operators for an operator whose schema has no function body (recurrent ones, ours): same contract as
    /// functionBody(). throughBody() differentiates it.
    Result<GraphPtr> (*body)(const Node&, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr&) = nullptr;
};

/// The row of an operator; null when nobody registered it.
const OpDef* findOp(std::string_view name, std::string_view domain);
/// The body to expand or differentiate a node by: the row's own, else the schema's function body; null when there is neither.
Result<GraphPtr> operatorBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids);
/// Every registered operator, family by family.
std::span<const OpDef* const> allOps();

} // namespace nabla::engine
