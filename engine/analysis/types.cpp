// One walk in topological order; bodies and functions are walked where they are called.
#include "engine/analysis/types.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/analysis/input_shapes.h"
#include "engine/analysis/shape_values.h"
#include "engine/analysis/symbolic_shapes.h"
#include "engine/analysis/topology.h"
#include "engine/ops/op_def.h"
#include "engine/schema/schema.h"

namespace nabla::engine {

namespace {

using Severity = Diagnostic::Severity;

constexpr int kMaxCallDepth = 64; ///< functions in functions, bodies of operators in bodies: recursion ends here

std::string clipped(std::string_view text) { return text.size() <= 300 ? std::string(text) : fmt::format("{}…", text.substr(0, 300)); }

bool sameContents(const KnownValue& a, const KnownValue& b) {
    return a.type == b.type && a.scalar == b.scalar && a.reals == b.reals
        && std::equal(a.ints.begin(), a.ints.end(), b.ints.begin(), b.ints.end(), [](const Dim& x, const Dim& y) { return x.sameAs(y); });
}

/// What is found out about one set of graphs whose ids are unique among each other.
struct Facts {
    TypeMap map;
    std::unordered_map<ValueId, KnownValue> known;
};

class Inference {
public:
    Inference(const Graph& root, const DimBindings& dims, Facts& facts, int depth) : m_root(root), m_dims(dims), m_facts(facts), m_depth(depth) { }

    /// Types of the outputs. inputs: one per graph input, Unknown where the caller knows nothing.
    std::vector<ValueType> run(const Graph& graph, const std::vector<ValueType>& inputs);
    /// Inside a model function: what attribute references stand for.
    void setCall(const Node* call, const Function* function) {
        m_call = call;
        m_function = function;
    }
    bool quiet = false; ///< no diagnostics: the same function was already walked for another call

private:
    ValueType bound(ValueType type) const;
    const ValueType& typeOf(ValueId id) const { return m_facts.map.of(id); }
    TensorPtr constantOf(const Graph& graph, ValueId id) const;
    const KnownValue* knownOf(const Graph& graph, ValueId id);
    void addStarts(const Graph& graph, const std::vector<ValueType>& inputs);
    void inferNode(const Graph& graph, const Node& node);
    NodePtr withReferences(const Node& node) const;
    Result<std::vector<ValueType>> outputTypes(const Graph& graph, const Node& node, const InferenceInputs& inputs);
    Result<std::vector<ValueType>> inferBody(const Node& node, const GraphPtr& body, const std::vector<ValueType>& inputs);
    Result<std::vector<ValueType>> inferOwnBody(const Graph& graph, const Node& node, const OpDef& op, const InferenceInputs& inputs);
    std::vector<ValueType> inferFunction(const Node& node, const Function& function, const InferenceInputs& inputs);
    void followValues(const Graph& graph, const Node& node);
    TensorPtr foldedMove(const Graph& graph, const Node& node);
    void followBranches(const Graph& graph, const Node& node, std::vector<ValueType>& outputs);
    ValueType merged(const Node& node, const Value& value, ValueType inferred);
    void checkIndices(const Graph& graph, const Node& node);
    void checkAttributes(const Node& node);
    void checkSize(const Node* node, const Value& value, const ValueType& type);
    void report(Severity severity, NodeId node, ValueId value, std::string message, bool blocksRun) {
        if (!quiet)
            m_facts.map.diagnostics.push_back({severity, node, value, std::move(message), blocksRun});
    }

