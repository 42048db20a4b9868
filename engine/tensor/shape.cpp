// Arithmetic on shapes, with every overflow checked.
#include "engine/tensor/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/saturated.h"

namespace nabla::engine {

namespace {
/// No address space holds more, and the bytes of 2^12 such tensors still sum within 63 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 47;
}

std::int64_t elementCount(ShapeView shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape)
        count = saturatedProduct({count, dim});
    return count;
}

Result<void> checkShape(ShapeView shape) {
    if (shape.size() > kMaxRank)
        return readError("shape has rank {}, more than the limit {}", shape.size(), kMaxRank);
    for (const std::int64_t dim : shape) {
        if (dim < 0)
            return readError("negative dimension {} in shape {}", dim, toString(shape));
    }
    // An empty tensor's other dimensions count too (as in NumPy): kernels multiply some of them without the zero.
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) {
        count = saturatedProduct({count, std::max<std::int64_t>(dim, 1)});
        if (count > kMaxElements)
            return readError("shape {} is too large: its dimensions multiply to more than 2^47", toString(shape));
    }
    return {};
}

std::vector<std::int64_t> rowMajorStrides(ShapeView shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        stride = saturatedProduct({stride, shape[i]});
    }
    return strides;
}

std::string toString(ShapeView shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Result<Shape> broadcastShapes(ShapeView a, ShapeView b) {
    Shape out(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return runError("shapes {} and {} do not broadcast: {} against {}", toString(a), toString(b), x, y);
        out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return out;
}

Result<std::int64_t> normalizeAxis(std::int64_t axis, std::size_t rank, std::string_view what) {
    const auto r = static_cast<std::int64_t>(rank);
    if (axis < -r || axis >= r)
        return runError("{} {} is out of range for rank {}", what, axis, rank);
    return axis < 0 ? axis + r : axis;
}

} // namespace nabla::engine
