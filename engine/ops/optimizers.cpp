// Adagrad, Adam and Momentum of ai.onnx.preview.training: one step of an optimizer over any number of tensors.
#include <array>
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

constexpr auto kNoRule = "it is a training step, not a function that is trained through";

/// The inputs after R and T: `kinds` lists of equally many tensors, first the optimized ones, then their gradients, then what is accumulated.
struct Lists {
    std::size_t tensors = 0;
    double rate = 0;
    std::int64_t updates = 0;
    std::size_t at(std::size_t kind, std::size_t i) const { return 2 + kind * tensors + i; }
};

Result<Lists> listsOf(const KernelContext& c, std::size_t kinds) {
    NABLA_TRY(const Tensor rate, needTensor(c, 0));
    NABLA_TRY(const Tensor updates, needTensor(c, 1));
    if (rate.elementCount() != 1 || !isDifferentiable(rate.dtype()) || updates.elementCount() != 1 || !isInteger(updates.dtype()))
        return runError("R {} and T {} want one float and one integer", toString(rate.shape()), toString(updates.shape()));
    Lists l;
    l.rate = rate.asDouble(0);
    l.updates = updates.asInt64(0);
    if (c.inputCount() < 2 + kinds || (c.inputCount() - 2) % kinds != 0)
        return runError("{} tensors after R and T are no multiple of {}", c.inputCount() - 2, kinds);
    l.tensors = (c.inputCount() - 2) / kinds;
    if (c.outputCount() != l.tensors * (kinds - 1))
        return runError("{} outputs, {} are wanted for {} tensors", c.outputCount(), l.tensors * (kinds - 1), l.tensors);
    for (std::size_t i = 0; i < l.tensors * kinds; ++i) {
        NABLA_TRY(const Tensor t, needTensor(c, 2 + i));
        const Tensor& first = c.input(2 + i % l.tensors);
        if (t.shape() != first.shape() || t.dtype() != first.dtype())
            return runError("input {} is {} {}, the tensor it belongs to is {} {}", 2 + i, name(t.dtype()), toString(t.shape()), name(first.dtype()), toString(first.shape()));
    }
    return l;
}

/// For every tensor and element: step(x, g, accumulated…) gives the new x and what is accumulated. Computed in double, rounded once.
template <std::size_t kinds, typename F> Result<void> stepAll(const KernelContext& c, const Lists& l, F&& step) {
    for (std::size_t i = 0; i < l.tensors; ++i) {
        std::array<Tensor, kinds> in;
        std::array<Tensor, kinds - 1> out;
        for (std::size_t k = 0; k < kinds; ++k)
            in[k] = c.input(l.at(k, i));
        for (std::size_t k = 0; k + 1 < kinds; ++k) {
            if (c.wantsOutput(k * l.tensors + i)) {
                NABLA_TRY(out[k], c.makeOutput(k * l.tensors + i, in[0].dtype(), in[0].shape()));
            }
        }
        NABLA_CHECK(dispatch(TypeList<float, double>{}, c, in[0].dtype(), [&]<typename T>() -> Result<void> {
            for (std::size_t e = 0; e < in[0].template data<T>().size(); ++e) {
                std::array<double, kinds> values{};
                for (std::size_t k = 0; k < kinds; ++k)
                    values[k] = static_cast<double>(in[k].template data<T>()[e]);
                const std::array<double, kinds - 1> results = step(values);
                for (std::size_t k = 0; k + 1 < kinds; ++k) {
                    if (out[k].defined())
                        out[k].template mutableData<T>()[e] = static_cast<T>(results[k]);
                }
            }
            return {};
        }));
        for (std::size_t k = 0; k + 1 < kinds; ++k) {
            if (out[k].defined())
                c.setOutput(k * l.tensors + i, out[k]);
        }
    }
    return {};
}

double attribute(const KernelContext& c, std::string_view name) { return static_cast<double>(c.floatAttribute(name)); }

