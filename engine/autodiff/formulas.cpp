// One row an operator, one formula an input. g is the cotangent of the output, ∂L/∂y.
#include "engine/autodiff/formulas.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace nabla::engine {

namespace {

struct Formula {
    std::string_view op;
    std::array<std::string_view, 3> byInput;
    bool elementwise = false; ///< a function of one operand
};

constexpr Formula kFormulas[] = {
    {"Abs", {"∂L/∂x = g · sign(x)"}, true},
    {"Acos", {"∂L/∂x = −g / √(1 − x²)"}, true},
    {"Acosh", {"∂L/∂x = g / √(x² − 1)"}, true},
    {"Add", {"∂L/∂a = g, summed over broadcast axes", "∂L/∂b = g, summed over broadcast axes"}},
    {"Asin", {"∂L/∂x = g / √(1 − x²)"}, true},
    {"Asinh", {"∂L/∂x = g / √(x² + 1)"}, true},
    {"Atan", {"∂L/∂x = g / (1 + x²)"}, true},
    {"Atanh", {"∂L/∂x = g / (1 − x²)"}, true},
    {"AveragePool", {"∂L/∂x = each g spread evenly over its window"}},
    {"BatchNormalization", {"∂L/∂x = g · γ / √(σ² + ε)", "∂L/∂γ = Σ g · (x − μ) / √(σ² + ε)", "∂L/∂β = Σ g"}},
    {"Cast", {"∂L/∂x = g, cast back"}},
    {"Ceil", {"∂L/∂x = 0"}, true},
    {"Celu", {"∂L/∂x = g · (x > 0 ? 1 : exp(x / α))"}, true},
    {"Clip", {"∂L/∂x = g where min < x < max, else 0"}, true},
    {"Concat", {"∂L/∂x = its slice of g", "∂L/∂x = its slice of g", "∂L/∂x = its slice of g"}},
    {"Conv", {"∂L/∂X = convolution of g with the flipped W", "∂L/∂W = correlation of X with g", "∂L/∂B = Σ g over batch and space"}},
    {"ConvTranspose", {"∂L/∂X = convolution of g with W", "∂L/∂W = correlation of g with X", "∂L/∂B = Σ g over batch and space"}},
    {"Cos", {"∂L/∂x = −g · sin(x)"}, true},
    {"Cosh", {"∂L/∂x = g · sinh(x)"}, true},
    {"Div", {"∂L/∂a = g / b", "∂L/∂b = −g · a / b²"}},
    {"Elu", {"∂L/∂x = g · (x > 0 ? 1 : α · exp(x))"}, true},
    {"Erf", {"∂L/∂x = g · 2/√π · exp(−x²)"}, true},
    {"Exp", {"∂L/∂x = g · y"}, true},
    {"Expand", {"∂L/∂x = Σ g over the repeated axes"}},
    {"Flatten", {"∂L/∂x = g, reshaped back"}},
    {"Floor", {"∂L/∂x = 0"}, true},
    {"Gather", {"∂L/∂x = g added up at the gathered places"}},
    {"Gelu", {"∂L/∂x = g · (Φ(x) + x · φ(x))"}, true},
    {"Gemm", {"∂L/∂A = α · g · Bᵀ", "∂L/∂B = α · Aᵀ · g", "∂L/∂C = β · Σ g over broadcast axes"}},
    {"GlobalAveragePool", {"∂L/∂x = g / n at each of the n cells"}},
    {"HardSigmoid", {"∂L/∂x = g · α where 0 < αx + β < 1, else 0"}, true},
    {"HardSwish", {"∂L/∂x = g · (x ≤ −3 ? 0 : x ≥ 3 ? 1 : (2x + 3) / 6)"}, true},
    {"Identity", {"∂L/∂x = g"}},
    {"LayerNormalization", {"∂L/∂x = (γg − mean(γg) − x̂ · mean(γg · x̂)) / σ", "∂L/∂γ = Σ g · x̂", "∂L/∂β = Σ g"}},
    {"LeakyRelu", {"∂L/∂x = g · (x ≥ 0 ? 1 : α)"}, true},
    {"Log", {"∂L/∂x = g / x"}, true},
    {"LogSoftmax", {"∂L/∂x = g − softmax(x) · Σ g"}},
    {"MatMul", {"∂L/∂A = g · Bᵀ", "∂L/∂B = Aᵀ · g"}},
    {"MaxPool", {"∂L/∂x = g at the place of the largest x of the window"}},
    {"Mish", {"∂L/∂x = g · d/dx x · tanh(softplus(x))"}, true},
    {"Mul", {"∂L/∂a = g · b", "∂L/∂b = g · a"}},
    {"Neg", {"∂L/∂x = −g"}, true},
    {"Pow", {"∂L/∂a = g · b · a^(b − 1)", "∂L/∂b = g · y · ln a"}},
    {"RMSNormalization", {"∂L/∂x = (γg − x̂ · mean(γg · x̂)) / rms", "∂L/∂γ = Σ g · x̂"}},
    {"Reciprocal", {"∂L/∂x = −g · y²"}, true},
    {"ReduceMean", {"∂L/∂x = g / n, repeated over the reduced axes"}},
    {"ReduceSum", {"∂L/∂x = g, repeated over the reduced axes"}},
    {"Relu", {"∂L/∂x = g · [x > 0]"}, true},
    {"Reshape", {"∂L/∂x = g, reshaped back"}},
    {"Round", {"∂L/∂x = 0"}, true},
    {"Selu", {"∂L/∂x = g · γ · (x > 0 ? 1 : α · exp(x))"}, true},
    {"Shrink", {"∂L/∂x = g where |x| > λ, else 0"}, true},
    {"Sigmoid", {"∂L/∂x = g · y · (1 − y)"}, true},
    {"Sign", {"∂L/∂x = 0"}, true},
    {"Sin", {"∂L/∂x = g · cos(x)"}, true},
    {"Sinh", {"∂L/∂x = g · cosh(x)"}, true},
    {"Softmax", {"∂L/∂x = y · (g − Σ g · y)"}},
    {"SoftmaxCrossEntropyLoss", {"∂L/∂x = g · w · (softmax(x) − one-hot(target)) / n"}},
    {"Softplus", {"∂L/∂x = g · σ(x)"}, true},
    {"Softsign", {"∂L/∂x = g / (1 + |x|)²"}, true},
    {"Sqrt", {"∂L/∂x = g / (2y)"}, true},
    {"Squeeze", {"∂L/∂x = g, reshaped back"}},
    {"Sub", {"∂L/∂a = g, summed over broadcast axes", "∂L/∂b = −g, summed over broadcast axes"}},
    {"Swish", {"∂L/∂x = g · (s + αx · s · (1 − s)), s = σ(αx)"}, true},
    {"Tan", {"∂L/∂x = g · (1 + y²)"}, true},
    {"Tanh", {"∂L/∂x = g · (1 − y²)"}, true},
    {"ThresholdedRelu", {"∂L/∂x = g · [x > α]"}, true},
    {"Transpose", {"∂L/∂x = g, transposed back"}},
    {"Unsqueeze", {"∂L/∂x = g, reshaped back"}},
    {"Where", {"", "∂L/∂a = g where the condition holds, else 0", "∂L/∂b = g where it does not, else 0"}},
};
constexpr std::string_view kGeneral = "∂L/∂x = Σⱼ gⱼ · ∂yⱼ/∂x";

const Formula* find(const Node& node) {
    if (!node.domain.empty())
        return nullptr;
    const auto it = std::lower_bound(std::begin(kFormulas), std::end(kFormulas), std::string_view(node.opType),
        [](const Formula& row, std::string_view name) { return row.op < name; });
    return it != std::end(kFormulas) && it->op == node.opType ? it : nullptr;
}

static_assert(std::is_sorted(std::begin(kFormulas), std::end(kFormulas), [](const Formula& a, const Formula& b) { return a.op < b.op; }));

} // namespace

std::string gradientFormula(const Node& node, ValueId value) {
    const Formula* formula = find(node);
    const auto it = std::find(node.inputs.begin(), node.inputs.end(), value);
    const auto position = static_cast<std::size_t>(it - node.inputs.begin());
    const bool twice = it != node.inputs.end() && std::find(it + 1, node.inputs.end(), value) != node.inputs.end();
    if (!formula || twice || position >= formula->byInput.size() || formula->byInput[position].empty())
        return std::string(kGeneral);
    return std::string(formula->byInput[position]);
}

bool isElementwiseFunction(const Node& node) {
    const Formula* formula = find(node);
    return formula && formula->elementwise;
}

} // namespace nabla::engine
