// Conv by oneDNN: it picks its own layouts, constant weights are packed once.
#include <algorithm>

#include "engine/kernels/families.h"
#include "engine/kernels/onednn/primitives.h"
#include "engine/ops/window.h"

namespace nabla::engine {

namespace {

using namespace onednn;

struct Geometry {
    Dims x, w, y, bias; ///< w with the group in front when there is more than one
    WindowDims window;
};

struct ConvState : KernelState {
    dnnl::convolution_forward primitive;
    Operand x, w, bias, y;
    Shape outputShape;
};

std::optional<Geometry> geometry(const KernelQuery& q) {
    const auto x = q.inputs.size() > 1 ? floatDims(q.inputs[0]) : std::nullopt;
    const auto w = q.inputs.size() > 1 ? floatDims(q.inputs[1]) : std::nullopt;
    const auto y = q.outputs.empty() ? std::nullopt : floatDims(q.outputs[0]);
    if (!x || !w || !y || x->size() < 3 || x->size() > 5 || w->size() != x->size() || y->size() != x->size())
        return std::nullopt;
    const std::int64_t group = q.node.intAttribute("group", 1);
    if (group < 1 || (*w)[0] % group != 0 || (*x)[1] != (*w)[1] * group || (*y)[1] != (*w)[0])
        return std::nullopt;
    const auto attributes = windowAttributes(q.node, x->size() - 2, {w->begin() + 2, w->end()});
    if (!attributes)
        return std::nullopt;
    const auto window = slideOver(*attributes, ShapeView(*x).subspan(2));
    if (!window || !std::equal(window->output.begin(), window->output.end(), y->begin() + 2, y->end()))
        return std::nullopt;
    Geometry g{*x, *w, *y, {}, {window->strides, window->dilations, window->padBegin, window->padEnd}};
    for (std::int64_t& dilation : g.window.dilations)
        --dilation;
    if (group > 1) {
        g.w[0] /= group;
        g.w.insert(g.w.begin(), group);
    }
    const bool hasBias = q.inputs.size() > 2 && q.node.input(2);
    if (hasBias) {
        const auto bias = floatDims(q.inputs[2]);
        if (!bias || *bias != Dims{(*w)[0]})
            return std::nullopt;
        g.bias = *bias;
    }
    return g;
}

bool accepts(const KernelQuery& q) {
    return geometry(q).has_value();
}

Result<std::unique_ptr<KernelState>> prepare(const KernelQuery& q) {
    const Geometry g = *geometry(q);
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
        auto state = std::make_unique<ConvState>();
        std::optional<Desc> bias;
        if (!g.bias.empty())
            bias = plain(g.bias);
        const auto described = convolution(anyLayout(g.x), anyLayout(g.w), bias, anyLayout(g.y), g.window);
        state->primitive = dnnl::convolution_forward(described);
        state->x = Operand(plain(g.x), described.src_desc(), Operand::Use::Input);
        if (q.constants[1]) {
            state->w = Operand::packed(plain(g.w), described.weights_desc(), *q.constants[1]);
            state->bytes = described.weights_desc() == plain(g.w) ? 0 : state->w.ownBytes();
        } else {
            state->w = Operand(plain(g.w), described.weights_desc(), Operand::Use::Input);
        }
        if (bias)
            state->bias = Operand(*bias, *bias, Operand::Use::Input);
        state->y = Operand(plain(g.y), described.dst_desc(), Operand::Use::Output);
        state->outputShape = *q.outputs[0].concreteShape();
        return std::unique_ptr<KernelState>(std::move(state));
    });
}

Result<void> run(const KernelContext& c, KernelState* given) {
    auto& state = static_cast<ConvState&>(*given);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, state.outputShape));
    return guarded([&]() -> Result<void> {
        const dnnl::memory& output = state.y.bind(y.raw());
        const dnnl::memory& x = state.x.bind(c.input(0).raw());
        const dnnl::memory& w = state.w.bind(c.input(1).raw());
        if (c.hasInput(2))
            state.primitive.execute(stream(),
                {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, state.bias.bind(c.input(2).raw())},
                    {DNNL_ARG_DST, output}});
        else
            state.primitive.execute(stream(), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, output}});
        state.y.finish();
        stream().wait();
        c.setOutput(0, std::move(y));
        return {};
    });
}

constexpr Kernel kKernels[] = {
    {.name = "onednn.conv", .opType = "Conv", .domain = "", .accepts = accepts, .prepare = prepare, .run = run},
};

} // namespace

std::span<const Kernel> convKernels() {
    return kKernels;
}

} // namespace nabla::engine
