// RoiAlign: regions of a feature map, each interpolated and pooled to one size (Mask R-CNN).
#include <cmath>
#include <limits>

#include "engine/ops/cost_rules.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/iterate.h"
#include "engine/ops/sampling_body.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

struct RoiSettings {
    std::int64_t height = 1, width = 1, samples = 0; ///< of the output; samples 0: as many as cells
    double scale = 1;
    bool halfPixel = true, takesMax = false;
};

Result<RoiSettings> roiSettings(const Node& node) {
    RoiSettings s;
    const std::string mode = node.stringAttribute("mode", "avg"), transform = node.stringAttribute("coordinate_transformation_mode", "half_pixel");
    if (mode != "avg" && mode != "max")
        return runError("mode is \"{}\", wants avg or max", mode);
    if (transform != "half_pixel" && transform != "output_half_pixel")
        return runError("coordinate_transformation_mode is \"{}\", wants half_pixel or output_half_pixel", transform);
    s.height = node.intAttribute("output_height", 1);
    s.width = node.intAttribute("output_width", 1);
    s.samples = node.intAttribute("sampling_ratio", 0);
    constexpr std::int64_t kMost = 1 << 16;
    if (s.height < 1 || s.width < 1 || s.height > kMost || s.width > kMost || s.samples < 0 || s.samples > kMost)
        return runError("output_height {}, output_width {} and sampling_ratio {} want at least 1, 1 and 0, and at most {}", s.height, s.width, s.samples, kMost);
    s.scale = static_cast<double>(node.floatAttribute("spatial_scale", 1.0F));
    s.halfPixel = transform == "half_pixel";
    s.takesMax = mode == "max";
    return s;
}

/// A sample along one axis: two cells and their weights; a sample outside the map has weight 0.
struct AxisSample {
    std::int64_t low = 0, high = 0;
    double lowWeight = 0, highWeight = 0;
};
/// Samples of one axis of a region: `perBin` for each of the bins.
struct AxisSamples {
    std::vector<AxisSample> samples;
    std::int64_t perBin = 0;
};

Result<AxisSamples> samplesOf(const RoiSettings& s, double start, double end, std::int64_t bins, std::int64_t cells) {
    const double shift = s.halfPixel ? 0.5 : 0;
    start = start * s.scale - shift;
    double length = end * s.scale - shift - start;
    if (!s.halfPixel)
        length = length > 1 ? length : 1; // malformed regions are one cell
    const double bin = length / static_cast<double>(bins), wanted = std::ceil(bin);
    constexpr double kMost = 1 << 20;
    if (s.samples == 0 && wanted * static_cast<double>(bins) > kMost)
        return runError("a region that spans {} cells would need more than {} samples", length, kMost);
    AxisSamples out;
    out.perBin = s.samples > 0 ? s.samples : wanted > 0 ? static_cast<std::int64_t>(wanted) : 0; // 0 for NaN
    for (std::int64_t b = 0; b < bins; ++b) {
        for (std::int64_t i = 0; i < out.perBin; ++i) {
            double at = start + static_cast<double>(b) * bin + (static_cast<double>(i) + 0.5) * bin / static_cast<double>(out.perBin);
            AxisSample& sample = out.samples.emplace_back();
            if (!(at >= -1 && at <= static_cast<double>(cells)))
                continue;
            at = std::max(at, 0.0);
            sample.low = std::min(static_cast<std::int64_t>(at), cells - 1);
            sample.high = std::min(sample.low + 1, cells - 1);
            sample.highWeight = sample.low >= cells - 1 ? 0 : at - static_cast<double>(sample.low);
            sample.lowWeight = 1 - sample.highWeight;
        }
    }
    return out;
}

