// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/quantize_core.h"

namespace nabla::engine {

double roundedTo(DType type, double value) {
    switch (type) {
    case DType::Float64: return value;
    case DType::Float16: return static_cast<double>(Half(value));
    case DType::BFloat16: return static_cast<double>(BFloat16(value));
    default: return static_cast<double>(static_cast<float>(value));
    }
}

std::pair<double, double> integerRange(DType type) {
    const int bits = bitWidth(type);
    const bool isSigned = type == DType::Int8 || type == DType::Int16 || type == DType::Int32 || type == DType::Int64 || type == DType::Int4 || type == DType::Int2;
    return isSigned ? std::pair{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1} : std::pair{0.0, std::ldexp(1.0, bits) - 1};
}

double quantizedTo(DType type, double value, double zeroPoint) {
    const auto [low, high] = integerRange(type);
    const double whole = std::nearbyint(value) + zeroPoint; // ties to even: the default rounding mode
    return std::isnan(whole) ? zeroPoint : std::clamp(whole, low, high);
}

double blendedTo(DType type, double value) { return isInteger(type) ? quantizedTo(type, value, 0) : value; }

namespace {

/// Which scale an element reads: one for all, one per entry of an axis, or one per block along an axis.
class Granularity {
public:
    static Result<Granularity> make(const KernelContext& c, ShapeView x, ShapeView scale) {
        Granularity g;
        const std::int64_t block = c.hasAttribute("block_size") ? c.intAttribute("block_size") : 0;
        if (elementCount(scale) == 1 && block == 0)
            return g;
        NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.size()));
        const auto at = static_cast<std::size_t>(axis);
        g.m_inner = elementCount(x.subspan(at + 1));
        g.m_length = x[at];
        if (block == 0) {
            if (scale.size() != 1 || scale[0] != x[at])
                return runError("scale {} wants one number, or {} along axis {} of {}", toString(scale), x[at], axis, toString(x));
            g.m_kind = Kind::Axis;
            return g;
        }
        Shape want(x.begin(), x.end());
        if (block < 1 || scale.size() != x.size())
            return runError("block_size {} with scale {} and input {}: the ranks must agree and the block be positive", block, toString(scale), toString(x));
        want[at] = (x[at] + block - 1) / block;
        if (!std::equal(want.begin(), want.end(), scale.begin()))
            return runError("scale {} wants the shape {} for blocks of {} along axis {} of {}", toString(scale), toString(want), block, axis, toString(x));
        g.m_kind = Kind::Block;
        g.m_block = block;
        g.m_blocks = want[at];
        return g;
    }
    std::int64_t operator()(std::int64_t element) const {
        const std::int64_t along = m_kind == Kind::One ? 0 : element / m_inner % m_length;
        switch (m_kind) {
        case Kind::One: return 0;
        case Kind::Axis: return along;
        case Kind::Block: return (element / (m_inner * m_length) * m_blocks + along / m_block) * m_inner + element % m_inner;
        }
        return 0;
    }

private:
    enum class Kind : std::uint8_t { One, Axis, Block } m_kind = Kind::One;
    std::int64_t m_inner = 1, m_length = 1, m_block = 1, m_blocks = 1;
};

Result<void> checkZeroPoint(const KernelContext& c) {
    if (c.hasInput(2) && c.input(2).elementCount() != c.input(1).elementCount())
        return runError("zero point {} wants the shape of the scale {}", toString(c.input(2).shape()), toString(c.input(1).shape()));
    return {};
}

Result<DType> quantizedType(const KernelContext& c) {
    const std::int64_t stated = c.hasAttribute("output_dtype") ? c.intAttribute("output_dtype") : 0;
    if (stated < 0 || stated > kLastDType)
        return runError("output_dtype {} is no element type", stated);
    const auto type = static_cast<DType>(stated);
    if (c.hasInput(2)) {
        if (stated != 0 && c.input(2).dtype() != type)
            return runError("output_dtype is {}, the zero point is {}", name(type), name(c.input(2).dtype()));
        return c.input(2).dtype();
    }
    return stated == 0 ? DType::UInt8 : type;
}

