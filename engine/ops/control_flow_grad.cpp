// Gradients of If, Loop and Scan: backward control flow over bodies that run the forward body again and then turn
// round.
#include "engine/ops/control_flow_grad.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/graph/dead_nodes.h"

namespace nabla::engine {

namespace {

bool isFloatTensor(const ValueType& type) {
    return type.isTensor() && isDifferentiable(type.elementType);
}

/// The type of one iteration's part: without the axis that iterations are stacked along.
ValueType withoutAxis(ValueType type, std::int64_t axis) {
    if (!type.shape || type.shape->empty())
        return type;
    const auto rank = static_cast<std::int64_t>(type.shape->size());
    const std::int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
        type.shape.reset();
    else
        type.shape->erase(type.shape->begin() + at);
    return type;
}

ValueType stacked(ValueType type) {
    if (type.shape)
        type.shape->insert(type.shape->begin(), Dim::unknown());
    return type;
}

/// A backward body while it is built.
class BackwardBody {
public:
    BackwardBody(GradientBuilder& outer, const Node& forward, std::string name)
        : m_outer(outer)
        , m_forward(forward)
        , m_editor(GraphEditor::empty(std::move(name), outer.editor().graph().infoPtr(), outer.editor().graph().ids()))
        , m_builder(m_editor, forward, outer.bodySupport()->typesIn(m_editor), {}) { }

    GraphEditor& editor() { return m_editor; }
    GradientBuilder& ops() { return m_builder; }

    /// A formal that reads a value of the joint graph.
    ValueId capture(ValueId outerValue) {
        if (!outerValue)
            return {};
        m_captured.push_back(outerValue);
        const Value* value = m_outer.editor().graph().value(outerValue);
        return m_editor.addCapture(value ? value->name : "captured", m_outer.type(outerValue));
    }

    std::vector<ValueId> captureForward() {
        std::vector<ValueId> formals;
        for (const ValueId value : m_forward.captures)
            formals.push_back(capture(value));
        return formals;
    }

    Result<std::vector<ValueId>> vjp(const GraphPtr& body, std::vector<ValueId> inputs, std::vector<ValueId> captures,
        std::vector<ValueId> outputGrads, std::vector<bool> wanted) {
        return m_outer.bodySupport()->vjp({m_editor, body, std::move(inputs), std::move(captures),
            std::move(outputGrads), std::move(wanted), m_forward});
    }

    ValueId orZeros(ValueId gradient, ValueId like) { return gradient ? gradient : m_builder.zerosLike(like); }

    enum class Captures : std::uint8_t { All, Read };
    /// Without the forward nodes that the way back does not need. `All` where several bodies must have the same
    /// captures.
    GraphPtr finish(std::vector<ValueId> outputs, Captures keep) {
        std::unordered_set<ValueId> taken;
        for (ValueId& output : outputs) {
            if (!m_editor.graph().producer(output) || !taken.insert(output).second)
                output = m_builder.op("Identity", {output});
        }
        m_editor.setOutputs(std::move(outputs));
        removeUnneeded(m_editor);
        for (std::size_t k = m_captured.size(); keep == Captures::Read && k-- > 0;) {
            const ValueId formal = m_editor.graph().captures()[k];
            if (m_editor.consumers(formal).empty()) {
                m_editor.removeCapture(formal);
                m_captured.erase(m_captured.begin() + static_cast<std::ptrdiff_t>(k));
            }
        }
        return std::make_shared<const Graph>(m_editor.finish());
    }