/// One bin: the mean of its samples, or the largest weighted corner of any (so the standard's tests and onnxruntime define max).
template <typename T> T poolBin(const RoiSettings& s, const AxisSamples& y, const AxisSamples& x, std::int64_t row, std::int64_t column, const T* map, std::int64_t width) {
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < y.perBin; ++i) {
        const AxisSample& v = y.samples[static_cast<std::size_t>(row * y.perBin + i)];
        for (std::int64_t j = 0; j < x.perBin; ++j) {
            const AxisSample& h = x.samples[static_cast<std::size_t>(column * x.perBin + j)];
            const double a = v.lowWeight * h.lowWeight * static_cast<double>(map[v.low * width + h.low]);
            const double b = v.lowWeight * h.highWeight * static_cast<double>(map[v.low * width + h.high]);
            const double d = v.highWeight * h.lowWeight * static_cast<double>(map[v.high * width + h.low]);
            const double e = v.highWeight * h.highWeight * static_cast<double>(map[v.high * width + h.high]);
            sum += a + b + d + e;
            most = std::max({most, a, b, d, e});
        }
    }
    const std::int64_t count = y.perBin * x.perBin;
    return static_cast<T>(count == 0 ? 0 : s.takesMax ? most : sum / static_cast<double>(count));
}

Result<void> checkShapes(const Tensor& x, const Tensor& rois, const Tensor& indices) {
    if (x.rank() != 4)
        return runError("X {} has rank {}, 4 is wanted", toString(x.shape()), x.rank());
    if (rois.rank() != 2 || rois.dim(1) != 4 || indices.shape() != Shape{rois.dim(0)})
        return runError("rois {} and batch_indices {} want [regions,4] and [regions]", toString(rois.shape()), toString(indices.shape()));
    if (x.dim(2) < 1 || x.dim(3) < 1)
        return runError("X {} has no cells", toString(x.shape()));
    return {};
}

Result<void> runRoiAlign(const KernelContext& c) {
    NABLA_TRY(const RoiSettings s, roiSettings(c.node()));
    NABLA_TRY(const Tensor regions, needTensor(c, 1));
    NABLA_TRY(const std::vector<std::int64_t> batches, needInts(c, 2));
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_CHECK(checkShapes(c.input(0), regions, c.input(2)));
    if (!isDifferentiable(c.input(0).dtype()) || !isDifferentiable(regions.dtype()))
        return typeError(c, isDifferentiable(regions.dtype()) ? c.input(0).dtype() : regions.dtype());
    const DType type = computeType(c, {0});
    NABLA_TRY(const Tensor x, inputAs(c, 0, type));
    const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), bins = s.height * s.width;
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, c.input(0).dtype(), type, {regions.dim(0), channels, s.height, s.width}));
    for (std::int64_t r = 0; r < regions.dim(0); ++r) {
        const std::int64_t batch = batches[static_cast<std::size_t>(r)];
        if (batch < 0 || batch >= x.dim(0))
            return runError("batch_indices[{}] is {}, X has {} images", r, batch, x.dim(0));
        const auto corner = [&](std::int64_t i) { return regions.asDouble(r * 4 + i); };
        NABLA_TRY(const AxisSamples rows, samplesOf(s, corner(1), corner(3), s.height, height));
        NABLA_TRY(const AxisSamples columns, samplesOf(s, corner(0), corner(2), s.width, width));
        withFloatType(type, [&]<typename T>(T) {
            parallelFor(c, channels, bins * rows.perBin * columns.perBin * 8, [&](std::int64_t first, std::int64_t last) {
                for (std::int64_t channel = first; channel < last; ++channel) {
                    const T* const map = elements<T>(x) + (batch * channels + channel) * height * width;
                    for (std::int64_t b = 0; b < bins; ++b)
                        y.data<T>()[(r * channels + channel) * bins + b] = poolBin(s, rows, columns, b / s.width, b % s.width, map, width);
                }
            });
        });
    }
    return y.finish();
}

// ---- the expansion that is differentiated ----

/// Samples along one axis of every region: [regions, bins, samples a bin], with what says which of them there are.
struct RoiAxis {
    AxisNeighbours cells;
    ValueId perBin;  ///< floats [regions], or a scalar when all have as many
    ValueId present; ///< bool [regions, 1, samples]; none when all are
};

