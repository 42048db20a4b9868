// QLinearMatMul, QLinearConv and MatMulInteger: products of integers less their zero points, in 32 bits.
#include "engine/ops/conv_core.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/iterate.h"
#include "engine/ops/matmul_shapes.h"
#include "engine/ops/quantize_core.h"

namespace nabla::engine {

namespace {

/// A scale or zero point of one side of a matrix product: one number, one per row (column), or one per row of each matrix.
Result<void> checkPerLine(const Tensor& t, std::int64_t lines, std::int64_t matrices, std::string_view what) {
    if (!t.defined() || t.elementCount() == 1 || (t.rank() == 1 && t.elementCount() == lines) || t.elementCount() == lines * matrices)
        return {};
    return runError("{} {} wants one number, {}, or {} for each of {} matrices", what, toString(t.shape()), lines, lines, matrices);
}
double perLine(const Tensor& t, std::int64_t matrix, std::int64_t line, std::int64_t lines) {
    if (!t.defined())
        return 0;
    const std::int64_t count = t.elementCount();
    return t.asDouble(count == 1 ? 0 : count == lines ? line : matrix * lines + line);
}

struct Side {
    std::vector<std::uint32_t> values;
    std::int64_t matrices = 1;
};
/// Numbers of A [.., rows, columns] less their zero point, which goes by rows (A) or by columns (B).
enum class Lines : bool { Rows, Columns };
Result<Side> lessZeroPoint(const Tensor& t, const Tensor& zero, std::int64_t rows, std::int64_t columns, Lines lines, std::string_view what) {
    Side side;
    const std::int64_t size = rows * columns;
    side.matrices = size == 0 ? 0 : t.elementCount() / size;
    const std::int64_t count = lines == Lines::Rows ? rows : columns;
    NABLA_CHECK(checkPerLine(zero, count, side.matrices, what));
    side.values.resize(static_cast<std::size_t>(t.elementCount()));
    for (std::int64_t i = 0; i < t.elementCount(); ++i) {
        const std::int64_t line = lines == Lines::Rows ? i / columns % rows : i % columns;
        side.values[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(t.asInt64(i) - static_cast<std::int64_t>(perLine(zero, i / size, line, count)));
    }
    return side;
}

struct Product {
    MatMulShapes shapes;
    Side a, b;
    std::vector<std::uint32_t> values; ///< [batch, m, n]
};
Result<Product> integerProduct(const KernelContext& c, const Tensor& a, const Tensor& zeroA, const Tensor& b, const Tensor& zeroB) {
    Product p;
    NABLA_TRY(p.shapes, matMulShapes(a.shape(), b.shape()));
    const MatMulShapes& s = p.shapes;
    NABLA_TRY(p.a, lessZeroPoint(a, zeroA, s.m, s.k, Lines::Rows, "zero point of A"));
    NABLA_TRY(p.b, lessZeroPoint(b, zeroB, s.k, s.n, Lines::Columns, "zero point of B"));
    p.values.resize(s.matrixA.size() * static_cast<std::size_t>(s.m * s.n));
    parallelFor(c, static_cast<std::int64_t>(s.matrixA.size()), s.m * s.k * s.n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t batch = begin; batch < end; ++batch) {
            const auto at = static_cast<std::size_t>(batch);
            multiplyRows(p.a.values.data() + s.matrixA[at] * s.m * s.k, p.b.values.data() + s.matrixB[at] * s.k * s.n, p.values.data() + batch * s.m * s.n, 0,
                s.m, s.k, s.n);
        }
    });
    return p;
}

Result<void> runMatMulInteger(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "A"));
    NABLA_CHECK(requireTensor(c, 1, "B"));
    NABLA_TRY(const Product p, integerProduct(c, c.input(0), c.input(2), c.input(1), c.input(3)));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int32, p.shapes.output));
    std::copy(p.values.begin(), p.values.end(), reinterpret_cast<std::uint32_t*>(y.mutableRaw()));
    c.setOutput(0, std::move(y));
    return {};
}

enum class Quantized : bool { Integers, IntegersOrFloats };
bool isEightBits(DType type) { return bitWidth(type) == 8 && (isInteger(type) || isFloat(type)); }

