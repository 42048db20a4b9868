// Comparisons, boolean and bitwise operators, IsNaN, IsInf, and Where.
#include <cmath>
#include <limits>

#include "engine/ops/broadcast.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

// Booleans are bytes of which a file may hold any; they are read as "not 0" and written as 0 or 1.
const std::uint8_t* flags(const Tensor& t) { return reinterpret_cast<const std::uint8_t*>(t.raw()); }
std::uint8_t* flags(Tensor& t) { return reinterpret_cast<std::uint8_t*>(t.mutableRaw()); }

/// bool = f(a, b) over the numbers.
template <typename Types, auto f> Result<void> compareNumbers(const KernelContext& c, const Tensor& a, const Tensor& b, const BroadcastLoop<2>& loop, Tensor& y) {
    return dispatch(Types{}, c, a.dtype(), [&]<typename T>() -> Result<void> {
        mapBroadcast(loop, flags(y), [](T p, T q) { return static_cast<std::uint8_t>(f(widen(p), widen(q))); }, a.data<T>().data(), b.data<T>().data());
        return {};
    });
}

template <auto f> Result<void> runCompare(const KernelContext& c) {
    NABLA_TRY(const auto pair, needPair(c));
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({pair.first.shape(), pair.second.shape()}));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, loop.shape()));
    NABLA_CHECK((compareNumbers<NumberTypes, f>(c, pair.first, pair.second, loop, y)));
    c.setOutput(0, std::move(y));
    return {};
}

constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kGreaterOrEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kLessOrEqual = [](auto a, auto b) { return a <= b; };

Result<void> runEqual(const KernelContext& c) {
    NABLA_TRY(const auto pair, needPair(c));
    const Tensor& a = pair.first;
    const Tensor& b = pair.second;
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({a.shape(), b.shape()}));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, loop.shape()));
    if (a.dtype() == DType::String)
        mapBroadcast(loop, flags(y), [](const std::string& p, const std::string& q) { return static_cast<std::uint8_t>(p == q); },
            a.data<std::string>().data(), b.data<std::string>().data());
    else if (a.dtype() == DType::Bool)
        mapBroadcast(loop, flags(y), [](std::uint8_t p, std::uint8_t q) { return static_cast<std::uint8_t>((p != 0) == (q != 0)); }, flags(a), flags(b));
    else
        NABLA_CHECK((compareNumbers<NumberTypes, kEqual>(c, a, b, loop, y)));
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> needBool(const KernelContext& c, const Tensor& t) {
    if (t.dtype() != DType::Bool)
        return typeError(c, t.dtype());
    return {};
}

template <auto f> Result<void> runLogical(const KernelContext& c) {
    NABLA_TRY(const auto pair, needPair(c));
    NABLA_CHECK(needBool(c, pair.first));
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({pair.first.shape(), pair.second.shape()}));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, loop.shape()));
    mapBroadcast(loop, flags(y), [](std::uint8_t p, std::uint8_t q) { return static_cast<std::uint8_t>(f(p != 0, q != 0)); }, flags(pair.first), flags(pair.second));
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runNot(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_CHECK(needBool(c, x));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i)
        flags(y)[i] = flags(x)[i] == 0;
    c.setOutput(0, std::move(y));
    return {};
}

