// Functions of one operand: sign and rounding, roots, exponentials, trigonometry.
#include <cmath>

#include "engine/ops/broadcast.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

template <typename T> T absolute(T x) {
    if constexpr (std::is_floating_point_v<T>)
        return std::fabs(x);
    else
        return x < 0 ? wrapSub(T{0}, x) : x;
}

template <typename T> T signOf(T x) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(x))
            return x;
    }
    return static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
}

/// Halves go to the even neighbour, whatever rounding mode the thread is in.
template <typename T> T roundHalfEven(T x) {
    const T up = std::round(x);
    return std::fabs(x - std::trunc(x)) == T(0.5) ? std::copysign(T(2) * std::round(x / T(2)), x) : up;
}

// ---- gradients; each gets dy, x = the input and y = the output ----

using Rule = ValueId (*)(GradientBuilder& b, ValueId dy, ValueId x, ValueId y);
template <Rule rule> Gradients grad(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{rule(b, dy[0], n.inputs[0], n.outputs[0])};
}

ValueId one(GradientBuilder& b, ValueId x) { return b.scalar(x, 1); }
ValueId square(GradientBuilder& b, ValueId x) { return b.mul(x, x); }

ValueId gradNeg(GradientBuilder& b, ValueId dy, ValueId, ValueId) { return b.neg(dy); }
ValueId gradAbs(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.mul(dy, b.op("Sign", {x})); }
ValueId gradReciprocal(GradientBuilder& b, ValueId dy, ValueId, ValueId y) { return b.neg(b.mul(dy, square(b, y))); }
ValueId gradSqrt(GradientBuilder& b, ValueId dy, ValueId x, ValueId y) { return b.div(dy, b.mul(b.scalar(x, 2), y)); }
ValueId gradExp(GradientBuilder& b, ValueId dy, ValueId, ValueId y) { return b.mul(dy, y); }
ValueId gradLog(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, x); }
/// erf' = 2 / sqrt(pi) * exp(-x^2)
ValueId gradErf(GradientBuilder& b, ValueId dy, ValueId x, ValueId) {
    return b.mul(dy, b.mul(b.scalar(x, 1.1283791670955125739), b.op("Exp", {b.neg(square(b, x))})));
}
ValueId gradSin(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.mul(dy, b.op("Cos", {x})); }
ValueId gradCos(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.neg(b.mul(dy, b.op("Sin", {x}))); }
ValueId gradTan(GradientBuilder& b, ValueId dy, ValueId x, ValueId y) { return b.mul(dy, b.add(one(b, x), square(b, y))); }
ValueId gradAsin(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, b.op("Sqrt", {b.sub(one(b, x), square(b, x))})); }
ValueId gradAcos(GradientBuilder& b, ValueId dy, ValueId x, ValueId y) { return b.neg(gradAsin(b, dy, x, y)); }
ValueId gradAtan(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, b.add(one(b, x), square(b, x))); }
ValueId gradSinh(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.mul(dy, b.op("Cosh", {x})); }
ValueId gradCosh(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.mul(dy, b.op("Sinh", {x})); }
ValueId gradAsinh(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, b.op("Sqrt", {b.add(square(b, x), one(b, x))})); }
ValueId gradAcosh(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, b.op("Sqrt", {b.sub(square(b, x), one(b, x))})); }
ValueId gradAtanh(GradientBuilder& b, ValueId dy, ValueId x, ValueId) { return b.div(dy, b.sub(one(b, x), square(b, x))); }

constexpr GradientRule kFlat = notDifferentiable("its derivative is 0 wherever it has one");

