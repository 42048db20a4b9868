// ai.onnx.ml, trees: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier. Their reference kernels read the attributes for every
// run; the plan's kernel (engine/kernels/trees.cpp) keeps the forest.
#include <algorithm>

#include "engine/ops/cost_rules.h"
#include "engine/ops/tree_model.h"

namespace nabla::engine {

namespace {

/// Where the rows of one run go.
struct Outputs {
    Tensor labels, scores; ///< no labels: a regressor
};

/// The scores of one row, whose sums lie in `values`, and the label of a classifier.
template <typename T>
void finishRow(const TreeModel& m, std::span<T> values, std::span<std::uint8_t> voted, std::int64_t row, Outputs& out, std::vector<float>& scores) {
    if (m.oneWeightBinary) {
        const T score = values[0] + (m.base.empty() ? T{0} : static_cast<T>(m.base.back()));
        m.labels.write(out.labels, row, score > (m.positiveWeights ? T{0.5} : T{0}) ? 1 : 0);
        scores.resize(2);
        binaryScores(m.transform, m.positiveWeights ? Complement::OneMinus : Complement::Negated, static_cast<float>(score), scores);
        return;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (m.base.empty())
            continue;
        values[k] += static_cast<T>(m.base[k]);
        voted[k] = 1;
    }
    if (out.labels.defined()) { // among the classes that any leaf spoke for
        std::size_t best = values.size();
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (voted[k] != 0 && (best == values.size() || values[k] > values[best]))
                best = k;
        }
        m.labels.write(out.labels, row, best == values.size() ? 0 : best);
    }
    scores.assign(values.begin(), values.end());
    applyPostTransform(m.transform, scores);
}

void storeRow(std::span<const float> scores, std::int64_t row, Tensor& to) {
    const std::int64_t first = row * static_cast<std::int64_t>(scores.size());
    for (std::size_t k = 0; k < scores.size(); ++k) {
        const std::int64_t at = first + static_cast<std::int64_t>(k);
        if (to.dtype() == DType::Float32)
            to.mutableData<float>()[static_cast<std::size_t>(at)] = scores[k];
        else
            writeDouble(to.dtype(), to.mutableRaw(), at, static_cast<double>(scores[k]));
    }
}

/// TreeEnsemble in double keeps double when nothing transforms the scores.
template <typename T> bool storeWide(const TreeModel& m, std::span<const T> values, std::int64_t row, Tensor& to) {
    if (to.dtype() != DType::Float64 || m.transform != PostTransform::None)
        return false;
    std::copy(values.begin(), values.end(), to.mutableData<double>().begin() + static_cast<std::ptrdiff_t>(row) * static_cast<std::ptrdiff_t>(values.size()));
    return true;
}

template <typename T> void runBlocks(const KernelContext& c, const TreeModel& m, const Forest<T>& forest, const Tensor& x, RowShape shape, Outputs& out) {
    constexpr std::int64_t kBlock = 64;
    const auto block = [&](std::int64_t begin, std::int64_t end, ForestScores<T>& sums, std::vector<float>& scores) {
        forest.evaluate(x.data<T>().data() + begin * shape.columns, end - begin, shape.columns, m.aggregate, sums);
        const auto width = static_cast<std::size_t>(forest.targets());
        for (std::int64_t r = begin; r < end; ++r) {
            const std::size_t first = static_cast<std::size_t>(r - begin) * width;
            const auto values = std::span(sums.values).subspan(first, width);
            finishRow<T>(m, values, std::span(sums.voted).subspan(first, width), r, out, scores);
            if (!storeWide<T>(m, values, r, out.scores))
                storeRow(scores, r, out.scores);
        }
    };
    const auto blocks = static_cast<std::size_t>((shape.rows + kBlock - 1) / kBlock);
    const auto range = [&](std::size_t first, std::size_t last) {
        ForestScores<T> sums;
        std::vector<float> scores;
        for (std::size_t b = first; b < last; ++b) {
            const auto begin = static_cast<std::int64_t>(b) * kBlock;
            block(begin, std::min(begin + kBlock, shape.rows), sums, scores);
        }
    };
    if (c.pool && blocks > 1)
        c.pool->parallelFor(blocks, 1, range);
    else
        range(0, blocks);
}

Result<void> runTrees(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const TreeModel model, readTreeModel(c.node(), x.dtype()));
    return runTreeModel(c, model);
}

