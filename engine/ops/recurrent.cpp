// RNN, GRU and LSTM: reference kernels, step by step as the standard's equations say.
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/iterate.h"
#include "engine/ops/matmul_core.h"
#include "engine/ops/recurrent_spec.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

namespace {

/// Inputs by their position; the same for all three as far as they have them.
enum : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

struct RecurrentShape {
    std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
};

Result<void> requireShape(const KernelContext& c, std::size_t i, std::string_view what, const Shape& shape) {
    if (c.hasInput(i) && c.input(i).shape() != shape)
        return runError("{} is {}, {} is wanted", what, toString(c.input(i).shape()), toString(shape));
    return {};
}

Result<RecurrentShape> recurrentShape(const KernelContext& c, const RecurrentSpec& spec) {
    for (const auto& [i, what] : {std::pair{kX, "X"}, std::pair{kW, "W"}, std::pair{kR, "R"}}) {
        NABLA_CHECK(requireTensor(c, i, what));
        if (c.input(i).rank() != 3)
            return runError("{} {} wants three axes", what, toString(c.input(i).shape()));
        if (!isFloat(c.input(i).dtype()))
            return typeError(c, c.input(i).dtype());
    }
    const Tensor& x = c.input(kX);
    RecurrentShape s{x.dim(spec.batchFirst ? 1 : 0), x.dim(spec.batchFirst ? 0 : 1), x.dim(2), c.input(kR).dim(2),
        static_cast<std::int64_t>(spec.reverse.size())};
    if (spec.hiddenSize != 0 && spec.hiddenSize != s.hidden)
        return runError("hidden_size is {}, R {} has {}", spec.hiddenSize, toString(c.input(kR).shape()), s.hidden);
    const Shape state = spec.batchFirst ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
    NABLA_CHECK(requireShape(c, kW, "W", {s.directions, spec.gates * s.hidden, s.inputs}));
    NABLA_CHECK(requireShape(c, kR, "R", {s.directions, spec.gates * s.hidden, s.hidden}));
    NABLA_CHECK(requireShape(c, kB, "B", {s.directions, 2 * spec.gates * s.hidden}));
    NABLA_CHECK(requireShape(c, kLengths, "sequence_lens", {s.batch}));
    NABLA_CHECK(requireShape(c, kInitialH, "initial_h", state));
    if (spec.kind == RecurrentKind::Lstm) {
        NABLA_CHECK(requireShape(c, kInitialC, "initial_c", state));
        NABLA_CHECK(requireShape(c, kPeepholes, "P", {s.directions, 3 * s.hidden}));
    }
    return s;
}

template <typename T> T activate(const ActivationSpec& a, T x) {
    const T alpha = static_cast<T>(a.alpha), beta = static_cast<T>(a.beta);
    switch (a.kind) {
    case Activation::Relu: return x > T{} ? x : T{};
    case Activation::Tanh: return std::tanh(x);
    case Activation::Sigmoid: return T{1} / (T{1} + std::exp(-x));
    case Activation::Affine: return alpha * x + beta;
    case Activation::LeakyRelu: return x >= T{} ? x : alpha * x;
    case Activation::ThresholdedRelu: return x >= alpha ? x : T{};
    case Activation::ScaledTanh: return alpha * std::tanh(beta * x);
    case Activation::HardSigmoid: return std::min(std::max(alpha * x + beta, T{}), T{1});
    case Activation::Elu: return x >= T{} ? x : alpha * (std::exp(x) - T{1});
    case Activation::Softsign: return x / (T{1} + std::abs(x));
    case Activation::Softplus: return std::max(x, T{}) + std::log1p(std::exp(-std::abs(x)));
    }
    return x;
}

/// One direction: its weights, turned for row-wise products, and its running state.
template <typename T> struct Direction {
    const RecurrentSpec& spec;
    const std::vector<ActivationSpec>& activations;
    std::int64_t batch, hidden;
    std::vector<T> recurrence;          ///< R transposed: [hidden, gates * hidden]
    std::vector<T> projected;           ///< X W^T + biases: [steps * batch, gates * hidden]
    std::vector<T> resetBias;           ///< GRU with linear_before_reset: Rbh
    const T* peepholes = nullptr;       ///< i, o, f
    std::vector<T> h, c;                ///< [batch, hidden]
    std::vector<T> gates, extra;

    T clipped(T x) const {
        if (!spec.clip)
            return x;
        const T bound = static_cast<T>(*spec.clip);
        return std::min(std::max(x, -bound), bound);
    }
    T f(std::size_t which, T x) const { return activate(activations[which], clipped(x)); }

    /// gates = projected rows of this step + h R^T, for every entry of the batch.
    void sumGates(const T* from, std::int64_t columns) {
        std::copy_n(from, batch * columns, gates.data());
        multiplyRows(h.data(), recurrence.data(), gates.data(), 0, batch, hidden, columns, true);
    }
    void stepRnn(std::int64_t e) {
        for (std::int64_t i = 0; i < hidden; ++i)
            h[at(e, i)] = f(0, gates[at(e, i)]);
    }
    std::size_t at(std::int64_t e, std::int64_t i) const { return static_cast<std::size_t>(e * hidden + i); }

    void stepLstm(std::int64_t e) {
        const T* const g = gates.data() + e * 4 * hidden;
        for (std::int64_t i = 0; i < hidden; ++i) {
            T& cell = c[at(e, i)];
            T in = g[i], out = g[hidden + i], forget = g[2 * hidden + i];
            if (peepholes) {
                in += peepholes[i] * cell;
                forget += peepholes[2 * hidden + i] * cell;
            }
            in = f(0, in);
            forget = spec.coupledGates ? T{1} - in : f(0, forget);
            cell = forget * cell + in * f(1, g[3 * hidden + i]);
            if (peepholes)
                out += peepholes[hidden + i] * cell;
            h[at(e, i)] = f(0, out) * f(2, cell);
        }
    }

    /// `from`: projected row of this entry. The hidden gate's recurrent part depends on the reset gate.
    void stepGru(std::int64_t e, const T* from) {
        const T* const g = gates.data() + e * 3 * hidden;
        std::vector<T>& scaled = extra;
        scaled.assign(static_cast<std::size_t>(2 * hidden), T{});
        for (std::int64_t i = 0; i < hidden; ++i)
            scaled[static_cast<std::size_t>(i)] = f(0, g[hidden + i]) * (spec.linearBeforeReset ? T{1} : h[at(e, i)]);
        T* const hiddenGate = scaled.data() + hidden;
        if (spec.linearBeforeReset) {
            for (std::int64_t i = 0; i < hidden; ++i) // g already holds x W + h R: what x brought is taken out again
                hiddenGate[i] = from[2 * hidden + i] + scaled[static_cast<std::size_t>(i)] * (g[2 * hidden + i] - from[2 * hidden + i] + resetBias[static_cast<std::size_t>(i)]);
        } else {
            for (std::int64_t i = 0; i < hidden; ++i)
                hiddenGate[i] = from[2 * hidden + i];
            for (std::int64_t k = 0; k < hidden; ++k) {
                for (std::int64_t i = 0; i < hidden; ++i)
                    hiddenGate[i] += scaled[static_cast<std::size_t>(k)] * recurrence[static_cast<std::size_t>(k * 3 * hidden + 2 * hidden + i)];
            }
        }
        for (std::int64_t i = 0; i < hidden; ++i) {
            const T update = f(0, g[i]);
            h[at(e, i)] = (T{1} - update) * f(1, hiddenGate[i]) + update * h[at(e, i)];
        }
    }
};

/// Tensors of one run in the compute type.
struct RecurrentInputs {
    Tensor x, w, r, bias, initialH, initialC, peepholes;
    std::vector<std::int64_t> lengths;
};

template <typename T> Direction<T> makeDirection(const KernelContext& c, const RecurrentSpec& spec, const RecurrentShape& s, const RecurrentInputs& in, std::size_t d) {
    const std::int64_t columns = spec.gates * s.hidden, rows = s.steps * s.batch;
    const auto direction = static_cast<std::int64_t>(d);
    Direction<T> out{spec, spec.activations[d], s.batch, s.hidden, transposed(elements<T>(in.r) + direction * columns * s.hidden, columns, s.hidden), {}, {}, nullptr, {}, {}, {}, {}};
    const std::vector<T> weights = transposed(elements<T>(in.w) + direction * columns * s.inputs, columns, s.inputs);
    std::vector<T> x(elements<T>(in.x), elements<T>(in.x) + rows * s.inputs);
    if (spec.batchFirst) {
        for (std::int64_t e = 0; e < s.batch; ++e) {
            for (std::int64_t t = 0; t < s.steps; ++t)
                std::copy_n(elements<T>(in.x) + (e * s.steps + t) * s.inputs, s.inputs, x.data() + (t * s.batch + e) * s.inputs);
        }
    }
    out.projected.resize(static_cast<std::size_t>(rows * columns));
    parallelFor(c, rows, s.inputs * columns,
        [&](std::int64_t begin, std::int64_t end) { multiplyRows(x.data(), weights.data(), out.projected.data(), begin, end, s.inputs, columns); });
    out.resetBias.assign(static_cast<std::size_t>(s.hidden), T{});
    if (in.bias.defined()) {
        const T* const bias = elements<T>(in.bias) + direction * 2 * columns;
        for (std::int64_t i = 0; i < columns; ++i) {
            const bool apart = spec.linearBeforeReset && spec.kind == RecurrentKind::Gru && i >= 2 * s.hidden;
            if (apart)
                out.resetBias[static_cast<std::size_t>(i - 2 * s.hidden)] = bias[columns + i];
            const T sum = bias[i] + (apart ? T{} : bias[columns + i]);
            for (std::int64_t row = 0; row < rows; ++row)
                out.projected[static_cast<std::size_t>(row * columns + i)] += sum;
        }
    }
    if (in.peepholes.defined())
        out.peepholes = elements<T>(in.peepholes) + direction * 3 * s.hidden;
    const auto initial = [&](const Tensor& t) {
        std::vector<T> state(static_cast<std::size_t>(s.batch * s.hidden), T{});
        for (std::int64_t e = 0; e < s.batch && t.defined(); ++e) {
            const std::int64_t row = spec.batchFirst ? e * s.directions + direction : direction * s.batch + e;
            std::copy_n(elements<T>(t) + row * s.hidden, s.hidden, state.data() + e * s.hidden);
        }
        return state;
    };
    out.h = initial(in.initialH);
    out.c = initial(in.initialC);
    out.gates.resize(static_cast<std::size_t>(s.batch * columns));
    return out;
}

/// Runs one direction; `write(step, entry, h)` gets every state of the sequence.
template <typename T, typename Write>
void runDirection(Direction<T>& dir, const RecurrentSpec& spec, const RecurrentShape& s, const std::vector<std::int64_t>& lengths, bool reverse, Write&& write) {
    const std::int64_t columns = spec.gates * s.hidden;
    for (std::int64_t k = 0; k < s.steps; ++k) {
        const std::int64_t t = reverse ? s.steps - 1 - k : k; // a reversed sequence begins at its own last step
        const T* const rows = dir.projected.data() + t * s.batch * columns;
        dir.sumGates(rows, columns);
        for (std::int64_t e = 0; e < s.batch; ++e) {
            if (t >= lengths[static_cast<std::size_t>(e)])
                continue;
            if (spec.kind == RecurrentKind::Lstm)
                dir.stepLstm(e);
            else if (spec.kind == RecurrentKind::Gru)
                dir.stepGru(e, rows + e * columns);
            else
                dir.stepRnn(e);
            write(t, e, dir.h.data() + e * s.hidden);
        }
    }
}

Result<RecurrentInputs> recurrentInputs(const KernelContext& c, const RecurrentSpec& spec, const RecurrentShape& s, DType type) {
    RecurrentInputs in;
    NABLA_TRY(in.x, inputAs(c, kX, type));
    NABLA_TRY(in.w, inputAs(c, kW, type));
    NABLA_TRY(in.r, inputAs(c, kR, type));
    NABLA_TRY(in.bias, inputAs(c, kB, type));
    NABLA_TRY(in.initialH, inputAs(c, kInitialH, type));
    if (spec.kind == RecurrentKind::Lstm) {
        NABLA_TRY(in.initialC, inputAs(c, kInitialC, type));
        NABLA_TRY(in.peepholes, inputAs(c, kPeepholes, type));
    }
    in.lengths.assign(static_cast<std::size_t>(s.batch), s.steps);
    if (c.hasInput(kLengths)) {
        in.lengths = c.input(kLengths).toInt64s();
        for (const std::int64_t length : in.lengths) {
            if (length < 0 || length > s.steps)
                return runError("sequence_lens {} want numbers from 0 to {}", toString(in.lengths), s.steps);
        }
    }
    return in;
}

Result<void> runRecurrent(const KernelContext& c) {
    NABLA_TRY(const RecurrentSpec spec, recurrentSpec(c.node()));
    NABLA_TRY(const RecurrentShape s, recurrentShape(c, spec));
    const DType type = computeType(c, {kX, kW, kR}), stored = c.input(kX).dtype();
    NABLA_TRY(const RecurrentInputs in, recurrentInputs(c, spec, s, type));
    const Shape whole = spec.batchFirst ? Shape{s.batch, s.steps, s.directions, s.hidden} : Shape{s.steps, s.directions, s.batch, s.hidden};
    const Shape last = spec.batchFirst ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
    NABLA_TRY(Tensor y, Tensor::make(type, whole));
    NABLA_TRY(Tensor lastH, Tensor::make(type, last));
    NABLA_TRY(Tensor lastC, Tensor::make(type, last));
    withFloatType(type, [&]<typename T>(T) {
        for (std::size_t d = 0; d < spec.reverse.size(); ++d) {
            Direction<T> dir = makeDirection<T>(c, spec, s, in, d);
            const auto direction = static_cast<std::int64_t>(d);
            runDirection(dir, spec, s, in.lengths, spec.reverse[d], [&](std::int64_t t, std::int64_t e, const T* h) {
                const std::int64_t row = spec.batchFirst ? (e * s.steps + t) * s.directions + direction : (t * s.directions + direction) * s.batch + e;
                std::copy_n(h, s.hidden, y.mutableData<T>().data() + row * s.hidden);
            });
            for (std::int64_t e = 0; e < s.batch; ++e) {
                const std::int64_t row = spec.batchFirst ? e * s.directions + direction : direction * s.batch + e;
                std::copy_n(dir.h.data() + e * s.hidden, s.hidden, lastH.mutableData<T>().data() + row * s.hidden);
                std::copy_n(dir.c.data() + e * s.hidden, s.hidden, lastC.mutableData<T>().data() + row * s.hidden);
            }
        }
    });
    const Tensor* const outputs[] = {&y, &lastH, &lastC};
    for (std::size_t i = 0; i < c.node().outputs.size() && i < 3; ++i) {
        if (c.wantsOutput(i)) {
            NABLA_TRY(const Tensor rounded, castTensor(*outputs[i], stored));
            NABLA_CHECK(copyToOutput(c, i, rounded));
        }
    }
    return {};
}

/// For each direction, step and row: products with W and R, the bias, and what the standard's equations do with each hidden number once
/// the gates are summed (an activation counts one).
template <int gates, int eachHidden> std::int64_t recurrentFlops(const CostInputs& c) {
    const Shape *x = inputShape(c, 0), *w = inputShape(c, 1), *r = inputShape(c, 2);
    if (!x || !w || !r || x->size() != 3 || w->size() != 3 || r->size() != 3)
        return 0;
    const std::int64_t hidden = saturatedProduct({(*w)[0], (*r)[2]}); // of all directions
    const std::int64_t peepholes = hasInput(c, 7) ? 6 : 0;             // LSTM: a multiply-add for each of i, o, f
    std::int64_t each = saturatedProduct({2, saturatedSum(elementCount(*w), elementCount(*r))});
    each = saturatedSum(each, saturatedProduct({hidden, eachHidden + peepholes + (hasInput(c, 3) ? gates : 0)}));
    return saturatedProduct({(*x)[0], (*x)[1], each});
}

// Version 1 says by output_sequence whether Y is wanted; newer versions see it from the output.
constexpr Upgrade kRecurrentUpgrades[] = {{6, dropAttributes<"output_sequence">}};

// RNN: the activation. GRU: z, r, h, then r * h and (1 - z) * h + z * H. LSTM: i, o, f, c, then f * C + i * c and o * h(C).
constexpr OpDef kRecurrentOps[] = {
    {.name = "RNN", .since = 22, .source = "ONNX Operators.md, RNN-22", .run = runRecurrent, .gradient = throughBody(), .flops = recurrentFlops<1, 1>,
        .upgrades = kRecurrentUpgrades, .body = recurrentBody},
    {.name = "GRU", .since = 22, .source = "ONNX Operators.md, GRU-22", .run = runRecurrent, .gradient = throughBody(), .flops = recurrentFlops<3, 8>,
        .upgrades = kRecurrentUpgrades, .body = recurrentBody},
    {.name = "LSTM", .since = 22, .source = "ONNX Operators.md, LSTM-22", .run = runRecurrent, .gradient = throughBody(), .flops = recurrentFlops<4, 9>,
        .upgrades = kRecurrentUpgrades, .body = recurrentBody},
};

} // namespace

std::span<const OpDef> recurrentOps() { return kRecurrentOps; }

} // namespace nabla::engine