    const Graph& m_root;
    const DimBindings& m_dims;
    Facts& m_facts;
    int m_depth;
    const Node* m_call = nullptr;
    const Function* m_function = nullptr;
};

/// The user's numbers in place of the names, and names that are arithmetic read as such.
ValueType Inference::bound(ValueType type) const {
    if (type.shape) {
        for (Dim& dim : *type.shape) {
            if (dim.isUnknown() || dim.constant())
                continue;
            const auto it = m_dims.find(dim.text());
            dim = it != m_dims.end() ? Dim(it->second) : parsedDim(dim);
        }
    }
    if (type.element)
        type.element = std::make_shared<const ValueType>(bound(*type.element));
    return type;
}

TensorPtr Inference::constantOf(const Graph& graph, ValueId id) const {
    if (!id)
        return nullptr;
    if (TensorPtr constant = graph.constant(id))
        return constant;
    const auto it = m_facts.map.constants.find(id);
    return it == m_facts.map.constants.end() ? nullptr : it->second;
}

const KnownValue* Inference::knownOf(const Graph& graph, ValueId id) {
    if (!id)
        return nullptr;
    if (const auto it = m_facts.known.find(id); it != m_facts.known.end())
        return &it->second;
    const TensorPtr constant = constantOf(graph, id);
    auto known = constant ? knownFromTensor(*constant) : std::nullopt;
    return known ? &m_facts.known.emplace(id, std::move(*known)).first->second : nullptr;
}

void Inference::checkSize(const Node* node, const Value& value, const ValueType& type) {
    if (!type.isTensor() || bitWidth(type.elementType) == 0)
        return;
    const auto shape = type.concreteShape();
    if (!shape)
        return;
    const bool valid = checkShape(*shape).has_value();
    const std::int64_t count = valid ? elementCount(*shape) : 0;
    if (valid && count <= Tensor::maxTensorBytes() && storageBytes(type.elementType, count) <= Tensor::maxTensorBytes())
        return;
    report(Severity::Error, node ? node->id : NodeId{}, value.id,
        fmt::format("\"{}\" {} is too large: its size is beyond the memory limit of {} bytes", clipped(value.name), type.text(), Tensor::maxTensorBytes()), true);
}

/// Dimension by dimension: numbers win over names, names over nothing; two numbers that differ are a clash.
ValueType Inference::merged(const Node& node, const Value& value, ValueType inferred) {
    if (value.declared.kind == ValueType::Kind::Unknown)
        return inferred;
    ValueType declared = bound(value.declared);
    if (inferred.kind == ValueType::Kind::Unknown)
        return declared;
    const bool tensors = inferred.isTensor() && declared.isTensor();
    if (inferred.kind != declared.kind || (tensors && declared.elementType != DType::Undefined && inferred.elementType != DType::Undefined && declared.elementType != inferred.elementType)) {
        report(Severity::Warning, node.id, value.id,
            fmt::format("{}: the file declares \"{}\" as {}, inference says {}", clipped(describe(node)), clipped(value.name), declared.text(), inferred.text()), false);
        return inferred;
    }
    if (!tensors)
        return inferred;
    if (inferred.elementType == DType::Undefined)
        inferred.elementType = declared.elementType;
    if (!inferred.shape) {
        inferred.shape = declared.shape;
        return inferred;
    }
    if (!declared.shape)
        return inferred;
    bool clash = declared.shape->size() != inferred.shape->size();
    for (std::size_t i = 0; !clash && i < inferred.shape->size(); ++i) {
        Dim& mine = (*inferred.shape)[i];
        const Dim& theirs = (*declared.shape)[i];
        if (mine.isUnknown() || (!mine.constant() && theirs.constant()))
            mine = theirs;
        else
            clash = mine.constant() && theirs.constant() && mine.constant() != theirs.constant();
    }
    if (clash) {
        report(Severity::Warning, node.id, value.id,
            fmt::format("{}: the file declares \"{}\" with shape {}, inference says {}", clipped(describe(node)), clipped(value.name), toString(*declared.shape), toString(*inferred.shape)), false);
    }
    return inferred;
}

void Inference::addStarts(const Graph& graph, const std::vector<ValueType>& inputs) {
    const std::vector<SymbolicShape> named = namedInputShapes(graph);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const Value& value = *graph.value(graph.inputs()[i]);
        ValueType type = value.declared;
        if (&graph == &m_root && m_depth == 0 && type.isTensor() && type.shape)
            type.shape = named[i];
        type = bound(std::move(type));
        if (i < inputs.size() && inputs[i].kind != ValueType::Kind::Unknown) {
            const bool keepShape = inputs[i].isTensor() && !inputs[i].shape && type.isTensor();
            auto shape = type.shape;
            type = inputs[i];
            if (keepShape)
                type.shape = shape;
        }
        checkSize(nullptr, value, type);
        m_facts.map.values[value.id] = std::move(type);
    }
    graph.forEachValue([&](const Value& value) {
        if (value.producer || m_facts.map.values.contains(value.id))
            return;
        if (value.constant)
            m_facts.map.values.emplace(value.id, ValueType::tensor(value.constant->dtype(), ShapeView(value.constant->shape())));
        else
            m_facts.map.values.emplace(value.id, bound(value.declared));
    });
}

std::vector<ValueType> Inference::run(const Graph& graph, const std::vector<ValueType>& inputs) {
    addStarts(graph, inputs);
    const auto order = topologicalOrder(graph);
    for (const NodeId id : order->order)
        inferNode(graph, *graph.node(id));
    for (const NodeId id : order->inCycle) {
        for (const ValueId output : graph.node(id)->outputs) {
            if (output)
                m_facts.map.values[output] = bound(graph.value(output)->declared);
        }
    }
    std::vector<ValueType> outputs;
    for (const ValueId id : graph.outputs())
        outputs.push_back(typeOf(id));
    return outputs;
}

/// The node with the caller's attributes in place of references to them; null when there is nothing to replace.
NodePtr Inference::withReferences(const Node& node) const {
    const auto refers = [](const Attribute& a) { return std::holds_alternative<AttributeReference>(a.value); };
    if (!m_function || std::none_of(node.attributes.begin(), node.attributes.end(), refers))
        return nullptr;
    auto copy = std::make_shared<Node>(node);
    std::erase_if(copy->attributes, [&](Attribute& a) {
        if (!refers(a))
            return false;
        const std::string name = std::get<AttributeReference>(a.value).name;
        const Attribute* given = m_call->attribute(name);
        if (!given) {
            const auto& defaults = m_function->attributeDefaults;
            const auto it = std::find_if(defaults.begin(), defaults.end(), [&](const Attribute& each) { return each.name == name; });
            given = it == defaults.end() ? nullptr : &*it;
        }
        if (given)
            a.value = given->value;
        return !given;
    });
    return copy;
}

std::vector<ValueType> Inference::inferFunction(const Node& node, const Function& function, const InferenceInputs& inputs) {
    std::vector<ValueType> none(node.outputs.size());
    if (m_depth >= kMaxCallDepth)
        return none; // recursion is reported by problems()
    Facts facts;
    Inference inner(m_root, m_dims, facts, m_depth + 1);
    inner.setCall(&node, &function);
    inner.quiet = quiet || (!function.body->outputs().empty() && m_facts.map.values.contains(function.body->outputs()[0]));
    for (std::size_t i = 0; i < function.body->inputs().size() && i < inputs.constants.size(); ++i) {
        if (inputs.constants[i])
            facts.map.constants[function.body->inputs()[i]] = inputs.constants[i];
    }
    std::vector<ValueType> outputs = inner.run(*function.body, inputs.types);
    outputs.resize(node.outputs.size());
    m_facts.map.values.insert(facts.map.values.begin(), facts.map.values.end()); // the first call's types stay: the body is shown once
    for (Diagnostic& d : facts.map.diagnostics)
        report(d.severity, d.node, d.value, std::move(d.message), d.blocksRun);
    return outputs;
}

Result<std::vector<ValueType>> Inference::inferBody(const Node& node, const GraphPtr& body, const std::vector<ValueType>& inputs) {
    if (m_depth >= kMaxCallDepth)
        return std::vector<ValueType>(body->outputs().size());
    const auto bodies = node.bodies();
    const bool own = std::any_of(bodies.begin(), bodies.end(), [&](const auto& entry) { return entry.second == body; });
    if (!own) { // the function body of an operator: its ids are not of this document
        Facts facts;
        Inference inner(*body, m_dims, facts, m_depth + 1);
        return inner.run(*body, inputs);
    }
    for (std::size_t k = 0; k < node.captures.size() && k < body->captures().size(); ++k) {
        const ValueId formal = body->captures()[k], outer = node.captures[k];
        m_facts.map.values[formal] = typeOf(outer);
        if (const auto it = m_facts.map.constants.find(outer); it != m_facts.map.constants.end())
            m_facts.map.constants[formal] = it->second;
        if (const auto it = m_facts.known.find(outer); it != m_facts.known.end())
            m_facts.known[formal] = KnownValue(it->second);
    }
    ++m_depth;
    auto outputs = run(*body, inputs);
    --m_depth;
    return outputs;
}

/// An operator whose body is ours and of which the library knows nothing. Without a body for what is known so far, nothing is known.
Result<std::vector<ValueType>> Inference::inferOwnBody(const Graph& graph, const Node& node, const OpDef& op, const InferenceInputs& inputs) {
    std::vector<ValueType> unknown(node.outputs.size());
    if (m_depth >= kMaxCallDepth)
        return unknown;
    const auto body = op.body(node, graph.opset(node.domain), inputs.types, std::make_shared<IdSource>());
    if (!body || !*body)
        return unknown;
    Facts facts;
    Inference inner(**body, m_dims, facts, m_depth + 1);
    for (std::size_t i = 0; i < (*body)->inputs().size() && i < inputs.constants.size(); ++i) {
        if (inputs.constants[i])
            facts.map.constants[(*body)->inputs()[i]] = inputs.constants[i];
    }
    std::vector<ValueType> outputs = inner.run(**body, inputs.types);
    const auto error = std::find_if(facts.map.diagnostics.begin(), facts.map.diagnostics.end(), [](const Diagnostic& d) { return d.blocksRun; });
    if (error != facts.map.diagnostics.end())
        return Error{ErrorKind::Run, error->message};
    outputs.resize(node.outputs.size());
    return outputs;
}

Result<std::vector<ValueType>> Inference::outputTypes(const Graph& graph, const Node& node, const InferenceInputs& inputs) {
    if (const Function* function = m_root.function(node))
        return inferFunction(node, *function, inputs);
    const auto infer = [&](const GraphPtr& body, const std::vector<ValueType>& types) { return inferBody(node, body, types); };
    if (const OpDef* op = findOp(node.opType, node.domain); op && op->body && op->run.expands())
        return inferOwnBody(graph, node, *op, inputs);
    return inferNodeTypes(graph, node, inputs, infer);
}

void Inference::inferNode(const Graph& graph, const Node& original) {
    const NodePtr replaced = withReferences(original);
    const Node& node = replaced ? *replaced : original;
    InferenceInputs inputs;
    inputs.types.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) {
        inputs.types.push_back(id ? typeOf(id) : ValueType{});
        inputs.constants.push_back(constantOf(graph, id));
        inputs.shapeData.emplace_back();
        const ValueType& type = inputs.types.back();
        if (!inputs.constants.back() && type.isTensor() && type.elementType == DType::Int64) {
            if (const KnownValue* known = knownOf(graph, id))
                inputs.shapeData.back() = known->ints;
        }
    }
    for (const ValueId id : node.captures)
        knownOf(graph, id); // so that bodies find the values of captured initializers
    auto outputs = outputTypes(graph, node, inputs);
    if (!outputs) {
        report(Severity::Error, node.id, {}, clipped(fmt::format("{}: {}", clipped(describe(node)), outputs.error().message())), true);
        outputs = std::vector<ValueType>(node.outputs.size());
    }
    outputs->resize(node.outputs.size());
    const OpDef* op = findOp(node.opType, node.domain);
    for (std::size_t i = 0; op && op->refineShape && i < outputs->size(); ++i) {
        if (auto refined = op->refineShape(graph, node, inputs, i))
            (*outputs)[i] = std::move(*refined);
    }
    if (node.opType == "If" && node.domain.empty())
        followBranches(graph, node, *outputs);
    refineSymbolicShapes(node, graph.opset(node.domain), inputs, *outputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i])
            continue;
        const Value& value = *graph.value(node.outputs[i]);
        ValueType type = merged(node, value, std::move((*outputs)[i]));
        checkSize(&node, value, type);
        m_facts.map.values[value.id] = std::move(type);
    }
    if (node.domain.empty()) {
        checkAttributes(node);
        followValues(graph, node);
        checkIndices(graph, node);
    }
}

