// Conv, ConvTranspose and ConvInteger, in any number of spatial axes.
#include "engine/ops/conv_core.h"
#include "engine/ops/conv_grad.h"
#include "engine/ops/cost_rules.h"

namespace nabla::engine {

namespace {

template <typename T> void fillBias(const ConvShape& s, const Tensor& bias, T* y) {
    for (std::int64_t plane = 0; plane < s.batch * s.group * s.filters; ++plane)
        std::fill_n(y + plane * s.outputCells, s.outputCells, bias.defined() ? elements<T>(bias)[plane % (s.group * s.filters)] : T{});
}

Result<void> checkBias(const ConvShape& s, const Tensor& bias) {
    if (bias.defined() && (bias.rank() != 1 || bias.dim(0) != s.group * s.filters))
        return runError("bias B {} wants one number for each of {} output channels", toString(bias.shape()), s.group * s.filters);
    return {};
}

Result<void> runConv(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_CHECK(requireTensor(c, 1, "W"));
    NABLA_TRY(const ConvShape s, convShape(c.node(), c.intAttribute("group"), c.input(0).shape(), c.input(1).shape()));
    const DType type = computeType(c, {0, 1, 2});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(const Tensor w, inputAs(c, 1, type));
    NABLA_TRY(const Tensor bias, inputAs(c, 2, type));
    NABLA_CHECK(checkBias(s, bias));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, s.output));
    withFloatType(type, [&]<typename T>(T) {
        T* const out = y.data<T>();
        convolve(c, s, elements<T>(x), elements<T>(w), out);
        for (std::int64_t plane = 0; bias.defined() && plane < s.batch * s.group * s.filters; ++plane) {
            const T shift = elements<T>(bias)[plane % (s.group * s.filters)];
            for (std::int64_t i = 0; i < s.outputCells; ++i)
                out[plane * s.outputCells + i] += shift;
        }
    });
    return y.finish();
}

Result<void> runConvTranspose(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_CHECK(requireTensor(c, 1, "W"));
    NABLA_TRY(const ConvShape s, convTransposeShape(c.node(), c.intAttribute("group"), c.input(0).shape(), c.input(1).shape()));
    const DType type = computeType(c, {0, 1, 2});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(const Tensor w, inputAs(c, 1, type));
    NABLA_TRY(const Tensor bias, inputAs(c, 2, type));
    NABLA_CHECK(checkBias(s, bias));
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, s.output));
    withFloatType(type, [&]<typename T>(T) {
        fillBias(s, bias, y.data<T>());
        convolveTransposed(c, s, elements<T>(x), elements<T>(w), y.data<T>());
    });
    return y.finish();
}

/// Numbers less their zero point (a scalar, or one per slice along the first axis), in 32 bits.
Result<std::vector<std::uint32_t>> shifted(const Tensor& values, const Tensor& zero, std::int64_t slices, std::string_view what) {
    const std::int64_t points = zero.defined() ? zero.elementCount() : 1;
    if (points != 1 && points != slices)
        return runError("zero point of {} has {} numbers, 1 or {} are wanted", what, points, slices);
    const std::int64_t perPoint = points == 1 ? std::max<std::int64_t>(values.elementCount(), 1) : values.elementCount() / std::max<std::int64_t>(slices, 1);
    std::vector<std::uint32_t> out(static_cast<std::size_t>(values.elementCount()));
    for (std::int64_t i = 0; i < values.elementCount(); ++i) {
        const std::int64_t point = zero.defined() ? zero.asInt64(points == 1 ? 0 : i / perPoint) : 0;
        out[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(values.asInt64(i) - point);
    }
    return out;
}

Result<void> runConvInteger(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "x"));
    NABLA_CHECK(requireTensor(c, 1, "w"));
    NABLA_TRY(const ConvShape s, convShape(c.node(), c.intAttribute("group"), c.input(0).shape(), c.input(1).shape()));
    NABLA_TRY(const auto x, shifted(c.input(0), c.input(2), 1, "x"));
    NABLA_TRY(const auto w, shifted(c.input(1), c.input(3), c.input(1).dim(0), "w"));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int32, s.output));
    convolve(c, s, x.data(), w.data(), reinterpret_cast<std::uint32_t*>(y.mutableRaw()));
    c.setOutput(0, std::move(y));
    return {};
}

std::int64_t convFlops(const CostInputs& c) {
    const Shape* w = inputShape(c, 1);
    if (!w || w->size() < 2)
        return 0;
    const std::int64_t outputs = outputElements(c);
    const bool biased = c.node.opType == "Conv" && hasInput(c, 2); // of ConvInteger it is a zero point
    return saturatedSum(saturatedProduct({2, outputs, elementCount(ShapeView(*w).subspan(1))}), biased ? outputs : 0);
}

std::int64_t convTransposeFlops(const CostInputs& c) {
    const Shape* w = inputShape(c, 1);
    if (!w || w->size() < 2)
        return 0;
    return saturatedSum(saturatedProduct({2, inputElements(c, 0), elementCount(ShapeView(*w).subspan(1))}), hasInput(c, 2) ? outputElements(c) : 0);
}

constexpr OpDef kConvOps[] = {
    {.name = "Conv", .since = 22, .source = "ONNX Operators.md, Conv-22", .run = runConv, .gradient = gradConv, .flops = convFlops},
    {.name = "ConvTranspose", .since = 22, .source = "ONNX Operators.md, ConvTranspose-22", .run = runConvTranspose, .gradient = gradConvTranspose,
        .flops = convTransposeFlops},
    {.name = "ConvInteger", .since = 10, .source = "ONNX Operators.md, ConvInteger-10", .run = runConvInteger,
        .gradient = notDifferentiable("its inputs are integers"), .flops = convFlops},
};

} // namespace

std::span<const OpDef> convOps() { return kConvOps; }

} // namespace nabla::engine
