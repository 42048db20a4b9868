// Activations: Relu to Gelu, and Clip.
#include <cmath>

#include "engine/ops/broadcast.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// y = f(x) in the arithmetic type; f knows the node's attributes.
template <typename Types = FloatTypes, typename F> Result<void> runWith(const KernelContext& c, F&& f) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    NABLA_CHECK(dispatch(Types{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        using C = ComputeType<T>;
        const auto in = x.data<T>();
        const auto out = y.mutableData<T>();
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i] = static_cast<T>(static_cast<C>(f(widen(in[i]))));
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

template <typename T> T sigmoid(T x) {
    // exp of a negative number only, so that nothing overflows
    if (x >= 0)
        return T(1) / (T(1) + std::exp(-x));
    const T e = std::exp(x);
    return e / (T(1) + e);
}
template <typename T> T softplus(T x) { return std::max(x, T(0)) + std::log1p(std::exp(-std::fabs(x))); }

Result<void> runSigmoid(const KernelContext& c) { return runUnary<FloatTypes, [](auto x) { return sigmoid(x); }>(c); }
Result<void> runRelu(const KernelContext& c) { return runUnary<SignedNumberTypes, [](auto x) { return x < 0 ? decltype(x){0} : x; }>(c); }
Result<void> runLeakyRelu(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha")]<typename T>(T x) { return x < 0 ? T(a) * x : x; });
}
Result<void> runElu(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha")]<typename T>(T x) { return x < 0 ? T(a) * std::expm1(x) : x; });
}
Result<void> runSelu(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha"), g = c.floatAttribute("gamma")]<typename T>(T x) { return T(g) * (x <= 0 ? T(a) * std::expm1(x) : x); });
}
Result<void> runCelu(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha")]<typename T>(T x) { return x < 0 ? T(a) * std::expm1(x / T(a)) : x; });
}
Result<void> runHardSigmoid(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha"), b = c.floatAttribute("beta")]<typename T>(T x) {
        const T y = T(a) * x + T(b);
        return y < 0 ? T(0) : y > 1 ? T(1) : y; // NaN stays NaN
    });
}
Result<void> runHardSwish(const KernelContext& c) {
    return runWith(c, []<typename T>(T x) {
        const T gate = x / T(6) + T(0.5);
        return x * (gate < 0 ? T(0) : gate > 1 ? T(1) : gate);
    });
}
Result<void> runThresholdedRelu(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha")]<typename T>(T x) { return x > T(a) ? x : T(0); });
}
Result<void> runShrink(const KernelContext& c) {
    return runWith<NumberTypes>(c, [lambd = c.floatAttribute("lambd"), bias = c.floatAttribute("bias")]<typename T>(T x) {
        using W = std::conditional_t<std::is_integral_v<T>, double, T>;
        const W w = static_cast<W>(x);
        const W y = w < -W(lambd) ? w + W(bias) : w > W(lambd) ? w - W(bias) : W(0);
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<std::int64_t>(std::fmin(std::fmax(y, -9.2e18), 9.2e18)));
        else
            return y;
    });
}
Result<void> runSwish(const KernelContext& c) {
    return runWith(c, [a = c.floatAttribute("alpha")]<typename T>(T x) { return x * sigmoid(T(a) * x); });
}
Result<void> runGelu(const KernelContext& c) {
    const std::string approximate = c.stringAttribute("approximate");
    if (approximate == "tanh")
        return runWith(c, []<typename T>(T x) {
            return T(0.5) * x * (T(1) + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))); // sqrt(2 / pi)
        });
    if (approximate != "none")
        return runError("Gelu: approximate is \"{}\", wants none or tanh", approximate);
    return runWith(c, []<typename T>(T x) { return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440))); });
}

