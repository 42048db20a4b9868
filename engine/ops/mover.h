// Moving elements without looking at them: one way for every element type, packed 6-, 4- and 2-bit ones and strings included.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/ops/iterate.h"

namespace nabla::engine {

/// Elements of one size in a raw block.
template <typename T> struct PlainAccess {
    using Value = T;
    static Value get(const std::byte* data, std::int64_t i) { return reinterpret_cast<const T*>(data)[i]; }
    static void set(std::byte* data, std::int64_t i, const Value& value) { reinterpret_cast<T*>(data)[i] = value; }
    static void copy(std::byte* to, std::int64_t at, const std::byte* from, std::int64_t begin, std::int64_t count) {
        std::copy_n(reinterpret_cast<const T*>(from) + begin, count, reinterpret_cast<T*>(to) + at);
    }
};
template <int bits> struct PackedAccess {
    using Value = std::uint8_t;
    static Value get(const std::byte* data, std::int64_t i) { return readPacked(bits, data, i); }
    static void set(std::byte* data, std::int64_t i, Value value) { writePacked(bits, data, i, value); }
    static void copy(std::byte* to, std::int64_t at, const std::byte* from, std::int64_t begin, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
            set(to, at + i, get(from, begin + i));
    }
};
/// Sixteen bytes that are moved as one (complex128).
struct Bytes16 {
    std::uint64_t low, high;
};

/// Calls f with the access type for elements of `type`: `withAccess(dtype, [&]<typename A>(A) { … A::get(data, i) … })`.
template <typename F> decltype(auto) withAccess(DType type, F&& f) {
    if (type == DType::String)
        return f(PlainAccess<std::string>{});
    switch (bitWidth(type)) {
    case 2: return f(PackedAccess<2>{});
    case 4: return f(PackedAccess<4>{});
    case 6: return f(PackedAccess<6>{});
    case 16: return f(PlainAccess<std::uint16_t>{});
    case 32: return f(PlainAccess<std::uint32_t>{});
    case 64: return f(PlainAccess<std::uint64_t>{});
    case 128: return f(PlainAccess<Bytes16>{});
    default: return f(PlainAccess<std::uint8_t>{});
    }
}

/// Copies `count` neighbouring elements.
inline void copyElements(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t begin, std::int64_t count) {
    if (count > 0)
        withAccess(from.dtype(), [&]<typename A>(A) { A::copy(to.mutableRaw(), at, from.raw(), begin, count); });
}

/// Sets `count` neighbouring elements to element `index` of `value`; to zero (the empty string) when value is undefined.
inline void fillElements(Tensor& to, std::int64_t at, std::int64_t count, const Tensor& value = {}, std::int64_t index = 0) {
    withAccess(to.dtype(), [&]<typename A>(A) {
        const typename A::Value element = value.defined() ? A::get(value.raw(), index) : typename A::Value{};
        for (std::int64_t i = 0; i < count; ++i)
            A::set(to.mutableRaw(), at + i, element);
    });
}

/// Where an operand of a strided copy begins and how it steps along each axis of the box; strides may be 0 or negative.
struct Strided {
    std::int64_t start = 0;
    std::vector<std::int64_t> strides;
};

/// to[box index] = from[box index] over every index of `box`.
inline void copyStrided(Tensor& to, const Strided& out, const Tensor& from, const Strided& in, const Shape& box) {
    if (elementCount(box) == 0)
        return;
    if (box.empty()) {
        copyElements(to, out.start, from, in.start, 1);
        return;
    }
    withAccess(from.dtype(), [&]<typename A>(A) {
        // The last axes that lie contiguous in both are copied as one run.
        std::size_t rank = box.size();
        std::int64_t run = 1;
        while (rank > 0 && (box[rank - 1] == 1 || (out.strides[rank - 1] == run && in.strides[rank - 1] == run)))
            run *= box[--rank];
        if (rank == 0) {
            A::copy(to.mutableRaw(), out.start, from.raw(), in.start, run);
            return;
        }
        const std::size_t last = rank - 1;
        for (IndexWalk walk(Shape(box.begin(), box.begin() + static_cast<std::ptrdiff_t>(last))); !walk.done(); walk.next()) {
            const std::int64_t o = out.start + walk.dot(out.strides), i = in.start + walk.dot(in.strides);
            const std::int64_t stepOut = out.strides[last], stepIn = in.strides[last];
            for (std::int64_t k = 0; k < box[last]; ++k) {
                if (run == 1)
                    A::set(to.mutableRaw(), o + k * stepOut, A::get(from.raw(), i + k * stepIn));
                else
                    A::copy(to.mutableRaw(), o + k * stepOut, from.raw(), i + k * stepIn, run);
            }
        }
    });
}

/// A contiguous operand of a shape, from `start` on.
inline Strided contiguous(ShapeView shape, std::int64_t start = 0) { return {start, rowMajorStrides(shape)}; }

/// The output of a kernel whose result is its input's elements under another shape. Without an arena the elements are shared; with one the
/// plan decides: it places the output over the input when it made it a view, and elsewhere it must be copied, since the input may die first.
inline Result<void> setReshaped(const KernelContext& c, const Tensor& x, const Shape& shape) {
    if (!c.place || x.dtype() == DType::String) {
        c.setOutput(0, x.reshaped(shape));
        return {};
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    if (y.raw() != x.raw() && x.bytes() > 0)
        std::memcpy(y.mutableRaw(), x.raw(), static_cast<std::size_t>(x.bytes()));
    c.setOutput(0, std::move(y));
    return {};
}

} // namespace nabla::engine
