// The passes, in the order of the pipeline.
#include "engine/passes/eliminate_common_subexpressions.h"
#include "engine/passes/eliminate_dead_code.h"
#include "engine/passes/eliminate_identity.h"
#include "engine/passes/expand_functions.h"
#include "engine/passes/fold_batch_norm.h"
#include "engine/passes/fold_constants.h"
#include "engine/passes/pass.h"
#include "engine/passes/simplify_algebra.h"

namespace nabla::engine {

namespace {

constexpr PassDef kPasses[] = {
    {.name = "legalize-onnx",
        .title = "Lift to the newest operators",
        .summary = "Brings every operator to its newest version",
        .run = legalizeOnnx},
    {.name = "expand-functions",
        .title = "Expand functions",
        .summary = "Puts the bodies of the model's own functions where they are called",
        .run = expandFunctions},
    {.name = "fold-constants",
        .title = "Fold constants",
        .summary = "Computes what is known before running",
        .run = foldConstants},
    {.name = "eliminate-identity",
        .title = "Remove identities",
        .summary = "Removes nodes that hand their input on unchanged",
        .run = eliminateIdentity},
    {.name = "simplify-algebra",
        .title = "Simplify algebra",
        .summary = "Rewrites that give the same bits for every input",
        .run = simplifyAlgebra},
    {.name = "fast-math",
        .title = "Fast math",
        .summary = "Rewrites that hold for real numbers but not for every float",
        .run = fastMath,
        .onByDefault = false,
        .changesValues = true},
    {.name = "fold-batch-norm",
        .title = "Fold batch normalization",
        .summary = "Folds BatchNormalization into the convolution before it",
        .run = foldBatchNorm},
    {.name = "eliminate-common-subexpressions",
        .title = "Merge common subexpressions",
        .summary = "Computes the same thing once",
        .run = eliminateCommonSubexpressions},
    {.name = "eliminate-dead-code",
        .title = "Remove dead code",
        .summary = "Removes what no output needs",
        .run = eliminateDeadCode},
};

} // namespace

std::span<const PassDef> allPasses() {
    return kPasses;
}

} // namespace nabla::engine
