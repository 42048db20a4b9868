// Resize and Upsample: interpolation along each axis in turn, since every mode is a product over axes.
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/ops/constant_of.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/quantize_core.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// What Resize does along one axis.
struct AxisPlan {
    std::int64_t input = 0, output = 0;
    double scale = 1;
    double roiStart = 0, roiEnd = 1;
    bool resized = false;
};

/// One output position: neighbours from `first` on, with their weights. Outside: the extrapolation value stands there.
struct Taps {
    std::int64_t first = 0;
    std::vector<double> weights;
    bool outside = false;
};

struct Settings {
    std::string mode, transform, nearest;
    double cubicA = -0.75;
    bool antialias = false, excludeOutside = false;

    explicit Settings(const KernelContext& c)
        : mode(c.stringAttribute("mode")), transform(c.stringAttribute("coordinate_transformation_mode")), nearest(c.stringAttribute("nearest_mode")),
          cubicA(static_cast<double>(c.floatAttribute("cubic_coeff_a"))), antialias(c.intAttribute("antialias") != 0),
          excludeOutside(c.intAttribute("exclude_outside") != 0) { }
};

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

Result<double> sourceCoordinate(const AxisPlan& a, const std::string& transform, double x) {
    const double in = static_cast<double>(a.input), width = a.scale * in; // the width may be a fraction
    if (transform == "half_pixel")
        return (x + 0.5) / a.scale - 0.5;
    if (transform == "pytorch_half_pixel")
        return width == 1 ? -0.5 : (x + 0.5) / a.scale - 0.5;
    if (transform == "half_pixel_symmetric")
        return in / 2 * (1 - static_cast<double>(a.output) / width) + (x + 0.5) / a.scale - 0.5;
    if (transform == "asymmetric")
        return x / a.scale;
    if (transform == "align_corners")
        return width == 1 ? 0.0 : x * (in - 1) / (width - 1);
    if (transform == "tf_half_pixel_for_nn") // Resize-11 only
        return (x + 0.5) / a.scale;
    if (transform == "tf_crop_and_resize") {
        const double span = a.roiEnd - a.roiStart, resized = static_cast<double>(a.output);
        return a.roiStart * (in - 1) + (resized <= 1 ? span * (in - 1) / 2 : x * span * (in - 1) / (resized - 1));
    }
    return runError("Resize: coordinate_transformation_mode \"{}\" is not known", transform);
}

Result<std::int64_t> nearestIndex(double x, const std::string& mode) {
    if (mode == "round_prefer_floor")
        return static_cast<std::int64_t>(std::ceil(x - 0.5));
    if (mode == "round_prefer_ceil")
        return static_cast<std::int64_t>(std::floor(x + 0.5));
    if (mode == "floor")
        return static_cast<std::int64_t>(std::floor(x));
    if (mode == "ceil")
        return static_cast<std::int64_t>(std::ceil(x));
    return runError("Resize: nearest_mode \"{}\" is not known", mode);
}

double linearKernel(double x) { return std::max(0.0, 1 - std::fabs(x)); }
/// Keys 1981, equation 4, with its parameter a.
double cubicKernel(double x, double a) {
    x = std::fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Result<Taps> tapsAt(const AxisPlan& a, const Settings& s, std::int64_t position) {
    NABLA_TRY(const double x, sourceCoordinate(a, s.transform, static_cast<double>(position)));
    Taps taps;
    if (!std::isfinite(x) || std::fabs(x) > 1e15)
        return runError("Resize: output {} has no place in an axis of {}", position, a.input);
    if (s.transform == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(a.input - 1))) {
        taps.outside = true;
        return taps;
    }
    if (s.mode == "nearest") {
        NABLA_TRY(taps.first, nearestIndex(x, s.nearest));
        taps.first = std::clamp<std::int64_t>(taps.first, 0, a.input - 1);
        taps.weights = {1};
        return taps;
    }
    if (s.mode != "linear" && s.mode != "cubic")
        return runError("Resize: mode \"{}\" is not known", s.mode);
    const bool cubic = s.mode == "cubic";
    const double shrink = s.antialias ? std::min(a.scale, 1.0) : 1.0; // a stretched filter takes more neighbours
    const double radius = (cubic ? 2 : 1) / shrink;
    taps.first = static_cast<std::int64_t>(std::floor(x - radius)) + 1;
    const auto last = static_cast<std::int64_t>(std::ceil(x + radius)) - 1;
    double sum = 0;
    for (std::int64_t i = taps.first; i <= last; ++i) {
        double w = shrink * (static_cast<double>(i) - x);
        w = cubic ? cubicKernel(w, s.cubicA) : linearKernel(w);
        if (s.excludeOutside && (i < 0 || i >= a.input))
            w = 0;
        taps.weights.push_back(w);
        sum += w;
    }
    if (s.antialias || s.excludeOutside) {
        for (double& w : taps.weights)
            w /= sum == 0 ? 1 : sum;
    }
    return taps;
}

