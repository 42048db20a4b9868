// MaxRoiPool: each region of a feature map cut into bins, of which the largest cell is taken (Girshick, Fast R-CNN, 2015).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// First and last + 1 cell of every bin along one axis; the bins of a region overlap where its cells are not a multiple of them.
struct Bins {
    std::vector<std::int64_t> first, last;
};

/// start, end: corners of the region in the picture, both inside it; they are rounded to cells.
Result<Bins> binsOf(double start, double end, double scale, std::int64_t count, std::int64_t cells) {
    constexpr double kMost = 1e9; // far beyond any map, and exact in an int64
    const double from = std::round(start * scale), to = std::round(end * scale);
    if (!(std::abs(from) <= kMost && std::abs(to) <= kMost))
        return runError("a region from {} to {} is no place in X", start, end);
    const double length = std::max(to - from + 1, 1.0) / static_cast<double>(count); // malformed regions are one cell
    Bins out;
    for (std::int64_t b = 0; b < count; ++b) {
        const auto low = static_cast<std::int64_t>(std::floor(static_cast<double>(b) * length) + from);
        const auto high = static_cast<std::int64_t>(std::ceil(static_cast<double>(b + 1) * length) + from);
        out.first.push_back(std::clamp<std::int64_t>(low, 0, cells));
        out.last.push_back(std::clamp<std::int64_t>(high, 0, cells));
    }
    return out;
}

/// The largest cell of one bin, 0 when it lies outside the map.
template <typename T> T largestOf(const T* map, std::int64_t width, const Bins& rows, const Bins& columns, std::size_t row, std::size_t column) {
    bool any = false;
    T out = T(0);
    for (std::int64_t y = rows.first[row]; y < rows.last[row]; ++y) {
        for (std::int64_t x = columns.first[column]; x < columns.last[column]; ++x) {
            const T value = map[y * width + x];
            if (!any || value > out || std::isnan(value))
                out = value;
            any = true;
        }
    }
    return out;
}

Result<void> runMaxRoiPool(const KernelContext& c) {
    const std::vector<std::int64_t> pooled = c.intsAttribute("pooled_shape");
    constexpr std::int64_t kMost = 1 << 16;
    if (pooled.size() != 2 || std::ranges::any_of(pooled, [](std::int64_t n) { return n < 1 || n > kMost; }))
        return runError("pooled_shape {} wants two numbers from 1 to {}", toString(pooled), kMost);
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_TRY(const Tensor regions, needTensor(c, 1));
    if (!isDifferentiable(c.input(0).dtype()) || !isDifferentiable(regions.dtype()))
        return typeError(c, isDifferentiable(regions.dtype()) ? c.input(0).dtype() : regions.dtype());
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    if (x.rank() != 4 || regions.rank() != 2 || regions.dim(1) != 5)
        return runError("X {} and rois {} want rank 4 and [regions,5]", toString(x.shape()), toString(regions.shape()));
    const auto scale = static_cast<double>(c.floatAttribute("spatial_scale"));
    const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), bins = pooled[0] * pooled[1];
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, {regions.dim(0), channels, pooled[0], pooled[1]}));
    for (std::int64_t r = 0; r < regions.dim(0); ++r) {
        const auto entry = [&](std::int64_t i) { return regions.asDouble(r * 5 + i); };
        if (!(entry(0) >= 0 && entry(0) < static_cast<double>(x.dim(0))))
            return runError("region {} is of image {}, X has {} images", r, entry(0), x.dim(0));
        const auto batch = static_cast<std::int64_t>(entry(0));
        NABLA_TRY(const Bins rows, binsOf(entry(2), entry(4), scale, pooled[0], height));
        NABLA_TRY(const Bins columns, binsOf(entry(1), entry(3), scale, pooled[1], width));
        withFloatType(type, [&]<typename T>(T) {
            for (std::int64_t channel = 0; channel < channels; ++channel) {
                const T* const map = elements<T>(x) + (batch * channels + channel) * height * width;
                for (std::int64_t b = 0; b < bins; ++b)
                    y.data<T>()[(r * channels + channel) * bins + b]
                        = largestOf(map, width, rows, columns, static_cast<std::size_t>(b / pooled[1]), static_cast<std::size_t>(b % pooled[1]));
            }
        });
    }
    return y.finish();
}

/// How many cells a region has depends on the data.
std::int64_t regionFlops(const CostInputs&) { return kUnknownFlops; }

constexpr OpDef kOps[] = {
    {.name = "MaxRoiPool", .since = 22, .source = "ONNX Operators.md, MaxRoiPool-22; Girshick 2015, section 2.1", .run = runMaxRoiPool,
        .gradient = notDifferentiable("its regions come from data, and no operator says which cell of a region was the largest"), .flops = regionFlops},
};

} // namespace

std::span<const OpDef> maxRoiPoolOps() { return kOps; }

} // namespace nabla::engine
