// Softmax, LogSoftmax, Hardmax.
#include <cmath>
#include <limits>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/quantize_core.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

namespace {

/// Calls f(x, y, length, step) for every line along the axis.
template <typename F> Result<void> alongAxis(const KernelContext& c, F&& f) {
    NABLA_CHECK(requireTensor(c, 0, "input"));
    const Shape& shape = c.input(0).shape();
    if (!isFloat(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    if (shape.empty())
        return runError("{} wants an axis, its input is a scalar", c.node().opType);
    NABLA_TRY(const std::int64_t axisAttribute, normalizeAxis(c.intAttribute("axis"), shape.size()));
    const auto axis = static_cast<std::size_t>(axisAttribute);
    const std::int64_t length = shape[axis], inner = elementCount(ShapeView(shape).subspan(axis + 1)), outer = elementCount(ShapeView(shape).first(axis));
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, shape));
    withFloatType(type, [&]<typename T>(T) {
        const T* const in = elements<T>(x);
        T* const out = y.data<T>();
        if (length == 0)
            return;
        parallelFor(c, outer * inner, length * 16, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t line = begin; line < end; ++line) {
                const std::int64_t start = line / inner * length * inner + line % inner;
                f(in + start, out + start, length, inner);
            }
        });
    });
    return y.finish();
}

template <typename T> T largest(const T* x, std::int64_t length, std::int64_t step) {
    T best = x[0];
    for (std::int64_t i = 1; i < length; ++i)
        best = x[i * step] > best || x[i * step] != x[i * step] ? x[i * step] : best;
    return best;
}

/// In 16 bits every step is rounded, as the function body of Softmax-13 has it: x - max, exp, sum, quotient.
template <typename T> void softmaxInSteps(DType stored, const T* x, T* y, std::int64_t length, std::int64_t step) {
    const auto rounded = [stored](T value) { return static_cast<T>(roundedTo(stored, static_cast<double>(value))); };
    const T top = largest(x, length, step);
    T sum{};
    for (std::int64_t i = 0; i < length; ++i) {
        y[i * step] = rounded(std::exp(rounded(x[i * step] - top)));
        sum += y[i * step];
    }
    sum = rounded(sum);
    for (std::int64_t i = 0; i < length; ++i)
        y[i * step] /= sum;
}

Result<void> runSoftmax(const KernelContext& c) {
    const DType stored = c.input(0).dtype();
    const bool small = stored == DType::Float16 || stored == DType::BFloat16;
    return alongAxis(c, [small, stored]<typename T>(const T* x, T* y, std::int64_t length, std::int64_t step) {
        if (small)
            return softmaxInSteps(stored, x, y, length, step);
        const T top = largest(x, length, step);
        T sum{};
        for (std::int64_t i = 0; i < length; ++i) {
            y[i * step] = std::exp(x[i * step] - top);
            sum += y[i * step];
        }
        for (std::int64_t i = 0; i < length; ++i)
            y[i * step] /= sum;
    });
}

Result<void> runLogSoftmax(const KernelContext& c) {
    return alongAxis(c, []<typename T>(const T* x, T* y, std::int64_t length, std::int64_t step) {
        const T top = largest(x, length, step);
        T sum{};
        for (std::int64_t i = 0; i < length; ++i)
            sum += std::exp(x[i * step] - top);
        const T logSum = std::log(sum);
        for (std::int64_t i = 0; i < length; ++i)
            y[i * step] = x[i * step] - top - logSum;
    });
}

/// 1 at the first of the largest, 0 elsewhere.
Result<void> runHardmax(const KernelContext& c) {
    return alongAxis(c, []<typename T>(const T* x, T* y, std::int64_t length, std::int64_t step) {
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            y[i * step] = T{};
            if (x[i * step] > x[at * step])
                at = i;
        }
        y[at * step] = T{1};
    });
}

// dx = y * (dy - sum(dy * y, axis))
Gradients gradSoftmax(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId y = n.outputs[0];
    const ValueId weighted = b.mul(dy[0], y);
    const ValueId sum = b.reduceSum(weighted, {n.intAttribute("axis", -1)}, true);
    return std::vector<ValueId>{b.sub(weighted, b.mul(y, sum))};
}

// dx = dy - exp(y) * sum(dy, axis)
Gradients gradLogSoftmax(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId sum = b.reduceSum(dy[0], {n.intAttribute("axis", -1)}, true);
    return std::vector<ValueId>{b.sub(dy[0], b.mul(b.op("Exp", {n.outputs[0]}), sum))};
}

// Opsets 1 to 12: the input is seen as a matrix [axes before `axis`, the others], default axis 1, and each row is one distribution.
Result<void> upgradeFlattening(UpgradeContext& c) {
    const std::int64_t axis = c.node.intAttribute("axis", 1);
    const ValueType type = c.type(c.node.input(0));
    if (type.shape) {
        NABLA_TRY(const std::int64_t at, normalizeAxis(axis, type.shape->size()));
        if (at + 1 == static_cast<std::int64_t>(type.shape->size()))
            return withAttributes(c, {}, {{"axis", std::int64_t{-1}}});
    }
    const ValueId x = c.node.input(0);
    const ValueId matrix = upgradeNode(c, "Flatten", {x}, {{"axis", axis}});
    const ValueId rows = upgradeNode(c, c.node.opType, {matrix}, {{"axis", std::int64_t{-1}}});
    Node changed = c.node;
    changed.opType = "Reshape";
    changed.inputs = {rows, upgradeNode(c, "Shape", {x})};
    changed.attributes = {{"allowzero", std::int64_t{1}}};
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kFlatteningUpgrades[] = {{12, upgradeFlattening}};

constexpr OpDef kSoftmaxOps[] = {
    {.name = "Softmax", .since = 13, .source = "ONNX Operators.md, Softmax-13", .run = runSoftmax, .gradient = gradSoftmax, .flops = perOutput<5>,
        .upgrades = kFlatteningUpgrades},
    {.name = "LogSoftmax", .since = 13, .source = "ONNX Operators.md, LogSoftmax-13", .run = runLogSoftmax, .gradient = gradLogSoftmax,
        .flops = perOutput<5>, .upgrades = kFlatteningUpgrades},
    {.name = "Hardmax", .since = 13, .source = "ONNX Operators.md, Hardmax-13", .run = runHardmax,
        .gradient = notDifferentiable("it picks a position: constant wherever it has a derivative"), .flops = perOutput<1>,
        .upgrades = kFlatteningUpgrades},
};

} // namespace

std::span<const OpDef> softmaxOps() { return kSoftmaxOps; }

} // namespace nabla::engine