// ---- sizes and scales ----

Result<std::vector<double>> floatsOf(const KernelContext& c, std::size_t i) {
    std::vector<double> out;
    for (std::int64_t k = 0; c.hasInput(i) && k < c.input(i).elementCount(); ++k)
        out.push_back(c.input(i).asDouble(k));
    return out;
}

/// Scales from sizes, equal along all axes when the aspect ratio is kept.
Result<void> planSizes(std::vector<AxisPlan>& plans, const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& sizes, const std::string& policy) {
    double shared = policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        AxisPlan& a = plans[static_cast<std::size_t>(axes[i])];
        if (sizes[i] < 0 || sizes[i] > kMaxSize || (a.input == 0 && sizes[i] > 0))
            return runError("Resize: size {} for axis {} of {}", sizes[i], axes[i], a.input);
        a.output = sizes[i];
        a.scale = a.input == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(a.input);
        shared = policy == "not_larger" ? std::min(shared, a.scale) : std::max(shared, a.scale);
    }
    if (policy != "not_larger" && policy != "not_smaller") {
        if (policy != "stretch")
            return runError("Resize: keep_aspect_ratio_policy \"{}\" is not known", policy);
        return {};
    }
    for (const std::int64_t axis : axes) {
        AxisPlan& a = plans[static_cast<std::size_t>(axis)];
        a.scale = shared;
        a.output = static_cast<std::int64_t>(std::floor(shared * static_cast<double>(a.input) + 0.5));
        if (a.output > kMaxSize)
            return runError("Resize: size {} for axis {}", a.output, axis);
    }
    return {};
}

Result<std::vector<AxisPlan>> planAxes(const KernelContext& c, const Tensor& x, std::size_t scalesAt, std::size_t sizesAt, const std::string& transform) {
    std::vector<AxisPlan> plans(x.rank());
    for (std::size_t i = 0; i < x.rank(); ++i)
        plans[i].input = plans[i].output = x.dim(i);
    std::vector<std::int64_t> axes(x.rank());
    std::iota(axes.begin(), axes.end(), 0);
    if (c.hasAttribute("axes")) {
        NABLA_TRY(axes, normalizeAxes(c.intsAttribute("axes"), x.rank()));
    }
    NABLA_TRY(const auto scales, floatsOf(c, scalesAt));
    std::vector<std::int64_t> sizes;
    if (c.hasInput(sizesAt) && c.input(sizesAt).elementCount() > 0) {
        NABLA_TRY(sizes, needInts(c, sizesAt));
    }
    if (scales.empty() == sizes.empty() && !axes.empty())
        return runError("{}: wants either scales or sizes, got {} and {}", c.node().opType, scales.size(), sizes.size());
    if ((scales.empty() ? sizes.size() : scales.size()) != axes.size())
        return runError("{}: {} scales and {} sizes for {} axes", c.node().opType, scales.size(), sizes.size(), axes.size());
    for (std::size_t i = 0; i < axes.size() && !scales.empty(); ++i) {
        AxisPlan& a = plans[static_cast<std::size_t>(axes[i])];
        const double width = std::floor(static_cast<double>(a.input) * scales[i]);
        if (!(scales[i] > 0) || !(width <= static_cast<double>(kMaxSize)))
            return runError("{}: scale {} for axis {} of {}", c.node().opType, scales[i], axes[i], a.input);
        a.scale = scales[i];
        a.output = static_cast<std::int64_t>(width);
    }
    if (!sizes.empty())
        NABLA_CHECK(planSizes(plans, axes, sizes, c.stringAttribute("keep_aspect_ratio_policy")));
    const bool crop = transform == "tf_crop_and_resize";
    NABLA_TRY(const auto roi, crop ? floatsOf(c, 1) : Result<std::vector<double>>(std::vector<double>{}));
    if (crop && roi.size() != 2 * axes.size())
        return runError("Resize: {} numbers of roi for {} axes", roi.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        AxisPlan& a = plans[static_cast<std::size_t>(axes[i])];
        a.resized = crop || a.scale != 1 || a.output != a.input;
        if (crop) {
            a.roiStart = roi[i];
            a.roiEnd = roi[i + axes.size()];
            // The width that the standard's formula means is that of the region.
            if (!scales.empty())
                a.output = static_cast<std::int64_t>(std::clamp(std::floor(static_cast<double>(a.input) * (a.roiEnd - a.roiStart) * a.scale), 0.0, static_cast<double>(kMaxSize)));
        }
    }
    return plans;
}