Result<void> runAdagrad(const KernelContext& c) {
    NABLA_TRY(const Lists l, listsOf(c, 3));
    const double norm = attribute(c, "norm_coefficient"), epsilon = attribute(c, "epsilon");
    const double rate = l.rate / (1 + static_cast<double>(l.updates) * attribute(c, "decay_factor"));
    return stepAll<3>(c, l, [=](const std::array<double, 3>& v) {
        const double g = norm * v[0] + v[1], h = v[2] + g * g;
        return std::array{v[0] - rate * g / (std::sqrt(h) + epsilon), h};
    });
}

Result<void> runAdam(const KernelContext& c) {
    NABLA_TRY(const Lists l, listsOf(c, 4));
    const double norm = attribute(c, "norm_coefficient"), post = attribute(c, "norm_coefficient_post"), epsilon = attribute(c, "epsilon");
    const double alpha = attribute(c, "alpha"), beta = attribute(c, "beta"), t = static_cast<double>(l.updates);
    const double rate = l.updates > 0 ? l.rate * std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : l.rate;
    return stepAll<4>(c, l, [=](const std::array<double, 4>& v) {
        const double g = norm * v[0] + v[1], momentum = alpha * v[2] + (1 - alpha) * g, h = beta * v[3] + (1 - beta) * g * g;
        return std::array{(1 - post) * (v[0] - rate * momentum / (std::sqrt(h) + epsilon)), momentum, h};
    });
}

Result<void> runMomentum(const KernelContext& c) {
    NABLA_TRY(const Lists l, listsOf(c, 3));
    for (const std::string_view name : {"alpha", "beta", "norm_coefficient", "mode"}) {
        if (!c.hasAttribute(name))
            return runError("attribute {} is missing", name);
    }
    const std::string mode = c.stringAttribute("mode");
    if (mode != "standard" && mode != "nesterov")
        return runError("mode is \"{}\", wants standard or nesterov", mode);
    const double norm = attribute(c, "norm_coefficient"), alpha = attribute(c, "alpha"), beta = l.updates > 0 ? attribute(c, "beta") : 1;
    return stepAll<3>(c, l, [=, rate = l.rate, nesterov = mode == "nesterov"](const std::array<double, 3>& v) {
        const double g = norm * v[0] + v[1], momentum = alpha * v[2] + beta * g;
        return std::array{v[0] - rate * (nesterov ? g + alpha * momentum : momentum), momentum};
    });
}

/// Operations for each element of the optimized tensors, counted in the formulas above.
template <std::int64_t perElement, std::size_t kinds> std::int64_t stepFlops(const CostInputs& c) {
    std::int64_t elements = 0;
    for (std::size_t i = 2; i < 2 + (c.inputs.size() < 2 ? 0 : (c.inputs.size() - 2) / kinds); ++i)
        elements = saturatedSum(elements, inputElements(c, i));
    return saturatedProduct({elements, perElement});
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr OpDef kOps[] = {
    {.name = "Adagrad", .domain = kTraining, .since = 1, .source = "ONNX Operators.md, ai.onnx.preview.training Adagrad-1", .run = runAdagrad,
        .gradient = notDifferentiable(kNoRule), .flops = stepFlops<9, 3>},
    {.name = "Adam", .domain = kTraining, .since = 1, .source = "ONNX Operators.md, ai.onnx.preview.training Adam-1", .run = runAdam,
        .gradient = notDifferentiable(kNoRule), .flops = stepFlops<16, 4>},
    {.name = "Momentum", .domain = kTraining, .since = 1, .source = "ONNX Operators.md, ai.onnx.preview.training Momentum-1", .run = runMomentum,
        .gradient = notDifferentiable(kNoRule), .flops = stepFlops<8, 3>},
};

} // namespace

std::span<const OpDef> optimizerOps() { return kOps; }

} // namespace nabla::engine
