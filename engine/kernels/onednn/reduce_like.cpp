// Softmax and average pooling by oneDNN. Max pooling is not taken from it: its vector code loses NaN, which a person
// looking for one must see. Nor is LogSoftmax (log_softmax.cpp).
#include <algorithm>

#include "engine/kernels/families.h"
#include "engine/kernels/onednn/primitives.h"
#include "engine/ops/window.h"

namespace nabla::engine {

namespace {

using namespace onednn;

/// One operand in, one out, both row-major or copied.
struct UnaryState : KernelState {
    dnnl::primitive primitive;
    Operand x, y;
    Shape outputShape;
};

Result<void> run(const KernelContext& c, KernelState* given) {
    auto& state = static_cast<UnaryState&>(*given);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, state.outputShape));
    return guarded([&]() -> Result<void> {
        const dnnl::memory& output = state.y.bind(y.raw());
        state.primitive.execute(stream(), {{DNNL_ARG_SRC, state.x.bind(c.input(0).raw())}, {DNNL_ARG_DST, output}});
        state.y.finish();
        stream().wait();
        c.setOutput(0, std::move(y));
        return {};
    });
}

bool acceptsSoftmax(const KernelQuery& q) {
    const auto x = q.inputs.empty() ? std::nullopt : floatDims(q.inputs[0]);
    return x && !x->empty() && normalizeAxis(q.node.intAttribute("axis", -1), x->size());
}

Result<std::unique_ptr<KernelState>> prepareSoftmax(const KernelQuery& q) {
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
        const Dims dims = *floatDims(q.inputs[0]);
        auto state = std::make_unique<UnaryState>();
        const auto axis = static_cast<int>(*normalizeAxis(q.node.intAttribute("axis", -1), dims.size()));
        state->primitive = softmax(plain(dims), axis);
        state->x = Operand(plain(dims), plain(dims), Operand::Use::Input);
        state->y = Operand(plain(dims), plain(dims), Operand::Use::Output);
        state->outputShape = *q.inputs[0].concreteShape();
        return std::unique_ptr<KernelState>(std::move(state));
    });
}

struct Pooling {
    Dims x, y, kernel;
    WindowDims window;
    dnnl::algorithm algorithm{};
};

std::optional<Pooling> averagePooling(const KernelQuery& q) {
    const auto x = q.inputs.empty() ? std::nullopt : floatDims(q.inputs[0]);
    const auto y = q.outputs.empty() ? std::nullopt : floatDims(q.outputs[0]);
    if (!x || !y || x->size() < 3 || x->size() > 5 || y->size() != x->size())
        return std::nullopt;
    const std::size_t rank = x->size() - 2;
    Pooling p{*x, *y, {}, {}, dnnl::algorithm::pooling_avg_exclude_padding};
    if (q.node.opType == "GlobalAveragePool") {
        p.kernel.assign(x->begin() + 2, x->end());
        p.window = {Dims(rank, 1), Dims(rank, 0), Dims(rank, 0), Dims(rank, 0)};
        return p;
    }
    if (q.node.intAttribute("ceil_mode", 0) != 0)
        return std::nullopt;
    const auto attributes = windowAttributes(q.node, rank);
    const auto window
        = attributes ? slideOver(*attributes, ShapeView(*x).subspan(2)) : Result<Window>(attributes.error());
    if (!window || !std::equal(window->output.begin(), window->output.end(), y->begin() + 2, y->end()))
        return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i) {
        if (window->dilations[i] != 1 || window->padBegin[i] >= window->kernel[i]
            || window->padEnd[i] >= window->kernel[i])
            return std::nullopt;
    }
    if (q.node.intAttribute("count_include_pad", 0) != 0)
        p.algorithm = dnnl::algorithm::pooling_avg_include_padding;
    p.kernel = window->kernel;
    p.window = {window->strides, Dims(rank, 0), window->padBegin, window->padEnd};
    return p;
}

bool acceptsPooling(const KernelQuery& q) {
    return averagePooling(q).has_value();
}

Result<std::unique_ptr<KernelState>> preparePooling(const KernelQuery& q) {
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
        const Pooling p = *averagePooling(q);
        auto state = std::make_unique<UnaryState>();
        state->primitive = dnnl::pooling_forward(pooling(p.algorithm, plain(p.x), plain(p.y), p.kernel, p.window));
        state->x = Operand(plain(p.x), plain(p.x), Operand::Use::Input);
        state->y = Operand(plain(p.y), plain(p.y), Operand::Use::Output);
        state->outputShape = *q.outputs[0].concreteShape();
        return std::unique_ptr<KernelState>(std::move(state));
    });
}

constexpr Kernel kKernels[] = {
    {.name = "onednn.softmax",
        .opType = "Softmax",
        .domain = "",
        .accepts = acceptsSoftmax,
        .prepare = prepareSoftmax,
        .run = run},
    {.name = "onednn.averagepool",
        .opType = "AveragePool",
        .domain = "",
        .accepts = acceptsPooling,
        .prepare = preparePooling,
        .run = run},
    {.name = "onednn.averagepool",
        .opType = "GlobalAveragePool",
        .domain = "",
        .accepts = acceptsPooling,
        .prepare = preparePooling,
        .run = run},
};

} // namespace

std::span<const Kernel> softmaxAndPoolKernels() {
    return kKernels;
}

} // namespace nabla::engine
