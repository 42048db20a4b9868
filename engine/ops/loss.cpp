// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// Scores [N, C, cells] against labels [N, cells].
struct LossShape {
    std::int64_t batch = 0, classes = 0, cells = 1;
    Shape labels;
};
Result<LossShape> lossShape(const KernelContext& c) {
    NABLA_CHECK(requireRank(c, 0, 2, "scores"));
    NABLA_CHECK(requireTensor(c, 1, "labels"));
    const Shape& x = c.input(0).shape();
    if (!isFloat(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    LossShape s{x[0], x[1], elementCount(ShapeView(x).subspan(2)), x};
    s.labels.erase(s.labels.begin() + 1);
    if (c.input(1).shape() != s.labels)
        return runError("labels {} want the shape {} for scores {}", toString(c.input(1).shape()), toString(s.labels), toString(x));
    if (c.hasInput(2) && c.input(2).elementCount() != s.classes)
        return runError("weights {} want one number for each of {} classes", toString(c.input(2).shape()), s.classes);
    return s;
}

/// Reduces -weight[label] * logProbability[label] as the attribute says. Ignored labels count nothing.
template <typename T> Result<void> reduceLoss(const KernelContext& c, const LossShape& s, const T* logProbability, KernelOutput& loss) {
    const std::string reduction = c.stringAttribute("reduction");
    if (reduction != "mean" && reduction != "sum" && reduction != "none")
        return runError("reduction \"{}\" is none of mean, sum, none", reduction);
    const bool ignores = c.hasAttribute("ignore_index");
    const std::int64_t ignored = c.intAttribute("ignore_index");
    double sum = 0, weights = 0;
    for (std::int64_t i = 0; i < s.batch * s.cells; ++i) {
        const std::int64_t label = c.input(1).asInt64(i);
        if (ignores && label == ignored) {
            if (reduction == "none")
                loss.data<T>()[i] = T{};
            continue;
        }
        if (label < 0 || label >= s.classes)
            return runError("label {} at position {} is outside the {} classes", label, i, s.classes);
        const double weight = c.hasInput(2) ? c.input(2).asDouble(label) : 1.0;
        const double value = -weight * static_cast<double>(logProbability[(i / s.cells * s.classes + label) * s.cells + i % s.cells]);
        if (reduction == "none")
            loss.data<T>()[i] = static_cast<T>(value);
        sum += value;
        weights += weight;
    }
    if (reduction != "none")
        loss.data<T>()[0] = static_cast<T>(reduction == "sum" ? sum : sum / weights);
    return {};
}

Shape lossOutput(const KernelContext& c, const LossShape& s) { return c.stringAttribute("reduction") == "none" ? s.labels : Shape{}; }

Result<void> runNegativeLogLikelihood(const KernelContext& c) {
    NABLA_TRY(const LossShape s, lossShape(c));
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput loss, KernelOutput::make(c, 0, c.input(0).dtype(), type, lossOutput(c, s)));
    NABLA_CHECK(withFloatType(type, [&]<typename T>(T) { return reduceLoss(c, s, elements<T>(x), loss); }));
    return loss.finish();
}

template <typename T> void logSoftmaxOverClasses(const LossShape& s, const T* x, T* y) {
    for (std::int64_t i = 0; i < s.batch * s.cells; ++i) {
        const std::int64_t start = i / s.cells * s.classes * s.cells + i % s.cells;
        T top = -std::numeric_limits<T>::infinity();
        for (std::int64_t k = 0; k < s.classes; ++k)
            top = std::max(top, x[start + k * s.cells]);
        double sum = 0;
        for (std::int64_t k = 0; k < s.classes; ++k)
            sum += std::exp(static_cast<double>(x[start + k * s.cells] - top));
        const T logSum = static_cast<T>(std::log(sum));
        for (std::int64_t k = 0; k < s.classes; ++k)
            y[start + k * s.cells] = x[start + k * s.cells] - top - logSum;
    }
}

Result<void> runSoftmaxCrossEntropy(const KernelContext& c) {
    NABLA_TRY(const LossShape s, lossShape(c));
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    NABLA_TRY(Tensor logProbability, Tensor::make(type, c.input(0).shape()));
    NABLA_TRY(KernelOutput loss, KernelOutput::make(c, 0, c.input(0).dtype(), type, lossOutput(c, s)));
    NABLA_CHECK(withFloatType(type, [&]<typename T>(T) {
        logSoftmaxOverClasses(s, elements<T>(x), logProbability.mutableData<T>().data());
        return reduceLoss(c, s, elements<T>(logProbability), loss);
    }));
    NABLA_CHECK(loss.finish());
    if (!c.wantsOutput(1))
        return {};
    NABLA_TRY(const Tensor stored, castTensor(logProbability, c.input(0).dtype()));
    return copyToOutput(c, 1, stored);
}

/// What both gradients are made of.
struct LossParts {
    ValueId oneHot;      ///< [N, C, ..]
    ValueId factor;      ///< cotangent times weight (over the sum of weights for mean), [N, 1, ..] or a scalar
    ValueId kept;        ///< [N, ..] 1 where the label counts; none = everywhere
    ValueId cotangent;   ///< of each element's unweighted share: dy or dy / sum of weights, [N, ..] or a scalar
};
LossParts lossParts(GradientBuilder& b, const Node& n, ValueId dy) {
    const ValueId scores = n.inputs[0];
    LossParts p;
    ValueId labels = n.inputs[1];
    if (n.attribute("ignore_index")) {
        const ValueId ignored = b.op("Equal", {labels, b.castLike(b.intScalar(n.intAttribute("ignore_index", 0)), labels)});
        labels = b.where(ignored, b.castLike(b.intScalar(0), labels), labels);
        p.kept = b.castLike(b.op("Not", {ignored}), scores);
    }
    ValueId weight = n.input(2) ? b.op("Gather", {n.inputs[2], labels}) : ValueId{};
    if (p.kept)
        weight = weight ? b.mul(weight, p.kept) : p.kept;
    p.cotangent = dy;
    const std::string reduction = n.stringAttribute("reduction", "mean");
    if (reduction == "mean") {
        const ValueId total = weight ? b.op("ReduceSum", {weight}, {intAttr("keepdims", 0)}) : b.castLike(b.op("Size", {labels}), scores);
        p.cotangent = b.div(dy, total);
    }
    p.factor = weight ? b.mul(weight, p.cotangent) : p.cotangent;
    if (weight || reduction == "none")
        p.factor = b.op("Unsqueeze", {p.factor, b.ints({1})});
    const ValueId classes = b.op("Shape", {scores}, {intAttr("start", 1), intAttr("end", 2)});
    p.oneHot = b.op("OneHot", {labels, classes, b.castLike(b.ints({0, 1}), scores)}, {intAttr("axis", 1)});
    return p;
}

/// d loss / d weights: each class sums, over its labels, the unweighted loss (less the mean loss when the weights also divide).
Result<ValueId> weightGradient(GradientBuilder& b, const Node& n, const LossParts& p, ValueId logProbability) {
    const auto rank = b.rank(n.inputs[0]);
    if (!rank)
        return runError("the gradient of {} in its weights wants scores of known rank", n.opType);
    ValueId each = b.neg(b.reduceSum(b.mul(p.oneHot, logProbability), {1}, false));
    if (n.stringAttribute("reduction", "mean") == "mean")
        each = b.sub(each, n.outputs[0]);
    each = b.mul(each, p.cotangent);
    if (p.kept)
        each = b.mul(each, p.kept);
    std::vector<std::int64_t> axes{0};
    for (std::size_t i = 2; i < *rank; ++i)
        axes.push_back(static_cast<std::int64_t>(i));
    return b.reduceSum(b.mul(p.oneHot, b.op("Unsqueeze", {each, b.ints({1})})), std::move(axes), false);
}

// d loss / d x[label] = -weight[label] * dy
Gradients gradNegativeLogLikelihood(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const LossParts p = lossParts(b, n, dy[0]);
    std::vector<ValueId> grads(n.inputs.size());
    if (b.wants(0))
        grads[0] = b.neg(b.mul(p.oneHot, p.factor));
    if (n.input(2) && b.wants(2)) {
        NABLA_TRY(grads[2], weightGradient(b, n, p, n.inputs[0]));
    }
    return grads;
}

// dx = (softmax - one hot) * weight[label] * dy; a cotangent of log_prob adds d - softmax * sum(d).
Gradients gradSoftmaxCrossEntropy(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId logProbability = n.output(1) ? n.output(1) : b.op("LogSoftmax", {n.inputs[0]}, {intAttr("axis", 1)});
    const ValueId probability = b.op("Exp", {logProbability});
    std::vector<ValueId> grads(n.inputs.size());
    if (dy[0]) {
        const LossParts p = lossParts(b, n, dy[0]);
        if (b.wants(0))
            grads[0] = b.mul(b.sub(probability, p.oneHot), p.factor);
        if (n.input(2) && b.wants(2)) {
            NABLA_TRY(grads[2], weightGradient(b, n, p, logProbability));
        }
    }
    if (dy.size() > 1 && dy[1] && b.wants(0)) {
        const ValueId through = b.sub(dy[1], b.mul(probability, b.reduceSum(dy[1], {1}, true)));
        grads[0] = grads[0] ? b.add(grads[0], through) : through;
    }
    return grads;
}

/// The softmax, and a weighted sum over the labels.
std::int64_t lossFlops(const CostInputs& c) { return saturatedSum(perInput<5>(c), saturatedProduct({2, inputElements(c, 1)})); }
std::int64_t labelFlops(const CostInputs& c) { return saturatedProduct({2, inputElements(c, 1)}); }

constexpr OpDef kLossOps[] = {
    {.name = "NegativeLogLikelihoodLoss", .since = 22, .source = "ONNX Operators.md, NegativeLogLikelihoodLoss-22", .run = runNegativeLogLikelihood,
        .gradient = gradNegativeLogLikelihood, .flops = labelFlops},
    {.name = "SoftmaxCrossEntropyLoss", .since = 13, .source = "ONNX Operators.md, SoftmaxCrossEntropyLoss-13", .run = runSoftmaxCrossEntropy,
        .gradient = gradSoftmaxCrossEntropy, .flops = lossFlops},
};

} // namespace

std::span<const OpDef> lossOps() { return kLossOps; }

} // namespace nabla::engine
