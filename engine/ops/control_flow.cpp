// If, Loop and Scan: they call bodies through KernelContext::runBody and hand values on.
#include <algorithm>
#include <functional>
#include <iterator>

#include "engine/ops/body_types.h"
#include "engine/ops/control_flow_grad.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/upgrade.h"
#include "engine/ops/value_output.h"

namespace nabla::engine {

namespace {

std::vector<RuntimeValue> capturesOf(const KernelContext& c) { return {c.captures.begin(), c.captures.end()}; }

Result<GraphPtr> bodyOf(const KernelContext& c, std::string_view attribute) {
    GraphPtr body = c.node().graphAttribute(attribute);
    if (!body)
        return runError("attribute {} is missing", attribute);
    if (!c.runBody)
        return runError("{} cannot run here: nobody runs bodies", c.node().opType);
    return body;
}

Result<bool> condition(const RuntimeValue& value, std::string_view what) {
    const Tensor& t = value.tensor();
    if (t.dtype() != DType::Bool || t.elementCount() != 1)
        return runError("{} wants one bool, it is {} {}", what, name(t.dtype()), toString(t.shape()));
    return t.asInt64(0) != 0;
}

Result<void> runIf(const KernelContext& c) {
    NABLA_TRY(const bool taken, condition(c.inputValue(0), "cond"));
    NABLA_TRY(const GraphPtr body, bodyOf(c, taken ? "then_branch" : "else_branch"));
    NABLA_TRY(const std::vector<RuntimeValue> out, c.runBody(body, {}, capturesOf(c)));
    if (out.size() < c.node().outputs.size())
        return runError("branch \"{}\" has {} outputs, {} are wanted", body->name(), out.size(), c.node().outputs.size());
    for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
        if (c.wantsOutput(i))
            NABLA_CHECK(emitValue(c, i, out[i]));
    }
    return {};
}

ValueType typeOf(const RuntimeValue& value) {
    return value.isTensor() ? ValueType::tensor(value.tensor().dtype(), ShapeView(value.tensor().shape())) : ValueType{};
}
std::vector<ValueType> typesOf(std::span<const RuntimeValue> values) {
    std::vector<ValueType> out;
    for (const RuntimeValue& value : values)
        out.push_back(typeOf(value));
    return out;
}

/// Values that iterations leave behind, to be stacked in the end.
class ScanOutputs {
public:
    /// `expected`: types of the body's outputs as an iteration would give them, asked for only when there is none.
    ScanOutputs(const GraphPtr& body, std::size_t firstOutput, std::size_t count, std::function<std::vector<ValueType>()> expected)
        : m_body(body), m_first(firstOutput), m_parts(count), m_expected(std::move(expected)) { }

    Result<void> take(std::size_t i, const RuntimeValue& value, std::int64_t iteration) {
        if (!value.isTensor())
            return runError("scan output {} of iteration {} is no tensor", i, iteration);
        auto& parts = m_parts[i];
        if (!parts.empty() && parts.front().shape() != value.tensor().shape()) {
            return runError("scan output {} has shape {} in iteration 0 and {} in iteration {}", i, toString(parts.front().shape()),
                toString(value.tensor().shape()), iteration);
        }
        parts.push_back(value.tensor());
        return {};
    }
    void reverse(std::size_t i) { std::reverse(m_parts[i].begin(), m_parts[i].end()); }

