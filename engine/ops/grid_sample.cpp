// GridSample: values of an image at the places a grid names, in any number of spatial dimensions.
#include <array>
#include <cmath>
#include <complex>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/quantize_core.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

enum class Padding : std::uint8_t { Zeros, Border, Reflection };
enum class Mode : std::uint8_t { Nearest, Linear, Cubic };

struct Settings {
    Mode mode = Mode::Linear;
    Padding padding = Padding::Zeros;
    bool alignCorners = false;
};

Result<Settings> settingsOf(const KernelContext& c) {
    Settings s;
    const std::string mode = c.stringAttribute("mode"), padding = c.stringAttribute("padding_mode");
    if (mode != "linear" && mode != "nearest" && mode != "cubic")
        return runError("GridSample: mode is \"{}\", wants linear, nearest or cubic", mode);
    if (padding != "zeros" && padding != "border" && padding != "reflection")
        return runError("GridSample: padding_mode is \"{}\", wants zeros, border or reflection", padding);
    s.mode = mode == "linear" ? Mode::Linear : mode == "nearest" ? Mode::Nearest : Mode::Cubic;
    s.padding = padding == "zeros" ? Padding::Zeros : padding == "border" ? Padding::Border : Padding::Reflection;
    s.alignCorners = c.intAttribute("align_corners") != 0;
    return s;
}

/// Mirrors x at both ends of [low, high] until it lies inside.
double reflect(double x, double low, double high) {
    const double span = high - low;
    if (span <= 0)
        return low;
    const double folded = std::fmod(std::fabs(x - low), 2 * span);
    return low + (folded <= span ? folded : 2 * span - folded);
}

/// The neighbours along one axis and their weights; index -1 stands for a zero.
struct AxisTaps {
    std::array<std::int64_t, 4> index{};
    std::array<double, 4> weight{};
    std::size_t count = 0;
};

std::int64_t padIndex(double i, std::int64_t size, const Settings& s, double low, double high) {
    const double last = static_cast<double>(size - 1);
    if (s.padding == Padding::Zeros)
        return i >= 0 && i <= last ? static_cast<std::int64_t>(i) : -1;
    const double inside = s.padding == Padding::Border ? i : reflect(i, low, high);
    return static_cast<std::int64_t>(std::clamp(inside, 0.0, last));
}

