// Gradients of convolutions, in standard operators; the pools use the same parts.
#pragma once

#include "engine/ops/gradient_builder.h"
#include "engine/ops/window.h"

namespace nabla::engine {

Gradients gradConv(GradientBuilder& b, const Node& n, OutputGrads dy);
Gradients gradConvTranspose(GradientBuilder& b, const Node& n, OutputGrads dy);

/// A forward window: its attributes, and its values' types as far as they are known.
struct WindowGradient {
    WindowAttributes window;
    std::int64_t group = 1;
    ValueId input, output; ///< of the forward window (for ConvTranspose the two change places)
    std::optional<Shape> inputSizes, outputSizes; ///< spatial ones, when known before running
};
WindowGradient windowGradient(GradientBuilder& b, WindowAttributes window, std::int64_t group, ValueId input, ValueId output);

/// ConvTranspose of `x` (as large as w.output) by `weight`, cut to the spatial size of w.input: sends every output cell back to the input
/// cells it was made of. Sizes known only at run time are cut by Pad with computed (negative) pads.
ValueId spreadBack(GradientBuilder& b, const WindowGradient& w, ValueId x, ValueId weight);

} // namespace nabla::engine