void Inference::followValues(const Graph& graph, const Node& node) {
    if (!followsValues(node.opType) || node.outputs.size() != 1 || !node.outputs[0])
        return;
    const ValueId output = node.outputs[0];
    if (node.opType == "Constant") {
        if (const TensorPtr tensor = node.tensorAttribute("value"); tensor && tensor->elementCount() <= 1024)
            m_facts.map.constants[output] = tensor;
    }
    const KnownInputs inputs{node, graph.opset(""), [&](std::size_t i) -> const ValueType& { return typeOf(node.input(i)); },
        [&](std::size_t i) { return knownOf(graph, node.input(i)); }};
    auto known = evaluateKnown(inputs);
    if (!known) {
        if (TensorPtr folded = foldedMove(graph, node))
            m_facts.map.constants[output] = std::move(folded);
        return;
    }
    if (const TensorPtr tensor = known->tensor())
        m_facts.map.constants[output] = tensor;
    m_facts.known.insert_or_assign(output, std::move(*known));
}

/// Exporters move padding tables through matrices: small known integers of any rank, moved about by the operator's own kernel.
TensorPtr Inference::foldedMove(const Graph& graph, const Node& node) {
    constexpr std::string_view kMoves[] = {"Reshape", "Transpose", "Slice", "Concat", "Gather", "Squeeze", "Unsqueeze"};
    constexpr std::int64_t kMostElements = 1024;
    if (std::find(std::begin(kMoves), std::end(kMoves), node.opType) == std::end(kMoves))
        return nullptr;
    const std::int64_t opset = graph.opset("");
    const OpDef* op = findOp(node.opType, "");
    const OperatorSchema* schema = findSchema(node.opType, "", opset);
    const auto isOld = [&](const Upgrade& upgrade) { return schema->sinceVersion <= upgrade.through; };
    if (!op || !op->run.run() || !schema || std::any_of(op->upgrades.begin(), op->upgrades.end(), isOld))
        return nullptr;
    std::vector<RuntimeValue> inputs(node.inputs.size()), outputs(1);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const TensorPtr constant = constantOf(graph, node.inputs[i]);
        if (node.inputs[i] && (!constant || !constant->defined() || !isInteger(constant->dtype()) || constant->elementCount() > kMostElements))
            return nullptr;
        if (constant)
            inputs[i] = RuntimeValue(*constant);
    }
    KernelContext kernel(node, opset, inputs, outputs);
    kernel.place = [](std::size_t, DType type, const Shape& shape) -> Result<Tensor> {
        NABLA_CHECK(checkShape(shape));
        if (elementCount(shape) > kMostElements)
            return runError("{} is more than is followed", toString(shape));
        return Tensor::make(type, shape);
    };
    const Result<void> done = op->run.run()(kernel);
    return done && outputs[0].isTensor() ? std::make_shared<const Tensor>(outputs[0].tensor()) : nullptr;
}

