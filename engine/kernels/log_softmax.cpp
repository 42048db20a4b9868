// LogSoftmax over the last axis, row by row. Not taken from oneDNN: its logarithm (2.6.3) is off by up to 6e-6 of the result, which a
// well-trained classifier's gradient, 1 - p, multiplies by a thousand.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/families.h"
#include "engine/kernels/simd.h"
#include "engine/tensor/shape.h"

namespace nabla::engine {

namespace {

bool accepts(const KernelQuery& q) {
    if (q.inputs.empty() || !q.inputs[0].isTensor() || q.inputs[0].elementType != DType::Float32 || !q.inputs[0].shape || q.inputs[0].shape->empty())
        return false;
    const std::size_t rank = q.inputs[0].shape->size();
    const auto axis = normalizeAxis(q.node.intAttribute("axis", -1), rank);
    return axis && static_cast<std::size_t>(*axis) + 1 == rank;
}

/// y = x - max - log(sum exp(x - max)); the sum in double. `scratch`: as long as a row.
void logSoftmaxRow(const float* x, float* y, std::vector<float>& scratch) {
    const std::size_t size = scratch.size();
    const float largest = *std::max_element(x, x + size);
    for (std::size_t i = 0; i < size; ++i)
        scratch[i] = x[i] - largest;
    unaryRow(UnaryRow::Exp, scratch.data(), scratch.data(), size);
    double sum = 0;
    for (const float each : scratch)
        sum += each;
    const double shift = static_cast<double>(largest) + std::log(sum);
    for (std::size_t i = 0; i < size; ++i)
        y[i] = static_cast<float>(x[i] - shift);
}

Result<void> run(const KernelContext& c, KernelState*) {
    const Tensor& x = c.input(0);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, x.shape()));
    const auto size = static_cast<std::size_t>(x.shape().back());
    const std::size_t rows = size == 0 ? 0 : static_cast<std::size_t>(x.elementCount()) / size;
    const float* const from = x.data<float>().data();
    float* const to = y.mutableData<float>().data();
    const auto part = [&](std::size_t begin, std::size_t end) {
        std::vector<float> scratch(size);
        for (std::size_t row = begin; row < end; ++row)
            logSoftmaxRow(from + row * size, to + row * size, scratch);
    };
    if (c.pool && rows > 1 && rows * size > 50'000)
        c.pool->parallelFor(rows, std::max<std::size_t>(1, 25'000 / size), part);
    else
        part(0, rows);
    c.setOutput(0, std::move(y));
    return {};
}

constexpr Kernel kKernels[] = {
    {.name = "rows.logsoftmax", .opType = "LogSoftmax", .domain = "", .accepts = accepts, .prepare = nullptr, .run = run},
};

} // namespace

std::span<const Kernel> logSoftmaxKernels() { return kKernels; }

} // namespace nabla::engine
