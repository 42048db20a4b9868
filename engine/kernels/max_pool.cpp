// MaxPool of float32 by rows. Our own, because oneDNN's vector code loses NaN, which a person looking for one must see.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "engine/kernels/families.h"
#include "engine/ops/window.h"

namespace nabla::engine {

namespace {

/// Up to three spatial axes, padded in front with axes of size 1.
struct Axis {
    std::int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, padBegin = 0;

    /// Output positions whose tap `t` falls inside the input: [first, last).
    std::array<std::int64_t, 2> outputsOfTap(std::int64_t t) const {
        const std::int64_t shift = padBegin - t * dilation; // input position = o * stride - shift
        const std::int64_t first = shift <= 0 ? 0 : (shift + stride - 1) / stride;
        const std::int64_t beyond = input + shift; // o * stride must be below it
        const std::int64_t last = beyond <= 0 ? 0 : std::min(output, (beyond + stride - 1) / stride);
        return {std::min(first, output), std::max(std::min(first, output), last)};
    }
};

struct MaxPoolState : KernelState {
    Shape outputShape;
    std::int64_t planes = 0;
    std::array<Axis, 3> axes;
};

std::optional<MaxPoolState> geometry(const KernelQuery& q) {
    const auto x = q.inputs.empty() || !q.inputs[0].isTensor() || q.inputs[0].elementType != DType::Float32
        ? std::nullopt
        : q.inputs[0].concreteShape();
    if (!x || x->size() < 3 || x->size() > 5 || q.node.output(1))
        return std::nullopt;
    const auto attributes = windowAttributes(q.node, x->size() - 2);
    if (!attributes)
        return std::nullopt;
    const auto window = slideOver(*attributes, ShapeView(*x).subspan(2),
        q.node.intAttribute("ceil_mode", 0) != 0 ? Rounding::Ceil : Rounding::Floor);
    if (!window)
        return std::nullopt;
    MaxPoolState state;
    state.planes = (*x)[0] * (*x)[1];
    state.outputShape = {(*x)[0], (*x)[1]};
    state.outputShape.insert(state.outputShape.end(), window->output.begin(), window->output.end());
    const std::size_t shift = 3 - window->rank();
    for (std::size_t i = 0; i < window->rank(); ++i)
        state.axes[shift + i] = {window->input[i], window->output[i], window->kernel[i], window->strides[i],
            window->dilations[i], window->padBegin[i]};
    return state;
}

/// One input row into one output row for every tap of the last axis.
void maxRow(const Axis& axis, const float* x, float* y) {
    for (std::int64_t t = 0; t < axis.kernel; ++t) {
        const auto [first, last] = axis.outputsOfTap(t);
        const float* from = x + first * axis.stride - axis.padBegin + t * axis.dilation;
        for (std::int64_t o = first; o < last; ++o, from += axis.stride)
            y[o] = *from > y[o] || *from != *from ? *from : y[o]; // NaN wins and stays
    }
}

void maxPlane(const std::array<Axis, 3>& axes, const float* x, float* y) {
    const auto& [depth, height, width] = axes;
    std::fill_n(y, depth.output * height.output * width.output, -std::numeric_limits<float>::infinity());
    for (std::int64_t td = 0; td < depth.kernel; ++td) {
        const auto [firstD, lastD] = depth.outputsOfTap(td);
        for (std::int64_t d = firstD; d < lastD; ++d) {
            const std::int64_t atD = d * depth.stride - depth.padBegin + td * depth.dilation;
            for (std::int64_t th = 0; th < height.kernel; ++th) {
                const auto [firstH, lastH] = height.outputsOfTap(th);
                for (std::int64_t h = firstH; h < lastH; ++h) {
                    const std::int64_t atH = h * height.stride - height.padBegin + th * height.dilation;
                    maxRow(width, x + (atD * height.input + atH) * width.input,
                        y + (d * height.output + h) * width.output);
                }
            }
        }
    }
}

bool accepts(const KernelQuery& q) {
    return geometry(q).has_value();
}

Result<std::unique_ptr<KernelState>> prepare(const KernelQuery& q) {
    return std::unique_ptr<KernelState>(std::make_unique<MaxPoolState>(*geometry(q)));
}

Result<void> run(const KernelContext& c, KernelState* given) {
    const auto& s = static_cast<const MaxPoolState&>(*given);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, s.outputShape));
    const float* const from = c.input(0).data<float>().data();
    float* const to = y.mutableData<float>().data();
    const std::int64_t inputCells = s.axes[0].input * s.axes[1].input * s.axes[2].input;
    const std::int64_t outputCells = s.axes[0].output * s.axes[1].output * s.axes[2].output;
    const auto planes = [&](std::size_t begin, std::size_t end) {
        for (auto plane = static_cast<std::int64_t>(begin); plane < static_cast<std::int64_t>(end); ++plane)
            maxPlane(s.axes, from + plane * inputCells, to + plane * outputCells);
    };
    const std::int64_t work
        = std::max<std::int64_t>(1, outputCells * s.axes[0].kernel * s.axes[1].kernel * s.axes[2].kernel);
    if (c.pool && s.planes * work > 100'000)
        c.pool->parallelFor(static_cast<std::size_t>(s.planes),
            static_cast<std::size_t>(std::max<std::int64_t>(1, 50'000 / work)), planes);
    else
        planes(0, static_cast<std::size_t>(s.planes));
    c.setOutput(0, std::move(y));
    return {};
}

constexpr Kernel kKernels[] = {
    {.name = "rows.maxpool", .opType = "MaxPool", .domain = "", .accepts = accepts, .prepare = prepare, .run = run},
};

} // namespace

std::span<const Kernel> maxPoolKernels() {
    return kKernels;
}

} // namespace nabla::engine
