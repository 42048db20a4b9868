// The tables of exact rewrites, and of those that hold for real numbers only.
#include "engine/passes/simplify_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/passes/rewrite.h"

namespace nabla::engine {

namespace {

/// Every element satisfies the predicate; false for constants too large to look through.
template <typename F> bool allElements(const TensorPtr& tensor, F&& predicate) {
    if (!tensor || tensor->elementCount() == 0 || tensor->elementCount() > 1 << 20 || isComplex(tensor->dtype())
        || tensor->dtype() == DType::String)
        return false;
    for (std::int64_t i = 0; i < tensor->elementCount(); ++i) {
        if (!predicate(tensor->asDouble(i)))
            return false;
    }
    return true;
}
bool allEqual(const TensorPtr& tensor, double value) {
    return allElements(tensor, [value](double x) { return x == value; });
}

/// The operand of a binary node beside a neutral constant, when the result has its type and shape.
ValueId besideNeutral(RewriteSite& s, double neutral, bool eitherSide) {
    const Node& n = s.node();
    if (!n.input(0) || !n.input(1) || !n.output(0))
        return {};
    if (allEqual(s.constant(n.input(1)), neutral))
        return n.input(0);
    return eitherSide && allEqual(s.constant(n.input(0)), neutral) ? n.input(1) : ValueId{};
}
ValueId otherInput(const Node& n, ValueId value) {
    return n.input(0) == value ? n.input(1) : n.input(0);
}

std::optional<std::string> shapeKept(RewriteSite& s, ValueId kept) {
    const TensorPtr constant = s.constant(otherInput(s.node(), kept));
    const ValueType& type = s.type(kept);
    const bool cannotWiden = constant->elementCount() == 1
        && (constant->rank() == 0 || (type.shape && type.shape->size() >= constant->rank()));
    if (!cannotWiden && !s.sameShape(kept, s.node().output(0)))
        return "broadcasting against the constant may change the shape";
    return redirectGuard(s, kept);
}

bool isTimesOne(RewriteSite& s) {
    return bool(besideNeutral(s, 1, true));
}
std::optional<std::string> timesOneGuard(RewriteSite& s) {
    return shapeKept(s, besideNeutral(s, 1, true));
}
Applied dropTimesOne(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 1, true), "a number times 1 is itself");
}

bool isByOne(RewriteSite& s) {
    return bool(besideNeutral(s, 1, false));
}
std::optional<std::string> byOneGuard(RewriteSite& s) {
    return shapeKept(s, besideNeutral(s, 1, false));
}
Applied dropDivOne(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 1, false), "a number divided by 1 is itself");
}
std::optional<std::string> powOneGuard(RewriteSite& s) {
    if (s.type(s.node().input(0)).elementType == DType::Undefined
        || s.type(s.node().input(0)).elementType != s.type(s.node().output(0)).elementType)
        return "the element type may change";
    return byOneGuard(s);
}
Applied dropPowOne(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 1, false), "the first power of a number is itself");
}

// -0 compares equal to 0; only the sign bit tells whether adding it is exact.
bool isPlusZero(RewriteSite& s) {
    return bool(besideNeutral(s, 0, true));
}
std::optional<std::string> plusZeroGuard(RewriteSite& s) {
    const ValueId kept = besideNeutral(s, 0, true);
    const TensorPtr zero = s.constant(otherInput(s.node(), kept));
    if (isFloat(zero->dtype()) && !allElements(zero, [](double x) { return std::signbit(x); }))
        return "adding +0 turns -0 into +0";
    return shapeKept(s, kept);
}
Applied dropPlusZero(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 0, true), "adding -0 (or an integer 0) changes no number");
}
bool isMinusZero(RewriteSite& s) {
    return bool(besideNeutral(s, 0, false));
}
std::optional<std::string> minusZeroGuard(RewriteSite& s) {
    const ValueId kept = besideNeutral(s, 0, false);
    const TensorPtr zero = s.constant(otherInput(s.node(), kept));
    if (isFloat(zero->dtype()) && !allElements(zero, [](double x) { return !std::signbit(x); }))
        return "subtracting -0 turns -0 into +0";
    return shapeKept(s, kept);
}
Applied dropMinusZero(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 0, false), "subtracting 0 changes no number");
}