Result<void> runQuantizeLinear(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "x"));
    NABLA_CHECK(requireTensor(c, 1, "y_scale"));
    NABLA_CHECK(checkZeroPoint(c));
    const Tensor &x = c.input(0), &scale = c.input(1);
    NABLA_TRY(const DType type, quantizedType(c));
    NABLA_TRY(const Granularity which, Granularity::make(c, x.shape(), scale.shape()));
    const std::int64_t stated = c.hasAttribute("precision") ? c.intAttribute("precision") : 0;
    const DType precision = stated != 0 ? static_cast<DType>(stated) : isDifferentiable(scale.dtype()) ? scale.dtype() : DType::Float32;
    const bool saturate = c.intAttribute("saturate") != 0;
    NABLA_TRY(Tensor y, c.makeOutput(0, type, x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const std::int64_t at = which(i);
        const double zero = c.hasInput(2) ? c.input(2).asDouble(at) : 0;
        const double value = roundedTo(precision, roundedTo(precision, x.asDouble(i)) / roundedTo(precision, scale.asDouble(at)));
        if (isInteger(type))
            writeInt64(type, y.mutableRaw(), i, static_cast<std::int64_t>(quantizedTo(type, value, zero)));
        else
            writeDouble(type, y.mutableRaw(), i, value + zero, saturate);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runDequantizeLinear(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "x"));
    NABLA_CHECK(requireTensor(c, 1, "x_scale"));
    NABLA_CHECK(checkZeroPoint(c));
    const Tensor &x = c.input(0), &scale = c.input(1);
    NABLA_TRY(const Granularity which, Granularity::make(c, x.shape(), scale.shape()));
    const std::int64_t stated = c.hasAttribute("output_dtype") ? c.intAttribute("output_dtype") : 0;
    const DType type = stated != 0 ? static_cast<DType>(stated) : isDifferentiable(scale.dtype()) ? scale.dtype() : DType::Float32;
    NABLA_TRY(Tensor y, c.makeOutput(0, type, x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i) {
        const std::int64_t at = which(i);
        const double zero = c.hasInput(2) ? c.input(2).asDouble(at) : 0;
        const DType product = type == DType::Float64 ? DType::Float64 : DType::Float32;
        writeDouble(type, y.mutableRaw(), i, roundedTo(product, (x.asDouble(i) - zero) * scale.asDouble(at)));
    }
    c.setOutput(0, std::move(y));
    return {};
}

// y = (x - zero) * scale: d scale = sum of dy * (x - zero) over the elements that read it. x is made of whole steps: no gradient.
Gradients gradDequantizeLinear(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> grads(n.inputs.size());
    if (!b.wants(1))
        return grads;
    if (n.intAttribute("block_size", 0) != 0)
        return runError("the gradient of DequantizeLinear in a blocked scale is not known");
    const auto rank = b.rank(n.inputs[0]);
    const auto scaleType = b.type(n.inputs[1]);
    const auto scaleShape = scaleType.concreteShape();
    if (!rank || !scaleShape)
        return runError("the gradient of DequantizeLinear in its scale wants known shapes");
    const ValueId one = b.add(b.zerosLike(n.inputs[1]), b.scalar(n.inputs[1], 1));
    std::vector<ValueId> inputs = n.inputs;
    inputs[1] = one;
    const ValueId steps = b.mul(dy[0], b.castLike(b.op("DequantizeLinear", std::move(inputs), n.attributes), dy[0]));
    const bool perAxis = elementCount(*scaleShape) != 1;
    std::int64_t kept = -1;
    if (perAxis) {
        NABLA_TRY(kept, normalizeAxis(n.intAttribute("axis", 1), *rank));
    }
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < *rank; ++i) {
        if (static_cast<std::int64_t>(i) != kept)
            axes.push_back(static_cast<std::int64_t>(i));
    }
    grads[1] = b.castLike(b.reshapeLike(b.reduceSum(steps, std::move(axes), false), n.inputs[1]), n.inputs[1]);
    return grads;
}

constexpr OpDef kQuantizeOps[] = {
    {.name = "QuantizeLinear", .since = 28, .source = "ONNX Operators.md, QuantizeLinear-28", .run = runQuantizeLinear,
        .gradient = notDifferentiable("it rounds: constant wherever it has a derivative"), .flops = elementwise<2>},
    {.name = "DequantizeLinear", .since = 28, .source = "ONNX Operators.md, DequantizeLinear-28", .run = runDequantizeLinear,
        .gradient = gradDequantizeLinear, .flops = elementwise<2>},
    {.name = "DynamicQuantizeLinear", .since = 11, .source = "ONNX Operators.md, DynamicQuantizeLinear-11", .run = expandBody(),
        .gradient = notDifferentiable("it rounds: constant wherever it has a derivative"), .flops = flopsOfBody()},
};

} // namespace

std::span<const OpDef> quantizeOps() { return kQuantizeOps; }

} // namespace nabla::engine
