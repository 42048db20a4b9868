// Two passes over a tensor: moments, then spread and histogram.
#include "engine/tensor/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nabla::engine {

TensorStatistics statisticsOf(const Tensor& tensor) {
    TensorStatistics out;
    out.count = tensor.elementCount();
    if (tensor.dtype() == DType::String || tensor.dtype() == DType::Undefined)
        return out;
    double sum = 0, squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::int64_t i = 0; i < out.count; ++i) {
        const double x = tensor.asDouble(i);
        if (!std::isfinite(x)) {
            ++(std::isnan(x) ? out.nan : out.inf);
            continue;
        }
        out.zero += x == 0 ? 1 : 0;
        sum += x;
        squares += x * x;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    const std::int64_t finite = out.count - out.nan - out.inf;
    if (finite == 0)
        return out;
    out.min = low;
    out.max = high;
    out.mean = sum / static_cast<double>(finite);
    out.l2 = std::sqrt(squares);
    const double width = (high - low) / static_cast<double>(TensorStatistics::kBins);
    double spread = 0;
    for (std::int64_t i = 0; i < out.count; ++i) {
        const double x = tensor.asDouble(i);
        if (!std::isfinite(x))
            continue;
        spread += (x - out.mean) * (x - out.mean);
        const double place = width > 0 && std::isfinite(width) ? (x - low) / width : 0;
        ++out.histogram[std::min(static_cast<std::size_t>(place), TensorStatistics::kBins - 1)];
    }
    out.std = std::sqrt(spread / static_cast<double>(finite));
    return out;
}

Result<Tensor> unitNorms(const Tensor& gradient, std::int64_t axis) {
    const Shape& shape = gradient.shape();
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t units = at < shape.size() ? shape[at] : 1;
    const std::int64_t inner = at < shape.size() ? elementCount(ShapeView(shape).subspan(at + 1)) : 1;
    NABLA_TRY(Tensor norms, Tensor::make(DType::Float64, {units}));
    const auto out = norms.mutableData<double>();
    for (std::int64_t i = 0; i < gradient.elementCount(); ++i) {
        const double x = gradient.asDouble(i);
        out[static_cast<std::size_t>(i / inner % units)] += x * x;
    }
    for (double& each : out)
        each = std::sqrt(each);
    return norms;
}

} // namespace nabla::engine
