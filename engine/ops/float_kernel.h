// What numeric kernels share: they compute in float, double or 64-bit integers, whatever the storage types of their inputs.
#pragma once

#include <functional>
#include <initializer_list>

#include "engine/ops/op_def.h"

namespace nabla::engine {

/// Float64 when any of these inputs is, else Float32: half types are widened, computed in float and rounded once at the end.
/// Int64 when the first is an integer: computed modulo 2^64 and cut at the end, which is what wrapping in the narrow type gives.
DType computeType(const KernelContext& c, std::initializer_list<std::size_t> inputs);
/// Input i in the compute type; undefined when the input is omitted.
Result<Tensor> inputAs(const KernelContext& c, std::size_t i, DType computeIn);

/// Output i while it is computed: memory of the compute type, rounded into the declared type by finish().
class KernelOutput {
public:
    static Result<KernelOutput> make(const KernelContext& c, std::size_t i, DType storedAs, DType computeIn, const Shape& shape);
    template <typename T> T* data() { return reinterpret_cast<T*>(m_work.mutableRaw()); }
    Tensor& tensor() { return m_work; }
    Result<void> finish();

private:
    KernelOutput(const KernelContext& c, std::size_t i) : m_context(c), m_index(i) { }
    const KernelContext& m_context;
    std::size_t m_index;
    Tensor m_stored, m_work;
};

/// Calls f(T{}) with float or double.
template <typename F> auto withFloatType(DType type, F&& f) {
    return type == DType::Float64 ? f(double{}) : f(float{});
}
/// The same, and std::uint64_t for Int64, so that overflow wraps.
template <typename F> auto withComputeType(DType type, F&& f) {
    return type == DType::Int64 ? f(std::uint64_t{}) : withFloatType(type, f);
}
/// Elements of a tensor of the compute type that belongs to T.
template <typename T> const T* elements(const Tensor& t) { return reinterpret_cast<const T*>(t.raw()); }

/// Makes output i of another tensor's elements (copied into the arena where the output has a place there).
Result<void> copyToOutput(const KernelContext& c, std::size_t i, const Tensor& value);

/// body(begin, end) over [0, count), on the pool when there is one. `work` is the rough number of operations per item.
void parallelFor(const KernelContext& c, std::int64_t count, std::int64_t work, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Rank of input i must be at least this; the message names the operator's formal input.
Result<void> requireRank(const KernelContext& c, std::size_t i, std::size_t rank, std::string_view what);
/// A required input that is not a tensor is refused.
Result<void> requireTensor(const KernelContext& c, std::size_t i, std::string_view what);

} // namespace nabla::engine