/// A comparison a level and an addition, for every tree and row; the depth is taken as that of balanced trees.
std::int64_t treeFlops(const CostInputs& c) {
    const Shape* x = inputShape(c, 0);
    if (!x)
        return 0;
    const std::int64_t rows = x->size() == 2 ? x->front() : 1;
    auto trees = c.node.intsAttribute("tree_roots");
    if (trees.empty()) {
        trees = c.node.intsAttribute("nodes_treeids");
        std::sort(trees.begin(), trees.end());
        trees.erase(std::unique(trees.begin(), trees.end()), trees.end());
    }
    const auto nodes = static_cast<std::int64_t>(c.node.intsAttribute("nodes_featureids").size()), count = static_cast<std::int64_t>(trees.size());
    const auto levels = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(nodes / std::max<std::int64_t>(1, count)) + 1.0)));
    const bool leavesApart = c.node.opType == "TreeEnsemble"; // elsewhere they are nodes too, of the last level
    return saturatedProduct({rows, count, leavesApart ? levels + 1 : std::max<std::int64_t>(1, levels)});
}

constexpr auto kMl = "ai.onnx.ml";
constexpr auto kSteps = "trees are constant between their thresholds";

constexpr OpDef kOps[] = {
    {.name = "TreeEnsemble", .domain = kMl, .since = 5, .source = "ONNX Operators-ml.md, TreeEnsemble-5", .run = runTrees, .gradient = notDifferentiable(kSteps),
        .flops = treeFlops},
    {.name = "TreeEnsembleRegressor", .domain = kMl, .since = 5, .source = "ONNX Operators-ml.md, TreeEnsembleRegressor-3", .run = runTrees,
        .gradient = notDifferentiable(kSteps), .flops = treeFlops},
    {.name = "TreeEnsembleClassifier", .domain = kMl, .since = 5, .source = "ONNX Operators-ml.md, TreeEnsembleClassifier-3", .run = runTrees,
        .gradient = notDifferentiable(kSteps), .flops = treeFlops},
};

} // namespace

Result<void> runTreeModel(const KernelContext& c, const TreeModel& model) {
    NABLA_TRY(const Tensor given, needTensor(c, 0));
    NABLA_TRY(const RowShape shape, rowShape(c, given));
    const bool wide = given.dtype() == DType::Float64;
    const std::int64_t features = std::visit([](const auto& f) { return f.features(); }, model.forest);
    if (shape.columns < features)
        return runError("the trees look at feature {}, input 0 is {}", features - 1, toString(given.shape()));
    if (wide != std::holds_alternative<Forest<double>>(model.forest))
        return runError("the trees were read for another type than {}", name(given.dtype()));
    NABLA_TRY(const Tensor x, wide ? Result<Tensor>(given) : asFloats(given));
    const std::int64_t width = std::visit([](const auto& f) { return f.targets(); }, model.forest);
    const bool classifier = c.node().opType == "TreeEnsembleClassifier", keepsType = c.node().opType == "TreeEnsemble";
    const std::size_t scoreOutput = classifier ? 1 : 0;
    const DType scoreType = keepsType ? given.dtype() : DType::Float32;
    Outputs out;
    if (classifier) {
        NABLA_TRY(out.labels, c.makeOutput(0, model.labels.type(), {shape.rows}));
    }
    NABLA_TRY(out.scores, c.wantsOutput(scoreOutput) ? c.makeOutput(scoreOutput, scoreType, {shape.rows, width}) : Tensor::make(scoreType, {shape.rows, width}));
    std::visit([&](const auto& forest) {
        if constexpr (std::is_same_v<std::decay_t<decltype(forest)>, Forest<double>>)
            runBlocks<double>(c, model, forest, x, shape, out);
        else
            runBlocks<float>(c, model, forest, x, shape, out);
    }, model.forest);
    if (classifier)
        c.setOutput(0, std::move(out.labels));
    if (c.wantsOutput(scoreOutput))
        c.setOutput(scoreOutput, std::move(out.scores));
    return {};
}

std::span<const OpDef> treeOps() { return kOps; }

} // namespace nabla::engine
