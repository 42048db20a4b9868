// Add, Sub, Mul, Div, Pow, Mod, Max, Min, Sum, Mean: arithmetic of two or more operands with broadcasting.
#include <cmath>
#include <limits>

#include "engine/ops/broadcast.h"
#include "engine/ops/constant_of.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

// ---- Div, Mod: integers need their divisor checked ----

Result<void> refuseZeroDivisor(const KernelContext& c, const Tensor& divisor) {
    if (!isInteger(divisor.dtype()))
        return {};
    for (std::int64_t i = 0; i < divisor.elementCount(); ++i) {
        if (divisor.asInt64(i) == 0)
            return runError("{}: integer division by zero, at element {} of the divisor", c.node().opType, i);
    }
    return {};
}

/// Truncating division; the one quotient that overflows (lowest / -1) wraps.
template <typename T> T divide(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
        if (b == -1)
            return wrapSub(T{0}, a);
    }
    return static_cast<T>(a / b);
}

Result<void> runDiv(const KernelContext& c) {
    NABLA_TRY(const Tensor b, needTensor(c, 1));
    NABLA_TRY(const Tensor a, needTensor(c, 0));
    if (a.elementCount() > 0)
        NABLA_CHECK(refuseZeroDivisor(c, b));
    return runBinary<NumberTypes, [](auto x, auto y) { return divide(x, y); }>(c);
}

/// a - trunc(a / b) * b: the sign of a.
template <typename T> T remainderTruncated(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return std::fmod(a, b);
    else if constexpr (std::is_signed_v<T>)
        return b == -1 ? T{0} : static_cast<T>(a % b);
    else
        return static_cast<T>(a % b);
}

/// a - floor(a / b) * b: the sign of b, for zero results too.
template <typename T> T remainderFloored(T a, T b) {
    const T r = remainderTruncated(a, b);
    if constexpr (std::is_floating_point_v<T>) {
        if (r == 0)
            return std::copysign(T{0}, b);
        return (r < 0) != (b < 0) ? (std::isinf(b) ? b : r + b) : r;
    } else if constexpr (std::is_signed_v<T>) {
        return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    } else {
        return r;
    }
}

Result<void> runMod(const KernelContext& c) {
    NABLA_TRY(const Tensor b, needTensor(c, 1));
    NABLA_TRY(const Tensor a, needTensor(c, 0));
    if (a.elementCount() > 0)
        NABLA_CHECK(refuseZeroDivisor(c, b));
    if (c.intAttribute("fmod") != 0)
        return runBinary<NumberTypes, [](auto x, auto y) { return remainderTruncated(x, y); }>(c);
    return runBinary<NumberTypes, [](auto x, auto y) { return remainderFloored(x, y); }>(c);
}

// ---- Pow: the exponent has a type of its own ----

/// Exact for whole bases and exponents: square and multiply, wrapping. A negative exponent gives what 1 / base^|exponent| truncates to.
template <typename T> T wholePower(T base, std::int64_t exponent) {
    if (exponent < 0) {
        if (base == 1)
            return 1;
        if constexpr (std::is_signed_v<T>) {
            if (base == -1)
                return exponent % 2 == 0 ? T{1} : T{-1};
        }
        return 0;
    }
    T result = 1;
    for (T factor = base; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result = wrapMul(result, factor);
        factor = wrapMul(factor, factor);
    }
    return result;
}

template <typename X, typename Y> X power(X base, Y exponent) {
    using P = ComputeType<X>;
    if constexpr (std::is_integral_v<X> && std::is_integral_v<Y>) {
        return wholePower(base, static_cast<std::int64_t>(exponent));
    } else if constexpr (std::is_integral_v<X>) {
        const double value = std::trunc(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
        constexpr double limit = 9223372036854775808.0; // 2^63
        if (std::isnan(value))
            return 0;
        return value >= limit ? std::numeric_limits<X>::max() : value < -limit ? std::numeric_limits<X>::min() : static_cast<X>(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_same_v<X, double> || std::is_same_v<Y, double> || std::is_integral_v<Y>) {
        return convert<X>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    } else {
        return static_cast<X>(std::pow(static_cast<P>(base), static_cast<P>(widen(exponent))));
    }
}

Result<void> runPow(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Tensor y, needTensor(c, 1));
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({x.shape(), y.shape()}));
    NABLA_TRY(Tensor z, c.makeOutput(0, x.dtype(), loop.shape()));
    NABLA_CHECK(dispatch(TypeList<float, double, Half, BFloat16, std::int32_t, std::int64_t>{}, c, x.dtype(), [&]<typename X>() {
        return dispatch(NumberTypes{}, c, y.dtype(), [&]<typename Y>() -> Result<void> {
            mapBroadcast(loop, z.mutableData<X>().data(), [](X p, Y q) { return power(p, q); }, x.data<X>().data(), y.data<Y>().data());
            return {};
        });
    }));
    c.setOutput(0, std::move(z));
    return {};
}

// ---- Max, Min, Sum, Mean: any number of operands, folded from the left ----