    /// What the node that owns the body must capture.
    const std::vector<ValueId>& captured() const { return m_captured; }

private:
    GradientBuilder& m_outer;
    const Node& m_forward;
    GraphEditor m_editor;
    GradientBuilder m_builder;
    std::vector<ValueId> m_captured;
};

std::vector<ValueId> addControlNode(GradientBuilder& b, std::string opType, std::vector<ValueId> inputs,
    std::vector<Attribute> attributes, std::vector<ValueId> captures, std::size_t outputs) {
    NodeSpec spec;
    spec.createdBy = std::make_shared<const std::string>("grad/" + opType);
    spec.opType = std::move(opType);
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.captures = std::move(captures);
    spec.outputCount = outputs;
    spec.origins = b.forward().origins;
    spec.gradientOf = b.forward().id;
    return b.editor().outputs(b.editor().add(std::move(spec)));
}

/// Positions of captures somebody asks for.
std::vector<std::size_t> wantedCaptures(const GradientBuilder& b, const Node& n) {
    std::vector<std::size_t> wanted;
    for (std::size_t k = 0; k < n.captures.size(); ++k) {
        if (b.wants(n.inputs.size() + k))
            wanted.push_back(k);
    }
    return wanted;
}

Result<void> requireSupport(const GradientBuilder& b) {
    if (!b.bodySupport())
        return runError("the gradient of {} needs a caller that can differentiate bodies", b.forward().opType);
    return {};
}

} // namespace

Gradients gradIf(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_CHECK(requireSupport(b));
    const std::vector<std::size_t> wanted = wantedCaptures(b, n);
    std::vector<ValueId> captures;
    std::vector<Attribute> attributes;
    for (const char* name : {"then_branch", "else_branch"}) {
        const GraphPtr body = n.graphAttribute(name);
        if (!body)
            return runError("attribute {} is missing", name);
        BackwardBody backward(b, n, fmt::format("{}_gradient", name));
        const std::vector<ValueId> formals = backward.captureForward();
        std::vector<ValueId> outputGrads;
        for (const ValueId grad : dy)
            outputGrads.push_back(backward.capture(grad));
        std::vector<bool> wantedMask(formals.size());
        for (const std::size_t k : wanted)
            wantedMask[k] = true;
        NABLA_TRY(const std::vector<ValueId> grads,
            backward.vjp(body, {}, formals, std::move(outputGrads), std::move(wantedMask)).in(name));
        std::vector<ValueId> outputs;
        for (const std::size_t k : wanted)
            outputs.push_back(backward.orZeros(grads[k], formals[k]));
        attributes.push_back({name, backward.finish(std::move(outputs), BackwardBody::Captures::All)});
        captures = backward.captured();
    }
    const std::vector<ValueId> made
        = addControlNode(b, "If", {n.input(0)}, std::move(attributes), std::move(captures), wanted.size());
    std::vector<ValueId> result(n.inputs.size() + n.captures.size());
    for (std::size_t j = 0; j < wanted.size(); ++j)
        result[n.inputs.size() + wanted[j]] = made[j];
    return result;
}

namespace {

/// The forward node once more, its body giving some of the values of each iteration as further scan outputs.
struct Recorded {
    std::vector<ValueId> values; ///< of the joint graph, stacked along axis 0; one per value recorded
};

Result<Recorded> recordIterations(GradientBuilder& b, const Node& n, const GraphPtr& body,
    const std::vector<ValueId>& perIteration, std::vector<Attribute> attributes) {
    const auto createdBy = std::make_shared<const std::string>("grad/record-iterations");
    GraphEditor editor(*body);
    std::vector<ValueId> outputs(body->outputs().begin(), body->outputs().end());
    Recorded recorded;
    for (const ValueId value : perIteration) {
        const std::string name = fmt::format("{}.each", body->value(value)->name);
        NodeSpec spec{.opType = "Identity",
            .inputs = {value},
            .outputNames = {name},
            .origins = n.origins,
            .gradientOf = n.id,
            .createdBy = createdBy};
        outputs.push_back(editor.addValue(std::move(spec)));
        // Where no iteration runs, the declaration tells the element type and rank of the empty result.
        editor.setDeclaredType(outputs.back(), b.type(value));
    }
    editor.setOutputs(std::move(outputs));
    const auto augmented = std::make_shared<const Graph>(editor.finish());
    Node node = n;
    node.attributes = std::move(attributes);
    for (Attribute& attribute : node.attributes) {
        if (attribute.name == "body")
            attribute.value = augmented;
    }
    // Outputs past the last one the node names are optional in the file; positions must agree with the body's.
    b.editor().replaceNode(std::move(node));
    for (const ValueId value : perIteration)
        recorded.values.push_back(
            b.editor().appendOutput(n.id, fmt::format("{}.each", body->value(value)->name), stacked(b.type(value))));
    return recorded;
}

/// Takes back recorded values that the backward body turned out not to read. `bodyOffset`: outputs of the body before
/// the node's first one.
void dropUnreadRecords(GradientBuilder& b, NodeId id, const std::vector<ValueId>& recorded, std::size_t bodyOffset) {
    GraphEditor& editor = b.editor();
    const NodePtr node = editor.graph().nodePtr(id);
    const GraphPtr body = node->graphAttribute("body");
    std::vector<ValueId> outputs(body->outputs().begin(), body->outputs().end());
    std::vector<std::int64_t> axes = node->intsAttribute("scan_output_axes"),
                              directions = node->intsAttribute("scan_output_directions");
    bool changed = false;
    for (std::size_t i = node->outputs.size(); i-- > 0;) {
        const ValueId value = node->outputs[i];
        if (std::find(recorded.begin(), recorded.end(), value) == recorded.end() || !editor.consumers(value).empty())
            continue;
        editor.removeOutput(id, i);
        outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(bodyOffset + i));
        if (!axes.empty()) { // recorded values are the last ones, along axis 0 in order
            axes.pop_back();
            directions.pop_back();
        }
        changed = true;
    }
    if (!changed)
        return;
    GraphEditor inner(*body);
    inner.setOutputs(std::move(outputs));
    removeUnneeded(inner);
    Node lean = *editor.graph().node(id);
    for (Attribute& attribute : lean.attributes) {
        if (attribute.name == "body")
            attribute.value = std::make_shared<const Graph>(inner.finish());
        else if (attribute.name == "scan_output_axes")
            attribute.value = axes;
        else if (attribute.name == "scan_output_directions")
            attribute.value = directions;
    }
    editor.replaceNode(std::move(lean));
}

/// The parts that Loop and Scan have in common: which states are carried, which captures are asked for.
struct Carried {
    std::vector<std::size_t> floats; ///< states that cotangents flow through
    std::vector<std::size_t> captures;
};

Result<Carried> carried(
    const GradientBuilder& b, const Node& n, const GraphPtr& body, std::size_t firstState, std::size_t states) {
    Carried result;
    for (std::size_t i = 0; i < states; ++i) {
        const ValueId formal = body->inputs()[firstState + i];
        const ValueType type = b.type(formal);
        if (type.kind != ValueType::Kind::Unknown && !type.isTensor())
            return runError("state \"{}\" is a {}: only tensors can be carried through a backward {}",
                body->value(formal)->name, type.text(), n.opType);
        if (isFloatTensor(type) || type.kind == ValueType::Kind::Unknown || type.elementType == DType::Undefined)
            result.floats.push_back(i);
    }
    result.captures = wantedCaptures(b, n);
    return result;
}

ValueId gather(GradientBuilder& ops, ValueId stackedValue, ValueId index) {
    return ops.op("Gather", {stackedValue, index}, {intAttr("axis", 0)});
}

/// Next value of each capture's running sum.
void accumulate(BackwardBody& backward, const std::vector<std::size_t>& wanted, const std::vector<ValueId>& sums,
    const std::vector<ValueId>& grads, std::size_t firstCapture, std::vector<ValueId>& outputs) {
    for (std::size_t j = 0; j < wanted.size(); ++j) {
        const ValueId here = grads[firstCapture + wanted[j]];
        outputs.push_back(here ? backward.ops().add(sums[j], here) : sums[j]);
    }
}

/// Where a Loop's or Scan's body gives one fewer value than the node has outputs, positions no longer agree.
Result<void> requireOutputs(const Node& n, std::size_t expected) {
    if (n.outputs.size() != expected)
        return runError("the body gives {} outputs, the node names {}", expected, n.outputs.size());
    return {};
}

struct LoopParts {
    GraphPtr body;
    std::size_t states = 0, scans = 0;
    Carried carried;
    std::vector<ValueId> saved; ///< iteration numbers, then each state
    ValueId trips;
};

/// The body of the backward Loop: iteration k works on forward iteration trips - 1 - k.
Result<GraphPtr> loopBackwardBody(
    GradientBuilder& b, const Node& n, OutputGrads dy, const LoopParts& parts, std::vector<ValueId>& captures) {
    BackwardBody backward(b, n, "loop_gradient");
    GraphEditor& editor = backward.editor();
    GradientBuilder& ops = backward.ops();
    const ValueId step = editor.addInput("step", ValueType::tensor(DType::Int64, ShapeView{}));
    const ValueId condition = editor.addInput("go_on", ValueType::tensor(DType::Bool, ShapeView{}));
    std::vector<ValueId> stateGrads, sums;
    for (const std::size_t i : parts.carried.floats) {
        const ValueId formal = parts.body->inputs()[2 + i];
        stateGrads.push_back(
            editor.addInput(fmt::format("cotangent:{}", parts.body->value(formal)->name), b.type(formal)));
    }
    for (const std::size_t k : parts.carried.captures)
        sums.push_back(editor.addInput(
            fmt::format("sum:{}", b.editor().graph().value(n.captures[k])->name), b.type(n.captures[k])));

    const std::vector<ValueId> forwardCaptures = backward.captureForward();
    const ValueId index = ops.sub(ops.sub(backward.capture(parts.trips), ops.intScalar(1)), step);
    std::vector<ValueId> inputs{index, ops.constant(Tensor::scalar(true))};
    for (std::size_t i = 0; i < parts.states; ++i)
        inputs.push_back(gather(ops, backward.capture(parts.saved[1 + i]), index));
    std::vector<ValueId> outputGrads(1 + parts.states + parts.scans);
    std::vector<bool> wanted(inputs.size() + forwardCaptures.size());
    for (std::size_t j = 0; j < parts.carried.floats.size(); ++j) {
        outputGrads[1 + parts.carried.floats[j]] = stateGrads[j];
        wanted[2 + parts.carried.floats[j]] = true;
    }
    for (const std::size_t k : parts.carried.captures)
        wanted[inputs.size() + k] = true;
    for (std::size_t s = 0; s < parts.scans; ++s) {
        if (const ValueId grad = parts.states + s < dy.size() ? dy[parts.states + s] : ValueId{})
            outputGrads[1 + parts.states + s] = gather(ops, backward.capture(grad), index);
    }
    NABLA_TRY(const std::vector<ValueId> grads,
        backward.vjp(parts.body, inputs, forwardCaptures, std::move(outputGrads), std::move(wanted)).in("body"));
    std::vector<ValueId> outputs{ops.op("Identity", {condition})};
    for (const std::size_t i : parts.carried.floats)
        outputs.push_back(backward.orZeros(grads[2 + i], inputs[2 + i]));
    accumulate(backward, parts.carried.captures, sums, grads, inputs.size(), outputs);
    GraphPtr made = backward.finish(std::move(outputs), BackwardBody::Captures::Read);
    captures = backward.captured();
    return made;
}

} // namespace

