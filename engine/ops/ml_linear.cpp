// ai.onnx.ml, linear models and support vector machines: LinearRegressor, LinearClassifier, SVMRegressor, SVMClassifier.
#include <algorithm>
#include <array>

#include "engine/ops/cost_rules.h"
#include "engine/ops/ml_common.h"

namespace nabla::engine {

namespace {

double dot(const float* a, const float* b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

/// Calls f(row) for all rows, on all threads when one row costs enough.
template <typename F> void forRows(const KernelContext& c, std::int64_t rows, std::int64_t workPerRow, F&& f) {
    const auto range = [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r)
            f(static_cast<std::int64_t>(r));
    };
    constexpr std::int64_t kWorthIt = 50'000;
    workPerRow = std::max<std::int64_t>(1, workPerRow);
    if (c.pool && rows > 1 && rows > kWorthIt / workPerRow)
        c.pool->parallelFor(static_cast<std::size_t>(rows), static_cast<std::size_t>(std::max<std::int64_t>(1, kWorthIt / workPerRow)), range);
    else
        range(0, static_cast<std::size_t>(rows));
}

/// What all four start from.
struct Rows {
    Tensor x; ///< float
    std::int64_t count = 0, columns = 0;
    const float* row(std::int64_t r) const { return x.data<float>().data() + r * columns; }
    std::span<float> outputRow(Tensor& y, std::int64_t r, std::int64_t width) const { return y.mutableData<float>().subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width)); }
};
Result<Rows> readRows(const KernelContext& c) {
    NABLA_TRY(const Tensor given, needTensor(c, 0));
    NABLA_TRY(const RowShape shape, rowShape(c, given));
    NABLA_TRY(Tensor x, asFloats(given));
    return Rows{std::move(x), shape.rows, shape.columns};
}

// ---- linear ----

struct LinearModel {
    std::vector<float> weights, intercepts; ///< [outputs, columns], [outputs]
    std::int64_t outputs = 0;
    PostTransform transform = PostTransform::None;
};

/// `outputs`: 0 when the intercepts tell, or the coefficients do.
Result<LinearModel> readLinear(const KernelContext& c, std::int64_t outputs, std::int64_t columns) {
    LinearModel model{c.floatsAttribute("coefficients"), c.floatsAttribute("intercepts"), outputs, {}};
    const auto weights = static_cast<std::int64_t>(model.weights.size());
    if (outputs == 0)
        model.outputs = !model.intercepts.empty() ? static_cast<std::int64_t>(model.intercepts.size()) : columns > 0 ? weights / columns : 0;
    if (model.outputs < 1 || model.outputs > weights || (model.outputs * columns != weights))
        return runError("{} coefficients are not {} rows of {} features", weights, model.outputs, columns);
    if (model.intercepts.empty())
        model.intercepts.assign(static_cast<std::size_t>(model.outputs), 0.0F);
    if (static_cast<std::int64_t>(model.intercepts.size()) != model.outputs)
        return runError("{} intercepts for {} outputs", model.intercepts.size(), model.outputs);
    NABLA_TRY(model.transform, postTransform(c));
    return model;
}

void linearScores(const LinearModel& model, const float* x, std::int64_t columns, std::span<float> scores) {
    for (std::size_t k = 0; k < scores.size(); ++k)
        scores[k] = static_cast<float>(dot(x, model.weights.data() + static_cast<std::int64_t>(k) * columns, columns) + static_cast<double>(model.intercepts[k]));
}

Result<void> runLinearRegressor(const KernelContext& c) {
    NABLA_TRY(const Rows rows, readRows(c));
    const std::int64_t targets = c.intAttribute("targets");
    if (targets < 1)
        return runError("targets is {}", targets);
    NABLA_TRY(const LinearModel model, readLinear(c, targets, rows.columns));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, {rows.count, targets}));
    forRows(c, rows.count, targets * rows.columns, [&](std::int64_t r) {
        const auto scores = rows.outputRow(y, r, targets);
        linearScores(model, rows.row(r), rows.columns, scores);
        applyPostTransform(model.transform, scores);
    });
    c.setOutput(0, std::move(y));
    return {};
}