Result<void> requireQuantized(const KernelContext& c, std::size_t count, Quantized types) {
    constexpr std::string_view kNames[] = {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"};
    for (std::size_t i = 0; i < count; ++i)
        NABLA_CHECK(requireTensor(c, i, kNames[i]));
    for (const std::size_t i : {0U, 2U, 3U, 5U, 7U}) {
        if (types == Quantized::Integers ? !isInteger(c.input(i).dtype()) : !isEightBits(c.input(i).dtype()))
            return runError("{} of type {} is not supported: 8 bits are", kNames[i], name(c.input(i).dtype()));
    }
    if (c.input(6).elementCount() != 1 || c.input(7).elementCount() != 1)
        return runError("y_scale {} and y_zero_point {} want one number each", toString(c.input(6).shape()), toString(c.input(7).shape()));
    return {};
}

/// a_scale * b_scale / y_scale in the type of the scales.
double multiplier(const KernelContext& c, double scaleA, double scaleB) {
    const DType type = c.input(1).dtype();
    return roundedTo(type, roundedTo(type, scaleA * scaleB) / c.input(6).asDouble(0));
}

/// Numbers of a matrix that has 8-bit floats, dequantized as they are read: (x - zero point) * scale.
Result<std::vector<double>> dequantized(const KernelContext& c, std::size_t i, std::int64_t rows, std::int64_t columns, Lines lines) {
    const Tensor &t = c.input(i), &scale = c.input(i + 1), &zero = c.input(i + 2);
    const std::int64_t size = rows * columns, matrices = size == 0 ? 0 : t.elementCount() / size, count = lines == Lines::Rows ? rows : columns;
    NABLA_CHECK(checkPerLine(scale, count, matrices, i == 0 ? "a_scale" : "b_scale"));
    NABLA_CHECK(checkPerLine(zero, count, matrices, i == 0 ? "a_zero_point" : "b_zero_point"));
    std::vector<double> values(static_cast<std::size_t>(t.elementCount()));
    for (std::int64_t k = 0; k < t.elementCount(); ++k) {
        const std::int64_t line = lines == Lines::Rows ? k / columns % rows : k % columns;
        values[static_cast<std::size_t>(k)] = (t.asDouble(k) - perLine(zero, k / size, line, count)) * perLine(scale, k / size, line, count);
    }
    return values;
}

/// With an 8-bit float among the types: the product in double, quantized once.
Result<void> runFloatQLinearMatMul(const KernelContext& c) {
    NABLA_TRY(const MatMulShapes s, matMulShapes(c.input(0).shape(), c.input(3).shape()));
    NABLA_TRY(const std::vector<double> a, dequantized(c, 0, s.m, s.k, Lines::Rows));
    NABLA_TRY(const std::vector<double> b, dequantized(c, 3, s.k, s.n, Lines::Columns));
    const DType type = c.input(7).dtype();
    const double scale = c.input(6).asDouble(0), zero = c.input(7).asDouble(0);
    NABLA_TRY(Tensor y, c.makeOutput(0, type, s.output));
    std::vector<double> product(static_cast<std::size_t>(s.m * s.n));
    for (std::size_t batch = 0; batch < s.matrixA.size() && y.elementCount() > 0; ++batch) {
        multiplyRows(a.data() + s.matrixA[batch] * s.m * s.k, b.data() + s.matrixB[batch] * s.k * s.n, product.data(), 0, s.m, s.k, s.n);
        for (std::int64_t i = 0; i < s.m * s.n; ++i) {
            const double value = product[static_cast<std::size_t>(i)] / scale;
            const std::int64_t at = static_cast<std::int64_t>(batch) * s.m * s.n + i;
            if (isInteger(type))
                writeInt64(type, y.mutableRaw(), at, static_cast<std::int64_t>(quantizedTo(type, value, zero)));
            else
                writeDouble(type, y.mutableRaw(), at, value + zero);
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runQLinearMatMul(const KernelContext& c) {
    NABLA_CHECK(requireQuantized(c, 8, Quantized::IntegersOrFloats));
    for (const std::size_t i : {0U, 2U, 3U, 5U, 7U}) {
        if (isFloat(c.input(i).dtype()))
            return runFloatQLinearMatMul(c);
    }
    NABLA_TRY(const Product p, integerProduct(c, c.input(0), c.input(2), c.input(3), c.input(5)));
    const MatMulShapes& s = p.shapes;
    NABLA_CHECK(checkPerLine(c.input(1), s.m, p.a.matrices, "a_scale"));
    NABLA_CHECK(checkPerLine(c.input(4), s.n, p.b.matrices, "b_scale"));
    const DType type = c.input(7).dtype();
    const double zero = c.input(7).asDouble(0);
    NABLA_TRY(Tensor y, c.makeOutput(0, type, s.output));
    for (std::size_t i = 0; i < p.values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const auto batch = static_cast<std::size_t>(at / (s.m * s.n));
        const double scale = multiplier(c, perLine(c.input(1), s.matrixA[batch], at / s.n % s.m, s.m), perLine(c.input(4), s.matrixB[batch], at % s.n, s.n));
        writeInt64(type, y.mutableRaw(), at, static_cast<std::int64_t>(quantizedTo(type, static_cast<double>(static_cast<std::int32_t>(p.values[i])) * scale, zero)));
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runQLinearConv(const KernelContext& c) {
    NABLA_CHECK(requireQuantized(c, 8, Quantized::Integers));
    const Tensor &x = c.input(0), &w = c.input(3);
    NABLA_TRY(const ConvShape s, convShape(c.node(), c.intAttribute("group"), x.shape(), w.shape()));
    const std::int64_t filters = s.group * s.filters, perFilter = filters == 0 ? 0 : w.elementCount() / filters;
    for (const std::size_t i : {4U, 5U})
        NABLA_CHECK(checkPerLine(c.input(i), filters, 1, i == 4 ? "w_scale" : "w_zero_point"));
    if (c.hasInput(8) && c.input(8).elementCount() != filters)
        return runError("bias B {} wants {} numbers", toString(c.input(8).shape()), filters);
    std::vector<std::uint32_t> numbers(static_cast<std::size_t>(x.elementCount())), weights(static_cast<std::size_t>(w.elementCount()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i)
        numbers[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(x.asInt64(i) - c.input(2).asInt64(0));
    for (std::int64_t i = 0; i < w.elementCount(); ++i)
        weights[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(w.asInt64(i) - static_cast<std::int64_t>(perLine(c.input(5), 0, i / perFilter, filters)));
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(elementCount(s.output)));
    convolve(c, s, numbers.data(), weights.data(), sums.data());
    const DType type = c.input(7).dtype();
    NABLA_TRY(Tensor y, c.makeOutput(0, type, s.output));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const std::int64_t filter = at / s.outputCells % filters;
        const std::int64_t bias = c.hasInput(8) ? c.input(8).asInt64(filter) : 0;
        const auto sum = static_cast<std::int32_t>(sums[i] + static_cast<std::uint32_t>(bias));
        const double scale = multiplier(c, c.input(1).asDouble(0), perLine(c.input(4), 0, filter, filters));
        writeInt64(type, y.mutableRaw(), at, static_cast<std::int64_t>(quantizedTo(type, static_cast<double>(sum) * scale, c.input(7).asDouble(0))));
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// Scaling and rounding the sums: 2 for each.
std::int64_t withRounding(const CostInputs& c, std::int64_t products) { return saturatedSum(products, perOutput<2>(c)); }
std::int64_t productFlops(const CostInputs& c) {
    const Shape* a = inputShape(c, 0);
    return !a || a->empty() ? 0 : saturatedProduct({2, outputElements(c), a->back()});
}
std::int64_t roundedProductFlops(const CostInputs& c) { return withRounding(c, productFlops(c)); }
std::int64_t convFlops(const CostInputs& c) {
    const Shape* w = inputShape(c, 3);
    if (!w || w->empty())
        return 0;
    const std::int64_t products = saturatedProduct({2, outputElements(c), elementCount(ShapeView(*w).subspan(1))});
    return withRounding(c, saturatedSum(products, hasInput(c, 8) ? outputElements(c) : 0));
}

constexpr auto kIntegers = "its inputs are integers";

constexpr OpDef kQuantizedProductOps[] = {
    {.name = "MatMulInteger", .since = 10, .source = "ONNX Operators.md, MatMulInteger-10", .run = runMatMulInteger,
        .gradient = notDifferentiable(kIntegers), .flops = productFlops},
    {.name = "QLinearMatMul", .since = 21, .source = "ONNX Operators.md, QLinearMatMul-21", .run = runQLinearMatMul,
        .gradient = notDifferentiable(kIntegers), .flops = roundedProductFlops},
    {.name = "QLinearConv", .since = 10, .source = "ONNX Operators.md, QLinearConv-10", .run = runQLinearConv, .gradient = notDifferentiable(kIntegers),
        .flops = convFlops},
};

} // namespace

std::span<const OpDef> quantizedProductOps() { return kQuantizedProductOps; }

} // namespace nabla::engine
