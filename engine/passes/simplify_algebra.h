// Rewrites that give the same bits for every input, also infinities, NaN and -0.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// x*1, x/1, x-0, x+(-0), x^1, double Neg and Not, idempotent functions applied twice, chains of Transpose, Reshape and
/// exact Casts. What holds only for real numbers (x+0 loses -0, exp(log(x)), x-x) is not done here: see fastMath().
Result<Graph> simplifyAlgebra(const Graph& graph, PassContext& context);
/// Off by default and marked, since numbers may change: log(exp(x)) = x, exp(log(x)) = x, sqrt(x*x) = |x|, x+0 = x,
/// exp(a)*exp(b) = exp(a+b).
Result<Graph> fastMath(const Graph& graph, PassContext& context);

} // namespace nabla::engine