    /// Stacked along `axis` (negative counts from the end of the result). Without iterations the body's declared type tells the shape, else the types of its inputs do.
    Result<Tensor> stacked(std::size_t i, std::int64_t axis) const {
        if (m_parts[i].empty())
            return nothing(i, axis);
        NABLA_TRY(const std::int64_t at, normalizeAxis(axis, m_parts[i].front().rank() + 1, "scan output axis"));
        return stackTensors(m_parts[i], static_cast<std::size_t>(at));
    }

private:
    /// What the body declares of a value, or of the value that it is a mere copy of.
    ValueType declaredType(ValueId id) const {
        const Node* producer = m_body->producer(id);
        const ValueType& type = m_body->value(id)->declared;
        const bool known = type.isTensor() && type.shape;
        return !known && producer && producer->is("Identity") && producer->input(0) ? declaredType(producer->input(0)) : type;
    }
    Result<Tensor> nothing(std::size_t i, std::int64_t axis) const {
        ValueType type = declaredType(m_body->outputs()[m_first + i]);
        if (!type.isTensor() || !type.shape)
            type = m_expected()[m_first + i];
        if (!type.isTensor() || !type.shape)
            return runError("scan output {} has no iteration, and the body does not tell its type and rank", i);
        Shape shape;
        for (const Dim& dim : *type.shape)
            shape.push_back(dim.constant().value_or(0));
        NABLA_TRY(const std::int64_t at, normalizeAxis(axis, shape.size() + 1, "scan output axis"));
        shape.insert(shape.begin() + at, 0);
        return Tensor::make(type.elementType, std::move(shape));
    }

    GraphPtr m_body;
    std::size_t m_first;
    std::vector<std::vector<Tensor>> m_parts;
    std::function<std::vector<ValueType>()> m_expected;
};

/// Iterations allowed by the first input of Loop; none = no limit.
Result<std::optional<std::int64_t>> tripLimit(const KernelContext& c) {
    if (!c.hasInput(0))
        return std::optional<std::int64_t>{};
    if (c.input(0).elementCount() != 1 || !isInteger(c.input(0).dtype()))
        return runError("trip count M wants one integer, it is {} {}", name(c.input(0).dtype()), toString(c.input(0).shape()));
    return std::optional(c.input(0).asInt64(0));
}

Result<void> runLoop(const KernelContext& c) {
    NABLA_TRY(const GraphPtr body, bodyOf(c, "body"));
    NABLA_TRY(const std::optional<std::int64_t> limit, tripLimit(c));
    bool go = true;
    if (c.hasInput(1)) {
        NABLA_TRY(go, condition(c.inputValue(1), "cond"));
    }
    const std::size_t carried = c.inputCount() > 2 ? c.inputCount() - 2 : 0;
    if (body->inputs().size() != carried + 2 || body->outputs().size() < carried + 1) {
        return runError("body \"{}\" has {} inputs and {} outputs, {} carried values want {} and at least {}", body->name(), body->inputs().size(),
            body->outputs().size(), carried, carried + 2, carried + 1);
    }
    std::vector<RuntimeValue> state;
    for (std::size_t i = 0; i < carried; ++i)
        state.push_back(c.inputValue(2 + i));
    const std::size_t scans = body->outputs().size() - carried - 1;
    ScanOutputs collected(body, carried + 1, scans, [&] {
        std::vector<ValueType> inputs{ValueType::tensor(DType::Int64, ShapeView()), ValueType::tensor(DType::Bool, ShapeView())};
        std::ranges::move(typesOf(state), std::back_inserter(inputs));
        return bodyOutputTypes(*body, inputs, typesOf(c.captures));
    });
    for (std::int64_t iteration = 0; go && (!limit || iteration < *limit); ++iteration) {
        if (c.job)
            NABLA_CHECK(c.job->check());
        std::vector<RuntimeValue> inputs{Tensor::scalar<std::int64_t>(iteration), Tensor::scalar(true)};
        inputs.insert(inputs.end(), state.begin(), state.end());
        NABLA_TRY(std::vector<RuntimeValue> out, c.runBody(body, std::move(inputs), capturesOf(c)));
        NABLA_TRY(go, condition(out[0], "the condition that the body returns"));
        std::move(out.begin() + 1, out.begin() + 1 + static_cast<std::ptrdiff_t>(carried), state.begin());
        for (std::size_t i = 0; i < scans; ++i)
            NABLA_CHECK(collected.take(i, out[carried + 1 + i], iteration));
    }
    for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
        if (!c.wantsOutput(i))
            continue;
        if (i >= carried + scans)
            return runError("output {} has no counterpart in body \"{}\"", i, body->name());
        if (i < carried) {
            NABLA_CHECK(emitValue(c, i, state[i]));
            continue;
        }
        NABLA_TRY(const Tensor stacked, collected.stacked(i - carried, 0));
        NABLA_CHECK(emitValue(c, i, stacked));
    }
    return {};
}