Gradients gradLoop(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_CHECK(requireSupport(b));
    LoopParts parts;
    parts.body = n.graphAttribute("body");
    if (!parts.body || parts.body->inputs().size() < 2 || n.inputs.size() < 2)
        return runError("the body is missing or takes fewer than two inputs");
    parts.states = parts.body->inputs().size() - 2;
    if (parts.body->outputs().size() < 1 + parts.states || n.inputs.size() != 2 + parts.states)
        return runError("{} states enter, the body takes {} and gives {} outputs", n.inputs.size() - 2, parts.states,
            parts.body->outputs().size());
    parts.scans = parts.body->outputs().size() - 1 - parts.states;
    NABLA_CHECK(requireOutputs(n, parts.states + parts.scans));
    NABLA_TRY(parts.carried, carried(b, n, parts.body, 2, parts.states));

    std::vector<ValueId> perIteration{parts.body->inputs()[0]};
    for (std::size_t i = 0; i < parts.states; ++i)
        perIteration.push_back(parts.body->inputs()[2 + i]);
    NABLA_TRY(const Recorded recorded, recordIterations(b, n, parts.body, perIteration, n.attributes));
    parts.saved = recorded.values;
    // How often it ran may depend on data; the number of recorded iterations says it.
    parts.trips = b.op("Size", {parts.saved.front()});

    std::vector<ValueId> captures;
    NABLA_TRY(GraphPtr body, loopBackwardBody(b, n, dy, parts, captures));
    std::vector<ValueId> inputs{parts.trips, ValueId{}};
    for (const std::size_t i : parts.carried.floats)
        inputs.push_back(i < dy.size() && dy[i] ? dy[i] : b.zerosLike(n.inputs[2 + i]));
    for (const std::size_t k : parts.carried.captures)
        inputs.push_back(b.zerosLike(n.captures[k]));
    const std::size_t outputs = parts.carried.floats.size() + parts.carried.captures.size();
    const std::vector<ValueId> made
        = addControlNode(b, "Loop", std::move(inputs), {{"body", std::move(body)}}, std::move(captures), outputs);
    dropUnreadRecords(b, n.id, parts.saved, 1);

    std::vector<ValueId> result(n.inputs.size() + n.captures.size());
    for (std::size_t j = 0; j < parts.carried.floats.size(); ++j)
        result[2 + parts.carried.floats[j]] = made[j];
    for (std::size_t j = 0; j < parts.carried.captures.size(); ++j)
        result[n.inputs.size() + parts.carried.captures[j]] = made[parts.carried.floats.size() + j];
    return result;
}