/// Slope broadcasts to x, not the other way round.
Result<void> runPRelu(const KernelContext& c) {
    NABLA_TRY(const auto pair, needPair(c));
    NABLA_TRY(const Shape shape, broadcastShapes(pair.first.shape(), pair.second.shape()));
    if (shape != pair.first.shape())
        return runError("PRelu: slope {} does not broadcast to {}", toString(pair.second.shape()), toString(pair.first.shape()));
    return runBinary<NumberTypes, [](auto x, auto slope) { return x < decltype(x){0} ? wrapMul(slope, x) : x; }>(c);
}

// ---- Clip ----

Result<void> runClip(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    for (std::size_t i = 1; i < 3; ++i) {
        if (c.hasInput(i) && (c.input(i).dtype() != x.dtype() || c.input(i).elementCount() != 1))
            return runError("Clip: a bound is {} {}, wants one {}", name(c.input(i).dtype()), toString(c.input(i).shape()), name(x.dtype()));
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    NABLA_CHECK(dispatch(NumberTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        using C = ComputeType<T>;
        const auto in = x.data<T>();
        const auto out = y.mutableData<T>();
        const bool hasLow = c.hasInput(1), hasHigh = c.hasInput(2);
        const C low = hasLow ? widen(c.input(1).data<T>()[0]) : C{}, high = hasHigh ? widen(c.input(2).data<T>()[0]) : C{};
        for (std::size_t i = 0; i < in.size(); ++i) {
            C value = widen(in[i]);
            if (hasLow && value < low)
                value = low;
            if (hasHigh && value > high) // high wins where low > high
                value = high;
            out[i] = static_cast<T>(value);
        }
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

// ---- gradients ----

/// dy where the condition holds, else exactly 0.
ValueId only(GradientBuilder& b, ValueId condition, ValueId dy) { return b.where(condition, dy, b.scalar(b.forward().outputs[0], 0)); }
ValueId positive(GradientBuilder& b, ValueId x) { return b.op("Greater", {x, b.scalar(x, 0)}); }
double attribute(GradientBuilder& b, std::string_view name) {
    const auto value = attributeOrDefault(b.forward(), name, newestOpset(""));
    const float* number = value ? std::get_if<float>(&*value) : nullptr;
    return number ? static_cast<double>(*number) : 0;
}

/// NaN passes its cotangent on, as in torch: only x <= 0 stops it.
Gradients gradRelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId zero = b.scalar(n.inputs[0], 0);
    return std::vector{b.where(b.op("LessOrEqual", {n.inputs[0], zero}), zero, dy[0])};
}

/// x > 0 passes, the rest is scaled: torch gives alpha at 0.
Gradients gradLeakyRelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId alpha = b.scalar(n.inputs[0], attribute(b, "alpha"));
    return std::vector{b.where(positive(b, n.inputs[0]), dy[0], b.mul(dy[0], alpha))};
}

Gradients gradPRelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], slope = n.inputs[1], isPositive = positive(b, x);
    std::vector<ValueId> out(2);
    if (b.wants(0))
        out[0] = b.where(isPositive, dy[0], b.mul(dy[0], slope));
    if (b.wants(1))
        out[1] = b.unbroadcast(b.where(isPositive, b.scalar(x, 0), b.mul(dy[0], x)), slope);
    return out;
}

/// scale * (x > 0 ? x : a * expm1(x / w)): below 0 the derivative is scale * a / w * exp(x / w). The exponential sees only x <= 0.
ValueId eluGradient(GradientBuilder& b, const Node& n, ValueId dy, double scale, double a, double w) {
    const ValueId x = n.inputs[0];
    const ValueId below = b.op("Min", {x, b.scalar(x, 0)});
    const ValueId e = b.op("Exp", {w == 1 ? below : b.div(below, b.scalar(x, w))});
    const ValueId scaled = scale == 1 ? dy : b.mul(dy, b.scalar(x, scale));
    return b.where(positive(b, x), scaled, b.mul(dy, b.mul(b.scalar(x, scale * a / w), e)));
}
Gradients gradElu(GradientBuilder& b, const Node& n, OutputGrads dy) { return std::vector{eluGradient(b, n, dy[0], 1, attribute(b, "alpha"), 1)}; }
Gradients gradSelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{eluGradient(b, n, dy[0], attribute(b, "gamma"), attribute(b, "alpha"), 1)};
}
Gradients gradCelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const double alpha = attribute(b, "alpha");
    return std::vector{eluGradient(b, n, dy[0], 1, alpha, alpha)};
}