/// The branch that a known condition takes decides alone, types and contents; what both branches hold needs no condition.
void Inference::followBranches(const Graph& graph, const Node& node, std::vector<ValueType>& outputs) {
    const GraphPtr branches[] = {node.graphAttribute("else_branch"), node.graphAttribute("then_branch")};
    const KnownValue* condition = knownOf(graph, node.input(0));
    const auto number = condition && condition->size() == 1 && !condition->isFloat() ? condition->ints[0].constant() : std::nullopt;
    const bool decided = number.has_value(), truth = number.value_or(0) != 0;
    const auto holds = [&](std::size_t branch, std::size_t output) -> const KnownValue* {
        const GraphPtr& body = branches[branch];
        return body && output < body->outputs().size() ? knownOf(*body, body->outputs()[output]) : nullptr;
    };
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
        const KnownValue *otherwise = holds(0, i), *then = holds(1, i);
        const KnownValue* known = decided ? (truth ? then : otherwise) : then && otherwise && sameContents(*then, *otherwise) ? then : nullptr;
        if (known && node.outputs[i]) {
            if (const TensorPtr tensor = known->tensor())
                m_facts.map.constants[node.outputs[i]] = tensor;
            m_facts.known.insert_or_assign(node.outputs[i], KnownValue(*known));
        }
        const GraphPtr& taken = branches[truth ? 1 : 0];
        if (decided && taken && i < taken->outputs().size() && typeOf(taken->outputs()[i]).kind != ValueType::Kind::Unknown)
            outputs[i] = typeOf(taken->outputs()[i]);
    }
}

