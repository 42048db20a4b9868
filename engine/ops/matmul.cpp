// MatMul and Gemm.
#include "engine/ops/cost_rules.h"
#include "engine/ops/matmul_shapes.h"

#include <algorithm>

#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/matmul_core.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

Result<MatMulShapes> matMulShapes(ShapeView a, ShapeView b) {
    if (a.empty() || b.empty())
        return runError("MatMul of {} and {}: a scalar is no matrix", toString(a), toString(b));
    Shape left(a.begin(), a.end()), right(b.begin(), b.end());
    if (a.size() == 1)
        left.insert(left.begin(), 1);
    if (b.size() == 1)
        right.push_back(1);
    MatMulShapes s;
    s.m = left[left.size() - 2];
    s.k = left.back();
    s.n = right.back();
    if (right[right.size() - 2] != s.k)
        return runError("MatMul of {} and {}: {} columns against {} rows", toString(a), toString(b), s.k, right[right.size() - 2]);
    const ShapeView batchA = ShapeView(left).first(left.size() - 2), batchB = ShapeView(right).first(right.size() - 2);
    NABLA_TRY(s.batch, broadcastShapes(batchA, batchB));
    s.output = s.batch;
    if (a.size() > 1)
        s.output.push_back(s.m);
    if (b.size() > 1)
        s.output.push_back(s.n);
    // Matrix that each entry of the broadcast batch reads, per side.
    const auto matrices = [&](ShapeView own) {
        const auto strides = rowMajorStrides(own);
        std::vector<std::int64_t> out(static_cast<std::size_t>(elementCount(s.batch)));
        const auto outStrides = rowMajorStrides(s.batch);
        for (std::size_t e = 0; e < out.size(); ++e) {
            for (std::size_t d = 0; d < own.size(); ++d) {
                const std::size_t at = s.batch.size() - own.size() + d;
                const std::int64_t index = static_cast<std::int64_t>(e) / outStrides[at] % s.batch[at];
                out[e] += own[d] == 1 ? 0 : index * strides[d];
            }
        }
        return out;
    };
    s.matrixA = matrices(batchA);
    s.matrixB = matrices(batchB);
    return s;
}

namespace {

Result<void> runMatMul(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "A"));
    NABLA_CHECK(requireTensor(c, 1, "B"));
    NABLA_TRY(const MatMulShapes s, matMulShapes(c.input(0).shape(), c.input(1).shape()));
    const DType type = computeType(c, {0, 1});
    NABLA_TRY(const Tensor a, inputAs(c, 0, type));
    NABLA_TRY(const Tensor b, inputAs(c, 1, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, s.output));
    withComputeType(type, [&]<typename T>(T) {
        T* const out = y.data<T>();
        const auto batches = static_cast<std::int64_t>(s.matrixA.size());
        parallelFor(c, batches * s.m, s.k * s.n, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end;) { // whole runs of rows of one matrix
                const auto batch = static_cast<std::size_t>(row / s.m);
                const std::int64_t first = row % s.m, last = std::min(s.m, first + end - row);
                multiplyRows(elements<T>(a) + s.matrixA[batch] * s.m * s.k, elements<T>(b) + s.matrixB[batch] * s.k * s.n,
                    out + static_cast<std::int64_t>(batch) * s.m * s.n, first, last, s.k, s.n);
                row += last - first;
            }
        });
    });
    return y.finish();
}

/// The transpose of the last two axes, for a value of known rank >= 2.
ValueId transposeLast(GradientBuilder& b, ValueId value, std::size_t rank) {
    std::vector<std::int64_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i)
        order[i] = static_cast<std::int64_t>(i);
    std::swap(order[rank - 1], order[rank - 2]);
    return b.op("Transpose", {value}, {intsAttr("perm", std::move(order))});
}