Gradients gradSigmoid(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId y = n.outputs[0];
    return std::vector{b.mul(dy[0], b.mul(y, b.sub(b.scalar(y, 1), y)))};
}
Gradients gradTanh(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId y = n.outputs[0];
    return std::vector{b.mul(dy[0], b.sub(b.scalar(y, 1), b.mul(y, y)))};
}

/// Strictly between two bounds.
ValueId inside(GradientBuilder& b, ValueId x, double low, double high) {
    return b.op("And", {b.op("Greater", {x, b.scalar(x, low)}), b.op("Less", {x, b.scalar(x, high)})});
}
Gradients gradHardSigmoid(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{only(b, inside(b, n.outputs[0], 0, 1), b.mul(dy[0], b.scalar(n.inputs[0], attribute(b, "alpha"))))};
}
/// 0 below -3, x/3 + 1/2 between, 1 above 3.
Gradients gradHardSwish(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const ValueId slope = b.add(b.div(x, b.scalar(x, 3)), b.scalar(x, 0.5));
    const ValueId ramp = only(b, inside(b, x, -3, 3), b.mul(dy[0], slope));
    return std::vector{b.where(b.op("GreaterOrEqual", {x, b.scalar(x, 3)}), dy[0], ramp)};
}
Gradients gradSoftplus(GradientBuilder& b, const Node& n, OutputGrads dy) { return std::vector{b.mul(dy[0], b.op("Sigmoid", {n.inputs[0]}))}; }
/// 1 / (1 + |x|)^2
Gradients gradSoftsign(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], d = b.add(b.op("Abs", {x}), b.scalar(x, 1));
    return std::vector{b.div(dy[0], b.mul(d, d))};
}
Gradients gradThresholdedRelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    return std::vector{only(b, b.op("Greater", {x, b.scalar(x, attribute(b, "alpha"))}), dy[0])};
}
Gradients gradShrink(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    return std::vector{only(b, b.op("Greater", {b.op("Abs", {x}), b.scalar(x, attribute(b, "lambd"))}), dy[0])};
}
/// s + a x s (1 - s) with s = sigmoid(a x)
Gradients gradSwish(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], alpha = b.scalar(x, attribute(b, "alpha"));
    const ValueId ax = b.mul(x, alpha), s = b.op("Sigmoid", {ax});
    return std::vector{b.mul(dy[0], b.mul(s, b.add(b.scalar(x, 1), b.mul(ax, b.sub(b.scalar(x, 1), s)))))};
}
/// x tanh(softplus(x)): t + x (1 - t^2) sigmoid(x)
Gradients gradMish(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], t = b.op("Tanh", {b.op("Softplus", {x})});
    const ValueId inner = b.mul(x, b.mul(b.sub(b.scalar(x, 1), b.mul(t, t)), b.op("Sigmoid", {x})));
    return std::vector{b.mul(dy[0], b.add(t, inner))};
}

