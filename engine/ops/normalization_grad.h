// Gradients of the normalizations, in standard operators.
#pragma once

#include "engine/ops/gradient_builder.h"

namespace nabla::engine {

Gradients gradBatchNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradInstanceNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradLayerNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradGroupNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradRmsNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradLrn(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradLpNormalization(GradientBuilder& b, const Node& n, OutputGrads dy);

} // namespace nabla::engine
