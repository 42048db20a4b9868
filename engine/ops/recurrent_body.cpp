// RNN, GRU and LSTM as Scans over elementary operators: what is differentiated, and what an export without them uses.
#include <memory>

#include <fmt/format.h>

#include "engine/ops/body_sheet.h"
#include "engine/ops/recurrent_spec.h"

namespace nabla::engine {

namespace {

ValueId activation(Sheet& s, const RecurrentSpec& spec, const ActivationSpec& a, ValueId x) {
    if (spec.clip)
        x = s.op("Clip", {x, s.scalar(-*spec.clip), s.scalar(*spec.clip)});
    const auto alpha = [&] { return Attribute{"alpha", static_cast<float>(a.alpha)}; };
    switch (a.kind) {
    case Activation::Relu: return s.op("Relu", {x});
    case Activation::Tanh: return s.op("Tanh", {x});
    case Activation::Sigmoid: return s.op("Sigmoid", {x});
    case Activation::Affine: return s.add(s.mul(x, s.scalar(a.alpha)), s.scalar(a.beta));
    case Activation::LeakyRelu: return s.op("LeakyRelu", {x}, {alpha()});
    case Activation::ThresholdedRelu: return s.op("Where", {s.op("GreaterOrEqual", {x, s.scalar(a.alpha)}), x, s.scalar(0)}); // the operator's is x > alpha
    case Activation::ScaledTanh: return s.mul(s.op("Tanh", {s.mul(x, s.scalar(a.beta))}), s.scalar(a.alpha));
    case Activation::HardSigmoid: return s.op("HardSigmoid", {x}, {alpha(), {"beta", static_cast<float>(a.beta)}});
    case Activation::Elu: return s.op("Elu", {x}, {alpha()});
    case Activation::Softsign: return s.op("Softsign", {x});
    case Activation::Softplus: return s.op("Softplus", {x});
    }
    return x;
}

/// Values of the outer body that one direction needs; none where the operator or the node has no such thing.
struct DirectionValues {
    ValueId projected;  ///< [steps, batch, gates * hidden]: X W^T and the biases that do not depend on gates
    ValueId recurrence; ///< R transposed
    ValueId hiddenRecurrence, gateRecurrence, resetBias; ///< GRU: R of the hidden gate, of z and r, and Rbh where it stands apart
    std::vector<ValueId> peepholes; ///< LSTM: i, o, f
    ValueId lengths, steps; ///< with sequence_lens: int64 [batch, 1], and 0 .. steps - 1
    ValueId initialH, initialC;
};

/// The body of one Scan step: states in, states and the step's output out. Captures are made on first use.
class StepBody {
public:
    StepBody(Sheet& outer, const RecurrentSpec& spec, const std::vector<ActivationSpec>& activations, std::string name)
        : m_outer(outer), m_editor(GraphEditor::empty(std::move(name), outer.editor().graph().infoPtr(), outer.editor().graph().ids())),
          m_sheet(m_editor, outer.type()), m_spec(spec), m_activations(activations) { }

    ValueId capture(ValueId value) {
        m_captured.push_back(value);
        return m_editor.addCapture(m_outer.editor().graph().value(value)->name, {});
    }
    ValueId f(std::size_t which, ValueId x) { return activation(m_sheet, m_spec, m_activations[which], x); }

    struct States {
        ValueId h, c;
    };
    States lstm(const DirectionValues& d, ValueId h, ValueId c, ValueId projected) {
        const auto g = m_sheet.split(m_sheet.add(projected, m_sheet.op("MatMul", {h, capture(d.recurrence)})), 4);
        std::vector<ValueId> p;
        for (const ValueId peephole : d.peepholes)
            p.push_back(capture(peephole));
        const auto seen = [&](ValueId gate, std::size_t which, ValueId cell) { return p.empty() ? gate : m_sheet.add(gate, m_sheet.mul(p[which], cell)); };
        const ValueId in = f(0, seen(g[0], 0, c));
        const ValueId forget = m_spec.coupledGates ? m_sheet.oneMinus(in) : f(0, seen(g[2], 2, c));
        const ValueId cell = m_sheet.add(m_sheet.mul(forget, c), m_sheet.mul(in, f(1, g[3])));
        const ValueId out = f(0, seen(g[1], 1, cell));
        return {m_sheet.mul(out, f(2, cell)), cell};
    }
    States gru(const DirectionValues& d, ValueId h, ValueId projected) {
        const auto x = m_sheet.split(projected, 3);
        const auto r = m_sheet.split(m_sheet.op("MatMul", {h, capture(d.gateRecurrence)}), 2);
        const ValueId update = f(0, m_sheet.add(x[0], r[0])), reset = f(0, m_sheet.add(x[1], r[1]));
        const ValueId weight = capture(d.hiddenRecurrence);
        ValueId hidden;
        if (m_spec.linearBeforeReset) {
            ValueId linear = m_sheet.op("MatMul", {h, weight});
            if (d.resetBias)
                linear = m_sheet.add(linear, capture(d.resetBias));
            hidden = m_sheet.mul(reset, linear);
        } else {
            hidden = m_sheet.op("MatMul", {m_sheet.mul(reset, h), weight});
        }
        const ValueId candidate = f(1, m_sheet.add(x[2], hidden));
        return {m_sheet.add(m_sheet.mul(m_sheet.oneMinus(update), candidate), m_sheet.mul(update, h)), {}};
    }

