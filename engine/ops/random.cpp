// Dropout and the random operators. Numbers come from the run's generator, whose seed is recorded, or from the node's own `seed`.
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"
#include "engine/ops/upgrade.h"

namespace nabla::engine {

namespace {

/// The generator a node draws from.
class Random {
public:
    explicit Random(const KernelContext& c) : m_shared(c.random) {
        if (const Attribute* seed = c.node().attribute("seed")) {
            if (const float* value = std::get_if<float>(&seed->value))
                m_own.emplace(std::bit_cast<std::uint32_t>(*value));
            else if (const auto* whole = std::get_if<std::int64_t>(&seed->value))
                m_own.emplace(static_cast<std::uint64_t>(*whole));
        }
        if (!m_own && !m_shared)
            m_own.emplace(0U); // nobody runs a session: the same numbers every time
    }
    /// Uniform in [0, 1), 53 bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    /// Standard normal (Box and Muller 1958).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    std::uint64_t next() { return m_own ? (*m_own)() : (*m_shared)(); }
    std::mt19937_64* m_shared;
    std::optional<std::mt19937_64> m_own;
};

/// Dropout's `ratio` and `training_mode` as numbers.
struct DropoutMode {
    double ratio = 0.5;
    bool training = false;
};
Result<DropoutMode> dropoutMode(const KernelContext& c) {
    DropoutMode mode;
    for (const std::size_t i : {1U, 2U}) {
        if (c.hasInput(i) && c.input(i).elementCount() != 1)
            return runError("input {} of Dropout {} wants one number", i, toString(c.input(i).shape()));
    }
    if (c.hasInput(1))
        mode.ratio = c.input(1).asDouble(0);
    mode.training = c.hasInput(2) && c.input(2).asInt64(0) != 0;
    if (!(mode.ratio >= 0 && mode.ratio <= 1))
        return runError("ratio of Dropout is {}, it must be in [0, 1]", mode.ratio);
    return mode;
}

Result<void> runDropout(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "data"));
    const Tensor& x = c.input(0);
    NABLA_TRY(const DropoutMode mode, dropoutMode(c));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    Tensor mask;
    if (c.wantsOutput(1)) {
        NABLA_TRY(mask, c.makeOutput(1, DType::Bool, x.shape()));
    }
    const bool drops = mode.training && mode.ratio > 0;
    const double scale = drops && mode.ratio < 1 ? 1 / (1 - mode.ratio) : 1;
    std::optional<Random> random;
    if (drops)
        random.emplace(c);
    const auto keeps = [&](std::size_t i) {
        const bool keep = !drops || random->uniform() >= mode.ratio;
        if (mask.defined())
            mask.mutableData<bool>()[i] = keep;
        return keep;
    };
    if (isFloat(x.dtype()) && bitWidth(x.dtype()) == 8) {
        for (std::int64_t i = 0; i < x.elementCount(); ++i) {
            const double kept = keeps(static_cast<std::size_t>(i)) ? x.asDouble(i) * scale : 0;
            writeDouble(x.dtype(), y.mutableRaw(), i, kept);
        }
        c.setOutput(0, std::move(y));
        if (mask.defined())
            c.setOutput(1, std::move(mask));
        return {};
    }
    NABLA_CHECK(dispatch(FloatTypes{}, c, x.dtype(), [&]<typename T>() -> Result<void> {
        const auto in = x.data<T>();
        auto out = y.mutableData<T>();
        for (std::size_t i = 0; i < in.size(); ++i) {
            const bool keep = keeps(i);
            out[i] = !drops ? in[i] : keep ? static_cast<T>(widen(in[i]) * static_cast<ComputeType<T>>(scale)) : T{};
        }
        return {};
    }));
    c.setOutput(0, std::move(y));
    if (mask.defined())
        c.setOutput(1, std::move(mask));
    return {};
}

