// Tensor: dtype, shape and a shared block of row-major elements.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/assert.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

namespace nabla::engine {

/// Elements that are made when first looked at; the block they come from lives inside `fill`.
class LazyElements {
public:
    LazyElements(std::size_t bytes, std::function<void(std::byte*)> fill) : m_bytes(bytes), m_fill(std::move(fill)) { }
    ~LazyElements();
    LazyElements(const LazyElements&) = delete;
    LazyElements& operator=(const LazyElements&) = delete;
    const std::byte* get() const; ///< fills on the first call; thread safe

private:
    std::size_t m_bytes;
    mutable std::function<void(std::byte*)> m_fill;
    mutable std::once_flag m_once;
    mutable std::byte* m_data = nullptr;
};

/// A handle to elements: copying it shares them. The elements lie contiguous, row-major, in one of three places: own memory,
/// a mapped file (weights; never copied), or the arena of a run. Whoever made a tensor may write to it through mutableData()
/// until he hands it on; from then on it is read only.
class Tensor {
public:
    /// No tensor: an omitted optional input. defined() is false.
    Tensor() = default;

    /// Zeroed elements. Errors (Run): shape invalid, or more bytes than the limit `maxTensorBytes()`.
    static Result<Tensor> make(DType dtype, Shape shape);
    /// Elements that lie elsewhere (a mapped file, an arena) and live as long as `owner`. Not for strings.
    static Tensor view(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner);
    /// Elements written by `fill` (bytes() of them) when they are first read: a weight that lies unaligned in its file is copied only
    /// by a model that runs, so that opening one touches no weight. Not for strings.
    static Tensor lazy(DType dtype, Shape shape, std::function<void(std::byte*)> fill);
    /// One row of values: Tensor::of<float>({2, 2}, {1, 2, 3, 4}). The counts must agree.
    template <typename T> static Tensor of(Shape shape, const std::vector<T>& values);
    template <typename T> static Tensor scalar(T value) { return of<T>({}, std::vector<T>{std::move(value)}); }

    bool defined() const { return m_dtype != DType::Undefined; }
    DType dtype() const { return m_dtype; }
    const Shape& shape() const { return m_shape; }
    std::size_t rank() const { return m_shape.size(); }
    std::int64_t dim(std::size_t i) const { return m_shape[i]; }
    std::int64_t elementCount() const { return m_count; }
    std::int64_t bytes() const { return storageBytes(m_dtype, m_count); }

    const std::byte* raw() const { return m_data || !m_lazy ? m_data : m_lazy->get(); }
    std::byte* mutableRaw() { return const_cast<std::byte*>(m_data); }
    /// Elements as T, which must be the C++ type of dtype().
    template <typename T> std::span<const T> data() const {
        NABLA_ASSERT(dtypeOf<T>() == m_dtype, "elements read as another type");
        return {reinterpret_cast<const T*>(raw()), static_cast<std::size_t>(m_count)};
    }
    template <typename T> std::span<T> mutableData() {
        NABLA_ASSERT(dtypeOf<T>() == m_dtype, "elements written as another type");
        return {reinterpret_cast<T*>(const_cast<std::byte*>(m_data)), static_cast<std::size_t>(m_count)};
    }
    const std::shared_ptr<const void>& owner() const { return m_owner; }

    /// The same elements under another shape of equal count.
    Tensor reshaped(Shape shape) const;
    /// A copy in own memory.
    Result<Tensor> clone() const;

    /// Any numeric element as double (integers beyond 2^53 round). index < elementCount().
    double asDouble(std::int64_t index) const;
    /// Any integer or bool element as int64 (uint64 wraps); floats truncate.
    std::int64_t asInt64(std::int64_t index) const;
    /// Any element exactly as people write it: 9007199254740993, -0, nan, "text".
    std::string asText(std::int64_t index) const;
    /// All elements of an integer tensor as int64.
    std::vector<std::int64_t> toInt64s() const;

    /// Bytes one tensor may take; larger ones are refused before allocation. Default 16 GiB, NABLA_MAX_TENSOR_BYTES overrides.
    static std::int64_t maxTensorBytes();

private:
    DType m_dtype = DType::Undefined;
    Shape m_shape;
    std::int64_t m_count = 0;
    const std::byte* m_data = nullptr;
    const LazyElements* m_lazy = nullptr; ///< kept alive by m_owner
    std::shared_ptr<const void> m_owner;
};

using TensorPtr = std::shared_ptr<const Tensor>;

/// Value conversion by the rules of ONNX Cast-28: floats round to nearest even, float to integer truncates, to bool is != 0;
/// saturate applies to the 8-bit floats. Strings parse and print. Errors (Run): a string that is no number.
Result<Tensor> castTensor(const Tensor& input, DType to, bool saturate = true);

template <typename T> Tensor Tensor::of(Shape shape, const std::vector<T>& values) {
    NABLA_ASSERT(nabla::engine::elementCount(shape) == static_cast<std::int64_t>(values.size()), "shape and values disagree");
    Tensor t = *make(dtypeOf<T>(), std::move(shape));
    auto out = t.template mutableData<T>();
    for (std::size_t i = 0; i < values.size(); ++i)
        out[i] = values[i];
    return t;
}

} // namespace nabla::engine
