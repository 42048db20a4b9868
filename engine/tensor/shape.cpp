// Arithmetic on shapes, with every overflow checked.
#include "engine/tensor/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace nabla::engine {

std::int64_t elementCount(ShapeView shape) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape)
        count *= dim;
    return count;
}

Result<void> checkShape(ShapeView shape) {
    if (shape.size() > kMaxRank)
        return readError("shape has rank {}, more than the limit {}", shape.size(), kMaxRank);
    std::int64_t count = 1;
    bool empty = false;
    for (const std::int64_t dim : shape) {
        if (dim < 0)
            return readError("negative dimension {} in shape {}", dim, toString(shape));
        empty = empty || dim == 0;
    }
    if (empty)
        return {};
    for (const std::int64_t dim : shape) {
        if (count > (std::int64_t{1} << 62) / dim)
            return readError("shape {} is too large: its size overflows", toString(shape));
        count *= dim;
    }
    return {};
}

std::vector<std::int64_t> rowMajorStrides(ShapeView shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= shape[i];
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
