// What views show and a recording keeps of a tensor: counts, moments, norm, histogram.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "engine/tensor/tensor.h"

namespace nabla::engine {

struct TensorStatistics {
    static constexpr std::size_t kBins = 32;
    std::int64_t count = 0, nan = 0, inf = 0, zero = 0;
    double min = 0, max = 0, mean = 0, std = 0; ///< of the finite elements
    double l2 = 0;                              ///< of the finite elements
    std::array<std::uint32_t, kBins> histogram{}; ///< finite elements in equal bins from min to max

    std::int64_t notFinite() const { return nan + inf; }
    bool anyFinite() const { return histogram != std::array<std::uint32_t, kBins>{}; } ///< never of a string tensor
    double zeroShare() const { return count > 0 ? static_cast<double>(zero) / static_cast<double>(count) : 0; }
    double rms() const { return count > notFinite() ? l2 / std::sqrt(static_cast<double>(count - notFinite())) : 0; } ///< of the finite elements
};
/// Of a string tensor: the count alone.
TensorStatistics statisticsOf(const Tensor& tensor);

/// l2 norm of every slice along `axis`: one number per unit that the weight feeds. A unit whose gradient is exactly zero is dead in this step.
Result<Tensor> unitNorms(const Tensor& gradient, std::int64_t axis);

} // namespace nabla::engine
