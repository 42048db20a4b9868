// The formulas of torch.optim as ONNX nodes. What depends on the step alone is computed in float64, as PyTorch does it in Python's numbers,
// and rounded once to the weight's type.
#include "engine/training/optimizer.h"

#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace nabla::engine {

namespace {

constexpr DType kDouble = DType::Float64;

struct NamedKind {
    std::string_view name;
    OptimizerKind kind;
};
constexpr std::array kNames = {NamedKind{"sgd", OptimizerKind::Sgd}, NamedKind{"momentum", OptimizerKind::Momentum},
    NamedKind{"nesterov", OptimizerKind::Nesterov}, NamedKind{"adam", OptimizerKind::Adam}, NamedKind{"adamw", OptimizerKind::AdamW},
    NamedKind{"adagrad", OptimizerKind::Adagrad}};

Result<void> between(std::string_view what, double value, double low, double high) {
    if (!(value >= low && value <= high)) // false for NaN too
        return usageError("{} is {}, it must be in [{}, {}]", what, value, low, high);
    return {};
}

bool decoupled(const OptimizerSpec& spec) {
    if (spec.decay == OptimizerSpec::Decay::OfKind)
        return spec.kind == OptimizerKind::AdamW;
    return spec.decay == OptimizerSpec::Decay::Decoupled;
}

bool isAdam(OptimizerKind kind) { return kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW; }

/// Scalars of one step that every weight reads, by the type of the weight.
class StepScalars {
public:
    StepScalars(NodeWriter& w, const OptimizerSpec& spec, ValueId rate, ValueId step) : m_w(w), m_rate(rate) {
        if (decoupled(spec) && spec.weightDecay != 0)
            m_shrink = w.sub(w.scalar(kDouble, 1), w.mul(rate, w.scalar(kDouble, spec.weightDecay)));
        if (isAdam(spec.kind)) {
            const ValueId count = w.add(w.cast(step, kDouble), w.scalar(kDouble, 1));
            const auto correction = [&](double beta) { return w.sub(w.scalar(kDouble, 1), w.op("Pow", {w.scalar(kDouble, beta), count})); };
            m_rate = w.div(rate, correction(spec.beta1));
            m_root = w.op("Sqrt", {correction(spec.beta2)});
        } else if (spec.kind == OptimizerKind::Adagrad && spec.rateDecay != 0) {
            const ValueId done = w.cast(step, kDouble);
            m_rate = w.div(rate, w.add(w.scalar(kDouble, 1), w.mul(done, w.scalar(kDouble, spec.rateDecay))));
        }
    }
    ValueId rate(DType type) { return as(m_rate, type); }     ///< of the step, bias corrected for Adam
    ValueId shrink(DType type) { return as(m_shrink, type); } ///< none: no decoupled decay
    ValueId root(DType type) { return as(m_root, type); }     ///< Adam: sqrt(1 - beta2^t)

private:
    ValueId as(ValueId value, DType type) {
        if (!value || type == kDouble)
            return value;
        ValueId& id = m_cast[{value.value, type}];
        if (!id)
            id = m_w.cast(value, type);
        return id;
    }
    NodeWriter& m_w;
    ValueId m_rate, m_shrink, m_root;
    std::map<std::pair<std::uint32_t, DType>, ValueId> m_cast;
};

/// torch.optim.SGD, dampening 0: buf = momentum * buf + g; with Nesterov the step is g + momentum * buf, else buf.
ValueId momentumDirection(NodeWriter& w, const OptimizerSpec& spec, WeightUpdate& u, ValueId gradient) {
    if (spec.kind == OptimizerKind::Sgd)
        return gradient;
    const ValueId momentum = w.scalar(u.dtype, spec.momentum);
    UpdateSlot& buffer = u.states.front();
    buffer.output = w.add(w.mul(buffer.input, momentum), gradient);
    return spec.kind == OptimizerKind::Nesterov ? w.add(gradient, w.mul(buffer.output, momentum)) : buffer.output;
}

/// torch.optim.Adam (Kingma and Ba 2015): m += (g - m)(1 - beta1); v = beta2 v + (1 - beta2) g^2; m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
/// The factor 1 / (1 - beta1^t) is part of the rate.
ValueId adamDirection(NodeWriter& w, const OptimizerSpec& spec, WeightUpdate& u, ValueId gradient, StepScalars& scalars) {
    UpdateSlot& mean = u.states[0];
    UpdateSlot& square = u.states[1];
    mean.output = w.add(mean.input, w.mul(w.sub(gradient, mean.input), w.scalar(u.dtype, 1 - spec.beta1)));
    square.output = w.add(w.mul(square.input, w.scalar(u.dtype, spec.beta2)), w.mul(w.mul(gradient, gradient), w.scalar(u.dtype, 1 - spec.beta2)));
    const ValueId size = w.div(w.op("Sqrt", {square.output}), scalars.root(u.dtype));
    return w.div(mean.output, w.add(size, w.scalar(u.dtype, spec.epsilon.value_or(1e-8))));
}

/// torch.optim.Adagrad (Duchi et al. 2011): sum += g^2; g / (sqrt(sum) + epsilon).
ValueId adagradDirection(NodeWriter& w, const OptimizerSpec& spec, WeightUpdate& u, ValueId gradient) {
    UpdateSlot& sum = u.states.front();
    sum.output = w.add(sum.input, w.mul(gradient, gradient));
    return w.div(gradient, w.add(w.op("Sqrt", {sum.output}), w.scalar(u.dtype, spec.epsilon.value_or(1e-10))));
}

} // namespace