// ---- the walk ----

/// Nearest: elements are only moved, so every type goes.
Result<Tensor> moveAlong(const Tensor& x, std::size_t axis, const std::vector<Taps>& taps, const Tensor& outsideValue) {
    Shape shape = x.shape();
    shape[axis] = static_cast<std::int64_t>(taps.size());
    NABLA_TRY(Tensor y, Tensor::make(x.dtype(), shape));
    const AxisSplit from(x.shape(), static_cast<std::int64_t>(axis));
    std::int64_t at = 0;
    for (std::int64_t o = 0; o < from.outer; ++o) {
        for (const Taps& t : taps) {
            if (t.outside)
                fillElements(y, at, from.inner, outsideValue);
            else
                copyElements(y, at, x, (o * from.size + t.first) * from.inner, from.inner);
            at += from.inner;
        }
    }
    return y;
}

/// Weighted sums, over doubles.
std::vector<double> blendAlong(const std::vector<double>& x, const Shape& shape, std::size_t axis, const std::vector<Taps>& taps, double outsideValue) {
    const AxisSplit from(shape, static_cast<std::int64_t>(axis));
    std::vector<double> y(static_cast<std::size_t>(from.outer * static_cast<std::int64_t>(taps.size()) * from.inner), 0.0);
    std::size_t at = 0;
    for (std::int64_t o = 0; o < from.outer; ++o) {
        for (const Taps& t : taps) {
            for (std::size_t k = 0; k < t.weights.size(); ++k) {
                const std::int64_t index = std::clamp<std::int64_t>(t.first + static_cast<std::int64_t>(k), 0, from.size - 1);
                const auto row = static_cast<std::size_t>((o * from.size + index) * from.inner);
                for (std::size_t i = 0; i < static_cast<std::size_t>(from.inner); ++i)
                    y[at + i] += t.weights[k] * x[row + i];
            }
            if (t.outside)
                std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(at), from.inner, outsideValue);
            at += static_cast<std::size_t>(from.inner);
        }
    }
    return y;
}

