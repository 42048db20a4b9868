// What every reference kernel is written with: one dispatch over element types, and the arithmetic type of each.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "engine/ops/op_def.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

template <typename... Ts> struct TypeList { };
using FloatTypes = TypeList<float, double, Half, BFloat16>;
using SignedTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using UnsignedTypes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using IntegerTypes = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using SignedNumberTypes = TypeList<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using NumberTypes = TypeList<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
    std::uint32_t, std::uint64_t>;

template <typename T> inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T> inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

/// What T is computed in: small floats in float, everything else in itself. Results are rounded once, when stored.
template <typename T> using ComputeType = std::conditional_t<kIsSmallFloat<T>, float, T>;
/// What sums over T are kept in: double for floats, 64-bit (wrapping) for integers.
template <typename T> using SumType
    = std::conditional_t<kIsFloat<T>, double, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

/// T to what it is computed in and back; no warning about narrowing, the rounding is meant.
template <typename To, typename From> To convert(From value) { return static_cast<To>(value); }
template <typename T> ComputeType<T> widen(T value) { return static_cast<ComputeType<T>>(value); }

// Integer arithmetic that wraps as NumPy's does; plain arithmetic for floats. Going by way of uint64 keeps every width free of overflow.
template <typename T> T wrapAdd(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
        return a + b;
}
template <typename T> T wrapSub(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else
        return a - b;
}
template <typename T> T wrapMul(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return a * b;
}

/// The error for an element type a kernel does not take: `Add does not take string`.
inline Error typeError(const KernelContext& c, DType type) { return runError("{} does not take elements of type {}", c.node().opType, name(type)); }

/// Calls `f.template operator()<T>()` for the type of the list that `type` is; f returns Result<void>.
template <typename... Ts, typename F> Result<void> dispatch(TypeList<Ts...>, const KernelContext& c, DType type, F&& f) {
    Result<void> result = typeError(c, type);
    static_cast<void>(((dtypeOf<Ts>() == type ? (result = f.template operator()<Ts>(), true) : false) || ...));
    return result;
}

/// The tensor of input i. Errors: it is omitted or no tensor.
inline Result<Tensor> needTensor(const KernelContext& c, std::size_t i) {
    if (!c.hasInput(i))
        return runError("{} needs input {}, which is missing", c.node().opType, i);
    const Tensor& t = c.input(i);
    if (!t.defined())
        return runError("{} wants a tensor as input {}", c.node().opType, i);
    return t;
}

/// An integer input as numbers. Errors: missing, or not of an integer type.
inline Result<std::vector<std::int64_t>> needInts(const KernelContext& c, std::size_t i) {
    NABLA_TRY(const Tensor t, needTensor(c, i));
    if (!isInteger(t.dtype()))
        return runError("{} wants integers as input {}, which is {}", c.node().opType, i, name(t.dtype()));
    return t.toInt64s();
}

/// The axes of a list, brought into [0, rank), each at most once.
inline Result<std::vector<std::int64_t>> normalizeAxes(std::span<const std::int64_t> axes, std::size_t rank) {
    std::vector<std::int64_t> out;
    std::vector<bool> seen(rank, false);
    for (const std::int64_t axis : axes) {
        NABLA_TRY(const std::int64_t a, normalizeAxis(axis, rank));
        if (seen[static_cast<std::size_t>(a)])
            return runError("axis {} is named twice", a);
        seen[static_cast<std::size_t>(a)] = true;
        out.push_back(a);
    }
    return out;
}

/// A shape around one axis: [outer, size, inner].
struct AxisSplit {
    std::int64_t outer = 1, size = 1, inner = 1;
    AxisSplit(ShapeView shape, std::int64_t axis) {
        for (std::size_t i = 0; i < shape.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            (at < axis ? outer : at == axis ? size : inner) *= shape[i];
        }
    }
};

/// Walks the indices of a shape in row-major order: `for (IndexWalk w(shape); !w.done(); w.next())`.
class IndexWalk {
public:
    explicit IndexWalk(Shape shape) : m_shape(std::move(shape)), m_index(m_shape.size(), 0), m_done(elementCount(m_shape) == 0) { }
    bool done() const { return m_done; }
    const std::vector<std::int64_t>& index() const { return m_index; }
    std::int64_t operator[](std::size_t axis) const { return m_index[axis]; }
    void next() {
        for (std::size_t axis = m_shape.size(); axis-- > 0;) {
            if (++m_index[axis] < m_shape[axis])
                return;
            m_index[axis] = 0;
        }
        m_done = true;
    }
    /// Sum of index times stride.
    std::int64_t dot(std::span<const std::int64_t> strides) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < m_index.size(); ++i)
            sum += m_index[i] * strides[i];
        return sum;
    }

private:
    Shape m_shape;
    std::vector<std::int64_t> m_index;
    bool m_done;
};

} // namespace nabla::engine