/// Scan's lists of axes and directions: absent means all 0.
Result<std::vector<std::int64_t>> listOrZeros(const KernelContext& c, std::string_view name, std::size_t count) {
    std::vector<std::int64_t> values = c.intsAttribute(name);
    if (values.empty())
        values.assign(count, 0);
    if (values.size() != count)
        return runError("{} has {} numbers, {} are wanted", name, values.size(), count);
    return values;
}

struct ScanShape {
    std::size_t states = 0, scans = 0, outputs = 0;
    std::vector<std::int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
    std::int64_t length = 0;
};
Result<ScanShape> scanShape(const KernelContext& c, const Graph& body) {
    ScanShape s;
    const std::int64_t scans = c.intAttribute("num_scan_inputs");
    if (scans < 1 || static_cast<std::size_t>(scans) > c.inputCount())
        return runError("num_scan_inputs is {}, the node has {} inputs", scans, c.inputCount());
    s.scans = static_cast<std::size_t>(scans);
    s.states = c.inputCount() - s.scans;
    if (body.inputs().size() != c.inputCount() || body.outputs().size() < s.states)
        return runError("body \"{}\" has {} inputs and {} outputs, the node has {} inputs", body.name(), body.inputs().size(), body.outputs().size(), c.inputCount());
    s.outputs = body.outputs().size() - s.states;
    NABLA_TRY(s.inputAxes, listOrZeros(c, "scan_input_axes", s.scans));
    NABLA_TRY(s.inputDirections, listOrZeros(c, "scan_input_directions", s.scans));
    NABLA_TRY(s.outputAxes, listOrZeros(c, "scan_output_axes", s.outputs));
    NABLA_TRY(s.outputDirections, listOrZeros(c, "scan_output_directions", s.outputs));
    for (std::size_t i = 0; i < s.scans; ++i) {
        NABLA_CHECK(requireTensor(c, s.states + i, "scan input"));
        const Tensor& t = c.input(s.states + i);
        NABLA_TRY(s.inputAxes[i], normalizeAxis(s.inputAxes[i], t.rank(), "scan input axis"));
        const std::int64_t length = t.dim(static_cast<std::size_t>(s.inputAxes[i]));
        if (i > 0 && length != s.length)
            return runError("scan input {} has {} entries along its axis, the first has {}", i, length, s.length);
        s.length = length;
    }
    return s;
}

