// jacobian, hessian: whole matrices of derivatives, as a graph.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// A block of more elements is refused; so is an output of more elements than the root of it, since all its rows are computed at once.
inline constexpr std::int64_t kMaxJacobianElements = std::int64_t{1} << 24;

struct JacobianOptions {
    std::vector<ValueId> of; ///< empty: every float output
    std::vector<ValueId> wrt; ///< empty: every float input and float initializer of rank >= 1
    JobControl job;
};

/// Blocks by (of, wrt), or by (wrt, wrt) for a Hessian.
using DerivativeBlocks = std::map<std::pair<ValueId, ValueId>, ValueId>;

struct JacobianGraph {
    Graph graph; ///< outputs: the original ones, then the blocks
    DerivativeBlocks blocks;
    std::vector<ValueId> of, wrt;
    std::vector<Diagnostic> notes; ///< paths that were cut, with the reason
};

/// `jacobian:OF:WRT` of shape of.shape + wrt.shape, for every pair. Reverse mode, with the rows of the identity as cotangents: the forward nodes run
/// once, the backward ones on a batch of rows (batching.h). The graph must be legalized. Errors: those of grad(); (Usage) a block whose size is
/// known and above kMaxJacobianElements.
Result<JacobianGraph> jacobian(const Graph& graph, const JacobianOptions& options);

/// `hessian:A:B` of shape a.shape + b.shape for every pair of wrt values: the Jacobian of the gradient of the sum of the elements of `of`.
Result<JacobianGraph> hessian(const Graph& graph, const JacobianOptions& options);

/// Errors (Usage): more than the limit, with the numbers. For callers who know the shapes at run time.
Result<void> checkJacobianSize(const std::string& of, std::int64_t rows, const std::string& wrt, std::int64_t columns);

} // namespace nabla::engine