    /// Builds the graph. Inputs: h, (c,) (step,) projected; outputs: h, (c,) y.
    GraphPtr build(const DirectionValues& d) {
        const bool lstm = m_spec.kind == RecurrentKind::Lstm;
        const ValueType type = ValueType::tensor(m_sheet.type());
        const ValueId h = m_editor.addInput("h", type), c = lstm ? m_editor.addInput("c", type) : ValueId{};
        const ValueId step = d.lengths ? m_editor.addInput("step", ValueType::tensor(DType::Int64, Shape{})) : ValueId{};
        const ValueId projected = m_editor.addInput("x", type);
        States next;
        if (lstm)
            next = this->lstm(d, h, c, projected);
        else if (m_spec.kind == RecurrentKind::Gru)
            next = gru(d, h, projected);
        else
            next = {f(0, m_sheet.add(projected, m_sheet.op("MatMul", {h, capture(d.recurrence)}))), {}};
        ValueId y = next.h;
        if (d.lengths) { // entries that have ended keep their state and give 0
            const ValueId running = m_sheet.op("Less", {step, capture(d.lengths)});
            y = m_sheet.op("Where", {running, next.h, m_sheet.scalar(0)});
            next.h = m_sheet.op("Where", {running, next.h, h});
            if (lstm)
                next.c = m_sheet.op("Where", {running, next.c, c});
        } else {
            y = m_sheet.op("Identity", {next.h}); // an output of its own: a body's outputs have different names
        }
        m_editor.setOutputs(lstm ? std::vector{next.h, next.c, y} : std::vector{next.h, y});
        for (const ValueId output : m_editor.graph().outputs())
            m_editor.setDeclaredType(output, type);
        return std::make_shared<const Graph>(m_editor.finish());
    }
    const std::vector<ValueId>& captured() const { return m_captured; }

private:
    Sheet& m_outer;
    GraphEditor m_editor;
    Sheet m_sheet;
    const RecurrentSpec& m_spec;
    const std::vector<ActivationSpec>& m_activations;
    std::vector<ValueId> m_captured;
};

/// Formal inputs of the body; none = omitted by the node.
struct Formals {
    ValueId x, w, r, b, lengths, h, c, p;
};

/// What a direction computes once, before its Scan.
DirectionValues prepare(Sheet& s, const RecurrentSpec& spec, const Formals& in, ValueId x, std::int64_t direction, std::int64_t stateAxis) {
    const auto entry = [&](ValueId value, std::int64_t axis) {
        return s.op("Gather", {value, s.intScalar(direction)}, {number("axis", axis)});
    };
    const bool gru = spec.kind == RecurrentKind::Gru, lstm = spec.kind == RecurrentKind::Lstm;
    DirectionValues d;
    d.projected = s.op("MatMul", {x, s.transposed(entry(in.w, 0))});
    const ValueId recurrent = entry(in.r, 0);
    d.recurrence = s.transposed(recurrent);
    if (gru) { // columns z, r and h of R transposed
        const auto parts = s.split(d.recurrence, 3);
        d.gateRecurrence = s.op("Concat", {parts[0], parts[1]}, {number("axis", 1)});
        d.hiddenRecurrence = parts[2];
    }
    if (in.b) {
        const auto halves = s.split(entry(in.b, 0), 2);
        ValueId sum;
        if (gru && spec.linearBeforeReset) {
            const auto own = s.split(halves[0], 3), recurrence = s.split(halves[1], 3);
            d.resetBias = recurrence[2];
            sum = s.op("Concat", {s.add(own[0], recurrence[0]), s.add(own[1], recurrence[1]), own[2]}, {number("axis", 0)});
        } else {
            sum = s.add(halves[0], halves[1]);
        }
        d.projected = s.add(d.projected, sum);
    }
    if (lstm && in.p)
        d.peepholes = s.split(entry(in.p, 0), 3);
    const ValueId batch = s.op("Shape", {x}, {number("start", 1), number("end", 2)});
    const ValueId hidden = s.op("Shape", {recurrent}, {number("start", -1)});
    const auto initial = [&](ValueId stated) {
        return stated ? entry(stated, stateAxis) : s.op("Expand", {s.scalar(0), s.op("Concat", {batch, hidden}, {number("axis", 0)})});
    };
    d.initialH = initial(in.h);
    if (lstm)
        d.initialC = initial(in.c);
    if (in.lengths) {
        const ValueId wide = s.op("Cast", {in.lengths}, {number("to", static_cast<std::int64_t>(DType::Int64))});
        d.lengths = s.op("Unsqueeze", {wide, s.ints({1})});
        const ValueId count = s.op("Squeeze", {s.op("Shape", {x}, {number("start", 0), number("end", 1)}), s.ints({0})});
        d.steps = s.op("Range", {s.intScalar(0), count, s.intScalar(1)});
    }
    return d;
}

struct DirectionOutputs {
    ValueId y, h, c;
};
DirectionOutputs scanDirection(Sheet& s, const RecurrentSpec& spec, const DirectionValues& d, std::size_t which) {
    const bool lstm = spec.kind == RecurrentKind::Lstm;
    StepBody body(s, spec, spec.activations[which], fmt::format("step{}", which));
    const GraphPtr graph = body.build(d);
    std::vector<ValueId> inputs{d.initialH};
    if (lstm)
        inputs.push_back(d.initialC);
    std::int64_t scans = 1;
    if (d.lengths) {
        inputs.push_back(d.steps);
        ++scans;
    }
    inputs.push_back(d.projected);
    NodeSpec spec2{.opType = "Scan", .inputs = std::move(inputs), .attributes = {{"body", graph}, number("num_scan_inputs", scans)}};
    if (spec.reverse[which]) {
        spec2.attributes.push_back({"scan_input_directions", std::vector<std::int64_t>(static_cast<std::size_t>(scans), 1)});
        spec2.attributes.push_back({"scan_output_directions", std::vector<std::int64_t>{1}});
    }
    spec2.captures = body.captured();
    spec2.outputCount = lstm ? 3 : 2;
    const auto out = s.editor().outputs(s.editor().add(std::move(spec2)));
    return lstm ? DirectionOutputs{out[2], out[0], out[1]} : DirectionOutputs{out[1], out[0], {}};
}

/// Directions side by side along a new axis.
ValueId join(Sheet& s, const std::vector<ValueId>& parts, std::int64_t axis) {
    std::vector<ValueId> wide;
    for (const ValueId part : parts)
        wide.push_back(s.op("Unsqueeze", {part, s.ints({axis})}));
    return wide.size() == 1 ? wide.front() : s.op("Concat", wide, {number("axis", axis)});
}

} // namespace

Result<GraphPtr> recurrentBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    NABLA_TRY(const RecurrentSpec spec, recurrentSpec(node));
    const DType type = inputTypes.empty() ? DType::Undefined : inputTypes[0].elementType;
    if (!isDifferentiable(type))
        return runError("the element type of X is not known or no float");
    ModelInfo info;
    info.opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty(node.opType, std::make_shared<const ModelInfo>(std::move(info)), ids);
    constexpr const char* kNames[] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};
    std::vector<ValueId> formals(8);
    for (std::size_t i = 0; i < node.inputs.size() && i < formals.size(); ++i) {
        const ValueId formal = editor.addInput(kNames[i], i < inputTypes.size() ? inputTypes[i] : ValueType{});
        if (node.inputs[i])
            formals[i] = formal;
    }
    const Formals in{formals[0], formals[1], formals[2], formals[3], formals[4], formals[5], formals[6], formals[7]};
    if (!in.x || !in.w || !in.r)
        return runError("X, W and R are wanted");
    Sheet s(editor, type);
    const ValueId x = spec.batchFirst ? s.op("Transpose", {in.x}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}}) : in.x;
    std::vector<ValueId> y, h, c;
    for (std::size_t d = 0; d < spec.reverse.size(); ++d) {
        const DirectionValues values = prepare(s, spec, in, x, static_cast<std::int64_t>(d), spec.batchFirst ? 1 : 0);
        const DirectionOutputs out = scanDirection(s, spec, values, d);
        // layout 1 has the batch first: [batch, steps, directions, hidden]
        y.push_back(spec.batchFirst ? s.op("Transpose", {out.y}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}}) : out.y);
        h.push_back(out.h);
        c.push_back(out.c);
    }
    std::vector<ValueId> outputs{join(s, y, spec.batchFirst ? 2 : 1), join(s, h, spec.batchFirst ? 1 : 0)};
    if (spec.kind == RecurrentKind::Lstm)
        outputs.push_back(join(s, c, spec.batchFirst ? 1 : 0));
    editor.setOutputs(outputs);
    return std::make_shared<const Graph>(editor.finish());
}

} // namespace nabla::engine