/// Both outputs of a classifier; the second is made even when nobody wants it, since the labels come from it.
struct ClassifierOutputs {
    Tensor labels, scores;
    void set(const KernelContext& c) {
        c.setOutput(0, std::move(labels));
        if (c.wantsOutput(1))
            c.setOutput(1, std::move(scores));
    }
};
Result<ClassifierOutputs> classifierOutputs(const KernelContext& c, const ClassLabels& labels, std::int64_t rows, std::int64_t width) {
    NABLA_TRY(Tensor y, c.makeOutput(0, labels.type(), {rows}));
    NABLA_TRY(Tensor z, c.wantsOutput(1) ? c.makeOutput(1, DType::Float32, {rows, width}) : Tensor::make(DType::Float32, {rows, width}));
    return ClassifierOutputs{std::move(y), std::move(z)};
}

Result<void> runLinearClassifier(const KernelContext& c) {
    NABLA_TRY(const Rows rows, readRows(c));
    NABLA_TRY(const ClassLabels labels, ClassLabels::read(c.node(), "classlabels_ints"));
    NABLA_TRY(const LinearModel model, readLinear(c, 0, rows.columns));
    const bool binary = model.outputs == 1 && labels.count() == 2;
    if (!binary && model.outputs != static_cast<std::int64_t>(labels.count()))
        return runError("{} scores for {} class labels", model.outputs, labels.count());
    const std::int64_t width = binary ? 2 : model.outputs;
    NABLA_TRY(ClassifierOutputs out, classifierOutputs(c, labels, rows.count, width));
    forRows(c, rows.count, width * rows.columns, [&](std::int64_t r) {
        const auto scores = rows.outputRow(out.scores, r, width);
        linearScores(model, rows.row(r), rows.columns, scores.first(static_cast<std::size_t>(model.outputs)));
        if (binary) {
            labels.write(out.labels, r, scores[0] > 0 ? 1 : 0);
            binaryScores(model.transform, Complement::OneMinus, scores[0], scores);
        } else {
            labels.write(out.labels, r, indexOfLargest(scores));
            applyPostTransform(model.transform, scores);
        }
    });
    out.set(c);
    return {};
}

// ---- support vectors ----

struct SvmKernel {
    enum class Kind : std::uint8_t { Linear, Poly, Rbf, Sigmoid } kind = Kind::Linear;
    float gamma = 0, coef0 = 0, degree = 0;

    static Result<SvmKernel> read(const KernelContext& c) {
        SvmKernel kernel;
        const std::string type = c.stringAttribute("kernel_type");
        constexpr std::array<std::string_view, 4> kNames{"LINEAR", "POLY", "RBF", "SIGMOID"};
        const auto it = std::find(kNames.begin(), kNames.end(), type);
        if (it == kNames.end())
            return runError("kernel_type is \"{}\", wants LINEAR, POLY, RBF or SIGMOID", type.substr(0, 100));
        kernel.kind = static_cast<Kind>(it - kNames.begin());
        const auto params = c.floatsAttribute("kernel_params");
        if (!params.empty() && params.size() != 3)
            return runError("kernel_params has {} numbers, wants gamma, coef0 and degree", params.size());
        if (!params.empty()) {
            kernel.gamma = params[0];
            kernel.coef0 = params[1];
            kernel.degree = params[2];
        }
        return kernel;
    }
    double operator()(const float* a, const float* b, std::int64_t count) const {
        if (kind == Kind::Rbf) {
            double sum = 0;
            for (std::int64_t i = 0; i < count; ++i) {
                const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
                sum += d * d;
            }
            return std::exp(-static_cast<double>(gamma) * sum);
        }
        const double product = dot(a, b, count);
        if (kind == Kind::Linear)
            return product;
        const double t = static_cast<double>(gamma) * product + static_cast<double>(coef0);
        return kind == Kind::Poly ? std::pow(t, static_cast<double>(degree)) : std::tanh(t);
    }
};

/// Errors: the features of the support vectors are not those of the input.
Result<void> checkVectors(std::size_t numbers, std::int64_t vectors, std::int64_t columns) {
    if (vectors < 1 || vectors > static_cast<std::int64_t>(numbers) || static_cast<std::int64_t>(numbers) != vectors * columns)
        return runError("support_vectors has {} numbers, which are not {} vectors of {} features", numbers, vectors, columns);
    return {};
}