/// Exact: Phi(x) + x phi(x). With tanh: the derivative of the approximation itself.
Gradients gradGelu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const auto number = [&](double value) { return b.scalar(x, value); };
    const ValueId one = number(1), half = number(0.5), square = b.mul(x, x);
    if (n.stringAttribute("approximate", "none") == "tanh") {
        const ValueId k = number(0.79788456080286535588);
        const ValueId inner = b.mul(k, b.mul(x, b.add(one, b.mul(number(0.044715), square))));
        const ValueId t = b.op("Tanh", {inner});
        const ValueId dInner = b.mul(k, b.add(one, b.mul(number(3 * 0.044715), square)));
        const ValueId tail = b.mul(b.mul(x, b.sub(one, b.mul(t, t))), dInner);
        return std::vector{b.mul(dy[0], b.mul(half, b.add(b.add(one, t), tail)))};
    }
    const ValueId cdf = b.mul(half, b.add(one, b.op("Erf", {b.mul(x, number(0.70710678118654752440))})));
    const ValueId pdf = b.mul(number(0.39894228040143267794), b.op("Exp", {b.mul(number(-0.5), square)})); // 1 / sqrt(2 pi)
    return std::vector{b.mul(dy[0], b.add(cdf, b.mul(x, pdf)))};
}

/// 1 from bound to bound, both included. A bound takes the cotangent of the elements beyond it.
Gradients gradClip(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0], low = n.input(1), high = n.input(2);
    // At a bound the bound takes the cotangent: torch.clamp of torch 2.15 gives x nothing there.
    const ValueId isBelow = low ? b.op("LessOrEqual", {x, low}) : ValueId{}, isAbove = high ? b.op("GreaterOrEqual", {x, high}) : ValueId{};
    const ValueId zero = b.scalar(n.outputs[0], 0);
    std::vector<ValueId> out(n.inputs.size());
    if (b.wants(0)) {
        out[0] = dy[0];
        for (const ValueId outside : {isBelow, isAbove}) {
            if (outside)
                out[0] = b.where(outside, zero, out[0]);
        }
    }
    // Where the lower bound lies above the upper one, every element is the upper bound.
    const ValueId crossed = low && high ? b.op("Greater", {low, high}) : ValueId{};
    if (low && b.wants(1)) {
        const ValueId taken = b.where(isBelow, dy[0], zero);
        out[1] = b.unbroadcast(crossed ? b.where(crossed, zero, taken) : taken, low);
    }
    if (high && b.wants(2)) {
        const ValueId taken = b.where(isAbove, dy[0], zero);
        out[2] = b.unbroadcast(crossed ? b.where(crossed, dy[0], taken) : taken, high);
    }
    return out;
}

// ---- upgrades ----

/// Bounds were attributes; only those the file states (or, from version 6 on, none) become inputs.
Result<void> upgradeClip(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"min", "max", "consumed_inputs"});
    for (const auto& [name, position] : {std::pair<std::string_view, std::size_t>{"min", 1}, {"max", 2}}) {
        if (!c.node.attribute(name))
            continue;
        NABLA_TRY(const ValueId bound, upgradeScalar(c, name, 0, static_cast<double>(c.node.floatAttribute(name, 0))));
        setInput(changed, position, bound);
    }
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kClipUpgrades[] = {{10, upgradeClip}};

/// Selu-1 had shorter default constants.
Result<void> upgradeSelu1(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"consumed_inputs"});
    setDefault(changed, "alpha", 1.6732F);
    setDefault(changed, "gamma", 1.0507F);
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kSeluUpgrades[] = {{5, upgradeSelu1}};

/// Before version 7 a slope vector lay along axis 1.
Result<void> upgradePRelu(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"consumed_inputs"});
    NABLA_TRY(const std::size_t rank, upgradeRank(c, 0));
    NABLA_TRY(const std::size_t slopeRank, upgradeRank(c, 1));
    if (slopeRank == 1 && rank > 2) {
        std::vector<std::int64_t> axes;
        for (std::size_t i = 1; i + 1 < rank; ++i)
            axes.push_back(static_cast<std::int64_t>(i));
        changed.inputs[1] = upgradeNode(c, "Unsqueeze", {c.node.inputs[1], upgradeInts(c, "axes", std::move(axes))});
    }
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kPReluUpgrades[] = {{6, upgradePRelu}};