/// Folds the inputs in the compute type, so that small floats round once; `last` turns the fold into the output.
template <typename Types, auto fold, auto last> Result<void> runVariadic(const KernelContext& c) {
    NABLA_TRY(const Tensor first, needTensor(c, 0));
    Shape shape = first.shape();
    for (std::size_t i = 1; i < c.inputCount(); ++i) {
        NABLA_TRY(const Tensor next, needTensor(c, i));
        if (next.dtype() != first.dtype())
            return runError("{} wants inputs of one type, got {} and {}", c.node().opType, name(first.dtype()), name(next.dtype()));
        NABLA_TRY(shape, broadcastShapes(shape, next.shape()));
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, first.dtype(), shape));
    NABLA_CHECK(dispatch(Types{}, c, first.dtype(), [&]<typename T>() -> Result<void> {
        using C = ComputeType<T>;
        std::vector<C> work(static_cast<std::size_t>(y.elementCount()));
        NABLA_TRY(const auto begin, BroadcastLoop<2>::make({shape, first.shape()}));
        mapBroadcast(begin, work.data(), [](C, T x) { return widen(x); }, work.data(), first.data<T>().data());
        for (std::size_t i = 1; i < c.inputCount(); ++i) {
            NABLA_TRY(const auto loop, BroadcastLoop<2>::make({shape, c.input(i).shape()}));
            mapBroadcast(loop, work.data(), [](C a, T x) { return fold(a, widen(x)); }, work.data(), c.input(i).data<T>().data());
        }
        const auto out = y.mutableData<T>();
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<T>(last(work[i], static_cast<C>(c.inputCount())));
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

/// NaN wins, as in NumPy's maximum and minimum.
template <typename T> bool isNan(T x) {
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(x);
    else
        return false;
}
constexpr auto kLarger = [](auto a, auto b) { return isNan(a) || a > b ? a : b; };
constexpr auto kSmaller = [](auto a, auto b) { return isNan(a) || a < b ? a : b; };
constexpr auto kPlus = [](auto a, auto b) { return a + b; };
constexpr auto kKeep = [](auto a, auto) { return a; };
constexpr auto kDivideByCount = [](auto a, auto count) { return a / count; };

// ---- gradients ----

Gradients gradAdd(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{b.wants(0) ? b.unbroadcast(dy[0], n.inputs[0]) : ValueId{}, b.wants(1) ? b.unbroadcast(dy[0], n.inputs[1]) : ValueId{}};
}

Gradients gradSub(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{b.wants(0) ? b.unbroadcast(dy[0], n.inputs[0]) : ValueId{}, b.wants(1) ? b.unbroadcast(b.neg(dy[0]), n.inputs[1]) : ValueId{}};
}

Gradients gradMul(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(2);
    for (std::size_t i = 0; i < 2; ++i) {
        if (b.wants(i))
            out[i] = b.unbroadcast(b.mul(dy[0], n.inputs[1 - i]), n.inputs[i]);
    }
    return out;
}

/// da = dy / b, db = -dy * (a / b) / b.
Gradients gradDiv(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(2);
    if (b.wants(0))
        out[0] = b.unbroadcast(b.div(dy[0], n.inputs[1]), n.inputs[0]);
    if (b.wants(1))
        out[1] = b.unbroadcast(b.neg(b.mul(dy[0], b.div(n.outputs[0], n.inputs[1]))), n.inputs[1]);
    return out;
}

/// The one value of a constant that is the same everywhere (x^2, x^0.5).
std::optional<double> uniformConstant(GradientBuilder& b, ValueId value) {
    const TensorPtr t = constantOf(b.editor().graph(), value);
    if (!t || t->elementCount() != 1)
        return std::nullopt;
    return t->asDouble(0);
}

/// dx = dy * y * x^(y-1). Where x and y are both 0 the term is 0 * 0^-1: the exponent is replaced by 1 there, so that it is 0 and stays
/// differentiable.
ValueId powBaseGradient(GradientBuilder& b, const Node& n, ValueId dy) {
    const ValueId x = n.inputs[0];
    if (const auto fixed = uniformConstant(b, n.inputs[1]); fixed && *fixed != 0) {
        const ValueId factor = b.mul(dy, b.scalar(x, *fixed));
        return *fixed == 1 ? dy : b.mul(factor, *fixed == 2 ? x : b.op("Pow", {x, b.scalar(x, *fixed - 1)}));
    }
    const ValueId exponent = b.castLike(n.inputs[1], x);
    const ValueId bothZero = b.op("And", {b.op("Equal", {x, b.scalar(x, 0)}), b.op("Equal", {exponent, b.scalar(x, 0)})});
    const ValueId lowered = b.sub(b.where(bothZero, b.scalar(x, 1), exponent), b.scalar(x, 1));
    return b.mul(dy, b.mul(exponent, b.op("Pow", {x, lowered})));
}

/// dy_exponent = dy * z * log(x), and 0 where x is 0 and y is not negative: the logarithm is taken of 1 there.
ValueId powExponentGradient(GradientBuilder& b, const Node& n, ValueId dy) {
    const ValueId x = n.inputs[0], y = n.inputs[1];
    const ValueId masked = b.op("And", {b.op("Equal", {x, b.scalar(x, 0)}), b.op("GreaterOrEqual", {y, b.scalar(y, 0)})});
    const ValueId safe = b.where(masked, b.scalar(x, 1), x);
    return b.mul(dy, b.mul(n.outputs[0], b.op("Log", {safe})));
}

Gradients gradPow(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(2);
    if (b.wants(0))
        out[0] = b.unbroadcast(powBaseGradient(b, n, dy[0]), n.inputs[0]);
    if (b.wants(1) && isDifferentiable(b.dtype(n.inputs[1])))
        out[1] = b.castLike(b.unbroadcast(powExponentGradient(b, n, dy[0]), n.inputs[1]), n.inputs[1]);
    return out;
}

/// mod(a, b) = a - q * b with a quotient q that is constant almost everywhere.
Gradients gradMod(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(2);
    if (b.wants(0))
        out[0] = b.unbroadcast(dy[0], n.inputs[0]);
    if (b.wants(1)) {
        const ValueId exact = b.div(b.sub(n.inputs[0], n.outputs[0]), n.inputs[1]);
        out[1] = b.unbroadcast(b.neg(b.mul(dy[0], b.op("Round", {exact}))), n.inputs[1]);
    }
    return out;
}

/// Operands that tie for the extreme share the cotangent equally.
Gradients gradExtreme(GradientBuilder& b, const Node& n, OutputGrads dy) {
    if (n.inputs.size() == 1)
        return std::vector{dy[0]};
    std::vector<ValueId> hits;
    for (const ValueId input : n.inputs)
        hits.push_back(b.castLike(b.op("Equal", {input, n.outputs[0]}), n.outputs[0]));
    const ValueId share = b.div(dy[0], b.op("Sum", hits));
    std::vector<ValueId> out(n.inputs.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (b.wants(i))
            out[i] = b.unbroadcast(b.mul(share, hits[i]), n.inputs[i]);
    }
    return out;
}

Gradients gradSum(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(n.inputs.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (b.wants(i))
            out[i] = b.unbroadcast(dy[0], n.inputs[i]);
    }
    return out;
}

Gradients gradMean(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId share = b.div(dy[0], b.scalar(n.outputs[0], static_cast<double>(n.inputs.size())));
    return gradSum(b, n, std::array{share});
}

// ---- FLOPs ----

/// One for every operand but the first; a mean divides too.
template <int more> std::int64_t variadicFlops(const CostInputs& c) {
    const auto operands = static_cast<std::int64_t>(c.inputs.size());
    return touchesFloats(c) && operands > 0 ? saturatedProduct({outputElements(c), operands - 1 + more}) : 0;
}

constexpr auto kRunAdd = runBinary<NumberTypes, [](auto a, auto b) { return wrapAdd(a, b); }>;
constexpr auto kRunSub = runBinary<NumberTypes, [](auto a, auto b) { return wrapSub(a, b); }>;
constexpr auto kRunMul = runBinary<NumberTypes, [](auto a, auto b) { return wrapMul(a, b); }>;

constexpr OpDef kOps[] = {
    {.name = "Add", .since = 14, .source = "ONNX Operators.md, Add-14", .run = kRunAdd, .gradient = gradAdd, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Sub", .since = 14, .source = "ONNX Operators.md, Sub-14", .run = kRunSub, .gradient = gradSub, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Mul", .since = 14, .source = "ONNX Operators.md, Mul-14", .run = kRunMul, .gradient = gradMul, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Div", .since = 14, .source = "ONNX Operators.md, Div-14", .run = runDiv, .gradient = gradDiv, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Pow", .since = 15, .source = "ONNX Operators.md, Pow-15", .run = runPow, .gradient = gradPow, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Mod", .since = 28, .source = "ONNX Operators.md, Mod-28", .run = runMod, .gradient = gradMod, .flops = elementwise<1>},
    {.name = "Max", .since = 13, .source = "ONNX Operators.md, Max-13", .run = runVariadic<NumberTypes, kLarger, kKeep>, .gradient = gradExtreme,
        .flops = variadicFlops<0>, .upgrades = kDropConsumedInputs},
    {.name = "Min", .since = 13, .source = "ONNX Operators.md, Min-13", .run = runVariadic<NumberTypes, kSmaller, kKeep>, .gradient = gradExtreme,
        .flops = variadicFlops<0>, .upgrades = kDropConsumedInputs},
    {.name = "Sum", .since = 13, .source = "ONNX Operators.md, Sum-13", .run = runVariadic<FloatTypes, kPlus, kKeep>, .gradient = gradSum,
        .flops = variadicFlops<0>, .upgrades = kDropConsumedInputs},
    {.name = "Mean", .since = 13, .source = "ONNX Operators.md, Mean-13", .run = runVariadic<FloatTypes, kPlus, kDivideByCount>,
        .gradient = gradMean, .flops = variadicFlops<1>, .upgrades = kDropConsumedInputs},
};

} // namespace

std::span<const OpDef> arithmeticOps() { return kOps; }

} // namespace nabla::engine
