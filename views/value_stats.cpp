// One pass for the sums, one for the histogram.
#include <cmath>
#include <limits>

#include "engine/tensor/half_range.h"
#include "views/view_state.h"

namespace nabla::views {

ValueStats valueStats(const engine::Tensor& tensor) {
    constexpr std::size_t kBins = 32;
    ValueStats out;
    out.count = tensor.elementCount();
    if (tensor.dtype() == engine::DType::String || tensor.dtype() == engine::DType::Undefined)
        return out;
    const engine::HalfCounts half = engine::halfCounts(tensor);
    out.saturated = half.saturated;
    out.subnormal = half.subnormal;
    double sum = 0, squares = 0;
    std::int64_t finite = 0;
    out.min = std::numeric_limits<double>::infinity();
    out.max = -out.min;
    for (std::int64_t i = 0; i < out.count; ++i) {
        const double x = tensor.asDouble(i);
        if (std::isnan(x)) {
            ++out.nan;
            continue;
        }
        if (std::isinf(x)) {
            ++out.inf;
            continue;
        }
        ++finite;
        out.zero += x == 0 ? 1 : 0;
        sum += x;
        squares += x * x;
        out.min = std::min(out.min, x);
        out.max = std::max(out.max, x);
    }
    if (finite == 0) {
        out.min = out.max = 0;
        return out;
    }
    const auto n = static_cast<double>(finite);
    out.mean = sum / n;
    out.rms = std::sqrt(squares / n);
    out.l2 = std::sqrt(squares);
    out.histogram.assign(kBins, 0);
    const double width = (out.max - out.min) / static_cast<double>(kBins);
    double spread = 0;
    for (std::int64_t i = 0; i < out.count; ++i) {
        const double x = tensor.asDouble(i);
        if (!std::isfinite(x))
            continue;
        spread += (x - out.mean) * (x - out.mean);
        const auto bin = width > 0 ? static_cast<std::size_t>((x - out.min) / width) : 0;
        ++out.histogram[std::min(bin, kBins - 1)];
    }
    out.std = std::sqrt(spread / n);
    return out;
}

} // namespace nabla::views
