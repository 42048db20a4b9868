// Geometry of sliding windows: what Conv, ConvTranspose and the pools read from their attributes.
#pragma once

#include <vector>

#include "engine/ops/op_def.h"

namespace nabla::engine {

/// One entry per spatial axis.
struct Window {
    std::vector<std::int64_t> kernel, strides, dilations, padBegin, padEnd;
    Shape input, output; ///< spatial sizes
    std::size_t rank() const { return kernel.size(); }
    /// Cells that the dilated kernel spans along an axis.
    std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

/// Attributes before the input's size is known: kernel, strides, dilations, pads and auto_pad, checked.
struct WindowAttributes {
    std::vector<std::int64_t> kernel, strides, dilations, pads;
    enum class AutoPad : std::uint8_t { NotSet, SameUpper, SameLower, Valid } autoPad = AutoPad::NotSet;
};
/// `kernel`: from the weight, or empty to take `kernel_shape`. Errors (Run) name the attribute and its number: a kernel size below 1, a stride
/// or dilation below 1, a negative pad, lists of the wrong length, anything beyond 2^31.
Result<WindowAttributes> windowAttributes(const Node& node, std::size_t spatialRank, std::vector<std::int64_t> kernel = {});

enum class Rounding : bool { Floor, Ceil };
/// Pads and output sizes of a window that slides over `input`. With Rounding::Ceil windows that would begin in the end padding are dropped.
Result<Window> slideOver(const WindowAttributes& attributes, ShapeView input, Rounding rounding = Rounding::Floor);

/// The taps of one axis: for output position o, tap t reads input o * stride - padBegin + t * dilation. The range [first, last) of taps that
/// hit the input.
struct TapRange {
    std::int64_t first, last, start; ///< start: input position of tap 0
};
inline TapRange tapsInside(const Window& w, std::size_t axis, std::int64_t o) {
    const std::int64_t start = o * w.strides[axis] - w.padBegin[axis], d = w.dilations[axis];
    const std::int64_t first = start >= 0 ? 0 : (-start + d - 1) / d;
    const std::int64_t last = start >= w.input[axis] ? 0 : std::min(w.kernel[axis], (w.input[axis] - start + d - 1) / d);
    return {first, std::max(first, last), start};
}

} // namespace nabla::engine
