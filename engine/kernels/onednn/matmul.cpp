// MatMul and Gemm by oneDNN; constant right-hand sides are packed once.
#include <algorithm>

#include "engine/kernels/families.h"
#include "engine/kernels/onednn/primitives.h"

namespace nabla::engine {

namespace {

using namespace onednn;

/// One matrix product as oneDNN takes it: operands of equal rank, broadcast axes of 1 in the batch.
struct Product {
    Dims a, b, bias, y;
    Dims aStrides, bStrides;
    bool hasBias = false;
};

struct MatMulState : KernelState {
    dnnl::matmul primitive;
    Operand a, b, bias, y;
    Shape outputShape;
};

Dims padded(const Dims& dims, std::size_t rank) {
    Dims out(rank - dims.size(), 1);
    out.insert(out.end(), dims.begin(), dims.end());
    return out;
}

std::optional<Product> matMulProduct(const KernelQuery& q) {
    const auto a = q.inputs.size() > 1 ? floatDims(q.inputs[0]) : std::nullopt;
    const auto b = q.inputs.size() > 1 ? floatDims(q.inputs[1]) : std::nullopt;
    const auto y = q.outputs.empty() ? std::nullopt : floatDims(q.outputs[0]);
    if (!a || !b || !y || a->size() < 2 || b->size() < 2 || (*a)[a->size() - 1] != (*b)[b->size() - 2])
        return std::nullopt;
    Product p;
    if (b->size() == 2) { // rows of all matrices of A are rows of one matrix
        const std::int64_t k = a->back();
        const std::int64_t rows = elementCount(*a) / k;
        p.a = {rows, k};
        p.b = *b;
        p.y = {rows, b->back()};
    } else {
        const std::size_t rank = std::max(a->size(), b->size());
        p.a = padded(*a, rank);
        p.b = padded(*b, rank);
        p.y = padded(*y, rank);
    }
    p.aStrides = rowMajorStrides(p.a);
    p.bStrides = rowMajorStrides(p.b);
    return p;
}

std::optional<Product> gemmProduct(const KernelQuery& q) {
    const auto a = q.inputs.size() > 1 ? floatDims(q.inputs[0]) : std::nullopt;
    const auto b = q.inputs.size() > 1 ? floatDims(q.inputs[1]) : std::nullopt;
    const auto y = q.outputs.empty() ? std::nullopt : floatDims(q.outputs[0]);
    const bool hasC = q.inputs.size() > 2 && q.inputs[2].kind != ValueType::Kind::Unknown;
    if (!a || !b || !y || a->size() != 2 || b->size() != 2 || y->size() != 2 || q.node.floatAttribute("alpha", 1) != 1)
        return std::nullopt;
    if (q.inputs.size() > 2 && q.node.input(2) && !hasC)
        return std::nullopt;
    Product p;
    const bool transA = q.node.intAttribute("transA", 0) != 0, transB = q.node.intAttribute("transB", 0) != 0;
    p.a = transA ? Dims{(*a)[1], (*a)[0]} : *a;
    p.b = transB ? Dims{(*b)[1], (*b)[0]} : *b;
    p.aStrides = transA ? Dims{1, (*a)[1]} : Dims{(*a)[1], 1};
    p.bStrides = transB ? Dims{1, (*b)[1]} : Dims{(*b)[1], 1};
    p.y = *y;
    if (p.a[1] != p.b[0] || p.y[0] != p.a[0] || p.y[1] != p.b[1])
        return std::nullopt;
    if (!hasC)
        return p;
    const auto c = floatDims(q.inputs[2]);
    if (!c || c->size() > 2 || q.node.floatAttribute("beta", 1) != 1)
        return std::nullopt;
    p.bias = padded(*c, 2);
    p.hasBias = true;
    if (p.bias[1] != p.y[1] || (p.bias[0] != 1 && p.bias[0] != p.y[0]))
        return std::nullopt;
    return p;
}

Result<std::unique_ptr<KernelState>> prepare(const KernelQuery& q, const Product& p) {
    return guarded([&]() -> Result<std::unique_ptr<KernelState>> {
        auto state = std::make_unique<MatMulState>();
        const Desc a = strided(p.a, p.aStrides), b = strided(p.b, p.bStrides), y = plain(p.y);
        const TensorPtr constant = q.constants[1];
        std::optional<Desc> bias;
        if (p.hasBias)
            bias = plain(p.bias);
        const auto described = matMul(a, constant && p.b.size() == 2 ? anyLayout(p.b) : b, bias, y);
        state->primitive = dnnl::matmul(described);
        state->a = Operand(a, described.src_desc(), Operand::Use::Input);
        state->b = constant ? Operand::packed(b, described.weights_desc(), *constant)
                            : Operand(b, described.weights_desc(), Operand::Use::Input);
        if (bias)
            state->bias = Operand(*bias, *bias, Operand::Use::Input);
        state->y = Operand(y, described.dst_desc(), Operand::Use::Output);
        state->outputShape = *q.outputs[0].concreteShape();
        if (constant && !(described.weights_desc() == b))
            state->bytes = state->b.ownBytes();
        return std::unique_ptr<KernelState>(std::move(state));
    });
}

Result<void> run(const KernelContext& c, KernelState* given) {
    auto& state = static_cast<MatMulState&>(*given);
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, state.outputShape));
    return guarded([&]() -> Result<void> {
        const dnnl::memory& output = state.y.bind(y.raw());
        const dnnl::memory& a = state.a.bind(c.input(0).raw());
        const dnnl::memory& b = state.b.bind(c.input(1).raw());
        if (c.hasInput(2))
            state.primitive.execute(stream(),
                {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_BIAS, state.bias.bind(c.input(2).raw())},
                    {DNNL_ARG_DST, output}});
        else
            state.primitive.execute(stream(), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, output}});
        state.y.finish();
        stream().wait();
        c.setOutput(0, std::move(y));
        return {};
    });
}

bool acceptsMatMul(const KernelQuery& q) {
    return matMulProduct(q).has_value();
}
bool acceptsGemm(const KernelQuery& q) {
    return gemmProduct(q).has_value();
}
Result<std::unique_ptr<KernelState>> prepareMatMul(const KernelQuery& q) {
    return prepare(q, *matMulProduct(q));
}
Result<std::unique_ptr<KernelState>> prepareGemm(const KernelQuery& q) {
    return prepare(q, *gemmProduct(q));
}

constexpr Kernel kKernels[] = {
    {.name = "onednn.matmul",
        .opType = "MatMul",
        .domain = "",
        .accepts = acceptsMatMul,
        .prepare = prepareMatMul,
        .run = run},
    {.name = "onednn.gemm", .opType = "Gemm", .domain = "", .accepts = acceptsGemm, .prepare = prepareGemm, .run = run},
};

} // namespace

std::span<const Kernel> matMulKernels() {
    return kKernels;
}

} // namespace nabla::engine