Result<void> runScan(const KernelContext& c) {
    NABLA_TRY(const GraphPtr body, bodyOf(c, "body"));
    NABLA_TRY(const ScanShape s, scanShape(c, *body));
    std::vector<RuntimeValue> state;
    for (std::size_t i = 0; i < s.states; ++i)
        state.push_back(c.inputValue(i));
    ScanOutputs collected(body, s.states, s.outputs, [&] {
        std::vector<ValueType> inputs = typesOf(state);
        for (std::size_t i = 0; i < s.scans; ++i) {
            Shape entry = c.input(s.states + i).shape();
            entry.erase(entry.begin() + s.inputAxes[i]);
            inputs.push_back(ValueType::tensor(c.input(s.states + i).dtype(), ShapeView(entry)));
        }
        return bodyOutputTypes(*body, inputs, typesOf(c.captures));
    });
    for (std::int64_t step = 0; step < s.length; ++step) {
        if (c.job)
            NABLA_CHECK(c.job->check());
        std::vector<RuntimeValue> inputs = state;
        for (std::size_t i = 0; i < s.scans; ++i) {
            const std::int64_t at = s.inputDirections[i] != 0 ? s.length - 1 - step : step;
            NABLA_TRY(Tensor part, sliceAt(c.input(s.states + i), static_cast<std::size_t>(s.inputAxes[i]), at));
            inputs.emplace_back(std::move(part));
        }
        NABLA_TRY(std::vector<RuntimeValue> out, c.runBody(body, std::move(inputs), capturesOf(c)));
        std::move(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(s.states), state.begin());
        for (std::size_t i = 0; i < s.outputs; ++i)
            NABLA_CHECK(collected.take(i, out[s.states + i], step));
    }
    for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
        if (!c.wantsOutput(i))
            continue;
        if (i >= s.states + s.outputs)
            return runError("output {} has no counterpart in body \"{}\"", i, body->name());
        if (i < s.states) {
            NABLA_CHECK(emitValue(c, i, state[i]));
            continue;
        }
        const std::size_t k = i - s.states;
        if (s.outputDirections[k] != 0)
            collected.reverse(k);
        NABLA_TRY(const Tensor stacked, collected.stacked(k, s.outputAxes[k]));
        NABLA_CHECK(emitValue(c, i, stacked));
    }
    return {};
}

// Scan-8 has a batch axis first and the sequence axis second: a Scan over the batch whose body is the Scan over the sequence.
Result<void> upgradeBatchedScan(UpgradeContext& c) {
    if (c.node.input(0))
        return runError("Scan-8 with sequence_lens has no counterpart in newer versions");
    const std::vector<ValueId> data(c.node.inputs.begin() + 1, c.node.inputs.end());
    const std::int64_t scans = c.node.intAttribute("num_scan_inputs", 0);
    ModelInfo info = c.editor.graph().info();
    info.opsets[""] = newestOpset("");
    GraphEditor inner = GraphEditor::empty(c.node.name.empty() ? "scan" : c.node.name, std::make_shared<const ModelInfo>(std::move(info)), c.editor.graph().ids());
    NodeSpec spec{.opType = "Scan", .inputs = {}, .attributes = {{"body", c.node.graphAttribute("body")}, {"num_scan_inputs", scans}}};
    if (const std::vector<std::int64_t> directions = c.node.intsAttribute("directions"); !directions.empty())
        spec.attributes.push_back({"scan_input_directions", directions});
    for (std::size_t i = 0; i < data.size(); ++i)
        spec.inputs.push_back(inner.addInput(c.editor.freshName("scan.entry"), {}));
    for (const ValueId captured : c.node.captures)
        spec.captures.push_back(inner.addCapture(c.editor.graph().value(captured)->name, c.type(captured)));
    spec.outputCount = c.node.outputs.size();
    spec.origins = c.node.origins;
    inner.setOutputs(inner.outputs(inner.add(std::move(spec))));
    Node changed = c.node;
    changed.inputs = data;
    changed.attributes = {{"body", std::make_shared<const Graph>(inner.finish())}, {"num_scan_inputs", static_cast<std::int64_t>(data.size())}};
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kScanUpgrades[] = {{8, upgradeBatchedScan}};

constexpr OpDef kControlFlowOps[] = {
    {.name = "If", .since = 25, .source = "ONNX Operators.md, If-25", .run = controlFlow(runIf), .gradient = gradIf, .flops = flopsOfIterations()},
    {.name = "Loop", .since = 25, .source = "ONNX Operators.md, Loop-25", .run = controlFlow(runLoop), .gradient = gradLoop, .flops = flopsOfIterations()},
    {.name = "Scan", .since = 25, .source = "ONNX Operators.md, Scan-25", .run = controlFlow(runScan), .gradient = gradScan, .flops = flopsOfIterations(),
        .upgrades = kScanUpgrades},
};

} // namespace

std::span<const OpDef> controlFlowOps() { return kControlFlowOps; }

} // namespace nabla::engine