std::string_view name(OptimizerKind kind) {
    for (const NamedKind& each : kNames) {
        if (each.kind == kind)
            return each.name;
    }
    return "?";
}

Result<OptimizerKind> optimizerFromName(std::string_view text) {
    for (const NamedKind& each : kNames) {
        if (each.name == text)
            return each.kind;
    }
    return usageError("optimizer \"{}\": must be sgd, momentum, nesterov, adam, adamw or adagrad", text);
}

Result<void> check(const OptimizerSpec& spec) {
    constexpr double kBelowOne = 1 - 1e-12;
    NABLA_CHECK(between("momentum", spec.momentum, 0, 1));
    NABLA_CHECK(between("beta1", spec.beta1, 0, kBelowOne));
    NABLA_CHECK(between("beta2", spec.beta2, 0, kBelowOne));
    NABLA_CHECK(between("epsilon", spec.epsilon.value_or(0), 0, 1e6));
    NABLA_CHECK(between("the decay of the rate", spec.rateDecay, 0, 1e6));
    return between("weight decay", spec.weightDecay, 0, 1e6);
}

Result<void> check(const ClipSpec& spec) {
    if (spec.kind != ClipSpec::Kind::None && !(spec.limit > 0 && std::isfinite(spec.limit)))
        return usageError("the limit of clipping is {}, it must be above 0", spec.limit);
    return {};
}

Result<void> check(const ScheduleSpec& spec) {
    constexpr double kMost = 1e12;
    NABLA_CHECK(between("steps of warm-up", static_cast<double>(spec.warmup), 0, kMost));
    NABLA_CHECK(between("steps between falls of the rate", static_cast<double>(spec.every), 1, kMost));
    NABLA_CHECK(between("gamma", spec.gamma, 0, 1e6));
    NABLA_CHECK(between("the length of the schedule", static_cast<double>(spec.length), 1, kMost));
    return between("the share of the rate at the end", spec.end, 0, 1e6);
}

std::vector<std::string> stateNames(OptimizerKind kind) {
    switch (kind) {
    case OptimizerKind::Sgd: return {};
    case OptimizerKind::Momentum:
    case OptimizerKind::Nesterov: return {"momentum_buffer"};
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW: return {"exp_avg", "exp_avg_sq"};
    case OptimizerKind::Adagrad: return {"sum"};
    }
    return {};
}