// dx = dy where kept, times 1 / (1 - ratio) in training. The mask is drawn once, by the forward node, which gets an output for it.
Gradients gradDropout(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> grads(n.inputs.size());
    const ValueId x = n.inputs[0], ratio = n.input(1), training = n.input(2);
    if (!training) {
        grads[0] = dy[0];
        return grads;
    }
    const ValueId mask = n.output(1) ? n.output(1) : b.editor().appendOutput(n.id, (n.name.empty() ? "Dropout" : n.name) + ".mask");
    const ValueId kept = ratio ? b.sub(b.scalar(x, 1), b.castLike(ratio, x)) : b.scalar(x, 0.5);
    // Everything is dropped at ratio 1: the scale does not matter, but must not be 0 / 0.
    const ValueId safe = b.where(b.op("Equal", {kept, b.scalar(x, 0)}), b.scalar(x, 1), kept);
    const ValueId scale = b.where(training, b.op("Reciprocal", {safe}), b.scalar(x, 1));
    grads[0] = b.mul(dy[0], b.mul(b.castLike(mask, x), scale));
    return grads;
}

// Versions 1 and 6 train unless is_test; 7 and 10 never train; from 12 on ratio and mode are inputs.
Result<void> upgradeDropout(UpgradeContext& c) {
    const bool training = c.opset < 7 && c.node.intAttribute("is_test", 0) == 0;
    Node changed = withoutAttributes(c.node, {"ratio", "is_test", "consumed_inputs"});
    if (training) {
        NABLA_TRY(const ValueId ratio, upgradeScalar(c, "ratio", 0, static_cast<double>(c.node.floatAttribute("ratio", 0.5F))));
        setInput(changed, 1, ratio);
        setInput(changed, 2, upgradeConstant(c, "training_mode", Tensor::scalar(true)));
    }
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kDropoutUpgrades[] = {{11, upgradeDropout}};

/// Fills output 0 with draw(i) in the given type.
template <typename F> Result<void> fill(const KernelContext& c, DType type, const Shape& shape, F&& draw) {
    if (!isFloat(type) && !isInteger(type) && type != DType::Bool)
        return typeError(c, type);
    NABLA_TRY(Tensor y, c.makeOutput(0, type, shape));
    for (std::int64_t i = 0; i < y.elementCount(); ++i)
        writeDouble(type, y.mutableRaw(), i, draw(i));
    c.setOutput(0, std::move(y));
    return {};
}

/// Shape and type of a random operator: from its attributes, or from its input.
struct Target {
    Shape shape;
    DType type;
};
Result<Target> targetOf(const KernelContext& c, bool like) {
    const std::int64_t stated = c.hasAttribute("dtype") ? c.intAttribute("dtype") : 0;
    if (stated < 0 || stated > kLastDType)
        return runError("dtype {} is no element type", stated);
    if (!like)
        return Target{c.intsAttribute("shape"), stated == 0 ? DType::Float32 : static_cast<DType>(stated)};
    NABLA_CHECK(requireTensor(c, 0, "input"));
    return Target{c.input(0).shape(), stated == 0 ? c.input(0).dtype() : static_cast<DType>(stated)};
}

template <bool like> Result<void> runRandomNormal(const KernelContext& c) {
    NABLA_TRY(const Target target, targetOf(c, like));
    Random random(c);
    const double mean = static_cast<double>(c.floatAttribute("mean")), scale = static_cast<double>(c.floatAttribute("scale"));
    return fill(c, target.type, target.shape, [&](std::int64_t) { return mean + scale * random.normal(); });
}

template <bool like> Result<void> runRandomUniform(const KernelContext& c) {
    NABLA_TRY(const Target target, targetOf(c, like));
    Random random(c);
    const double low = static_cast<double>(c.floatAttribute("low")), high = static_cast<double>(c.floatAttribute("high"));
    return fill(c, target.type, target.shape, [&](std::int64_t) { return low + (high - low) * random.uniform(); });
}

Result<void> runBernoulli(const KernelContext& c) {
    NABLA_TRY(const Target target, targetOf(c, true));
    Random random(c);
    return fill(c, target.type, target.shape, [&](std::int64_t i) { return random.uniform() < c.input(0).asDouble(i) ? 1.0 : 0.0; });
}

/// Draws class indices from unnormalized log probabilities [batch, classes].
Result<void> runMultinomial(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "input"));
    const std::int64_t batch = c.input(0).dim(0), classes = c.input(0).dim(1), samples = c.intAttribute("sample_size");
    if (c.input(0).rank() != 2 || samples < 0 || classes < 1)
        return runError("Multinomial draws {} samples from {}: a matrix with a class or more is wanted", samples, toString(c.input(0).shape()));
    const auto type = static_cast<DType>(c.intAttribute("dtype"));
    if (type != DType::Int32 && type != DType::Int64)
        return typeError(c, type);
    Random random(c);
    std::vector<double> cumulative(static_cast<std::size_t>(classes));
    return fill(c, type, {batch, samples}, [&](std::int64_t at) {
        const std::int64_t row = at / samples * classes;
        if (at % samples == 0) {
            double top = c.input(0).asDouble(row), sum = 0;
            for (std::int64_t k = 1; k < classes; ++k)
                top = std::max(top, c.input(0).asDouble(row + k));
            for (std::int64_t k = 0; k < classes; ++k)
                cumulative[static_cast<std::size_t>(k)] = sum += std::exp(c.input(0).asDouble(row + k) - top);
        }
        const double pick = random.uniform() * cumulative.back();
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), pick);
        return static_cast<double>(std::min<std::int64_t>(found - cumulative.begin(), classes - 1));
    });
}