// dA = dY B^T, dB = A^T dY; vectors are taken as a one-row or one-column matrix first, broadcast batch axes are summed away.
Gradients gradMatMul(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto rankA = b.rank(n.inputs[0]), rankB = b.rank(n.inputs[1]);
    if (!rankA || !rankB)
        return runError("the gradient of MatMul wants inputs of known rank");
    ValueId left = n.inputs[0], right = n.inputs[1], cotangent = dy[0];
    std::size_t ra = *rankA, rb = *rankB;
    // A vector that meets a vector leaves a scalar: both axes come back.
    if (rb == 1) {
        right = b.op("Unsqueeze", {right, b.ints({1})});
        cotangent = b.op("Unsqueeze", {cotangent, b.ints({-1})});
        rb = 2;
    }
    if (ra == 1) {
        left = b.op("Unsqueeze", {left, b.ints({0})});
        cotangent = b.op("Unsqueeze", {cotangent, b.ints({-2})});
        ra = 2;
    }
    std::vector<ValueId> grads(2);
    if (b.wants(0)) {
        const ValueId full = b.op("MatMul", {cotangent, transposeLast(b, right, rb)});
        grads[0] = b.unbroadcast(full, left);
        if (*rankA == 1)
            grads[0] = b.op("Squeeze", {grads[0], b.ints({0})});
    }
    if (b.wants(1)) {
        if (rb == 2 && ra > 2 && *rankB == 2) { // one weight for every batch: one product over all rows instead of a sum of products
            const ValueId rowsA = b.op("Reshape", {left, b.op("Concat", {b.ints({-1}), b.op("Shape", {left}, {intAttr("start", -1)})}, {intAttr("axis", 0)})});
            const ValueId rowsY = b.op("Reshape", {cotangent, b.op("Concat", {b.ints({-1}), b.op("Shape", {cotangent}, {intAttr("start", -1)})}, {intAttr("axis", 0)})});
            grads[1] = b.op("Gemm", {rowsA, rowsY}, {intAttr("transA", 1)});
        } else {
            const ValueId full = b.op("MatMul", {transposeLast(b, left, ra), cotangent});
            grads[1] = b.unbroadcast(full, right);
            if (*rankB == 1)
                grads[1] = b.op("Squeeze", {grads[1], b.ints({1})});
        }
    }
    return grads;
}

std::int64_t matMulFlops(const CostInputs& c) {
    if (c.inputs.size() < 2 || !c.inputs[0] || !c.inputs[1] || c.outputs.empty() || !c.outputs[0] || c.inputs[0]->empty())
        return 0;
    return saturatedProduct({2, elementCount(*c.outputs[0]), c.inputs[0]->back()});
}

struct GemmShape {
    std::int64_t m, k, n;
    bool transA, transB;
};

Result<GemmShape> gemmShape(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "A"));
    NABLA_CHECK(requireTensor(c, 1, "B"));
    const Shape &a = c.input(0).shape(), &b = c.input(1).shape();
    if (a.size() != 2 || b.size() != 2)
        return runError("Gemm wants two matrices, A is {} and B is {}", toString(a), toString(b));
    GemmShape s{a[0], a[1], b[1], c.intAttribute("transA") != 0, c.intAttribute("transB") != 0};
    if (s.transA)
        std::swap(s.m, s.k);
    if (s.transB)
        s.n = b[0];
    const std::int64_t rows = s.transB ? b[1] : b[0];
    if (rows != s.k)
        return runError("Gemm of A {}{} and B {}{}: {} columns against {} rows", toString(a), s.transA ? " transposed" : "", toString(b),
            s.transB ? " transposed" : "", s.k, rows);
    return s;
}

/// Y = alpha * A' B' + beta * C in type T.
template <typename T> void gemm(const KernelContext& c, const GemmShape& s, const Tensor& a, const Tensor& b, const Tensor& bias, T* y) {
    const T *left = elements<T>(a), *right = elements<T>(b);
    std::vector<T> leftCopy, rightCopy;
    if (s.transA) {
        leftCopy = transposed(left, s.k, s.m);
        left = leftCopy.data();
    }
    if (s.transB) {
        rightCopy = transposed(right, s.n, s.k);
        right = rightCopy.data();
    }
    const float alphaAttribute = c.floatAttribute("alpha"), betaAttribute = c.floatAttribute("beta");
    const T alpha = static_cast<T>(alphaAttribute), beta = static_cast<T>(betaAttribute);
    parallelFor(c, s.m, s.k * s.n, [&](std::int64_t begin, std::int64_t end) {
        multiplyRows(left, right, y, begin, end, s.k, s.n);
        if (alphaAttribute != 1.0F) {
            for (std::int64_t i = begin * s.n; i < end * s.n; ++i)
                y[i] *= alpha;
        }
    });
    if (!bias.defined() || betaAttribute == 0.0F)
        return;
    const std::int64_t columns = bias.rank() >= 1 ? bias.shape().back() : 1, rows = bias.rank() >= 2 ? bias.dim(0) : 1;
    for (std::int64_t i = 0; i < s.m; ++i) {
        for (std::int64_t j = 0; j < s.n; ++j)
            y[i * s.n + j] += beta * elements<T>(bias)[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)];
    }
}

