// Shapes of a batched matrix product with NumPy's rules.
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "engine/tensor/shape.h"

namespace nabla::engine {

/// [.., m, k] times [.., k, n] with broadcast batch axes; vectors count as one row (left) or one column (right).
struct MatMulShapes {
    std::int64_t m = 0, k = 0, n = 0;
    Shape batch, output;
    std::vector<std::int64_t> matrixA, matrixB; ///< per batch entry: which matrix of A and of B it reads
};
/// Errors (Run): a scalar, inner sizes that differ, batches that do not broadcast.
Result<MatMulShapes> matMulShapes(ShapeView a, ShapeView b);

} // namespace nabla::engine
