// Inverse of square matrices, in onnxruntime's domain.
#include <cmath>
#include <utility>

#include "engine/ops/contrib/contrib_body.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// Gauss-Jordan with the largest pivot of each column; `work` [n, n] is used up, `inverse` starts as the unit matrix.
template <typename T> bool invert(T* work, T* inverse, std::int64_t n) {
    for (std::int64_t column = 0; column < n; ++column) {
        std::int64_t pivot = column;
        for (std::int64_t row = column + 1; row < n; ++row)
            pivot = std::abs(work[row * n + column]) > std::abs(work[pivot * n + column]) ? row : pivot;
        const T top = work[pivot * n + column];
        if (top == T(0))
            return false;
        for (std::int64_t i = 0; i < n; ++i) {
            std::swap(work[pivot * n + i], work[column * n + i]);
            std::swap(inverse[pivot * n + i], inverse[column * n + i]);
            work[column * n + i] /= top;
            inverse[column * n + i] /= top;
        }
        for (std::int64_t row = 0; row < n; ++row) {
            const T factor = work[row * n + column];
            if (row == column || factor == T(0))
                continue;
            for (std::int64_t i = 0; i < n; ++i) {
                work[row * n + i] -= factor * work[column * n + i];
                inverse[row * n + i] -= factor * inverse[column * n + i];
            }
        }
    }
    return true;
}

Result<void> runInverse(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    const Shape shape = c.input(0).shape();
    if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2])
        return runError("X {} is no stack of square matrices", toString(shape));
    const DType stored = c.input(0).dtype();
    if (!isFloat(stored))
        return typeError(c, stored);
    const DType type = DType::Float64;
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, stored, type, shape));
    const std::int64_t n = shape.back(), area = n * n, count = area == 0 ? 0 : elementCount(shape) / area;
    std::vector<double> work(static_cast<std::size_t>(area));
    for (std::int64_t matrix = 0; matrix < count; ++matrix) {
        const double* const from = elements<double>(x) + matrix * area;
        double* const inverse = y.data<double>() + matrix * area;
        std::copy(from, from + area, work.begin());
        for (std::int64_t i = 0; i < area; ++i)
            inverse[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
        if (!invert(work.data(), inverse, n))
            return runError("matrix {} of X has no inverse", matrix);
    }
    return y.finish();
}

// dX = -Y^T dY Y^T
Gradients gradInverse(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::size_t rank = b.type(n.inputs[0]).shape ? b.type(n.inputs[0]).shape->size() : 0;
    if (rank < 2)
        return runError("the rank of X is not known");
    std::vector<std::int64_t> perm(rank);
    for (std::size_t i = 0; i < rank; ++i)
        perm[i] = static_cast<std::int64_t>(i);
    std::swap(perm[rank - 1], perm[rank - 2]);
    const ValueId transposed = b.op("Transpose", {n.outputs[0]}, {{"perm", perm}});
    return std::vector{b.op("Neg", {b.op("MatMul", {b.op("MatMul", {transposed, dy[0]}), transposed})})};
}

std::int64_t inverseFlops(const CostInputs& c) { // 2 n^3 a matrix
    const Shape* y = outputShape(c, 0);
    return !y || y->empty() ? 0 : saturatedProduct({2, elementCount(*y), y->back()});
}

constexpr OpDef kOps[] = {
    {.name = "Inverse", .domain = "com.microsoft", .since = 1, .source = "onnxruntime docs/ContribOperators.md, Inverse", .run = runInverse, .gradient = gradInverse,
        .flops = inverseFlops,
        .refineShape = [](const Graph&, const Node&, const InferenceInputs& inputs, std::size_t) -> std::optional<ValueType> {
            return inputs.types.empty() ? std::nullopt : std::optional(inputs.types[0]);
        }},
};

} // namespace

std::span<const OpDef> contribInverseOps() { return kOps; }

} // namespace nabla::engine