Result<void> resize(const KernelContext& c, const Tensor& x, const std::vector<AxisPlan>& plans, const Settings& s, double outsideValue) {
    Shape shape;
    for (const AxisPlan& a : plans)
        shape.push_back(a.output);
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape)); // refuses what is too large before anything is computed
    std::vector<std::vector<Taps>> taps(plans.size());
    for (std::size_t d = 0; d < plans.size() && y.elementCount() > 0; ++d) {
        for (std::int64_t i = 0; plans[d].resized && i < plans[d].output; ++i) {
            NABLA_TRY(Taps each, tapsAt(plans[d], s, i));
            taps[d].push_back(std::move(each));
        }
    }
    if (y.elementCount() > 0 && s.mode == "nearest") {
        Tensor outside;
        if (x.dtype() != DType::String) {
            NABLA_TRY(outside, Tensor::make(x.dtype(), {}));
            writeDouble(x.dtype(), outside.mutableRaw(), 0, outsideValue);
        }
        Tensor work = x;
        for (std::size_t d = 0; d < plans.size(); ++d) {
            if (plans[d].resized) {
                NABLA_TRY(work, moveAlong(work, d, taps[d], outside));
            }
        }
        copyElements(y, 0, work, 0, y.elementCount());
    } else if (y.elementCount() > 0) {
        if (x.dtype() == DType::String)
            return typeError(c, x.dtype());
        const bool complex = isComplex(x.dtype());
        for (const std::int64_t part : {0, 1}) { // real numbers have one part; complex ones lie as pairs
            if (part == 1 && !complex)
                break;
            const DType type = !complex ? x.dtype() : x.dtype() == DType::Complex64 ? DType::Float32 : DType::Float64;
            const std::int64_t step = complex ? 2 : 1;
            std::vector<double> work(static_cast<std::size_t>(x.elementCount()));
            for (std::int64_t i = 0; i < x.elementCount(); ++i)
                work[static_cast<std::size_t>(i)] = readDouble(type, x.raw(), i * step + part);
            Shape now = x.shape();
            for (std::size_t d = 0; d < plans.size(); ++d) {
                if (plans[d].resized) {
                    work = blendAlong(work, now, d, taps[d], part == 0 ? outsideValue : 0);
                    now[d] = plans[d].output;
                }
            }
            for (std::int64_t i = 0; i < y.elementCount(); ++i)
                writeDouble(type, y.mutableRaw(), i * step + part, blendedTo(type, work[static_cast<std::size_t>(i)]));
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

Result<void> runResize(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const Settings s(c);
    NABLA_TRY(const auto plans, planAxes(c, x, 2, 3, s.transform));
    return resize(c, x, plans, s, static_cast<double>(c.floatAttribute("extrapolation_value")));
}

/// Upsample-9: nearest rounds down, coordinates are x / scale.
Result<void> runUpsample(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    Settings s(c);
    s.transform = "asymmetric";
    s.nearest = "floor";
    NABLA_TRY(const auto plans, planAxes(c, x, 1, 2, s.transform));
    return resize(c, x, plans, s, 0);
}

/// Resize is linear: along each axis a matrix, which is what resizing the identity gives; the cotangent meets the matrices transposed.
Gradients gradResize(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const auto rank = b.rank(x);
    const std::string policy = n.stringAttribute("keep_aspect_ratio_policy", "stretch");
    if (!rank || policy != "stretch")
        return runError("Resize: no gradient with {}", rank ? "keep_aspect_ratio_policy " + policy : "an input of unknown rank");
    std::vector<std::int64_t> axes = n.intsAttribute("axes");
    if (!n.attribute("axes")) {
        axes.resize(*rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    NABLA_TRY(axes, normalizeAxes(axes, *rank));
    std::vector<Attribute> attributes{intsAttr("axes", {0})};
    for (const Attribute& a : n.attributes) {
        if (a.name != "axes" && a.name != "extrapolation_value")
            attributes.push_back(a);
    }
    const bool crop = n.stringAttribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    const TensorPtr scales = n.input(2) ? constantOf(b.editor().graph(), n.inputs[2]) : nullptr;
    const auto count = static_cast<std::int64_t>(axes.size());
    ValueId cotangent = dy[0];
    for (std::int64_t i = 0; i < count; ++i) {
        if (!crop && scales && scales->elementCount() == count && scales->asDouble(i) == 1)
            continue;
        const std::int64_t axis = axes[static_cast<std::size_t>(i)], last = static_cast<std::int64_t>(*rank) - 1;
        const ValueId size = b.op("Gather", {b.shapeOf(x), b.ints({axis})});
        const ValueId square = b.op("Concat", {size, size}, {intAttr("axis", 0)});
        const ValueId eye = b.op("EyeLike", {b.op("ConstantOfShape", {square})}, {intAttr("dtype", static_cast<std::int64_t>(b.dtype(x)))});
        std::vector<ValueId> inputs{eye, ValueId{}, ValueId{}};
        if (crop)
            inputs[1] = b.op("Gather", {n.inputs[1], b.ints({i, i + count})});
        if (n.input(3))
            inputs.push_back(b.op("Gather", {n.inputs[3], b.ints({i})}));
        else
            inputs[2] = b.op("Gather", {n.inputs[2], b.ints({i})});
        const ValueId matrix = b.op("Resize", inputs, attributes); // [output, input]
        std::vector<std::int64_t> perm(*rank);
        std::iota(perm.begin(), perm.end(), 0);
        std::swap(perm[static_cast<std::size_t>(axis)], perm[static_cast<std::size_t>(last)]);
        const auto swapped = [&](ValueId v) { return axis == last ? v : b.op("Transpose", {v}, {intsAttr("perm", perm)}); };
        cotangent = swapped(b.op("MatMul", {swapped(cotangent), matrix}));
    }
    std::vector<ValueId> out(n.inputs.size());
    out[0] = cotangent;
    return out;
}

// ---- upgrades ----

Result<void> toResize(UpgradeContext& c, ValueId x, ValueId scales, std::string nearestMode) {
    Node changed = withoutAttributes(c.node, {"scales", "height_scale", "width_scale"});
    changed.opType = "Resize";
    changed.inputs = {x, ValueId{}, scales};
    if (changed.stringAttribute("mode", "nearest") == "bilinear") { // Upsample-1's word
        std::erase_if(changed.attributes, [](const Attribute& a) { return a.name == "mode"; });
        changed.attributes.push_back(stringAttr("mode", "linear"));
    }
    setDefault(changed, "coordinate_transformation_mode", std::string("asymmetric"));
    setDefault(changed, "nearest_mode", std::move(nearestMode));
    return replaceWith(c, std::move(changed));
}
Result<void> toResize(UpgradeContext& c, ValueId scales) { return toResize(c, c.node.inputs[0], scales, "floor"); }
ValueId scaleVector(UpgradeContext& c, const std::vector<float>& scales) {
    return upgradeConstant(c, "scales", Tensor::of<float>({static_cast<std::int64_t>(scales.size())}, scales));
}
Result<void> upgradeUpsample1(UpgradeContext& c) {
    return toResize(c, scaleVector(c, {1, 1, c.node.floatAttribute("height_scale", 1), c.node.floatAttribute("width_scale", 1)}));
}
Result<void> upgradeUpsample7(UpgradeContext& c) { return toResize(c, scaleVector(c, c.node.floatsAttribute("scales"))); }
Result<void> upgradeScalesInput(UpgradeContext& c) { return toResize(c, c.node.input(1)); }

/// Resize-10 takes the nearest element below when it enlarges and the one above when it shrinks (its own example: [1,2,3,4] by 0.6 gives [1,3]).
/// Where the scales are not known, or some axes grow and others shrink, one Resize enlarges and another shrinks what it gives.
Result<void> upgradeResize10(UpgradeContext& c) {
    const TensorPtr scales = c.editor.graph().constant(c.node.input(1));
    const auto all = [&](auto holds) {
        bool out = scales != nullptr;
        for (std::int64_t i = 0; out && i < scales->elementCount(); ++i)
            out = holds(scales->asDouble(i));
        return out;
    };
    if (c.node.stringAttribute("mode", "nearest") != "nearest" || all([](double s) { return s >= 1; }))
        return toResize(c, c.node.input(1));
    if (all([](double s) { return s <= 1; }))
        return toResize(c, c.node.inputs[0], c.node.input(1), "ceil");
    const ValueId one = upgradeConstant(c, "one", Tensor::of<float>({1}, std::vector<float>{1}));
    const ValueId enlarging = upgradeNode(c, "Max", {c.node.inputs[1], one}), shrinking = upgradeNode(c, "Min", {c.node.inputs[1], one});
    const ValueId enlarged = upgradeNode(c, "Resize", {c.node.inputs[0], ValueId{}, enlarging},
        {stringAttr("mode", "nearest"), stringAttr("coordinate_transformation_mode", "asymmetric"), stringAttr("nearest_mode", "floor")});
    return toResize(c, enlarged, shrinking, "ceil");
}

constexpr Upgrade kUpsampleUpgrades[] = {{6, upgradeUpsample1}, {8, upgradeUpsample7}, {10, upgradeScalesInput}};
constexpr Upgrade kResizeUpgrades[] = {{10, upgradeResize10}};

/// One axis after the other, in order; a multiply-add for each of the 2 (linear) or 4 (cubic) neighbours, of which a filter that is
/// stretched against aliasing takes more.
std::int64_t resizeFlops(const CostInputs& c) {
    const std::string mode = c.node.stringAttribute("mode", "nearest");
    const Shape *x = inputShape(c, 0), *y = outputShape(c, 0);
    if (!x || !y || x->size() != y->size() || mode == "nearest")
        return 0;
    const bool antialias = c.node.intAttribute("antialias", 0) != 0, crops = c.node.stringAttribute("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    Shape now = *x;
    std::int64_t flops = 0;
    for (std::size_t axis = 0; axis < now.size(); ++axis) {
        if (now[axis] == (*y)[axis] && !crops)
            continue;
        std::int64_t neighbours = mode == "cubic" ? 4 : 2;
        if (antialias && now[axis] > (*y)[axis] && (*y)[axis] > 0)
            neighbours = saturatedProduct({neighbours, now[axis]}) / (*y)[axis];
        now[axis] = (*y)[axis];
        std::int64_t made = 1;
        for (const std::int64_t size : now)
            made = saturatedProduct({made, size});
        flops = saturatedSum(flops, saturatedProduct({2, made, neighbours}));
    }
    return flops;
}

constexpr OpDef kOps[] = {
    {.name = "Resize", .since = 19, .source = "ONNX Operators.md, Resize-19", .run = runResize, .gradient = gradResize, .flops = resizeFlops,
        .upgrades = kResizeUpgrades},
    {.name = "Upsample", .since = 10, .source = "ONNX Operators.md, Upsample-10", .run = runUpsample,
        .gradient = gradResize, // of what it is lifted to
        .flops = resizeFlops, .upgrades = kUpsampleUpgrades},
};

} // namespace

std::span<const OpDef> resizeOps() { return kOps; }

} // namespace nabla::engine