/// One score a row: a sum over support vectors, or without any a linear one.
Result<void> runSvmRegressor(const KernelContext& c) {
    NABLA_TRY(const Rows rows, readRows(c));
    NABLA_TRY(SvmKernel kernel, SvmKernel::read(c));
    NABLA_TRY(const PostTransform transform, postTransform(c));
    const auto rho = c.floatsAttribute("rho"), coefficients = c.floatsAttribute("coefficients");
    auto vectors = c.floatsAttribute("support_vectors");
    std::int64_t count = c.intAttribute("n_supports");
    if (rho.size() != 1)
        return runError("rho has {} numbers, wants one", rho.size());
    std::vector<float> weights = coefficients;
    if (count == 0) { // the coefficients are the one vector
        vectors = coefficients;
        weights = {1.0F};
        count = 1;
        kernel.kind = SvmKernel::Kind::Linear;
    }
    NABLA_CHECK(checkVectors(vectors.size(), count, rows.columns));
    if (static_cast<std::int64_t>(weights.size()) != count)
        return runError("{} coefficients for {} support vectors", weights.size(), count);
    const bool oneClass = c.intAttribute("one_class") != 0;
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Float32, {rows.count, 1}));
    forRows(c, rows.count, count * rows.columns, [&](std::int64_t r) {
        double sum = static_cast<double>(rho[0]);
        for (std::int64_t v = 0; v < count; ++v)
            sum += static_cast<double>(weights[static_cast<std::size_t>(v)]) * kernel(rows.row(r), vectors.data() + v * rows.columns, rows.columns);
        auto score = static_cast<float>(sum);
        if (oneClass)
            score = score > 0 ? 1.0F : -1.0F;
        else
            applyPostTransform(transform, std::span(&score, 1));
        y.mutableData<float>()[static_cast<std::size_t>(r)] = score;
    });
    c.setOutput(0, std::move(y));
    return {};
}

