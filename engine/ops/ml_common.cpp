// Post-transforms and labels of ai.onnx.ml.
#include "engine/ops/ml_common.h"

#include <algorithm>
#include <limits>

namespace nabla::engine {

Result<RowShape> rowShape(const KernelContext& c, const Tensor& x) {
    if (x.rank() == 1)
        return RowShape{1, x.dim(0)};
    if (x.rank() == 2)
        return RowShape{x.dim(0), x.dim(1)};
    return runError("{} wants [N, C] or [C], input 0 is {}", c.node().opType, toString(x.shape()));
}

Result<Tensor> asFloats(const Tensor& x) {
    if (x.dtype() == DType::String || isComplex(x.dtype()))
        return runError("numbers are wanted, the input is {}", name(x.dtype()));
    return x.dtype() == DType::Float32 ? Result<Tensor>(x) : castTensor(x, DType::Float32);
}

Result<PostTransform> postTransform(const std::string& text) {
    constexpr std::pair<std::string_view, PostTransform> kNames[] = {{"NONE", PostTransform::None}, {"SOFTMAX", PostTransform::Softmax},
        {"LOGISTIC", PostTransform::Logistic}, {"SOFTMAX_ZERO", PostTransform::SoftmaxZero}, {"PROBIT", PostTransform::Probit}};
    for (const auto& [name, transform] : kNames) {
        if (text == name)
            return transform;
    }
    return runError("post_transform is \"{}\", wants NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", text.substr(0, 100));
}

Result<PostTransform> postTransform(const KernelContext& c) { return postTransform(c.stringAttribute("post_transform")); }

float logistic(float x) {
    const float v = 1.0F / (1.0F + std::exp(-std::abs(x)));
    return x < 0 ? 1.0F - v : v;
}

namespace {

/// sqrt(2) * erfinv(2 p - 1), with Winitzki's erfinv (a = 0.147).
float probit(float p) {
    const double x = 2.0 * static_cast<double>(p) - 1.0;
    const double log = std::log((1.0 - x) * (1.0 + x));
    const double v = 2.0 / (3.14159 * 0.147) + 0.5 * log;
    const double root = std::sqrt(std::max(0.0, std::sqrt(v * v - log / 0.147) - v)) * 1.41421356;
    return static_cast<float>(std::isnan(log) ? log : x < 0 ? -root : root);
}

/// `skipZeros`: a score of 0 stays 0 and takes no part.
void softmax(std::span<float> scores, bool skipZeros) {
    const auto isZero = [&](float s) { return skipZeros && std::abs(s) <= 1e-7F; };
    float largest = -std::numeric_limits<float>::max();
    for (const float s : scores)
        largest = std::max(largest, s);
    float sum = 0;
    for (float& s : scores) {
        s = isZero(s) ? 0.0F : std::exp(s - largest);
        sum += s;
    }
    for (float& s : scores)
        s = sum == 0.0F ? 0.0F : s / sum;
}

} // namespace

void applyPostTransform(PostTransform transform, std::span<float> scores) {
    if (transform == PostTransform::Probit) {
        std::transform(scores.begin(), scores.end(), scores.begin(), probit);
        return;
    }
    if (scores.size() < 2)
        return;
    switch (transform) {
    case PostTransform::Logistic: std::transform(scores.begin(), scores.end(), scores.begin(), logistic); break;
    case PostTransform::Softmax: softmax(scores, false); break;
    case PostTransform::SoftmaxZero: softmax(scores, true); break;
    default: break;
    }
}

void binaryScores(PostTransform transform, Complement complement, float score, std::span<float> pair) {
    if (transform == PostTransform::Logistic) {
        pair[0] = logistic(-score);
        pair[1] = logistic(score);
        return;
    }
    const bool probability = complement == Complement::OneMinus || transform == PostTransform::Probit;
    pair[0] = probability ? 1.0F - score : -score;
    pair[1] = score;
    if (transform == PostTransform::Probit)
        applyPostTransform(transform, pair);
}

std::optional<ValueType> floatLikeInput(const Graph&, const Node&, const InferenceInputs& inputs, std::size_t) {
    if (inputs.types.empty() || !inputs.types[0].isTensor())
        return std::nullopt;
    return ValueType::tensor(DType::Float32, inputs.types[0].shape);
}

std::optional<ValueType> floatRows(const InferenceInputs& inputs, std::int64_t columns) {
    if (inputs.types.empty() || !inputs.types[0].isTensor())
        return std::nullopt;
    const auto& shape = inputs.types[0].shape;
    if (columns < 0 || !shape || shape->empty() || shape->size() > 2)
        return ValueType::tensor(DType::Float32);
    return ValueType::tensor(DType::Float32, SymbolicShape{shape->size() == 2 ? (*shape)[0] : Dim(1), Dim(columns)});
}

Result<ClassLabels> ClassLabels::read(const Node& node, std::string_view integers) {
    ClassLabels labels;
    labels.m_strings = node.stringsAttribute("classlabels_strings");
    labels.m_integers = node.intsAttribute(integers);
    if (labels.m_strings.empty() == labels.m_integers.empty())
        return runError("{} wants class labels in one of classlabels_strings and {}, got {} and {}", node.opType, integers, labels.m_strings.size(), labels.m_integers.size());
    return labels;
}

Tensor ClassLabels::tensor() const {
    const Shape shape{static_cast<std::int64_t>(count())};
    return strings() ? Tensor::of<std::string>(shape, m_strings) : Tensor::of<std::int64_t>(shape, m_integers);
}

} // namespace nabla::engine