/// The node that makes the first input, when it is this operator.
const Node* before(RewriteSite& s, std::string_view opType) {
    const Node* inner = s.node().input(0) ? s.producer(s.node().input(0)) : nullptr;
    return inner && inner->is(opType) && inner->input(0) && inner->output(0) == s.node().input(0) && s.node().output(0)
        ? inner
        : nullptr;
}
bool twice(RewriteSite& s) {
    return before(s, s.node().opType) != nullptr;
}
std::optional<std::string> innerInputGuard(RewriteSite& s) {
    return redirectGuard(s, s.producer(s.node().input(0))->input(0));
}
Applied dropBoth(RewriteSite& s) {
    const Node& inner = *s.producer(s.node().input(0));
    return redirect(s, inner.input(0), fmt::format("{} undoes {}", s.node().opType, describe(inner)));
}
std::optional<std::string> inputGuard(RewriteSite& s) {
    return redirectGuard(s, s.node().input(0));
}
Applied dropSecond(RewriteSite& s) {
    return redirect(s, s.node().input(0), fmt::format("{} of a {} is the same", s.node().opType, s.node().opType));
}

bool absOfNeg(RewriteSite& s) {
    return before(s, "Neg") != nullptr;
}
Applied dropNeg(RewriteSite& s) {
    return replaceInPlace(s, "abs-of-neg", "Abs", {s.producer(s.node().input(0))->input(0)}, {},
        "the magnitude does not depend on the sign");
}

std::vector<std::int64_t> composed(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second) {
    std::vector<std::int64_t> perm;
    for (const std::int64_t axis : second) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(first.size()))
            return {};
        perm.push_back(first[static_cast<std::size_t>(axis)]);
    }
    return perm;
}
std::vector<std::int64_t> composedPerm(RewriteSite& s) {
    const Node* inner = before(s, "Transpose");
    const std::vector<std::int64_t> first = inner ? inner->intsAttribute("perm") : std::vector<std::int64_t>{};
    const std::vector<std::int64_t> second = s.node().intsAttribute("perm");
    return first.size() == second.size() ? composed(first, second) : std::vector<std::int64_t>{};
}
bool isTransposeChain(RewriteSite& s) {
    return !composedPerm(s).empty();
}
Applied mergeTransposes(RewriteSite& s) {
    const Node& inner = *s.producer(s.node().input(0));
    return replaceInPlace(s, "transpose-chain", "Transpose", {inner.input(0)}, {{"perm", composedPerm(s)}},
        fmt::format("two permutations of axes are one; the first was {}", describe(inner)));
}