/// s: floats that tell cells apart. start, end: [regions].
RoiAxis expandAxis(Sheet& s, const RoiSettings& settings, ValueId start, ValueId end, std::int64_t bins, ValueId size) {
    const auto cast = [&](ValueId x, DType to) { return s.op("Cast", {x}, {number("to", static_cast<std::int64_t>(to))}); };
    ValueId length = s.op("Sub", {end, start});
    if (!settings.halfPixel)
        length = s.op("Max", {length, s.scalar(1)});
    const ValueId bin = s.op("Div", {length, s.scalar(static_cast<double>(bins))});
    RoiAxis out;
    ValueId most = s.intScalar(settings.samples), division = s.scalar(static_cast<double>(settings.samples));
    out.perBin = division;
    if (settings.samples == 0) {
        out.perBin = s.op("Max", {s.op("Ceil", {bin}), s.scalar(0)});
        const ValueId orNone = s.op("Concat", {out.perBin, s.op("Unsqueeze", {s.scalar(0), s.ints({0})})}, {number("axis", 0)});
        most = cast(s.op("ReduceMax", {orNone}, {number("keepdims", 0)}), DType::Int64);
        division = s.op("Unsqueeze", {s.op("Max", {out.perBin, s.scalar(1)}), s.ints({1, 2})});
    }
    const ValueId sample = cast(s.op("Range", {s.intScalar(0), most, s.intScalar(1)}), s.type()); // [samples]
    if (settings.samples == 0)
        out.present = s.op("Less", {sample, s.op("Unsqueeze", {out.perBin, s.ints({1, 2})})});
    std::vector<double> numbers;
    for (std::int64_t b = 0; b < bins; ++b)
        numbers.push_back(static_cast<double>(b));
    const ValueId whole = cast(s.constant(Tensor::of<double>({bins, 1}, numbers)), s.type());
    const ValueId part = s.op("Div", {s.add(sample, s.scalar(0.5)), division});
    const ValueId wide = s.op("Unsqueeze", {bin, s.ints({1, 2})}), origin = s.op("Unsqueeze", {start, s.ints({1, 2})});
    const ValueId place = s.add(origin, s.mul(wide, s.add(whole, part)));
    const ValueId cells = cast(size, s.type()), last = s.op("Sub", {cells, s.scalar(1)});
    const ValueId inside = s.op("And", {s.op("GreaterOrEqual", {place, s.scalar(-1)}), s.op("LessOrEqual", {place, cells})});
    // The map goes on as at its border for the one cell that samples may lie outside.
    const ValueId held = s.op("Min", {s.op("Max", {s.op("Where", {inside, place, s.scalar(0)}), s.scalar(0)}), last});
    const ValueId floor = s.op("Floor", {held}), fraction = s.op("Sub", {held, floor});
    const ValueId mask = cast(inside, s.type());
    out.cells.size = size;
    out.cells.index[0] = cast(floor, DType::Int64);
    out.cells.index[1] = cast(s.op("Min", {s.add(floor, s.scalar(1)), last}), DType::Int64);
    out.cells.weight[0] = s.mul(mask, s.oneMinus(fraction));
    out.cells.weight[1] = s.mul(mask, fraction);
    return out;
}

/// The axis' samples as [regions, bins, samples, 1, 1] or [regions, 1, 1, bins, samples].
void spread(Sheet& s, RoiAxis& axis, const std::vector<std::int64_t>& newAxes) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        axis.cells.index[i] = s.op("Unsqueeze", {axis.cells.index[i], s.ints(newAxes)});
        axis.cells.weight[i] = s.op("Unsqueeze", {axis.cells.weight[i], s.ints(newAxes)});
    }
    if (axis.present)
        axis.present = s.op("Unsqueeze", {axis.present, s.ints(newAxes)});
}

