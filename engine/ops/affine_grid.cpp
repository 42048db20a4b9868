// AffineGrid: where a batch of affine matrices sends the pixels of an image, as GridSample reads it.
#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/iterate.h"

namespace nabla::engine {

namespace {

/// theta [N, r, r + 1] and size [N, C, d_1 .. d_r], r = 2 or 3, as shape [N, d_1 .. d_r, r] of the grid.
Result<Shape> gridShape(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "theta"));
    NABLA_TRY(const std::vector<std::int64_t> size, needInts(c, 1));
    if (c.input(1).rank() != 1 || (size.size() != 4 && size.size() != 5))
        return runError("size {} names no image: 4 or 5 numbers are wanted", toString(size));
    const auto axes = static_cast<std::int64_t>(size.size()) - 2;
    if (c.input(0).shape() != Shape{size[0], axes, axes + 1})
        return runError("theta {} does not fit size {}: [{},{},{}] is wanted", toString(c.input(0).shape()), toString(size), size[0], axes, axes + 1);
    Shape shape(size.begin(), size.end());
    shape.erase(shape.begin() + 1);
    shape.push_back(axes);
    NABLA_CHECK(checkShape(shape));
    return shape;
}

/// Coordinates of the pixels of one axis in [-1, 1]. An axis of one pixel with aligned corners has it in the middle, as in PyTorch.
std::vector<double> pixelPlaces(std::int64_t count, bool aligned) {
    std::vector<double> places(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < places.size(); ++i) {
        const double at = static_cast<double>(i), n = static_cast<double>(count);
        places[i] = !aligned ? (2 * at + 1) / n - 1 : count == 1 ? 0 : 2 * at / (n - 1) - 1;
    }
    return places;
}

Result<void> runAffineGrid(const KernelContext& c) {
    NABLA_TRY(const Shape shape, gridShape(c));
    if (!isDifferentiable(c.input(0).dtype()))
        return typeError(c, c.input(0).dtype());
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor theta, inputAs(c, 0, type));
    NABLA_TRY(KernelOutput grid, KernelOutput::make(c, 0, c.input(0).dtype(), type, shape));
    const auto sizes = ShapeView(shape).subspan(1, shape.size() - 2);
    const std::size_t axes = sizes.size();
    std::vector<std::vector<double>> places;
    for (const std::int64_t size : sizes)
        places.push_back(elementCount(shape) == 0 ? std::vector<double>{} : pixelPlaces(size, c.intAttribute("align_corners") != 0));
    withFloatType(type, [&]<typename T>(T) {
        T* out = grid.data<T>();
        const T* matrix = elements<T>(theta);
        for (std::int64_t n = 0; n < shape[0]; ++n, matrix += axes * (axes + 1)) {
            for (IndexWalk pixel(Shape(sizes.begin(), sizes.end())); !pixel.done(); pixel.next()) {
                for (std::size_t row = 0; row < axes; ++row) {
                    double sum = static_cast<double>(matrix[row * (axes + 1) + axes]);
                    for (std::size_t column = 0; column < axes; ++column) { // the innermost axis is x, the first coordinate
                        const std::size_t axis = axes - 1 - column;
                        sum += static_cast<double>(matrix[row * (axes + 1) + column]) * places[axis][static_cast<std::size_t>(pixel[axis])];
                    }
                    *out++ = static_cast<T>(sum);
                }
            }
        }
    });
    return grid.finish();
}

/// dtheta = dgrid^T · [places, 1], with the places as the grid of the identity matrix.
Gradients gradAffineGrid(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto rank = b.rank(dy[0]) ? b.rank(dy[0]) : b.rank(n.outputs[0]);
    const ValueType thetaType = b.type(n.inputs[0]);
    std::optional<std::int64_t> rows = rank && *rank >= 4 ? std::optional(static_cast<std::int64_t>(*rank) - 2) : std::nullopt;
    if (!rows && thetaType.shape && thetaType.shape->size() == 3)
        rows = (*thetaType.shape)[1].constant();
    if (!rows || (*rows != 2 && *rows != 3))
        return runError("the gradient of AffineGrid wants to know whether the grid is of 2 or 3 dimensions");
    const std::int64_t r = *rows;
    std::vector<double> identity(static_cast<std::size_t>(r * (r + 1)), 0);
    for (std::int64_t i = 0; i < r; ++i)
        identity[static_cast<std::size_t>(i * (r + 1) + i)] = 1;
    const ValueId matrix = b.castLike(b.constant(Tensor::of<double>({1, r, r + 1}, identity)), n.inputs[0]);
    const ValueId rest = b.op("Slice", {n.inputs[1], b.ints({1}), b.ints({r + 2})});
    const ValueId size = b.op("Concat", {b.ints({1}), rest}, {intAttr("axis", 0)});
    const ValueId grid = b.op("AffineGrid", {matrix, size}, {intAttr("align_corners", n.intAttribute("align_corners", 0))});
    const ValueId places = b.op("Reshape", {grid, b.ints({-1, r})}); // [pixels, r]
    const ValueId pixels = b.op("Slice", {b.shapeOf(places), b.ints({0}), b.ints({1})});
    const ValueId ones = b.op("Expand", {b.scalar(n.inputs[0], 1), b.op("Concat", {pixels, b.ints({1})}, {intAttr("axis", 0)})});
    const ValueId homogeneous = b.op("Concat", {places, ones}, {intAttr("axis", 1)});
    const ValueId batch = b.op("Slice", {n.inputs[1], b.ints({0}), b.ints({1})});
    const ValueId flat = b.op("Reshape", {dy[0], b.op("Concat", {batch, pixels, b.ints({r})}, {intAttr("axis", 0)})}, {intAttr("allowzero", 1)});
    return std::vector{b.op("MatMul", {b.op("Transpose", {flat}, {intsAttr("perm", {0, 2, 1})}), homogeneous}), ValueId{}};
}

/// A product of [axes, axes + 1] and a point for every cell of the grid.
std::int64_t affineGridFlops(const CostInputs& c) {
    const Shape* y = outputShape(c, 0);
    return !y || y->empty() ? 0 : saturatedProduct({elementCount(*y), 2, y->back()});
}

constexpr OpDef kOps[] = {
    {.name = "AffineGrid", .since = 20, .source = "ONNX Operators.md, AffineGrid-20", .run = runAffineGrid, .gradient = gradAffineGrid,
        .flops = affineGridFlops},
};

} // namespace

std::span<const OpDef> affineGridOps() { return kOps; }

} // namespace nabla::engine
