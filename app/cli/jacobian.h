// grad --mode jacobian and --mode hessian: whole matrices of derivatives.
#pragma once

#include "app/cli/execution_options.h"

namespace nabla::app::cli {

enum class MatrixMode : std::uint8_t { Jacobian, Hessian };

struct MatrixOptions {
    MatrixMode mode = MatrixMode::Jacobian;
    std::vector<std::string> of, wrt;
    std::string outputs; ///< where to write the blocks, by their names in the graph: `jacobian:OF:WRT`, `hessian:A:B`
    std::string save;
    std::int64_t opset = 0;
};

/// Makes the graph, saves it if asked for, runs it and prints the blocks. Errors (Usage): a block above the limit of engine/autodiff/jacobian.h.
engine::Result<void> derivativeMatrices(const ExecutionOptions& execution, const MatrixOptions& options, Context& context);

} // namespace nabla::app::cli