namespace {

struct ScanParts {
    GraphPtr body;
    std::size_t states = 0, scanInputs = 0, scanOutputs = 0;
    std::vector<std::int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
    Carried carried;
    std::vector<std::size_t> wantedScanInputs;
    std::vector<ValueId> saved; ///< each state
};

std::vector<std::int64_t> filledUp(std::vector<std::int64_t> values, std::size_t count) {
    values.resize(count, 0); // the default of every one of them is 0
    return values;
}

Result<ScanParts> scanParts(const GradientBuilder& b, const Node& n) {
    ScanParts parts;
    parts.body = n.graphAttribute("body");
    if (!parts.body)
        return runError("the body is missing");
    parts.scanInputs = static_cast<std::size_t>(std::max<std::int64_t>(0, n.intAttribute("num_scan_inputs", 0)));
    if (parts.scanInputs > n.inputs.size() || parts.body->inputs().size() != n.inputs.size())
        return runError("{} inputs with {} scanned, the body takes {}", n.inputs.size(), parts.scanInputs,
            parts.body->inputs().size());
    parts.states = n.inputs.size() - parts.scanInputs;
    if (parts.body->outputs().size() < parts.states)
        return runError("the body gives {} outputs for {} states", parts.body->outputs().size(), parts.states);
    parts.scanOutputs = parts.body->outputs().size() - parts.states;
    NABLA_CHECK(requireOutputs(n, parts.states + parts.scanOutputs));
    parts.inputAxes = filledUp(n.intsAttribute("scan_input_axes"), parts.scanInputs);
    parts.inputDirections = filledUp(n.intsAttribute("scan_input_directions"), parts.scanInputs);
    parts.outputAxes = filledUp(n.intsAttribute("scan_output_axes"), parts.scanOutputs);
    parts.outputDirections = filledUp(n.intsAttribute("scan_output_directions"), parts.scanOutputs);
    NABLA_TRY(parts.carried, carried(b, n, parts.body, 0, parts.states));
    for (std::size_t m = 0; m < parts.scanInputs; ++m) {
        if (b.wants(parts.states + m))
            parts.wantedScanInputs.push_back(m);
    }
    return parts;
}

/// Inputs, scanned values and attributes of the backward Scan, in the order of its body's inputs.
struct BackwardScan {
    std::vector<ValueId> inputs;
    std::vector<std::int64_t> axes, directions;
    GraphPtr body;
    std::vector<ValueId> captures;
};

/// Scanned values that the finished body does not read.
void dropUnreadScanInputs(BackwardScan& scan, std::size_t states) {
    GraphEditor editor(*scan.body);
    std::vector<ValueId> formals(scan.body->inputs().begin(), scan.body->inputs().end());
    bool changed = false;
    // At least one stays: it says how often the body runs.
    for (std::size_t i = scan.axes.size(); i-- > 0 && scan.axes.size() > 1;) {
        const ValueId formal = formals[states + i];
        if (!editor.consumers(formal).empty() || editor.isOutput(formal))
            continue;
        const auto at = static_cast<std::ptrdiff_t>(i);
        scan.axes.erase(scan.axes.begin() + at);
        scan.directions.erase(scan.directions.begin() + at);
        scan.inputs.erase(scan.inputs.begin() + static_cast<std::ptrdiff_t>(states) + at);
        editor.removeValue(formal);
        changed = true;
    }
    if (changed)
        scan.body = std::make_shared<const Graph>(editor.finish());
}

Result<void> scanBackwardBody(
    GradientBuilder& b, const Node& n, OutputGrads dy, const ScanParts& parts, BackwardScan& scan) {
    BackwardBody backward(b, n, "scan_gradient");
    GraphEditor& editor = backward.editor();
    std::vector<ValueId> sums, inputs;
    std::vector<ValueId> outputGrads(parts.states + parts.scanOutputs);
    std::vector<bool> wanted(n.inputs.size() + n.captures.size());
    for (const std::size_t i : parts.carried.floats) {
        const ValueId formal = parts.body->inputs()[i];
        outputGrads[i] = editor.addInput(fmt::format("cotangent:{}", parts.body->value(formal)->name), b.type(formal));
        wanted[i] = true;
    }
    for (const std::size_t k : parts.carried.captures) {
        sums.push_back(editor.addInput(
            fmt::format("sum:{}", b.editor().graph().value(n.captures[k])->name), b.type(n.captures[k])));
        wanted[n.inputs.size() + k] = true;
    }
    const auto scanned = [&](ValueId value, std::int64_t axis, std::int64_t forwardDirection) {
        scan.inputs.push_back(value);
        scan.axes.push_back(axis);
        scan.directions.push_back(1 - forwardDirection);
        return editor.addInput(b.editor().graph().value(value)->name, withoutAxis(b.type(value), axis));
    };
    for (const ValueId saved : parts.saved)
        inputs.push_back(scanned(saved, 0, 0));
    for (std::size_t m = 0; m < parts.scanInputs; ++m)
        inputs.push_back(scanned(n.inputs[parts.states + m], parts.inputAxes[m], parts.inputDirections[m]));
    for (std::size_t s = 0; s < parts.scanOutputs; ++s) {
        if (const ValueId grad = dy[parts.states + s])
            outputGrads[parts.states + s] = scanned(grad, parts.outputAxes[s], parts.outputDirections[s]);
    }
    for (const std::size_t m : parts.wantedScanInputs)
        wanted[parts.states + m] = true;
    NABLA_TRY(const std::vector<ValueId> grads,
        backward.vjp(parts.body, inputs, backward.captureForward(), std::move(outputGrads), std::move(wanted))
            .in("body"));
    std::vector<ValueId> outputs;
    for (const std::size_t i : parts.carried.floats)
        outputs.push_back(backward.orZeros(grads[i], inputs[i]));
    accumulate(backward, parts.carried.captures, sums, grads, inputs.size(), outputs);
    for (const std::size_t m : parts.wantedScanInputs)
        outputs.push_back(backward.orZeros(grads[parts.states + m], inputs[parts.states + m]));
    scan.body = backward.finish(std::move(outputs), BackwardBody::Captures::Read);
    dropUnreadScanInputs(scan, parts.carried.floats.size() + parts.carried.captures.size());
    scan.captures = backward.captured();
    return {};
}

std::vector<Attribute> scanAttributes(const ScanParts& parts, const BackwardScan& scan) {
    std::vector<std::int64_t> axes, directions; // the gradient of a scanned input lies where the input lay
    for (const std::size_t m : parts.wantedScanInputs) {
        axes.push_back(parts.inputAxes[m]);
        directions.push_back(1 - parts.inputDirections[m]);
    }
    std::vector<Attribute> attributes{{"body", scan.body},
        intAttr("num_scan_inputs", static_cast<std::int64_t>(scan.axes.size())), intsAttr("scan_input_axes", scan.axes),
        intsAttr("scan_input_directions", scan.directions)};
    if (!axes.empty()) {
        attributes.push_back(intsAttr("scan_output_axes", std::move(axes)));
        attributes.push_back(intsAttr("scan_output_directions", std::move(directions)));
    }
    return attributes;
}

/// The forward attributes with entries for `more` scan outputs along axis 0, in order.
std::vector<Attribute> withMoreScanOutputs(const Node& n, const ScanParts& parts, std::size_t more) {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : n.attributes) {
        if (attribute.name != "scan_output_axes" && attribute.name != "scan_output_directions")
            attributes.push_back(attribute);
    }
    attributes.push_back(intsAttr("scan_output_axes", filledUp(parts.outputAxes, parts.scanOutputs + more)));
    attributes.push_back(
        intsAttr("scan_output_directions", filledUp(parts.outputDirections, parts.scanOutputs + more)));
    return attributes;
}

} // namespace

