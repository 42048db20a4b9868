// Cast, CastLike, BitCast, Identity: the same elements under another type, or unchanged.
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"
#include "engine/tensor/minifloat.h"

namespace nabla::engine {

namespace {

Result<void> setTensor(const KernelContext& c, const Tensor& value) {
    return setReshaped(c, value, value.shape()); // into the arena where the output has a place there
}

Result<Tensor> castToE8M0(const Tensor& x, const std::string& mode, bool saturate) {
    if (x.dtype() == DType::String)
        return runError("cannot cast strings to float8e8m0");
    const E8M0Rounding rounding = mode == "down" ? E8M0Rounding::Down : mode == "nearest" ? E8M0Rounding::Nearest : E8M0Rounding::Up;
    if (mode != "up" && mode != "down" && mode != "nearest")
        return runError("round_mode is \"{}\", wants up, down or nearest", mode);
    NABLA_TRY(Tensor y, Tensor::make(DType::Float8E8M0, x.shape()));
    for (std::int64_t i = 0; i < x.elementCount(); ++i)
        y.mutableRaw()[i] = static_cast<std::byte>(encodeE8M0(x.asDouble(i), saturate ? Saturate::Yes : Saturate::No, rounding));
    return y;
}

Result<void> castInto(const KernelContext& c, const Tensor& x, DType to) {
    const bool saturate = c.intAttribute("saturate") != 0;
    if (to == DType::Float8E8M0 && x.dtype() != to) {
        NABLA_TRY(const Tensor y, castToE8M0(x, c.stringAttribute("round_mode"), saturate));
        return setTensor(c, y);
    }
    NABLA_TRY(const Tensor y, castTensor(x, to, saturate));
    return setTensor(c, y);
}

Result<DType> targetType(const KernelContext& c) {
    const std::int64_t to = c.intAttribute("to");
    if (to <= 0 || to > kLastDType)
        return runError("{}: `to` is {}, which is no element type", c.node().opType, to);
    return static_cast<DType>(to);
}

Result<void> runCast(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const DType to, targetType(c));
    return castInto(c, x, to);
}

Result<void> runCastLike(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Tensor like, needTensor(c, 1));
    return castInto(c, x, like.dtype());
}

Result<void> runBitCast(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const DType to, targetType(c));
    if (x.dtype() == DType::String || bitWidth(x.dtype()) != bitWidth(to))
        return runError("BitCast: {} has {} bits, {} has {}", name(x.dtype()), bitWidth(x.dtype()), name(to), bitWidth(to));
    return setTensor(c, Tensor::view(to, x.shape(), x.raw(), x.owner()));
}

Result<void> runIdentity(const KernelContext& c) {
    if (!c.inputValue(0).isTensor()) { // sequences and optionals pass as they are
        c.setOutput(0, c.inputValue(0));
        return {};
    }
    return setTensor(c, c.input(0));
}

/// A float cast to a float passes the cotangent on, cast back; anything else has no gradient.
Gradients gradCast(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> out(n.inputs.size());
    if (isDifferentiable(b.dtype(n.inputs[0])) && isDifferentiable(b.dtype(n.outputs[0])))
        out[0] = b.castLike(dy[0], n.inputs[0]);
    return out;
}

Gradients gradIdentity(GradientBuilder&, const Node&, OutputGrads dy) { return std::vector{dy[0]}; }

/// Cast-1 names its type in words: FLOAT, INT64, …
Result<void> upgradeCast1(UpgradeContext& c) {
    static constexpr std::pair<std::string_view, DType> kNames[] = {{"FLOAT", DType::Float32}, {"UINT8", DType::UInt8}, {"INT8", DType::Int8},
        {"UINT16", DType::UInt16}, {"INT16", DType::Int16}, {"INT32", DType::Int32}, {"INT64", DType::Int64}, {"STRING", DType::String},
        {"BOOL", DType::Bool}, {"FLOAT16", DType::Float16}, {"DOUBLE", DType::Float64}, {"UINT32", DType::UInt32}, {"UINT64", DType::UInt64},
        {"COMPLEX64", DType::Complex64}, {"COMPLEX128", DType::Complex128}};
    const std::string word = c.node.stringAttribute("to", "");
    for (const auto& [text, type] : kNames) {
        if (text == word) {
            Node changed = withoutAttributes(c.node, {"to"});
            changed.attributes.push_back(intAttr("to", static_cast<std::int64_t>(type)));
            return replaceWith(c, std::move(changed));
        }
    }
    return runError("{}: `to` is \"{}\", which is no element type", describe(c.node), word);
}
constexpr Upgrade kCastUpgrades[] = {{5, upgradeCast1}};

constexpr OpDef kOps[] = {
    {.name = "Cast", .since = 28, .source = "ONNX Operators.md, Cast-28", .run = runCast, .gradient = gradCast, .flops = noFlops, .upgrades = kCastUpgrades},
    {.name = "CastLike", .since = 25, .source = "ONNX Operators.md, CastLike-25", .run = runCastLike, .gradient = gradCast, .flops = noFlops, .bytes = readsFirst},
    {.name = "BitCast", .since = 26, .source = "ONNX Operators.md, BitCast-26", .run = runBitCast,
        .gradient = notDifferentiable("it reads bits, not numbers"), .flops = noFlops},
    {.name = "Identity", .since = 25, .source = "ONNX Operators.md, Identity-25", .run = runIdentity, .gradient = gradIdentity, .flops = noFlops, .bytes = nothingMoves},
};

} // namespace

std::span<const OpDef> castOps() { return kOps; }

} // namespace nabla::engine