/// Probabilities of the classes from those of the pairs, pairwise[i, j] = P(i given i or j): the second method of Wu, Lin and Weng (2004),
/// by the iteration of their algorithm 2, with the stopping rule of LIBSVM.
void coupleProbabilities(std::size_t classes, const std::vector<double>& pairwise, std::span<float> out) {
    std::vector<double> q(classes * classes, 0.0), p(classes, 1.0 / static_cast<double>(classes)), qp(classes);
    for (std::size_t i = 0; i < classes; ++i) {
        for (std::size_t j = 0; j < classes; ++j) {
            if (i == j)
                continue;
            q[i * classes + i] += pairwise[j * classes + i] * pairwise[j * classes + i];
            q[i * classes + j] = -pairwise[j * classes + i] * pairwise[i * classes + j];
        }
    }
    const double tolerance = 0.005 / static_cast<double>(classes);
    for (int round = 0; round < 100; ++round) {
        double pqp = 0, worst = 0;
        for (std::size_t i = 0; i < classes; ++i) {
            qp[i] = 0;
            for (std::size_t j = 0; j < classes; ++j)
                qp[i] += q[i * classes + j] * p[j];
            pqp += p[i] * qp[i];
        }
        for (std::size_t i = 0; i < classes; ++i)
            worst = std::max(worst, std::abs(qp[i] - pqp));
        if (worst < tolerance)
            break;
        for (std::size_t i = 0; i < classes; ++i) {
            const double step = (pqp - qp[i]) / q[i * classes + i];
            p[i] += step;
            pqp = (pqp + step * (step * q[i * classes + i] + 2 * qp[i])) / (1 + step) / (1 + step);
            for (std::size_t j = 0; j < classes; ++j) {
                qp[j] = (qp[j] + step * q[i * classes + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
    for (std::size_t i = 0; i < classes; ++i)
        out[i] = static_cast<float>(p[i]);
}

struct SvmClassifier {
    SvmKernel kernel;
    std::vector<float> vectors, coefficients, rho, probA, probB;
    std::vector<std::int64_t> firstOfClass; ///< classes + 1 positions among the support vectors
    std::int64_t columns = 0;
    std::size_t classes = 0;
    PostTransform transform = PostTransform::None;
    bool positiveWeights = false;

    std::int64_t vectorCount() const { return firstOfClass.back(); }
    std::size_t pairs() const { return classes * (classes - 1) / 2; }
    bool linear() const { return vectorCount() == 0; }

    /// The decision value of every pair of classes, and the class that wins most of them.
    std::size_t decide(const float* x, std::vector<double>& decisions) const {
        const std::int64_t count = vectorCount();
        std::vector<double> k(static_cast<std::size_t>(count));
        for (std::int64_t v = 0; v < count; ++v)
            k[static_cast<std::size_t>(v)] = kernel(x, vectors.data() + v * columns, columns);
        std::vector<std::int64_t> votes(classes, 0);
        decisions.clear();
        // Row j - 1 of the coefficients belongs to class i against j where i < j, row i to class j against i.
        const auto part = [&](std::size_t of, std::size_t row) {
            double sum = 0;
            for (std::int64_t v = firstOfClass[of]; v < firstOfClass[of + 1]; ++v)
                sum += static_cast<double>(coefficients[row * static_cast<std::size_t>(count) + static_cast<std::size_t>(v)]) * k[static_cast<std::size_t>(v)];
            return sum;
        };
        for (std::size_t i = 0; i + 1 < classes; ++i) {
            for (std::size_t j = i + 1; j < classes; ++j) {
                decisions.push_back(part(i, j - 1) + part(j, i) + static_cast<double>(rho[decisions.size()]));
                ++votes[decisions.back() > 0 ? i : j];
            }
        }
        return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    }

    void probabilities(const std::vector<double>& decisions, std::span<float> out) const {
        std::vector<double> pairwise(classes * classes, 0.0);
        std::size_t at = 0;
        for (std::size_t i = 0; i < classes; ++i) {
            for (std::size_t j = i + 1; j < classes; ++j, ++at) {
                const double t = decisions[at] * static_cast<double>(probA[at]) + static_cast<double>(probB[at]);
                const double p = std::clamp(1.0 / (1.0 + std::exp(t)), 1e-7, 1 - 1e-7);
                pairwise[i * classes + j] = p;
                pairwise[j * classes + i] = 1 - p;
            }
        }
        coupleProbabilities(classes, pairwise, out);
    }
};

Result<SvmClassifier> readSvmClassifier(const KernelContext& c, const ClassLabels& labels, std::int64_t columns) {
    NABLA_TRY(const SvmKernel kernel, SvmKernel::read(c));
    NABLA_TRY(const PostTransform transform, postTransform(c));
    SvmClassifier m{kernel, c.floatsAttribute("support_vectors"), c.floatsAttribute("coefficients"), c.floatsAttribute("rho"), c.floatsAttribute("prob_a"),
        c.floatsAttribute("prob_b"), {0}, columns, labels.count(), transform, false};
    const auto perClass = c.intsAttribute("vectors_per_class");
    for (const std::int64_t count : perClass) {
        if (count < 0 || count > static_cast<std::int64_t>(m.vectors.size()) - m.firstOfClass.back())
            return runError("vectors_per_class {} names more than the {} numbers of support_vectors", toString(perClass), m.vectors.size());
        m.firstOfClass.push_back(m.firstOfClass.back() + count);
    }
    if (m.classes > 65535)
        return runError("{} classes are more than 65535", m.classes);
    if (m.rho.empty())
        return runError("rho is missing");
    m.positiveWeights = std::all_of(m.coefficients.begin(), m.coefficients.end(), [](float w) { return w >= 0; });
    if (m.linear()) {
        m.kernel.kind = SvmKernel::Kind::Linear;
        if (m.coefficients.size() != m.classes * static_cast<std::size_t>(columns))
            return runError("{} coefficients are not {} rows of {} features", m.coefficients.size(), m.classes, columns);
        return m;
    }
    NABLA_CHECK(checkVectors(m.vectors.size(), m.vectorCount(), columns));
    if (perClass.size() != m.classes)
        return runError("vectors_per_class has {} numbers for {} classes", perClass.size(), m.classes);
    if (m.classes < 2)
        return runError("support vectors tell two classes or more apart, there is one");
    if (m.coefficients.size() != (m.classes - 1) * static_cast<std::size_t>(m.vectorCount()))
        return runError("{} coefficients, {} classes of {} vectors in all want {}", m.coefficients.size(), m.classes, m.vectorCount(), (m.classes - 1) * static_cast<std::size_t>(m.vectorCount()));
    if (m.rho.size() < m.pairs())
        return runError("rho has {} numbers for {} pairs of classes", m.rho.size(), m.pairs());
    if (m.probA.size() != m.probB.size() || (!m.probA.empty() && m.probA.size() < m.pairs()))
        return runError("prob_a has {} and prob_b {} numbers for {} pairs of classes", m.probA.size(), m.probB.size(), m.pairs());
    return m;
}

/// One score a class. With two classes the label goes by a threshold, as in onnxruntime.
std::size_t linearSvmRow(const SvmClassifier& m, const float* x, std::span<float> scores) {
    for (std::size_t k = 0; k < m.classes; ++k)
        scores[k] = static_cast<float>(dot(x, m.coefficients.data() + static_cast<std::int64_t>(k) * m.columns, m.columns) + static_cast<double>(m.rho[0]));
    std::size_t best = indexOfLargest(scores);
    if (m.classes == 2 && m.probA.empty() && (m.positiveWeights ? scores[best] >= 0.5F : scores[best] > 0.0F))
        best = 1;
    applyPostTransform(m.transform, scores);
    return best;
}

/// Scores: the probabilities when there are any; two for two classes, one a pair of classes for more.
std::size_t svmRow(const SvmClassifier& m, const float* x, std::vector<double>& decisions, std::span<float> scores) {
    const std::size_t winner = m.decide(x, decisions);
    if (!m.probA.empty()) {
        m.probabilities(decisions, scores);
    } else if (m.classes == 2) {
        binaryScores(m.transform, m.transform == PostTransform::None ? Complement::Negated : Complement::OneMinus, static_cast<float>(decisions[0]), scores);
        return winner;
    } else {
        std::transform(decisions.begin(), decisions.end(), scores.begin(), [](double d) { return static_cast<float>(d); });
    }
    applyPostTransform(m.transform, scores);
    return winner;
}

Result<void> runSvmClassifier(const KernelContext& c) {
    NABLA_TRY(const Rows rows, readRows(c));
    NABLA_TRY(const ClassLabels labels, ClassLabels::read(c.node(), "classlabels_ints"));
    NABLA_TRY(const SvmClassifier model, readSvmClassifier(c, labels, rows.columns));
    const auto width = static_cast<std::int64_t>(model.linear() || !model.probA.empty() || model.classes == 2 ? model.classes : model.pairs());
    NABLA_TRY(ClassifierOutputs out, classifierOutputs(c, labels, rows.count, width));
    const std::int64_t work = std::max<std::int64_t>(model.vectorCount(), width) * rows.columns;
    forRows(c, rows.count, work, [&](std::int64_t r) {
        std::vector<double> decisions;
        const auto scores = rows.outputRow(out.scores, r, width);
        labels.write(out.labels, r, model.linear() ? linearSvmRow(model, rows.row(r), scores) : svmRow(model, rows.row(r), decisions, scores));
    });
    out.set(c);
    return {};
}

/// A multiply-add with every number of the model, for every row.
std::int64_t modelFlops(const CostInputs& c) {
    const Shape* x = inputShape(c, 0);
    if (!x)
        return 0;
    const auto numbers = c.node.floatsAttribute("coefficients").size() + c.node.floatsAttribute("support_vectors").size();
    return saturatedProduct({2, x->size() == 2 ? x->front() : 1, static_cast<std::int64_t>(numbers)});
}

std::optional<ValueType> targetsType(const Graph&, const Node& node, const InferenceInputs& inputs, std::size_t) { return floatRows(inputs, node.intAttribute("targets", 1)); }
std::optional<ValueType> oneTargetType(const Graph&, const Node&, const InferenceInputs& inputs, std::size_t) { return floatRows(inputs, 1); }

constexpr auto kMl = "ai.onnx.ml";
constexpr auto kNoTraining = "operators of ai.onnx.ml hold what was learned elsewhere; PyTorch has none of them to compare a rule with";

constexpr OpDef kOps[] = {
    {.name = "LinearRegressor", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, LinearRegressor-1", .run = runLinearRegressor,
        .gradient = notDifferentiable(kNoTraining), .flops = modelFlops, .refineShape = targetsType},
    {.name = "LinearClassifier", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, LinearClassifier-1", .run = runLinearClassifier,
        .gradient = notDifferentiable(kNoTraining), .flops = modelFlops},
    {.name = "SVMRegressor", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, SVMRegressor-1; LIBSVM 3", .run = runSvmRegressor,
        .gradient = notDifferentiable(kNoTraining), .flops = modelFlops, .refineShape = oneTargetType},
    {.name = "SVMClassifier", .domain = kMl, .since = 1, .source = "ONNX Operators-ml.md, SVMClassifier-1; LIBSVM 3", .run = runSvmClassifier,
        .gradient = notDifferentiable(kNoTraining), .flops = modelFlops},
};

} // namespace

std::span<const OpDef> mlLinearOps() { return kOps; }

} // namespace nabla::engine