constexpr OpDef kOps[] = {
    {.name = "Relu", .since = 14, .source = "ONNX Operators.md, Relu-14", .run = runRelu, .gradient = gradRelu, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "LeakyRelu", .since = 16, .source = "ONNX Operators.md, LeakyRelu-16", .run = runLeakyRelu, .gradient = gradLeakyRelu, .flops = elementwise<1>,
        .upgrades = kDropConsumedInputs},
    {.name = "PRelu", .since = 16, .source = "ONNX Operators.md, PRelu-16", .run = runPRelu, .gradient = gradPRelu, .flops = elementwise<1>, .upgrades = kPReluUpgrades},
    {.name = "Elu", .since = 22, .source = "ONNX Operators.md, Elu-22", .run = runElu, .gradient = gradElu, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Selu", .since = 22, .source = "ONNX Operators.md, Selu-22", .run = runSelu, .gradient = gradSelu, .flops = elementwise<1>, .upgrades = kSeluUpgrades},
    {.name = "Celu", .since = 28, .source = "ONNX Operators.md, Celu-28", .run = runCelu, .gradient = gradCelu, .flops = elementwise<1>},
    {.name = "Sigmoid", .since = 13, .source = "ONNX Operators.md, Sigmoid-13", .run = runSigmoid, .gradient = gradSigmoid, .flops = elementwise<1>,
        .upgrades = kDropConsumedInputs},
    {.name = "HardSigmoid", .since = 22, .source = "ONNX Operators.md, HardSigmoid-22", .run = runHardSigmoid, .gradient = gradHardSigmoid, .flops = elementwise<1>,
        .upgrades = kDropConsumedInputs},
    {.name = "HardSwish", .since = 22, .source = "ONNX Operators.md, HardSwish-22", .run = runHardSwish, .gradient = gradHardSwish, .flops = elementwise<1>},
    {.name = "Tanh", .since = 13, .source = "ONNX Operators.md, Tanh-13", .run = runUnary<FloatTypes, [](auto x) { return std::tanh(x); }>,
        .gradient = gradTanh, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Softplus", .since = 22, .source = "ONNX Operators.md, Softplus-22", .run = runUnary<FloatTypes, [](auto x) { return softplus(x); }>,
        .gradient = gradSoftplus, .flops = elementwise<1>},
    {.name = "Softsign", .since = 22, .source = "ONNX Operators.md, Softsign-22",
        .run = runUnary<FloatTypes, [](auto x) { return x / (decltype(x)(1) + std::fabs(x)); }>, .gradient = gradSoftsign, .flops = elementwise<1>},
    {.name = "ThresholdedRelu", .since = 22, .source = "ONNX Operators.md, ThresholdedRelu-22", .run = runThresholdedRelu,
        .gradient = gradThresholdedRelu, .flops = elementwise<1>},
    {.name = "Shrink", .since = 9, .source = "ONNX Operators.md, Shrink-9", .run = runShrink, .gradient = gradShrink, .flops = elementwise<1>},
    {.name = "Mish", .since = 22, .source = "ONNX Operators.md, Mish-22",
        .run = runUnary<FloatTypes, [](auto x) { return x * std::tanh(softplus(x)); }>, .gradient = gradMish, .flops = elementwise<1>},
    {.name = "Gelu", .since = 20, .source = "ONNX Operators.md, Gelu-20", .run = runGelu, .gradient = gradGelu, .flops = elementwise<1>},
    {.name = "Swish", .since = 24, .source = "ONNX Operators.md, Swish-24", .run = runSwish, .gradient = gradSwish, .flops = elementwise<1>},
    {.name = "Clip", .since = 13, .source = "ONNX Operators.md, Clip-13", .run = runClip, .gradient = gradClip, .flops = elementwise<1>, .upgrades = kClipUpgrades},
};

} // namespace

std::span<const OpDef> activationOps() { return kOps; }

} // namespace nabla::engine