/// bool = f(value of a float element), the 8-bit floats included.
template <typename F> Result<void> runFloatTest(const KernelContext& c, F&& f) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (!isFloat(x.dtype()))
        return typeError(c, x.dtype());
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i)
        flags(y)[i] = f(x.asDouble(i));
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runIsNaN(const KernelContext& c) {
    return runFloatTest(c, [](double x) { return std::isnan(x); });
}
Result<void> runIsInf(const KernelContext& c) {
    const bool negative = c.intAttribute("detect_negative") != 0, positive = c.intAttribute("detect_positive") != 0;
    return runFloatTest(c, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

// ---- bits ----

template <typename T> T shiftBits(T x, T by, bool left) {
    constexpr int bits = std::numeric_limits<std::make_unsigned_t<T>>::digits;
    const T fill = !left && x < T{0} ? static_cast<T>(-1) : T{0}; // all that is left when every bit has gone
    if (by < T{0} || static_cast<std::uint64_t>(by) >= static_cast<std::uint64_t>(bits))
        return fill;
    const int n = static_cast<int>(by);
    return left ? static_cast<T>(static_cast<std::uint64_t>(x) << n) : static_cast<T>(x >> n);
}

Result<void> runBitShift(const KernelContext& c) {
    const std::string direction = c.stringAttribute("direction");
    if (direction == "LEFT")
        return runBinary<IntegerTypes, [](auto x, auto by) { return shiftBits(x, by, true); }>(c);
    if (direction == "RIGHT")
        return runBinary<IntegerTypes, [](auto x, auto by) { return shiftBits(x, by, false); }>(c);
    return runError("BitShift: direction is \"{}\", wants LEFT or RIGHT", direction);
}

// ---- Where ----

Result<void> runWhere(const KernelContext& c) {
    NABLA_TRY(const Tensor condition, needTensor(c, 0));
    NABLA_TRY(const Tensor x, needTensor(c, 1));
    NABLA_TRY(const Tensor y, needTensor(c, 2));
    NABLA_CHECK(needBool(c, condition));
    if (x.dtype() != y.dtype())
        return runError("Where wants two values of one type, got {} and {}", name(x.dtype()), name(y.dtype()));
    NABLA_TRY(const auto loop, BroadcastLoop<3>::make({condition.shape(), x.shape(), y.shape()}));
    NABLA_TRY(Tensor out, c.makeOutput(0, x.dtype(), loop.shape()));
    withAccess(x.dtype(), [&]<typename A>(A) {
        loop.forEachRow([&](std::int64_t at, const std::array<std::int64_t, 3>& starts, const std::array<std::int64_t, 3>& steps, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i) {
                const bool first = flags(condition)[starts[0] + i * steps[0]] != 0;
                A::set(out.mutableRaw(), at + i, first ? A::get(x.raw(), starts[1] + i * steps[1]) : A::get(y.raw(), starts[2] + i * steps[2]));
            }
        });
    });
    c.setOutput(0, std::move(out));
    return {};
}

/// The cotangent goes where the value came from and is exactly 0 elsewhere, so that an Inf or NaN on the other side does not leak.
Gradients gradWhere(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId zero = b.scalar(n.outputs[0], 0);
    std::vector<ValueId> out(3);
    if (b.wants(1))
        out[1] = b.unbroadcast(b.where(n.inputs[0], dy[0], zero), n.inputs[1]);
    if (b.wants(2))
        out[2] = b.unbroadcast(b.where(n.inputs[0], zero, dy[0]), n.inputs[2]);
    return out;
}

constexpr GradientRule kTruth = notDifferentiable("its result is true or false");
constexpr GradientRule kBits = notDifferentiable("it works on integers");

constexpr OpDef kOps[] = {
    {.name = "Equal", .since = 19, .source = "ONNX Operators.md, Equal-19", .run = runEqual, .gradient = kTruth, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Greater", .since = 13, .source = "ONNX Operators.md, Greater-13", .run = runCompare<kGreater>,
        .gradient = kTruth, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "Less", .since = 13, .source = "ONNX Operators.md, Less-13", .run = runCompare<kLess>,
        .gradient = kTruth, .flops = elementwise<1>, .upgrades = kLegacyBroadcast},
    {.name = "GreaterOrEqual", .since = 16, .source = "ONNX Operators.md, GreaterOrEqual-16",
        .run = runCompare<kGreaterOrEqual>, .gradient = kTruth, .flops = elementwise<1>},
    {.name = "LessOrEqual", .since = 16, .source = "ONNX Operators.md, LessOrEqual-16", .run = runCompare<kLessOrEqual>,
        .gradient = kTruth, .flops = elementwise<1>},
    {.name = "And", .since = 7, .source = "ONNX Operators.md, And-7", .run = runLogical<[](bool a, bool b) { return a && b; }>, .gradient = kTruth, .flops = elementwise<1>,
        .upgrades = kLegacyBroadcast},
    {.name = "Or", .since = 7, .source = "ONNX Operators.md, Or-7", .run = runLogical<[](bool a, bool b) { return a || b; }>, .gradient = kTruth, .flops = elementwise<1>,
        .upgrades = kLegacyBroadcast},
    {.name = "Xor", .since = 7, .source = "ONNX Operators.md, Xor-7", .run = runLogical<[](bool a, bool b) { return a != b; }>, .gradient = kTruth, .flops = elementwise<1>,
        .upgrades = kLegacyBroadcast},
    {.name = "Not", .since = 1, .source = "ONNX Operators.md, Not-1", .run = runNot, .gradient = kTruth, .flops = elementwise<1>},
    {.name = "IsNaN", .since = 20, .source = "ONNX Operators.md, IsNaN-20", .run = runIsNaN, .gradient = kTruth, .flops = elementwise<1>},
    {.name = "IsInf", .since = 20, .source = "ONNX Operators.md, IsInf-20", .run = runIsInf, .gradient = kTruth, .flops = elementwise<1>},
    {.name = "BitShift", .since = 28, .source = "ONNX Operators.md, BitShift-28", .run = runBitShift, .gradient = kBits, .flops = elementwise<1>},
    {.name = "BitwiseAnd", .since = 18, .source = "ONNX Operators.md, BitwiseAnd-18",
        .run = runBinary<IntegerTypes, [](auto a, auto b) { return a & b; }>, .gradient = kBits, .flops = elementwise<1>},
    {.name = "BitwiseOr", .since = 18, .source = "ONNX Operators.md, BitwiseOr-18",
        .run = runBinary<IntegerTypes, [](auto a, auto b) { return a | b; }>, .gradient = kBits, .flops = elementwise<1>},
    {.name = "BitwiseXor", .since = 18, .source = "ONNX Operators.md, BitwiseXor-18",
        .run = runBinary<IntegerTypes, [](auto a, auto b) { return a ^ b; }>, .gradient = kBits, .flops = elementwise<1>},
    {.name = "BitwiseNot", .since = 18, .source = "ONNX Operators.md, BitwiseNot-18", .run = runUnary<IntegerTypes, [](auto a) { return ~a; }>,
        .gradient = kBits, .flops = elementwise<1>},
    {.name = "Where", .since = 16, .source = "ONNX Operators.md, Where-16", .run = runWhere, .gradient = gradWhere, .flops = noFlops},
};

} // namespace

std::span<const OpDef> logicOps() { return kOps; }

} // namespace nabla::engine
