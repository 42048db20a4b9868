// The tree operators of ai.onnx.ml: their attributes read into a forest, and a run of it.
#pragma once

#include <variant>

#include "engine/ops/ml_common.h"
#include "engine/ops/tree_forest.h"

namespace nabla::engine {

/// A TreeEnsemble, TreeEnsembleRegressor or TreeEnsembleClassifier whose attributes have been checked.
struct TreeModel {
    std::variant<Forest<float>, Forest<double>> forest;
    TreeAggregate aggregate = TreeAggregate::Sum;
    PostTransform transform = PostTransform::None;
    std::vector<double> base = {}; ///< per target, or empty
    // Classifiers only.
    ClassLabels labels = {};
    bool oneWeightBinary = false;  ///< two labels, and all leaves vote for class 0: their sum is the score of the second label
    bool positiveWeights = false;  ///< then that score is a probability

    std::int64_t bytes() const {
        return std::visit([](const auto& f) { return f.bytes(); }, forest);
    }
};

/// `input`: the type of X; double compares in double, everything else in float. Errors name the list, the tree and the node.
Result<TreeModel> readTreeModel(const Node& node, DType input);
/// All rows, on all threads. Errors: a shape that is no [N, C], fewer columns than the trees look at.
Result<void> runTreeModel(const KernelContext& c, const TreeModel& model);

} // namespace nabla::engine