Gradients gradScan(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_CHECK(requireSupport(b));
    NABLA_TRY(ScanParts parts, scanParts(b, n));
    const std::vector<ValueId> perIteration(
        parts.body->inputs().begin(), parts.body->inputs().begin() + static_cast<std::ptrdiff_t>(parts.states));
    NABLA_TRY(Recorded recorded,
        recordIterations(b, n, parts.body, perIteration, withMoreScanOutputs(n, parts, perIteration.size())));
    parts.saved = std::move(recorded.values);

    BackwardScan scan;
    for (const std::size_t i : parts.carried.floats)
        scan.inputs.push_back(dy[i] ? dy[i] : b.zerosLike(n.inputs[i]));
    for (const std::size_t k : parts.carried.captures)
        scan.inputs.push_back(b.zerosLike(n.captures[k]));
    NABLA_CHECK(scanBackwardBody(b, n, dy, parts, scan));
    const std::size_t states = parts.carried.floats.size() + parts.carried.captures.size();
    const std::vector<ValueId> made = addControlNode(
        b, "Scan", scan.inputs, scanAttributes(parts, scan), scan.captures, states + parts.wantedScanInputs.size());
    dropUnreadRecords(b, n.id, parts.saved, 0);

    std::vector<ValueId> result(n.inputs.size() + n.captures.size());
    for (std::size_t j = 0; j < parts.carried.floats.size(); ++j)
        result[parts.carried.floats[j]] = made[j];
    for (std::size_t j = 0; j < parts.carried.captures.size(); ++j)
        result[n.inputs.size() + parts.carried.captures[j]] = made[parts.carried.floats.size() + j];
    for (std::size_t j = 0; j < parts.wantedScanInputs.size(); ++j)
        result[parts.states + parts.wantedScanInputs[j]] = made[states + j];
    return result;
}

} // namespace nabla::engine