ValueId expandRoiAlign(Sheet& s, const RoiSettings& settings, ValueId x, ValueId rois, ValueId batches) {
    const auto size = [&](std::int64_t axis) { return s.op("Shape", {x}, {number("start", axis), number("end", axis + 1)}); };
    const auto castTo = [&](ValueId v, DType to) { return s.op("Cast", {v}, {number("to", static_cast<std::int64_t>(to))}); };
    const ValueId channels = size(1), height = size(2), width = size(3), cells = s.mul(height, width);
    const ValueId last = s.op("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
    const ValueId rows = reshapeTo(s, last, {s.mul(size(0), cells), channels});
    const DType placeType = s.type() == DType::Float64 ? DType::Float64 : DType::Float32; // half floats do not tell cells apart
    Sheet p(s.editor(), placeType);
    ValueId scaled = placeType == s.type() ? rois : castTo(rois, placeType);
    scaled = p.mul(scaled, p.scalar(settings.scale));
    if (settings.halfPixel)
        scaled = p.op("Sub", {scaled, p.scalar(0.5)});
    const auto corner = [&](std::int64_t i) { return p.op("Gather", {scaled, p.intScalar(i)}, {number("axis", 1)}); };
    RoiAxis y = expandAxis(p, settings, corner(1), corner(3), settings.height, height);
    RoiAxis h = expandAxis(p, settings, corner(0), corner(2), settings.width, width);
    spread(p, y, {3, 4});
    spread(p, h, {1, 2});
    const ValueId firstRow = s.op("Unsqueeze", {s.mul(batches, cells), s.ints({1, 2, 3, 4})});
    std::vector<ValueId> terms = cornerTerms(p, rows, firstRow, {y.cells, h.cells}, s.type()); // [regions, bins, samples, bins, samples, channels]
    ValueId present, count = p.mul(y.perBin, h.perBin);
    if (y.present)
        present = s.op("Unsqueeze", {s.op("And", {y.present, h.present}), s.ints({-1})});
    const auto only = [&](ValueId v, double otherwise) { return present ? s.op("Where", {present, v, s.scalar(otherwise)}) : v; };
    ValueId pooled;
    if (settings.takesMax) {
        const ValueId most = only(s.op("Max", terms), -std::numeric_limits<double>::infinity());
        pooled = s.op("ReduceMax", {most, s.ints({2, 4})}, {number("keepdims", 0)});
        if (present)
            pooled = s.op("Where", {p.op("Greater", {p.op("Unsqueeze", {count, p.ints({1, 2, 3})}), p.scalar(0)}), pooled, s.scalar(0)});
    } else {
        const ValueId sum = s.op("ReduceSum", {only(s.op("Sum", terms), 0), s.ints({2, 4})}, {number("keepdims", 0)});
        ValueId divisor = p.op("Max", {count, p.scalar(1)});
        if (present)
            divisor = p.op("Unsqueeze", {divisor, p.ints({1, 2, 3})});
        pooled = s.op("Div", {sum, placeType == s.type() ? divisor : castTo(divisor, s.type())});
    }
    return s.op("Transpose", {pooled}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
}

Result<GraphPtr> roiAlignBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    NABLA_TRY(const RoiSettings settings, roiSettings(node));
    if (inputTypes.size() != 3 || !isDifferentiable(inputTypes[0].elementType))
        return runError("the element type of X is not known or no float");
    ModelInfo info;
    info.opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty(node.opType, std::make_shared<const ModelInfo>(std::move(info)), ids);
    const ValueId x = editor.addInput("X", inputTypes[0]), rois = editor.addInput("rois", inputTypes[1]), batches = editor.addInput("batch_indices", inputTypes[2]);
    Sheet s(editor, inputTypes[0].elementType);
    editor.setOutputs({expandRoiAlign(s, settings, x, rois, batches)});
    return std::make_shared<const Graph>(editor.finish());
}

/// Four neighbours for every sample; without a sampling_ratio the number of samples depends on the size of each region.
std::int64_t roiAlignFlops(const CostInputs& c) {
    const std::int64_t samples = c.node.intAttribute("sampling_ratio", 0);
    return samples < 1 ? kUnknownFlops : saturatedProduct({8, outputElements(c), samples, samples});
}

/// Version 10 does not move the pixels.
Result<void> upgradeTransform(UpgradeContext& c) {
    Node changed = c.node;
    setDefault(changed, "coordinate_transformation_mode", std::string("output_half_pixel"));
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kUpgrades[] = {{10, upgradeTransform}};

constexpr OpDef kOps[] = {
    {.name = "RoiAlign", .since = 22, .source = "ONNX Operators.md, RoiAlign-22", .run = runRoiAlign, .gradient = throughBody(), .flops = roiAlignFlops,
        .upgrades = kUpgrades, .body = roiAlignBody},
};

} // namespace

std::span<const OpDef> roiAlignOps() { return kOps; }

} // namespace nabla::engine