bool isReshapeChain(RewriteSite& s) {
    for (const std::string_view kind : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {
        if (before(s, kind))
            return true;
    }
    return false;
}
std::optional<std::string> reshapeChainGuard(RewriteSite& s) {
    if (s.node().intAttribute("allowzero", 0) != 0)
        return std::nullopt;
    const auto shape = s.ints(s.node().input(1));
    if (!shape)
        return "the second shape is not constant and may hold a 0, which copies a dimension of the first";
    if (std::find(shape->begin(), shape->end(), 0) != shape->end())
        return "a 0 in the second shape copies a dimension of the first";
    return std::nullopt;
}
Applied mergeReshapes(RewriteSite& s) {
    const Node& inner = *s.producer(s.node().input(0));
    return replaceInPlace(s, "reshape-chain", "Reshape", {inner.input(0), s.node().input(1)}, s.node().attributes,
        fmt::format("only the last shape counts; the first was {}", describe(inner)));
}

/// Bits that a type holds exactly: sign, significand and exponent range, so that a Cast to it from a narrower one loses
/// nothing.
struct Holds {
    bool isSigned;
    int significand; ///< bits of magnitude without gaps
    int minExponent, maxExponent;
};
std::optional<Holds> holds(DType type) {
    switch (type) {
    case DType::Bool:
        return Holds{false, 1, 0, 1};
    case DType::UInt8:
        return Holds{false, 8, 0, 8};
    case DType::UInt16:
        return Holds{false, 16, 0, 16};
    case DType::UInt32:
        return Holds{false, 32, 0, 32};
    case DType::UInt64:
        return Holds{false, 64, 0, 64};
    case DType::Int8:
        return Holds{true, 8, 0, 8};
    case DType::Int16:
        return Holds{true, 16, 0, 16};
    case DType::Int32:
        return Holds{true, 32, 0, 32};
    case DType::Int64:
        return Holds{true, 64, 0, 64};
    case DType::Float16:
        return Holds{true, 11, -24, 16};
    case DType::BFloat16:
        return Holds{true, 8, -133, 128};
    case DType::Float32:
        return Holds{true, 24, -149, 128};
    case DType::Float64:
        return Holds{true, 53, -1074, 1024};
    default:
        return std::nullopt;
    }
}
/// Every value of `from`, NaN, infinities and -0 too, is a value of `to`.
bool isExactCast(DType from, DType to) {
    const auto a = holds(from), b = holds(to);
    if (from == to)
        return true;
    if (!a || !b || (isFloat(from) && !isFloat(to)) || to == DType::Bool)
        return false;
    return (b->isSigned || !a->isSigned)
        && b->significand >= a->significand + (isInteger(to) && b->isSigned && !a->isSigned ? 1 : 0)
        && b->minExponent <= a->minExponent && b->maxExponent >= a->maxExponent;
}
DType castTo(const Node& cast) {
    const std::int64_t to = cast.intAttribute("to", 0);
    return to > 0 && to <= kLastDType ? static_cast<DType>(to) : DType::Undefined;
}
bool isCastChain(RewriteSite& s) {
    return before(s, "Cast") != nullptr;
}
std::optional<std::string> castChainGuard(RewriteSite& s) {
    const Node& inner = *s.producer(s.node().input(0));
    const ValueType& type = s.type(inner.input(0));
    if (!type.isTensor() || type.elementType == DType::Undefined)
        return "the element type before the casts is not known";
    if (castTo(s.node()) == DType::String)
        return "how a number is written depends on its type";
    if (!isExactCast(type.elementType, castTo(inner)))
        return fmt::format(
            "{} does not hold every {}: {} drops bits", name(castTo(inner)), name(type.elementType), describe(inner));
    return castTo(s.node()) == type.elementType ? redirectGuard(s, inner.input(0)) : std::nullopt;
}
Applied mergeCasts(RewriteSite& s) {
    const Node& inner = *s.producer(s.node().input(0));
    const DType from = s.type(inner.input(0)).elementType;
    std::string reason
        = fmt::format("{} holds every {}, so {} lost nothing", name(castTo(inner)), name(from), describe(inner));
    if (castTo(s.node()) == from)
        return redirect(s, inner.input(0), std::move(reason));
    return replaceInPlace(s, "cast-chain", "Cast", {inner.input(0)}, s.node().attributes, std::move(reason));
}

bool isSqueezeOfUnsqueeze(RewriteSite& s) {
    const Node* inner = before(s, s.node().opType == "Squeeze" ? "Unsqueeze" : "Squeeze");
    if (!inner)
        return false;
    const auto first = s.ints(inner->input(1)), second = s.ints(s.node().input(1));
    return first && second && *first == *second;
}
std::optional<std::string> squeezeGuard(RewriteSite& s) {
    // Negative axes count from the end of shapes of different ranks.
    const auto axes = *s.ints(s.node().input(1));
    if (std::any_of(axes.begin(), axes.end(), [](std::int64_t a) { return a < 0; }) && s.node().opType != "Squeeze")
        return "negative axes count from different ends";
    return innerInputGuard(s);
}

constexpr RewriteRule kExactRules[] = {
    {"times-one", "Mul", isTimesOne, timesOneGuard, dropTimesOne},
    {"divided-by-one", "Div", isByOne, byOneGuard, dropDivOne},
    {"power-of-one", "Pow", isByOne, powOneGuard, dropPowOne},
    {"plus-zero", "Add", isPlusZero, plusZeroGuard, dropPlusZero},
    {"minus-zero", "Sub", isMinusZero, minusZeroGuard, dropMinusZero},
    {"double-negation", "Neg", twice, innerInputGuard, dropBoth},
    {"double-negation", "Not", twice, innerInputGuard, dropBoth},
    {"idempotent", "Abs", twice, inputGuard, dropSecond},
    {"abs-of-neg", "Abs", absOfNeg, nullptr, dropNeg},
    {"idempotent", "Relu", twice, inputGuard, dropSecond},
    {"idempotent", "Floor", twice, inputGuard, dropSecond},
    {"idempotent", "Ceil", twice, inputGuard, dropSecond},
    {"idempotent", "Round", twice, inputGuard, dropSecond},
    {"idempotent", "Sign", twice, inputGuard, dropSecond},
    {"transpose-chain", "Transpose", isTransposeChain, nullptr, mergeTransposes},
    {"reshape-chain", "Reshape", isReshapeChain, reshapeChainGuard, mergeReshapes},
    {"cast-chain", "Cast", isCastChain, castChainGuard, mergeCasts},
    {"squeeze-of-unsqueeze", "Squeeze", isSqueezeOfUnsqueeze, squeezeGuard, dropBoth},
    {"unsqueeze-of-squeeze", "Unsqueeze", isSqueezeOfUnsqueeze, squeezeGuard, dropBoth},
};

// Fast math: right for real numbers, wrong where a float overflows, is NaN or -0.
bool logOfExp(RewriteSite& s) {
    return before(s, "Exp") != nullptr;
}
bool expOfLog(RewriteSite& s) {
    return before(s, "Log") != nullptr;
}
std::optional<std::string> fastPlusZeroGuard(RewriteSite& s) {
    return shapeKept(s, besideNeutral(s, 0, true));
}
Applied fastPlusZero(RewriteSite& s) {
    return redirect(s, besideNeutral(s, 0, true), "adding 0; -0 is not told from +0");
}
bool sqrtOfSquare(RewriteSite& s) {
    const Node* inner = before(s, "Mul");
    return inner && inner->input(0) == inner->input(1);
}
Applied toAbs(RewriteSite& s) {
    return replaceInPlace(s, "sqrt-of-square", "Abs", {s.producer(s.node().input(0))->input(0)}, {},
        "the root of a square is the magnitude, where the square does not overflow");
}
bool productOfExps(RewriteSite& s) {
    const Node* a = s.node().input(0) ? s.producer(s.node().input(0)) : nullptr;
    const Node* b = s.node().input(1) ? s.producer(s.node().input(1)) : nullptr;
    return a && b && a->is("Exp") && b->is("Exp");
}
Applied toExpOfSum(RewriteSite& s) {
    NodeSpec sum{
        .opType = "Add", .inputs = {s.producer(s.node().input(0))->input(0), s.producer(s.node().input(1))->input(0)}};
    sum.origins = s.node().origins;
    sum.createdBy = s.context.createdBy("product-of-exps");
    const NodeId added = s.editor.add(std::move(sum));
    Applied applied = replaceInPlace(s, "product-of-exps", "Exp", {s.editor.outputs(added).front()}, {},
        "exp(a)*exp(b) = exp(a+b), where neither overflows");
    applied.added.push_back(added);
    return applied;
}

constexpr RewriteRule kFastRules[] = {
    {"log-of-exp", "Log", logOfExp, innerInputGuard, dropBoth},
    {"exp-of-log", "Exp", expOfLog, innerInputGuard, dropBoth},
    {"plus-zero", "Add", isPlusZero, fastPlusZeroGuard, fastPlusZero},
    {"sqrt-of-square", "Sqrt", sqrtOfSquare, nullptr, toAbs},
    {"product-of-exps", "Mul", productOfExps, nullptr, toExpOfSum},
};

} // namespace

Result<Graph> simplifyAlgebra(const Graph& graph, PassContext& context) {
    return applyRules(graph, context, kExactRules);
}
Result<Graph> fastMath(const Graph& graph, PassContext& context) {
    return applyRules(graph, context, kFastRules);
}

} // namespace nabla::engine