Result<void> runGemm(const KernelContext& c) {
    NABLA_TRY(const GemmShape s, gemmShape(c));
    const DType type = computeType(c, {0, 1, 2});
    NABLA_TRY(const Tensor a, inputAs(c, 0, type));
    NABLA_TRY(const Tensor b, inputAs(c, 1, type));
    NABLA_TRY(const Tensor bias, inputAs(c, 2, type));
    if (bias.defined()) {
        const Shape want{s.m, s.n};
        const auto both = broadcastShapes(bias.shape(), want);
        if (bias.rank() > 2 || !both || *both != want)
            return runError("Gemm: C {} does not broadcast to the result {}", toString(bias.shape()), toString(want));
    }
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, {s.m, s.n}));
    withComputeType(type, [&]<typename T>(T) { gemm<T>(c, s, a, b, bias, y.data<T>()); });
    return y.finish();
}

// dA' = alpha dY B'^T, dB' = alpha A'^T dY, dC = beta dY; the transposes go into the flags of the new Gemm.
Gradients gradGemm(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const bool transA = n.intAttribute("transA", 0) != 0, transB = n.intAttribute("transB", 0) != 0;
    const float alpha = n.floatAttribute("alpha", 1.0F), beta = n.floatAttribute("beta", 1.0F);
    const auto product = [&](ValueId left, ValueId right, bool leftTransposed, bool rightTransposed) {
        std::vector<Attribute> attributes;
        if (alpha != 1.0F)
            attributes.push_back(floatAttr("alpha", alpha));
        if (leftTransposed)
            attributes.push_back(intAttr("transA", 1));
        if (rightTransposed)
            attributes.push_back(intAttr("transB", 1));
        return b.op("Gemm", {left, right}, std::move(attributes));
    };
    std::vector<ValueId> grads(n.inputs.size());
    if (b.wants(0))
        grads[0] = transA ? product(n.inputs[1], dy[0], transB, true) : product(dy[0], n.inputs[1], false, !transB);
    if (b.wants(1))
        grads[1] = transB ? product(dy[0], n.inputs[0], true, transA) : product(n.inputs[0], dy[0], !transA, false);
    if (n.input(2) && b.wants(2)) {
        const ValueId summed = b.unbroadcast(dy[0], n.inputs[2]);
        grads[2] = beta == 1.0F ? summed : b.mul(summed, b.scalar(n.inputs[2], static_cast<double>(beta)));
    }
    return grads;
}

std::int64_t gemmFlops(const CostInputs& c) {
    const Shape* a = inputShape(c, 0);
    if (!a || a->size() != 2)
        return 0;
    const std::int64_t k = (*a)[c.node.intAttribute("transA", 0) ? 0 : 1], outputs = outputElements(c);
    return saturatedSum(saturatedProduct({2, outputs, k}), hasInput(c, 2) ? outputs : 0);
}

constexpr Upgrade kGemmUpgrades[] = {{6, dropAttributes<"broadcast">}};

constexpr OpDef kMatMulOps[] = {
    {.name = "MatMul", .since = 13, .source = "ONNX Operators.md, MatMul-13", .run = runMatMul, .gradient = gradMatMul, .flops = matMulFlops},
    {.name = "Gemm", .since = 13, .source = "ONNX Operators.md, Gemm-13", .run = runGemm, .gradient = gradGemm, .flops = gemmFlops, .upgrades = kGemmUpgrades},
};

} // namespace

std::span<const OpDef> matMulOps() { return kMatMulOps; }

} // namespace nabla::engine