constexpr auto kDraws = "its result is a random draw that does not depend on the input's values";

/// Outside training it is a copy; in training a draw and a product for every element.
std::int64_t dropoutFlops(const CostInputs& c) {
    if (c.opset < 7)
        return c.node.intAttribute("is_test", 0) == 0 ? perOutput<2>(c) : 0;
    if (!hasInput(c, 2))
        return 0;
    const TensorPtr training = c.constants.size() > 2 ? c.constants[2] : nullptr;
    return !training || training->elementCount() != 1 ? kUnknownFlops : training->asInt64(0) != 0 ? perOutput<2>(c) : 0;
}
/// Exponent and running sum of every class, and one for every draw.
std::int64_t multinomialFlops(const CostInputs& c) { return saturatedSum(perInput<2>(c), outputElements(c)); }

constexpr OpDef kRandomOps[] = {
    {.name = "Dropout", .since = 22, .source = "ONNX Operators.md, Dropout-22", .run = runDropout, .gradient = gradDropout, .flops = dropoutFlops, .upgrades = kDropoutUpgrades},
    {.name = "RandomNormal", .since = 22, .source = "ONNX Operators.md, RandomNormal-22", .run = runRandomNormal<false>, .gradient = notDifferentiable(kDraws), .flops = elementwise<1>},
    {.name = "RandomNormalLike", .since = 22, .source = "ONNX Operators.md, RandomNormalLike-22", .run = runRandomNormal<true>,
        .gradient = notDifferentiable(kDraws), .flops = elementwise<1>, .bytes = readsNothing},
    {.name = "RandomUniform", .since = 22, .source = "ONNX Operators.md, RandomUniform-22", .run = runRandomUniform<false>,
        .gradient = notDifferentiable(kDraws), .flops = elementwise<1>},
    {.name = "RandomUniformLike", .since = 22, .source = "ONNX Operators.md, RandomUniformLike-22", .run = runRandomUniform<true>,
        .gradient = notDifferentiable(kDraws), .flops = elementwise<1>, .bytes = readsNothing},
    {.name = "Bernoulli", .since = 22, .source = "ONNX Operators.md, Bernoulli-22", .run = runBernoulli,
        .gradient = notDifferentiable("its result is a draw of 0 or 1"), .flops = elementwise<1>},
    {.name = "Multinomial", .since = 22, .source = "ONNX Operators.md, Multinomial-22", .run = runMultinomial,
        .gradient = notDifferentiable("its result is a class index"), .flops = multinomialFlops},
};

} // namespace

std::span<const OpDef> randomOps() { return kRandomOps; }

} // namespace nabla::engine
