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

} // namespace nabla::engine