constexpr OpDef kOps[] = {
    {.name = "Neg", .since = 13, .source = "ONNX Operators.md, Neg-13",
        .run = runUnary<SignedNumberTypes, [](auto x) { return std::is_integral_v<decltype(x)> ? wrapSub(decltype(x){0}, x) : static_cast<decltype(x)>(-x); }>,
        .gradient = grad<gradNeg>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Abs", .since = 13, .source = "ONNX Operators.md, Abs-13", .run = runUnary<NumberTypes, [](auto x) { return absolute(x); }>,
        .gradient = grad<gradAbs>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Sign", .since = 13, .source = "ONNX Operators.md, Sign-13", .run = runUnary<NumberTypes, [](auto x) { return signOf(x); }>,
        .gradient = kFlat, .flops = elementwise<1>},
    {.name = "Reciprocal", .since = 13, .source = "ONNX Operators.md, Reciprocal-13",
        .run = runUnary<FloatTypes, [](auto x) { return decltype(x){1} / x; }>, .gradient = grad<gradReciprocal>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Sqrt", .since = 13, .source = "ONNX Operators.md, Sqrt-13", .run = runUnary<FloatTypes, [](auto x) { return std::sqrt(x); }>,
        .gradient = grad<gradSqrt>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Exp", .since = 13, .source = "ONNX Operators.md, Exp-13", .run = runUnary<FloatTypes, [](auto x) { return std::exp(x); }>,
        .gradient = grad<gradExp>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Log", .since = 13, .source = "ONNX Operators.md, Log-13", .run = runUnary<FloatTypes, [](auto x) { return std::log(x); }>,
        .gradient = grad<gradLog>, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Erf", .since = 13, .source = "ONNX Operators.md, Erf-13",
        .run = runUnary<NumberTypes, [](auto x) { return std::erf(x); }>, .gradient = grad<gradErf>, .flops = elementwise<1>},
    {.name = "Floor", .since = 13, .source = "ONNX Operators.md, Floor-13", .run = runUnary<FloatTypes, [](auto x) { return std::floor(x); }>,
        .gradient = kFlat, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Ceil", .since = 13, .source = "ONNX Operators.md, Ceil-13", .run = runUnary<FloatTypes, [](auto x) { return std::ceil(x); }>,
        .gradient = kFlat, .flops = elementwise<1>, .upgrades = kDropConsumedInputs},
    {.name = "Round", .since = 22, .source = "ONNX Operators.md, Round-22", .run = runUnary<FloatTypes, [](auto x) { return roundHalfEven(x); }>,
        .gradient = kFlat, .flops = elementwise<1>},
    {.name = "Sin", .since = 22, .source = "ONNX Operators.md, Sin-22", .run = runUnary<FloatTypes, [](auto x) { return std::sin(x); }>,
        .gradient = grad<gradSin>, .flops = elementwise<1>},
    {.name = "Cos", .since = 22, .source = "ONNX Operators.md, Cos-22", .run = runUnary<FloatTypes, [](auto x) { return std::cos(x); }>,
        .gradient = grad<gradCos>, .flops = elementwise<1>},
    {.name = "Tan", .since = 22, .source = "ONNX Operators.md, Tan-22", .run = runUnary<FloatTypes, [](auto x) { return std::tan(x); }>,
        .gradient = grad<gradTan>, .flops = elementwise<1>},
    {.name = "Asin", .since = 22, .source = "ONNX Operators.md, Asin-22", .run = runUnary<FloatTypes, [](auto x) { return std::asin(x); }>,
        .gradient = grad<gradAsin>, .flops = elementwise<1>},
    {.name = "Acos", .since = 22, .source = "ONNX Operators.md, Acos-22", .run = runUnary<FloatTypes, [](auto x) { return std::acos(x); }>,
        .gradient = grad<gradAcos>, .flops = elementwise<1>},
    {.name = "Atan", .since = 22, .source = "ONNX Operators.md, Atan-22", .run = runUnary<FloatTypes, [](auto x) { return std::atan(x); }>,
        .gradient = grad<gradAtan>, .flops = elementwise<1>},
    {.name = "Sinh", .since = 22, .source = "ONNX Operators.md, Sinh-22", .run = runUnary<FloatTypes, [](auto x) { return std::sinh(x); }>,
        .gradient = grad<gradSinh>, .flops = elementwise<1>},
    {.name = "Cosh", .since = 22, .source = "ONNX Operators.md, Cosh-22", .run = runUnary<FloatTypes, [](auto x) { return std::cosh(x); }>,
        .gradient = grad<gradCosh>, .flops = elementwise<1>},
    {.name = "Asinh", .since = 22, .source = "ONNX Operators.md, Asinh-22", .run = runUnary<FloatTypes, [](auto x) { return std::asinh(x); }>,
        .gradient = grad<gradAsinh>, .flops = elementwise<1>},
    {.name = "Acosh", .since = 22, .source = "ONNX Operators.md, Acosh-22", .run = runUnary<FloatTypes, [](auto x) { return std::acosh(x); }>,
        .gradient = grad<gradAcosh>, .flops = elementwise<1>},
    {.name = "Atanh", .since = 22, .source = "ONNX Operators.md, Atanh-22", .run = runUnary<FloatTypes, [](auto x) { return std::atanh(x); }>,
        .gradient = grad<gradAtanh>, .flops = elementwise<1>},
};

} // namespace

std::span<const OpDef> unaryMathOps() { return kOps; }

} // namespace nabla::engine
