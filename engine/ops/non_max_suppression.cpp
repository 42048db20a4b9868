// NonMaxSuppression: the boxes of every class that do not overlap a better one.
#include <algorithm>
#include <limits>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

struct Box {
    float left, top, right, bottom;
};

/// Boxes as [y1, x1, y2, x2] with any two opposite corners, or as [x, y, width, height] around a centre.
Box boxAt(const float* b, bool aroundCentre) {
    if (aroundCentre)
        return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
    return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

/// Intersection over union above the threshold. Boxes without area overlap nothing; exactly the threshold is not above it.
bool overlaps(const Box& a, const Box& b, float threshold) {
    const float width = std::min(a.right, b.right) - std::max(a.left, b.left), height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    if (!(width > 0 && height > 0))
        return false;
    const float both = width * height, areaA = (a.right - a.left) * (a.bottom - a.top), areaB = (b.right - b.left) * (b.bottom - b.top);
    const float either = areaA + areaB - both;
    return both > 0 && areaA > 0 && areaB > 0 && either > 0 && both / either > threshold;
}

struct Limits {
    std::int64_t perClass = 0;
    float overlap = 0, score = -std::numeric_limits<float>::infinity();
    bool hasScore = false, aroundCentre = false;
};

Result<double> scalarInput(const KernelContext& c, std::size_t i, double otherwise) {
    if (!c.hasInput(i))
        return otherwise;
    NABLA_TRY(const Tensor t, needTensor(c, i));
    if (t.elementCount() != 1 || t.dtype() == DType::String)
        return runError("input {} wants one number, it is {}", i, toString(t.shape()));
    return isInteger(t.dtype()) ? static_cast<double>(t.asInt64(0)) : t.asDouble(0);
}

Result<Limits> limitsOf(const KernelContext& c) {
    Limits l;
    NABLA_TRY(const double most, scalarInput(c, 2, 0));
    NABLA_TRY(const double overlap, scalarInput(c, 3, 0));
    NABLA_TRY(const double score, scalarInput(c, 4, 0));
    if (!(overlap >= 0 && overlap <= 1))
        return runError("iou_threshold is {}, it wants to be in [0, 1]", overlap);
    l.perClass = most <= 0 ? 0 : most >= 1e15 ? std::int64_t{1} << 48 : static_cast<std::int64_t>(most);
    l.overlap = static_cast<float>(overlap);
    l.hasScore = c.hasInput(4);
    l.score = static_cast<float>(score);
    const std::int64_t format = c.intAttribute("center_point_box");
    if (format != 0 && format != 1)
        return runError("center_point_box is {}, wants 0 or 1", format);
    l.aroundCentre = format == 1;
    return l;
}

/// Indices of the boxes of one class that stay, best first.
std::vector<std::int64_t> select(const Limits& l, const std::vector<Box>& boxes, const float* scores) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(boxes.size()); ++i) {
        if (!l.hasScore || scores[i] > l.score)
            order.push_back(i);
    }
    const auto rank = [&](std::int64_t i) { return scores[i] != scores[i] ? -std::numeric_limits<float>::infinity() : scores[i]; }; // NaN is no score
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return rank(a) > rank(b); });
    std::vector<std::int64_t> kept;
    for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= l.perClass)
            break;
        const Box& box = boxes[static_cast<std::size_t>(i)];
        if (std::none_of(kept.begin(), kept.end(), [&](std::int64_t k) { return overlaps(box, boxes[static_cast<std::size_t>(k)], l.overlap); }))
            kept.push_back(i);
    }
    return kept;
}

Result<void> runNonMaxSuppression(const KernelContext& c) {
    NABLA_TRY(const Tensor boxes, needTensor(c, 0));
    NABLA_TRY(const Tensor scores, needTensor(c, 1));
    if (boxes.dtype() != DType::Float32 || scores.dtype() != DType::Float32)
        return typeError(c, boxes.dtype() != DType::Float32 ? boxes.dtype() : scores.dtype());
    if (boxes.rank() != 3 || boxes.dim(2) != 4 || scores.rank() != 3 || scores.dim(0) != boxes.dim(0) || scores.dim(2) != boxes.dim(1))
        return runError("boxes {} and scores {} want [batches,boxes,4] and [batches,classes,boxes]", toString(boxes.shape()), toString(scores.shape()));
    NABLA_TRY(const Limits l, limitsOf(c));
    const std::int64_t count = boxes.dim(1), classes = count == 0 || l.perClass == 0 ? 0 : scores.dim(1);
    std::vector<std::int64_t> selected;
    for (std::int64_t n = 0; classes > 0 && n < boxes.dim(0); ++n) {
        std::vector<Box> all;
        for (std::int64_t i = 0; i < count; ++i)
            all.push_back(boxAt(boxes.data<float>().data() + (n * count + i) * 4, l.aroundCentre));
        for (std::int64_t k = 0; k < classes; ++k) {
            for (const std::int64_t box : select(l, all, scores.data<float>().data() + (n * classes + k) * count))
                selected.insert(selected.end(), {n, k, box});
        }
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Int64, {static_cast<std::int64_t>(selected.size()) / 3, 3}));
    std::copy(selected.begin(), selected.end(), y.mutableData<std::int64_t>().begin());
    c.setOutput(0, std::move(y));
    return {};
}

/// At most: every pair of boxes of every class compared, 7 a pair.
std::int64_t suppressionFlops(const CostInputs& c) {
    const Shape* scores = inputShape(c, 1);
    return !scores || scores->size() != 3 ? 0 : saturatedProduct({elementCount(*scores), std::max<std::int64_t>(0, scores->back() - 1), 7});
}

constexpr OpDef kOps[] = {
    {.name = "NonMaxSuppression", .since = 11, .source = "ONNX Operators.md, NonMaxSuppression-11", .run = runNonMaxSuppression,
        .gradient = notDifferentiable("its result is indices"), .flops = suppressionFlops},
};

} // namespace

std::span<const OpDef> nonMaxSuppressionOps() { return kOps; }

} // namespace nabla::engine
