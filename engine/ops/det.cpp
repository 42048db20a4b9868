// Det: determinants of the last two axes.
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// By elimination with row pivots, in double.
double determinant(std::vector<double> a, std::int64_t n) {
    double det = 1;
    for (std::int64_t column = 0; column < n; ++column) {
        std::int64_t pivot = column;
        for (std::int64_t row = column + 1; row < n; ++row) {
            if (std::abs(a[static_cast<std::size_t>(row * n + column)]) > std::abs(a[static_cast<std::size_t>(pivot * n + column)]))
                pivot = row;
        }
        const double top = a[static_cast<std::size_t>(pivot * n + column)];
        if (top == 0)
            return 0;
        if (pivot != column) {
            det = -det;
            for (std::int64_t k = 0; k < n; ++k)
                std::swap(a[static_cast<std::size_t>(pivot * n + k)], a[static_cast<std::size_t>(column * n + k)]);
        }
        det *= top;
        for (std::int64_t row = column + 1; row < n; ++row) {
            const double factor = a[static_cast<std::size_t>(row * n + column)] / top;
            for (std::int64_t k = column; k < n; ++k)
                a[static_cast<std::size_t>(row * n + k)] -= factor * a[static_cast<std::size_t>(column * n + k)];
        }
    }
    return det;
}

Result<void> runDet(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "X"));
    const Tensor& x = c.input(0);
    if (!isFloat(x.dtype()))
        return typeError(c, x.dtype());
    const std::int64_t n = x.shape().back();
    if (x.dim(x.rank() - 2) != n)
        return runError("X {} wants square matrices, they are {} by {}", toString(x.shape()), x.dim(x.rank() - 2), n);
    const Shape batch(x.shape().begin(), x.shape().end() - 2);
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), batch));
    std::vector<double> matrix(static_cast<std::size_t>(n * n));
    for (std::int64_t m = 0; m < y.elementCount(); ++m) {
        for (std::int64_t i = 0; i < n * n; ++i)
            matrix[static_cast<std::size_t>(i)] = x.asDouble(m * n * n + i);
        writeDouble(x.dtype(), y.mutableRaw(), m, determinant(matrix, n));
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// One row and column of [.., n, n] left out.
ValueId minorOf(GradientBuilder& b, ValueId x, std::int64_t n, std::int64_t row, std::int64_t column) {
    const auto without = [n](std::int64_t left) {
        std::vector<std::int64_t> kept;
        for (std::int64_t i = 0; i < n; ++i) {
            if (i != left)
                kept.push_back(i);
        }
        return kept;
    };
    const ValueId rows = b.op("Gather", {x, b.ints(without(row))}, {intAttr("axis", -2)});
    return b.op("Gather", {rows, b.ints(without(column))}, {intAttr("axis", -1)});
}

// d det / d x[i][j] is the cofactor (-1)^(i+j) det(minor), which also holds for singular matrices.
Gradients gradDet(GradientBuilder& b, const Node& n, OutputGrads dy) {
    constexpr std::int64_t kLargest = 8; // the minors are n * n nodes
    const ValueType type = b.type(n.inputs[0]);
    const std::optional<std::int64_t> size = type.shape && type.shape->size() >= 2 ? type.shape->back().constant() : std::nullopt;
    if (!size || *size > kLargest)
        return runError("the gradient of Det wants matrices of a known size, {} at most", kLargest);
    std::vector<ValueId> rows;
    for (std::int64_t i = 0; i < *size; ++i) {
        std::vector<ValueId> row;
        for (std::int64_t j = 0; j < *size; ++j) {
            const ValueId cofactor = *size == 1 ? b.add(b.zerosLike(n.outputs[0]), b.scalar(n.outputs[0], 1)) : b.op("Det", {minorOf(b, n.inputs[0], *size, i, j)});
            row.push_back(b.op("Unsqueeze", {(i + j) % 2 == 0 ? cofactor : b.neg(cofactor), b.ints({-1})}));
        }
        rows.push_back(b.op("Unsqueeze", {b.op("Concat", std::move(row), {intAttr("axis", -1)}), b.ints({-2})}));
    }
    const ValueId cofactors = b.op("Concat", std::move(rows), {intAttr("axis", -2)});
    return std::vector<ValueId>{b.mul(b.op("Unsqueeze", {dy[0], b.ints({-2, -1})}), cofactors)};
}

std::int64_t detFlops(const CostInputs& c) { // an elimination: 2/3 n^3 a matrix
    const Shape* x = inputShape(c, 0);
    return !x || x->empty() ? 0 : saturatedProduct({2, elementCount(*x), x->back()}) / 3;
}

constexpr OpDef kDetOps[] = {
    {.name = "Det", .since = 22, .source = "ONNX Operators.md, Det-22", .run = runDet, .gradient = gradDet, .flops = detFlops},
};

} // namespace

std::span<const OpDef> detOps() { return kDetOps; }

} // namespace nabla::engine
