// Tree ensembles whose attributes are read into a forest once, when the plan is built.
#include "engine/kernels/families.h"
#include "engine/ops/tree_model.h"

namespace nabla::engine {

namespace {

struct TreeState : KernelState {
    explicit TreeState(TreeModel read) : model(std::move(read)) { bytes = model.bytes(); }
    TreeModel model;
};

bool accepts(const KernelQuery& q) {
    return !q.inputs.empty() && q.inputs[0].isTensor() && q.inputs[0].elementType != DType::Undefined;
}

Result<std::unique_ptr<KernelState>> prepare(const KernelQuery& q) {
    NABLA_TRY(TreeModel model, readTreeModel(q.node, q.inputs[0].elementType));
    return std::unique_ptr<KernelState>(std::make_unique<TreeState>(std::move(model)));
}

Result<void> run(const KernelContext& c, KernelState* state) {
    return runTreeModel(c, static_cast<const TreeState&>(*state).model);
}

constexpr auto kMl = "ai.onnx.ml";
constexpr Kernel kKernels[] = {
    {.name = "forest.ensemble", .opType = "TreeEnsemble", .domain = kMl, .accepts = accepts, .prepare = prepare, .run = run},
    {.name = "forest.regressor", .opType = "TreeEnsembleRegressor", .domain = kMl, .accepts = accepts, .prepare = prepare, .run = run},
    {.name = "forest.classifier", .opType = "TreeEnsembleClassifier", .domain = kMl, .accepts = accepts, .prepare = prepare, .run = run},
};

} // namespace

std::span<const Kernel> treeKernels() {
    return kKernels;
}

} // namespace nabla::engine