ValueId writeSchedule(NodeWriter& w, const ScheduleSpec& spec, ValueId step) {
    const auto number = [&](double value) { return w.scalar(kDouble, value); };
    const ValueId t = w.cast(step, kDouble);
    const auto warmup = static_cast<double>(spec.warmup);
    const ValueId later = spec.warmup > 0 ? w.op("Max", {w.sub(t, number(warmup)), number(0)}) : t;
    ValueId factor;
    switch (spec.kind) {
    case ScheduleSpec::Kind::Constant: factor = number(1); break;
    case ScheduleSpec::Kind::Step:
        factor = w.op("Pow", {number(spec.gamma), w.op("Floor", {w.div(later, number(static_cast<double>(spec.every)))})});
        break;
    case ScheduleSpec::Kind::Cosine: {
        const ValueId share = w.op("Min", {w.div(later, number(static_cast<double>(spec.length))), number(1)});
        const ValueId wave = w.add(w.op("Cos", {w.mul(share, number(std::numbers::pi))}), number(1));
        factor = w.add(w.mul(wave, number((1 - spec.end) / 2)), number(spec.end));
        break;
    }
    case ScheduleSpec::Kind::Linear: {
        const ValueId share = w.op("Min", {w.div(later, number(static_cast<double>(spec.length))), number(1)});
        factor = w.add(w.mul(share, number(spec.end - 1)), number(1));
        break;
    }
    }
    if (spec.warmup <= 0)
        return factor;
    const ValueId rising = w.div(w.add(t, number(1)), number(warmup));
    return w.op("Where", {w.op("Less", {t, number(warmup)}), rising, factor});
}

ValueId writeNorm(NodeWriter& w, const std::vector<WeightUpdate>& updates, DType& normType) {
    normType = DType::Float32; // half types would overflow in the sum
    for (const WeightUpdate& u : updates)
        normType = u.dtype == kDouble ? kDouble : normType;
    ValueId sum;
    for (const WeightUpdate& u : updates) {
        const ValueId wide = u.dtype == normType ? u.gradient : w.cast(u.gradient, normType);
        const ValueId square = w.op("ReduceSum", {w.mul(wide, wide)}, {{"keepdims", std::int64_t{0}}});
        sum = sum ? w.add(sum, square) : square;
    }
    return w.op("Sqrt", {sum});
}

void writeClip(NodeWriter& w, const ClipSpec& spec, ValueId norm, DType normType, std::vector<WeightUpdate>& updates) {
    if (spec.kind == ClipSpec::Kind::None)
        return;
    std::map<DType, ValueId> factors;
    if (spec.kind == ClipSpec::Kind::Norm) { // clip_grad_norm_: max_norm / (norm + 1e-6), at most 1
        const ValueId share = w.div(w.scalar(normType, spec.limit), w.add(norm, w.scalar(normType, 1e-6)));
        factors[normType] = w.op("Min", {share, w.scalar(normType, 1)});
    }
    for (WeightUpdate& u : updates) {
        if (spec.kind == ClipSpec::Kind::Value) {
            u.gradient = w.op("Clip", {u.gradient, w.scalar(u.dtype, -spec.limit), w.scalar(u.dtype, spec.limit)});
            continue;
        }
        ValueId& factor = factors[u.dtype];
        if (!factor)
            factor = w.cast(factors[normType], u.dtype);
        u.gradient = w.mul(u.gradient, factor);
    }
}

void writeUpdates(NodeWriter& w, const OptimizerSpec& spec, ValueId rate, ValueId step, std::vector<WeightUpdate>& updates) {
    StepScalars scalars(w, spec, rate, step);
    const bool couples = spec.weightDecay != 0 && !decoupled(spec);
    for (WeightUpdate& u : updates) {
        ValueId gradient = u.gradient;
        if (couples)
            gradient = w.add(gradient, w.mul(u.weight, w.scalar(u.dtype, spec.weightDecay)));
        const ValueId shrink = scalars.shrink(u.dtype);
        const ValueId weight = shrink ? w.mul(u.weight, shrink) : u.weight;
        ValueId direction;
        if (isAdam(spec.kind))
            direction = adamDirection(w, spec, u, gradient, scalars);
        else if (spec.kind == OptimizerKind::Adagrad)
            direction = adagradDirection(w, spec, u, gradient);
        else
            direction = momentumDirection(w, spec, u, gradient);
        u.next = w.sub(weight, w.mul(direction, scalars.rate(u.dtype)));
    }
}

} // namespace nabla::engine
