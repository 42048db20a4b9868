// Gradient rules of If, Loop and Scan, for the rows of the control-flow family.
#pragma once

#include "engine/ops/gradient_builder.h"

namespace nabla::engine {

/// Each returns the cotangents of the node's inputs, then of its captures.
/// If: another If whose branches run the forward branch again and then backward.
Gradients gradIf(GradientBuilder& b, const Node& n, OutputGrads dy);
/// Loop: the forward Loop also records the carried states of each iteration; a second Loop walks them from the last to the first.
Gradients gradLoop(GradientBuilder& b, const Node& n, OutputGrads dy);
/// Scan: the same with a Scan whose directions are turned round.
Gradients gradScan(GradientBuilder& b, const Node& n, OutputGrads dy);

} // namespace nabla::engine
