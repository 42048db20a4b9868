// Vector loops over Highway; this file is compiled once per instruction set and dispatched by it.
#include "engine/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/simd.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace nabla::engine {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Whole vectors, then what is left one by one. An element is read before it is written, so y may lie over x.
template <typename F> HWY_INLINE void mapRow(const float* x, float* y, std::size_t count, F f) {
    const hn::ScalableTag<float> whole;
    const std::size_t lanes = hn::Lanes(whole);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(f(whole, hn::LoadU(whole, x + i)), whole, y + i);
    const hn::CappedTag<float, 1> one;
    for (; i < count; ++i)
        hn::StoreU(f(one, hn::LoadU(one, x + i)), one, y + i);
}

template <typename F>
HWY_INLINE void mapRows(
    const float* a, std::size_t aStep, const float* b, std::size_t bStep, float* y, std::size_t count, F f) {
    const hn::ScalableTag<float> whole;
    const std::size_t lanes = hn::Lanes(whole);
    const auto loop = [&](auto loadA, auto loadB) HWY_ATTR {
        std::size_t i = 0;
        for (; i + lanes <= count; i += lanes)
            hn::StoreU(f(loadA(whole, i), loadB(whole, i)), whole, y + i);
        const hn::CappedTag<float, 1> one;
        for (; i < count; ++i)
            hn::StoreU(f(loadA(one, i), loadB(one, i)), one, y + i);
    };
    const float firstA = *a, firstB = *b;
    const auto rowA = [&](auto d, std::size_t i) HWY_ATTR { return hn::LoadU(d, a + i); };
    const auto rowB = [&](auto d, std::size_t i) HWY_ATTR { return hn::LoadU(d, b + i); };
    const auto allA = [&](auto d, std::size_t) HWY_ATTR { return hn::Set(d, firstA); };
    const auto allB = [&](auto d, std::size_t) HWY_ATTR { return hn::Set(d, firstB); };
    if (aStep && bStep)
        loop(rowA, rowB);
    else if (aStep)
        loop(rowA, allB);
    else if (bStep)
        loop(allA, rowB);
    else
        loop(allA, allB);
}

/// Highway's Exp wants a finite argument up to 88.7: what is beyond overflows here, NaN stays NaN.
template <typename D, typename V> HWY_INLINE V expOf(D d, V v) {
    const auto limit = hn::Set(d, 88.722839F);
    const V finite = hn::Exp(d, hn::Min(v, limit));
    const V inRange = hn::IfThenElse(hn::Ge(v, limit), hn::Inf(d), finite);
    return hn::IfThenElse(hn::Eq(v, v), inRange, v);
}

/// Highway's Log wants a positive finite argument.
template <typename D, typename V> HWY_INLINE V logOf(D d, V v) {
    const auto zero = hn::Zero(d);
    const V ofZero = hn::IfThenElse(hn::Eq(v, zero), hn::Neg(hn::Inf(d)), hn::NaN(d));
    const V ofPositive = hn::IfThenElse(hn::Eq(v, hn::Inf(d)), v, hn::Log(d, v));
    return hn::IfThenElse(hn::Gt(v, zero), ofPositive, ofZero);
}

template <typename D, typename V> HWY_INLINE V tanhOf(D d, V v) {
    return hn::IfThenElse(hn::Eq(v, v), hn::Tanh(d, v), v);
}

template <typename D, typename V> HWY_INLINE V sigmoidOf(D d, V v) {
    const auto one = hn::Set(d, 1.0F);
    return hn::Div(one, hn::Add(one, expOf(d, hn::Neg(v))));
}

void unary(UnaryRow f, const float* x, float* y, std::size_t count) {
    switch (f) {
    case UnaryRow::Abs:
        return mapRow(x, y, count, [](auto, auto v) HWY_ATTR { return hn::Abs(v); });
    case UnaryRow::Exp:
        return mapRow(x, y, count, [](auto d, auto v) HWY_ATTR { return expOf(d, v); });
    case UnaryRow::Log:
        return mapRow(x, y, count, [](auto d, auto v) HWY_ATTR { return logOf(d, v); });
    case UnaryRow::Neg:
        return mapRow(x, y, count, [](auto, auto v) HWY_ATTR { return hn::Neg(v); });
    case UnaryRow::Reciprocal:
        return mapRow(x, y, count, [](auto d, auto v) HWY_ATTR { return hn::Div(hn::Set(d, 1.0F), v); });
    case UnaryRow::Relu: // NaN is not below zero and stays
        return mapRow(
            x, y, count, [](auto d, auto v) HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v); });
    case UnaryRow::Sigmoid:
        return mapRow(x, y, count, [](auto d, auto v) HWY_ATTR { return sigmoidOf(d, v); });
    case UnaryRow::Sqrt:
        return mapRow(x, y, count, [](auto, auto v) HWY_ATTR { return hn::Sqrt(v); });
    case UnaryRow::Tanh:
        return mapRow(x, y, count, [](auto d, auto v) HWY_ATTR { return tanhOf(d, v); });
    }
}

void binary(
    BinaryRow f, const float* a, std::size_t aStep, const float* b, std::size_t bStep, float* y, std::size_t count) {
    switch (f) {
    case BinaryRow::Add:
        return mapRows(a, aStep, b, bStep, y, count, [](auto u, auto v) HWY_ATTR { return hn::Add(u, v); });
    case BinaryRow::Div:
        return mapRows(a, aStep, b, bStep, y, count, [](auto u, auto v) HWY_ATTR { return hn::Div(u, v); });
    case BinaryRow::Mul:
        return mapRows(a, aStep, b, bStep, y, count, [](auto u, auto v) HWY_ATTR { return hn::Mul(u, v); });
    case BinaryRow::Sub:
        return mapRows(a, aStep, b, bStep, y, count, [](auto u, auto v) HWY_ATTR { return hn::Sub(u, v); });
    }
}

} // namespace HWY_NAMESPACE
} // namespace nabla::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nabla::engine {

namespace {
HWY_EXPORT(unary);
HWY_EXPORT(binary);
} // namespace

void unaryRow(UnaryRow f, const float* x, float* y, std::size_t count) {
    HWY_DYNAMIC_DISPATCH(unary)(f, x, y, count);
}

void binaryRow(
    BinaryRow f, const float* a, std::size_t aStep, const float* b, std::size_t bStep, float* y, std::size_t count) {
    if (count > 0)
        HWY_DYNAMIC_DISPATCH(binary)(f, a, aStep, b, bStep, y, count);
}

} // namespace nabla::engine
#endif