/// Numbers that no operator can mean, whether or not the library's inference looks at them.
void Inference::checkAttributes(const Node& node) {
    const auto complain = [&](const std::string& what) { report(Severity::Error, node.id, {}, fmt::format("{}: {}", clipped(describe(node)), what), true); };
    for (const Attribute& attribute : node.attributes) {
        if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
            const ValueType& type = typeOf(node.input(0));
            if (attribute.name == "axis" && type.isTensor() && type.shape) {
                const auto rank = static_cast<std::int64_t>(type.shape->size());
                if (*number < -rank - 1 || *number > rank) // one more than the rank: some operators add an axis
                    complain(fmt::format("axis {} is out of range for a tensor of rank {}", *number, rank));
            } else if (attribute.name == "group" && *number < 1) {
                complain(fmt::format("group {} is not positive", *number));
            }
        } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
            const bool size = attribute.name == "kernel_shape" || attribute.name == "strides" || attribute.name == "dilations";
            if (size && std::any_of(list->begin(), list->end(), [](std::int64_t v) { return v < 1; }))
                complain(fmt::format("{} [{}] holds a number below 1", attribute.name, fmt::join(*list, ",")));
        }
    }
}

/// Gather and GatherElements with indices that are known and cannot be right.
void Inference::checkIndices(const Graph& graph, const Node& node) {
    if (node.opType != "Gather" && node.opType != "GatherElements")
        return;
    const TensorPtr indices = constantOf(graph, node.input(1));
    const ValueType& data = typeOf(node.input(0));
    if (!indices || !isInteger(indices->dtype()) || indices->elementCount() > 1024 || !data.isTensor() || !data.shape)
        return;
    const auto axis = normalizeAxis(node.intAttribute("axis", 0), data.shape->size());
    const auto size = axis ? (*data.shape)[static_cast<std::size_t>(*axis)].constant() : std::nullopt;
    if (!size)
        return;
    for (const std::int64_t index : indices->toInt64s()) {
        if (index < -*size || index >= *size) {
            report(Severity::Error, node.id, {}, fmt::format("{}: index {} is out of range: axis {} of \"{}\" has {} entries", clipped(describe(node)), index, *axis,
                clipped(graph.value(node.input(0))->name), *size), true);
            return;
        }
    }
}

TypeMap computeTypes(const Graph& graph, const DimBindings& dims) {
    Facts facts;
    facts.map.values.reserve(graph.valueCount());
    Inference(graph, dims, facts, 0).run(graph, {});
    const ShapeCoverage coverage = shapeCoverage(graph, facts.map);
    facts.map.dims = coverage.dims;
    facts.map.knownDims = coverage.knownDims;
    return std::move(facts.map);
}

} // namespace

const ValueType& TypeMap::of(ValueId value) const {
    static const ValueType kUnknown;
    const auto it = values.find(value);
    return it == values.end() ? kUnknown : it->second;
}

std::shared_ptr<const TypeMap> types(const Graph& graph, const DimBindings& dims) {
    std::string key = "types";
    for (const auto& [name, value] : dims)
        key += fmt::format("\x1f{}={}", name, value);
    return graph.memo().get<TypeMap>(key, [&] { return computeTypes(graph, dims); });
}

} // namespace nabla::engine
