// Folding BatchNormalization into the convolution before it.
#pragma once

#include "engine/passes/pass.h"

namespace nabla::engine {

/// Replaces Conv followed by BatchNormalization (inference form) by one Conv with folded weights:
/// W' = W * scale / sqrt(var + epsilon) per output channel, B' = (B - mean) * scale / sqrt(var + epsilon) + bias,
/// computed in double. Leaves the pair alone when the output of the Conv has another reader or a parameter is no
/// constant. Source: Jacob et al. 2018, section 3.2.
Result<Graph> foldBatchNorm(const Graph& graph, PassContext& context);

} // namespace nabla::engine
