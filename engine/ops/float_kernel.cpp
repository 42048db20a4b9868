// Widening of inputs, rounding of outputs, splitting of loops.
#include "engine/ops/float_kernel.h"

#include <algorithm>
#include <cstring>

namespace nabla::engine {

DType computeType(const KernelContext& c, std::initializer_list<std::size_t> inputs) {
    if (inputs.size() > 0 && isInteger(c.input(*inputs.begin()).dtype()))
        return DType::Int64;
    for (const std::size_t i : inputs) {
        if (c.hasInput(i) && c.input(i).dtype() == DType::Float64)
            return DType::Float64;
    }
    return DType::Float32;
}

Result<Tensor> inputAs(const KernelContext& c, std::size_t i, DType computeIn) {
    if (!c.hasInput(i) || !c.input(i).defined())
        return Tensor{};
    return castTensor(c.input(i), computeIn);
}

Result<KernelOutput> KernelOutput::make(const KernelContext& c, std::size_t i, DType storedAs, DType computeIn, const Shape& shape) {
    KernelOutput out(c, i);
    NABLA_TRY(out.m_stored, c.makeOutput(i, storedAs, shape));
    if (storedAs == computeIn) {
        out.m_work = out.m_stored;
        return out;
    }
    NABLA_TRY(out.m_work, Tensor::make(computeIn, shape));
    return out;
}

Result<void> KernelOutput::finish() {
    if (m_stored.dtype() != m_work.dtype()) {
        NABLA_TRY(const Tensor rounded, castTensor(m_work, m_stored.dtype()));
        if (rounded.bytes() > 0)
            std::memcpy(m_stored.mutableRaw(), rounded.raw(), static_cast<std::size_t>(rounded.bytes()));
    }
    m_context.setOutput(m_index, m_stored);
    return {};
}

Result<void> copyToOutput(const KernelContext& c, std::size_t i, const Tensor& value) {
    NABLA_TRY(Tensor out, c.makeOutput(i, value.dtype(), value.shape()));
    if (value.dtype() == DType::String) {
        const auto from = value.data<std::string>();
        std::copy(from.begin(), from.end(), out.mutableData<std::string>().begin());
    } else if (value.bytes() > 0) {
        std::memcpy(out.mutableRaw(), value.raw(), static_cast<std::size_t>(value.bytes()));
    }
    c.setOutput(i, std::move(out));
    return {};
}

void parallelFor(const KernelContext& c, std::int64_t count, std::int64_t work, const std::function<void(std::int64_t, std::int64_t)>& body) {
    if (count <= 0)
        return;
    constexpr std::int64_t kWorkPerTask = 32768; // below this a task costs more than it saves
    if (!c.pool || c.pool->threads() < 2 || count < 2 || count * std::max<std::int64_t>(work, 1) < 2 * kWorkPerTask) {
        body(0, count);
        return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kWorkPerTask / std::max<std::int64_t>(work, 1));
    c.pool->parallelFor(static_cast<std::size_t>(count), static_cast<std::size_t>(grain),
        [&](std::size_t begin, std::size_t end) { body(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)); });
}

Result<void> requireRank(const KernelContext& c, std::size_t i, std::size_t rank, std::string_view what) {
    NABLA_CHECK(requireTensor(c, i, what));
    if (c.input(i).rank() < rank)
        return runError("{} {} has rank {}, at least {} is wanted", what, toString(c.input(i).shape()), c.input(i).rank(), rank);
    return {};
}

Result<void> requireTensor(const KernelContext& c, std::size_t i, std::string_view what) {
    if (!c.hasInput(i) || !c.input(i).defined())
        return runError("input {} (\"{}\") is missing or no tensor", i, what);
    return {};
}

} // namespace nabla::engine
