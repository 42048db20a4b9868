// Gradients of the pools, in standard operators.
#pragma once

#include "engine/ops/gradient_builder.h"

namespace nabla::engine {

Gradients gradMaxPool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradAveragePool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradLpPool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradGlobalAveragePool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradGlobalMaxPool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradGlobalLpPool(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradMaxUnpool(GradientBuilder& b, const Node& n, OutputGrads dy);

} // namespace nabla::engine