/// Cubic convolution (Keys 1981) with a = -0.75.
std::array<double, 4> cubicWeights(double t) {
    constexpr double a = -0.75;
    const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

AxisTaps tapsAt(double normalized, std::int64_t size, const Settings& s) {
    const double length = static_cast<double>(size);
    double x = s.alignCorners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
    const double low = s.alignCorners ? 0 : -0.5, high = s.alignCorners ? length - 1 : length - 0.5;
    AxisTaps taps;
    if (!std::isfinite(x)) // nowhere: a place outside
        x = -1e9;
    if (s.mode == Mode::Nearest)
        x = std::nearbyint(x);
    if (x < low || x > high) {
        // Cubic keeps the place and takes the border's values for its outer neighbours, as PyTorch and onnxruntime do.
        if (s.padding == Padding::Border && s.mode != Mode::Cubic)
            x = std::clamp(x, 0.0, length - 1);
        else if (s.padding == Padding::Reflection)
            x = reflect(x, low, high);
    }
    const double floor = std::floor(x);
    if (s.mode == Mode::Nearest) {
        taps.count = 1;
        taps.index[0] = padIndex(s.padding == Padding::Reflection ? std::trunc(x) : x, size, s, low, high);
        taps.weight[0] = 1;
        return taps;
    }
    taps.count = s.mode == Mode::Linear ? 2 : 4;
    taps.weight = s.mode == Mode::Linear ? std::array<double, 4>{1 - (x - floor), x - floor, 0, 0} : cubicWeights(x - floor);
    for (std::size_t k = 0; k < taps.count; ++k)
        taps.index[k] = padIndex(floor + static_cast<double>(k) - (s.mode == Mode::Cubic ? 1 : 0), size, s, low, high);
    return taps;
}

/// Every combination of taps: offset in one image and weight; offset -1 = a zero.
void combine(const std::vector<AxisTaps>& axes, std::span<const std::int64_t> strides, std::vector<std::pair<std::int64_t, double>>& out) {
    out.assign(1, {0, 1.0});
    for (std::size_t d = 0; d < axes.size(); ++d) {
        std::vector<std::pair<std::int64_t, double>> next;
        for (const auto& [offset, weight] : out) {
            for (std::size_t k = 0; k < axes[d].count; ++k) {
                const bool isZero = offset < 0 || axes[d].index[k] < 0;
                next.emplace_back(isZero ? -1 : offset + axes[d].index[k] * strides[d], weight * axes[d].weight[k]);
            }
        }
        out = std::move(next);
    }
}

/// The weighted sum of complex pixels.
void writeBlend(Tensor& y, std::int64_t at, const Tensor& x, std::int64_t image, const std::vector<std::pair<std::int64_t, double>>& pixels) {
    std::complex<double> sum;
    for (const auto& [offset, weight] : pixels)
        sum += offset < 0 ? std::complex<double>{} : weight * readComplex(x.dtype(), x.raw(), image + offset);
    if (y.dtype() == DType::Complex64)
        y.mutableData<std::complex<float>>()[static_cast<std::size_t>(at)] = std::complex<float>(sum);
    else
        y.mutableData<std::complex<double>>()[static_cast<std::size_t>(at)] = sum;
}

Result<void> checkShapes(const Tensor& x, const Tensor& grid) {
    const std::size_t rank = x.rank();
    const bool fits = rank >= 3 && grid.rank() == rank && grid.dim(0) == x.dim(0) && grid.shape().back() == static_cast<std::int64_t>(rank) - 2;
    if (!fits)
        return runError("GridSample: grid {} does not fit an image of {}", toString(grid.shape()), toString(x.shape()));
    if (rank > 8) // an interpolation has 4^(rank - 2) neighbours
        return runError("GridSample: {} spatial dimensions are too many", rank - 2);
    return {};
}

Result<void> runGridSample(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Tensor grid, needTensor(c, 1));
    NABLA_TRY(const Settings s, settingsOf(c));
    NABLA_CHECK(checkShapes(x, grid));
    if (!isFloat(grid.dtype()))
        return runError("GridSample: the grid is {}, wants floats", name(grid.dtype()));
    const bool onlyMoves = s.mode == Mode::Nearest;
    if (!onlyMoves && x.dtype() == DType::String)
        return typeError(c, x.dtype());
    const auto sizes = std::span(x.shape()).subspan(2);
    Shape shape{x.dim(0), x.dim(1)};
    shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    const std::int64_t places = elementCount(std::span(shape).subspan(2)), image = elementCount(sizes), channels = x.dim(1);
    if (y.elementCount() > 0 && image == 0)
        return runError("GridSample: the image {} has no pixels", toString(x.shape()));
    const auto strides = rowMajorStrides(sizes);
    std::vector<AxisTaps> taps(sizes.size());
    std::vector<std::pair<std::int64_t, double>> all;
    for (std::int64_t place = 0; y.elementCount() > 0 && place < x.dim(0) * places; ++place) {
        const auto axes = static_cast<std::int64_t>(sizes.size());
        for (std::int64_t d = 0; d < axes; ++d) // the grid names the innermost axis first
            taps[static_cast<std::size_t>(d)] = tapsAt(grid.asDouble(place * axes + axes - 1 - d), sizes[static_cast<std::size_t>(d)], s);
        combine(taps, strides, all);
        const std::int64_t n = place / places, at = place % places;
        for (std::int64_t channel = 0; channel < channels; ++channel) {
            const std::int64_t in = (n * channels + channel) * image, out = (n * channels + channel) * places + at;
            if (onlyMoves) {
                if (all[0].first < 0)
                    fillElements(y, out, 1);
                else
                    copyElements(y, out, x, in + all[0].first, 1);
                continue;
            }
            if (isComplex(x.dtype())) {
                writeBlend(y, out, x, in, all);
                continue;
            }
            double sum = 0;
            for (const auto& [offset, weight] : all)
                sum += offset < 0 ? 0 : weight * x.asDouble(in + offset);
            writeDouble(y.dtype(), y.mutableRaw(), out, blendedTo(y.dtype(), sum));
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

// ---- gradient, for linear interpolation; written out as gathers and scatters of the 2^r corners ----

/// One spatial axis of the joint graph: place, lower neighbour, fraction, and d place / d grid.
struct AxisNodes {
    ValueId floor, fraction, slope, size;
};

AxisNodes axisNodes(GradientBuilder& b, const Node& n, std::int64_t axis, std::int64_t axes) {
    const ValueId x = n.inputs[0], grid = n.inputs[1];
    const auto number = [&](double v) { return b.scalar(grid, v); };
    const bool aligned = n.intAttribute("align_corners", 0) != 0;
    const std::string padding = n.stringAttribute("padding_mode", "zeros");
    AxisNodes out;
    out.size = b.castLike(b.op("Gather", {b.shapeOf(x), b.intScalar(axis + 2)}), grid);
    const ValueId g = b.op("Gather", {grid, b.intScalar(axes - 1 - axis)}, {intAttr("axis", -1)}); // [N, places…]
    const ValueId last = b.sub(out.size, number(1));
    const ValueId length = aligned ? last : out.size;
    out.slope = b.div(length, number(2));
    ValueId place = aligned ? b.mul(b.add(g, number(1)), out.slope) : b.div(b.sub(b.mul(b.add(g, number(1)), out.size), number(1)), number(2));
    if (padding == "border") {
        const ValueId inside = b.op("And", {b.op("GreaterOrEqual", {place, number(0)}), b.op("LessOrEqual", {place, last})});
        out.slope = b.where(inside, out.slope, number(0));
        place = b.op("Max", {number(0), b.op("Min", {place, last})});
    }
    out.floor = b.op("Floor", {place});
    out.fraction = b.sub(place, out.floor);
    return out;
}

/// The batch's own coordinate, beside the places' shape.
ValueId batchCoordinate(GradientBuilder& b, ValueId like, std::size_t rank) {
    std::vector<std::int64_t> view(rank, 1);
    view[0] = -1;
    const ValueId size = b.op("Gather", {b.shapeOf(like), b.intScalar(0)});
    const ValueId counted = b.op("Reshape", {b.op("Range", {b.intScalar(0), size, b.intScalar(1)}), b.ints(std::move(view))});
    return b.op("Expand", {counted, b.shapeOf(like)});
}

Gradients gradGridSample(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto rank = b.rank(n.inputs[0]);
    const std::string mode = n.stringAttribute("mode", "linear"), padding = n.stringAttribute("padding_mode", "zeros");
    if (!rank || *rank < 3 || *rank > 8 || mode != "linear" || padding == "reflection")
        return runError("GridSample: no gradient for mode {} with padding_mode {}, only for linear with zeros or border", mode, padding);
    const ValueId grid = n.inputs[1];
    const std::size_t r = *rank - 2;
    const auto number = [&](double v) { return b.scalar(grid, v); };
    std::vector<AxisNodes> axes;
    for (std::size_t d = 0; d < r; ++d)
        axes.push_back(axisNodes(b, n, static_cast<std::int64_t>(d), static_cast<std::int64_t>(r)));
    std::vector<std::int64_t> lastPerm{0}, backPerm{0, static_cast<std::int64_t>(r) + 1};
    for (std::size_t d = 0; d < r; ++d) {
        lastPerm.push_back(static_cast<std::int64_t>(d) + 2);
        backPerm.push_back(static_cast<std::int64_t>(d) + 1);
    }
    lastPerm.push_back(1); // channels last: [N, places…, C]
    const ValueId image = b.op("Transpose", {n.inputs[0]}, {intsAttr("perm", lastPerm)});
    const ValueId cotangent = b.op("Transpose", {dy[0]}, {intsAttr("perm", lastPerm)});
    const ValueId batch = batchCoordinate(b, axes[0].floor, r + 1);
    const ValueId minusOne = b.ints({-1});
    ValueId dImage = b.zerosLike(image);
    std::vector<ValueId> dPlace(r);
    for (std::size_t corner = 0; corner < (std::size_t{1} << r); ++corner) {
        std::vector<ValueId> coordinates{b.op("Unsqueeze", {batch, minusOne})}, weights;
        ValueId valid;
        for (std::size_t d = 0; d < r; ++d) {
            const bool upper = ((corner >> d) & 1) != 0;
            const ValueId index = upper ? b.add(axes[d].floor, number(1)) : axes[d].floor, last = b.sub(axes[d].size, number(1));
            const ValueId inside = b.op("And", {b.op("GreaterOrEqual", {index, number(0)}), b.op("LessOrEqual", {index, last})});
            valid = valid ? b.op("And", {valid, inside}) : inside;
            const ValueId safe = b.op("Cast", {b.op("Max", {number(0), b.op("Min", {index, last})})}, {intAttr("to", static_cast<std::int64_t>(DType::Int64))});
            coordinates.push_back(b.op("Unsqueeze", {safe, minusOne}));
            weights.push_back(upper ? axes[d].fraction : b.sub(number(1), axes[d].fraction));
        }
        const ValueId indices = b.op("Concat", coordinates, {intAttr("axis", -1)});
        const ValueId mask = b.castLike(valid, grid); // a corner outside is 0, or for the border has weight 0
        const auto product = [&](std::size_t without) {
            ValueId p = mask;
            for (std::size_t d = 0; d < r; ++d) {
                if (d != without)
                    p = b.mul(p, weights[d]);
            }
            return p;
        };
        if (b.wants(0)) {
            const ValueId weight = b.castLike(b.op("Unsqueeze", {product(r), minusOne}), dy[0]);
            dImage = b.op("ScatterND", {dImage, indices, b.mul(cotangent, weight)}, {stringAttr("reduction", "add")});
        }
        if (b.wants(1)) {
            const ValueId pixel = b.castLike(b.reduceSum(b.mul(cotangent, b.op("GatherND", {image, indices})), {-1}, false), grid);
            for (std::size_t d = 0; d < r; ++d) {
                const ValueId part = b.mul(pixel, product(d));
                const ValueId term = ((corner >> d) & 1) != 0 ? part : b.neg(part);
                dPlace[d] = dPlace[d] ? b.add(dPlace[d], term) : term;
            }
        }
    }
    std::vector<ValueId> out(2);
    if (b.wants(0))
        out[0] = b.op("Transpose", {dImage}, {intsAttr("perm", backPerm)});
    if (b.wants(1)) {
        std::vector<ValueId> parts;
        for (std::size_t d = r; d-- > 0;) // innermost axis first
            parts.push_back(b.op("Unsqueeze", {b.mul(dPlace[d], axes[d].slope), minusOne}));
        out[1] = b.op("Concat", parts, {intAttr("axis", -1)});
    }
    return out;
}

/// Before version 20 the modes were called bilinear and bicubic.
Result<void> upgradeModes(UpgradeContext& c) {
    const std::string mode = c.node.stringAttribute("mode", "bilinear");
    Node changed = withoutAttributes(c.node, {"mode"});
    changed.attributes.push_back(stringAttr("mode", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode));
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kUpgrades[] = {{19, upgradeModes}};

/// A multiply-add for every neighbour: 2 (linear) or 4 (cubic) along each axis.
std::int64_t sampleFlops(const CostInputs& c) {
    const std::string mode = c.node.stringAttribute("mode", "linear"); // before version 20: bilinear, bicubic
    const Shape* x = inputShape(c, 0);
    if (!x || x->size() < 3 || x->size() > 18 || mode == "nearest")
        return 0;
    std::int64_t neighbours = 1;
    for (std::size_t axis = 2; axis < x->size(); ++axis)
        neighbours *= mode == "linear" || mode == "bilinear" ? 2 : 4;
    return saturatedProduct({outputElements(c), 2, neighbours});
}

constexpr OpDef kOps[] = {
    {.name = "GridSample", .since = 22, .source = "ONNX Operators.md, GridSample-22", .run = runGridSample, .gradient = gradGridSample,
        .flops = sampleFlops, .upgrades = kUpgrades},
};

} // namespace

std::span<const OpDef> gridSampleOps() { return kOps; }

} // namespace nabla::engine
