// Rounding that the quantized operators share.
#pragma once

#include <utility>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

/// The value as a float type holds it.
double roundedTo(DType type, double value);
/// Smallest and largest value of an integer type.
std::pair<double, double> integerRange(DType type);
/// Rounds to nearest (ties to even), adds the zero point and stays within the type's range. NaN becomes the zero point.
double quantizedTo(DType type, double value, double zeroPoint);
/// What a weighted sum of numbers of `type` is in it: whole numbers are rounded (ties to even) and clamped, as the evaluator of ONNX and PyTorch do
/// with pictures; others as they are. Cubic weights reach beyond the numbers that go in.
double blendedTo(DType type, double value);

} // namespace nabla::engine
