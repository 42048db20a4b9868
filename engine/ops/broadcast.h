// Loops over broadcast operands: dimensions that run alike are merged, so that equal shapes and scalars become one plain loop.
#pragma once

#include <array>

#include "engine/ops/iterate.h"

namespace nabla::engine {

/// The common shape of N operands and how each is walked along it.
template <std::size_t N> class BroadcastLoop {
public:
    /// Errors (Run): shapes that do not broadcast.
    static Result<BroadcastLoop> make(const std::array<ShapeView, N>& operands) {
        BroadcastLoop loop;
        for (const ShapeView operand : operands) {
            NABLA_TRY(Shape merged, broadcastShapes(loop.m_shape, operand));
            loop.m_shape = std::move(merged);
        }
        loop.merge(operands);
        return loop;
    }
    const Shape& shape() const { return m_shape; }

    /// Calls row(first output index, first index per operand, step per operand, length) for each innermost run.
    template <typename Row> void forEachRow(Row&& row) const {
        if (elementCount(m_shape) == 0)
            return;
        const std::size_t outerRank = m_sizes.size() - 1;
        const std::int64_t length = m_sizes.back();
        std::vector<std::int64_t> index(outerRank, 0);
        std::array<std::int64_t, N> starts{};
        for (std::int64_t at = 0;; at += length) {
            row(at, starts, m_strides.back(), length);
            std::size_t axis = outerRank;
            while (axis-- > 0) {
                for (std::size_t k = 0; k < N; ++k)
                    starts[k] += m_strides[axis][k];
                if (++index[axis] < m_sizes[axis])
                    break;
                index[axis] = 0;
                for (std::size_t k = 0; k < N; ++k)
                    starts[k] -= m_strides[axis][k] * m_sizes[axis];
            }
            if (axis == static_cast<std::size_t>(-1))
                return;
        }
    }

private:
    void merge(const std::array<ShapeView, N>& operands) {
        std::array<std::vector<std::int64_t>, N> strides;
        for (std::size_t k = 0; k < N; ++k)
            strides[k] = alignedStrides(operands[k]);
        m_sizes.clear();
        for (std::size_t axis = 0; axis < m_shape.size(); ++axis) {
            if (m_shape[axis] == 1)
                continue;
            std::array<std::int64_t, N> here;
            for (std::size_t k = 0; k < N; ++k)
                here[k] = strides[k][axis];
            bool joins = !m_sizes.empty();
            for (std::size_t k = 0; k < N && joins; ++k)
                joins = m_strides.back()[k] == here[k] * m_shape[axis];
            if (joins) {
                m_sizes.back() *= m_shape[axis];
                m_strides.back() = here;
            } else {
                m_sizes.push_back(m_shape[axis]);
                m_strides.push_back(here);
            }
        }
        if (m_sizes.empty()) {
            m_sizes.push_back(1);
            m_strides.emplace_back();
        }
    }
    /// Strides of an operand along the common shape; 0 where it is repeated.
    std::vector<std::int64_t> alignedStrides(ShapeView operand) const {
        std::vector<std::int64_t> out(m_shape.size(), 0);
        const std::vector<std::int64_t> own = rowMajorStrides(operand);
        const std::size_t lead = m_shape.size() - operand.size();
        for (std::size_t i = 0; i < operand.size(); ++i)
            out[lead + i] = operand[i] == 1 ? 0 : own[i];
        return out;
    }

    Shape m_shape;
    std::vector<std::int64_t> m_sizes;
    std::vector<std::array<std::int64_t, N>> m_strides;
};

namespace detail {
template <std::size_t N, typename Out, typename F, typename Operands, std::size_t... I>
void mapRow(Out* out, std::int64_t length, const std::array<std::int64_t, N>& starts, const std::array<std::int64_t, N>& steps, F& f,
    const Operands& operands, std::index_sequence<I...>) {
    if (((steps[I] == 1) && ...)) { // the plain loop, which the compiler can vectorise
        for (std::int64_t i = 0; i < length; ++i)
            out[i] = f(std::get<I>(operands)[starts[I] + i]...);
        return;
    }
    for (std::int64_t i = 0; i < length; ++i)
        out[i] = f(std::get<I>(operands)[starts[I] + i * steps[I]]...);
}
} // namespace detail

/// out[i] = f(a[i'], b[i''], …) over the common shape. `out` has loop.shape() elements.
template <std::size_t N, typename Out, typename F, typename... In>
void mapBroadcast(const BroadcastLoop<N>& loop, Out* out, F&& f, const In*... in) {
    static_assert(sizeof...(In) == N);
    const std::tuple<const In*...> operands(in...);
    loop.forEachRow([&](std::int64_t at, const std::array<std::int64_t, N>& starts, const std::array<std::int64_t, N>& steps, std::int64_t length) {
        detail::mapRow<N>(out + at, length, starts, steps, f, operands, std::index_sequence_for<In...>{});
    });
}

/// out = f(x) element by element, for the types of the list; f sees and gives ComputeType<T>.
template <typename Types, auto f> Result<void> runUnary(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    NABLA_CHECK(dispatch(Types{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const auto in = x.data<T>();
        const auto out = y.mutableData<T>();
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i] = static_cast<T>(f(widen(in[i])));
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

/// Two operands of one type, as tensors. Errors: missing, or of two types.
inline Result<std::pair<Tensor, Tensor>> needPair(const KernelContext& c) {
    NABLA_TRY(Tensor a, needTensor(c, 0));
    NABLA_TRY(Tensor b, needTensor(c, 1));
    if (a.dtype() != b.dtype())
        return runError("{} wants inputs of one type, got {} and {}", c.node().opType, name(a.dtype()), name(b.dtype()));
    return std::pair(std::move(a), std::move(b));
}

/// out = f(a, b) with broadcasting, for the types of the list.
template <typename Types, auto f> Result<void> runBinary(const KernelContext& c) {
    NABLA_TRY(const auto pair, needPair(c));
    const auto& [a, b] = pair;
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({a.shape(), b.shape()}));
    NABLA_TRY(Tensor y, c.makeOutput(0, a.dtype(), loop.shape()));
    NABLA_CHECK(dispatch(Types{}, c, a.dtype(), [&]<typename T>() -> Result<void> {
        mapBroadcast(
            loop, y.mutableData<T>().data(), [](T p, T q) { return static_cast<T>(f(widen(p), widen(q))); }, pair.first.data<T>().data(),
            pair.second.data<T>().data());
        return {};
    }));
    c.setOutput(0, std::move(y));
    return {};
}

} // namespace nabla::engine
