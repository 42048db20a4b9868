// DeformConv: a convolution whose taps are moved by learnt offsets, and weighted by a mask, in any number of spatial axes.
#include <array>
#include <cmath>

#include "engine/ops/conv_core.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/iterate.h"
#include "engine/ops/sampling_body.h"

namespace nabla::engine {

namespace {

constexpr std::size_t kMaxAxes = 6; // a place has 2^axes neighbours

struct DeformShape {
    ConvShape conv;
    std::int64_t offsetGroups = 1, channels = 0; ///< channels: of all groups
};

/// X [N, C, ..], W [M, C / group, ..], offset [N, groups * taps * axes, ..], mask [N, groups * taps, ..], as their shapes must be.
Result<DeformShape> deformShape(const KernelContext& c) {
    NABLA_CHECK(requireTensor(c, 0, "X"));
    NABLA_CHECK(requireTensor(c, 1, "W"));
    NABLA_CHECK(requireTensor(c, 2, "offset"));
    DeformShape s;
    NABLA_TRY(s.conv, convShape(c.node(), c.intAttribute("group"), c.input(0).shape(), c.input(1).shape()));
    const auto axes = static_cast<std::int64_t>(s.conv.window.rank());
    if (axes < 1 || s.conv.window.rank() > kMaxAxes)
        return runError("X {} has {} spatial axes, 1 to {} are wanted", toString(c.input(0).shape()), axes, kMaxAxes);
    s.channels = c.input(0).dim(1);
    s.offsetGroups = c.intAttribute("offset_group");
    if (s.offsetGroups < 1 || s.channels % s.offsetGroups != 0)
        return runError("offset_group {} does not divide the {} channels of X", s.offsetGroups, s.channels);
    Shape wanted{s.conv.batch, saturatedProduct({s.offsetGroups, s.conv.taps, axes})};
    wanted.insert(wanted.end(), s.conv.window.output.begin(), s.conv.window.output.end());
    if (c.input(2).shape() != wanted)
        return runError("offset {} does not fit: {} is wanted", toString(c.input(2).shape()), toString(wanted));
    wanted[1] /= axes;
    if (c.hasInput(4) && c.input(4).shape() != wanted)
        return runError("mask {} does not fit: {} is wanted", toString(c.input(4).shape()), toString(wanted));
    const Tensor& bias = c.input(3);
    if (c.hasInput(3) && (bias.rank() != 1 || bias.dim(0) != c.input(1).dim(0)))
        return runError("bias B {} wants one number for each of {} output channels", toString(bias.shape()), c.input(1).dim(0));
    return s;
}

/// The cells around one place and their weights; cells outside the image are left out.
template <typename T> struct Corners {
    std::array<std::pair<std::int64_t, T>, std::size_t{1} << kMaxAxes> items;
    std::size_t count = 0;

    void find(std::span<const T> place, const Shape& sizes, std::span<const std::int64_t> strides, T weight) {
        items[0] = {0, weight};
        count = 1;
        for (std::size_t d = 0; d < place.size(); ++d) {
            const T floor = std::floor(place[d]), fraction = place[d] - floor, size = static_cast<T>(sizes[d]);
            const bool hasLower = floor >= 0 && floor < size, hasUpper = floor >= -1 && floor + 1 < size; // both false for NaN
            const std::int64_t low = hasLower || hasUpper ? static_cast<std::int64_t>(floor) : 0;
            const std::size_t before = count;
            std::size_t kept = 0;
            std::array<std::pair<std::int64_t, T>, std::size_t{1} << kMaxAxes> next;
            for (std::size_t i = 0; i < before; ++i) {
                if (hasLower)
                    next[kept++] = {items[i].first + low * strides[d], items[i].second * (1 - fraction)};
                if (hasUpper)
                    next[kept++] = {items[i].first + (low + 1) * strides[d], items[i].second * fraction};
            }
            std::copy_n(next.begin(), kept, items.begin());
            count = kept;
        }
    }
};

/// columns [channels * taps, end - begin]: what the taps read for the output cells [begin, end) of image n.
template <typename T>
void deformedColumns(const DeformShape& s, std::int64_t n, std::int64_t begin, std::int64_t end, const T* x, const T* offset, const T* mask, T* columns) {
    const Window& w = s.conv.window;
    const auto strides = rowMajorStrides(w.input);
    const auto starts = windowStarts(w, w.output, begin, end);
    const std::int64_t perGroup = s.channels / s.offsetGroups, count = end - begin, cells = s.conv.outputCells;
    const auto axes = static_cast<std::int64_t>(w.rank());
    std::vector<T> place(w.rank());
    Corners<T> corners;
    for (std::int64_t group = 0; group < s.offsetGroups; ++group) {
        std::int64_t t = 0;
        for (IndexWalk tap(w.kernel); !tap.done(); tap.next(), ++t) {
            const std::int64_t at = (n * s.offsetGroups + group) * s.conv.taps + t;
            for (std::int64_t o = 0; o < count; ++o) {
                for (std::int64_t d = 0; d < axes; ++d) {
                    const auto axis = static_cast<std::size_t>(d);
                    const std::int64_t straight = starts[axis][static_cast<std::size_t>(o)] + tap[axis] * w.dilations[axis];
                    place[axis] = static_cast<T>(straight) + offset[(at * axes + d) * cells + begin + o];
                }
                corners.find(place, w.input, strides, mask ? mask[at * cells + begin + o] : T{1});
                for (std::int64_t c = group * perGroup; c < (group + 1) * perGroup; ++c) {
                    const T* const channel = x + (n * s.channels + c) * s.conv.inputCells;
                    T sum{};
                    for (std::size_t i = 0; i < corners.count; ++i)
                        sum += corners.items[i].second * channel[corners.items[i].first];
                    columns[(c * s.conv.taps + t) * count + o] = sum;
                }
            }
        }
    }
}

template <typename T>
void deformConvolve(const KernelContext& c, const DeformShape& s, const T* x, const T* w, const T* offset, const T* bias, const T* mask, T* y) {
    const std::int64_t depth = s.conv.channels * s.conv.taps, all = s.channels * s.conv.taps, filters = s.conv.filters * s.conv.group;
    const std::int64_t block = std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(all, 1), 16, 1024);
    const std::int64_t blocks = (s.conv.outputCells + block - 1) / block;
    parallelFor(c, s.conv.batch * blocks, all * s.conv.filters * block, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> columns, product;
        for (std::int64_t task = first; task < last; ++task) {
            const std::int64_t n = task / blocks, begin = task % blocks * block, end = std::min(begin + block, s.conv.outputCells), count = end - begin;
            columns.resize(static_cast<std::size_t>(all * count));
            product.resize(static_cast<std::size_t>(s.conv.filters * count));
            deformedColumns(s, n, begin, end, x, offset, mask, columns.data());
            for (std::int64_t g = 0; g < s.conv.group; ++g) {
                multiplyRows(w + g * s.conv.filters * depth, columns.data() + g * depth * count, product.data(), 0, s.conv.filters, depth, count);
                for (std::int64_t m = 0; m < s.conv.filters; ++m) {
                    const std::int64_t filter = g * s.conv.filters + m;
                    T* const out = y + (n * filters + filter) * s.conv.outputCells + begin;
                    for (std::int64_t o = 0; o < count; ++o)
                        out[o] = product[static_cast<std::size_t>(m * count + o)] + (bias ? bias[filter] : T{});
                }
            }
        }
    });
}

Result<void> runDeformConv(const KernelContext& c) {
    NABLA_TRY(const DeformShape s, deformShape(c));
    const DType stored = c.input(0).dtype();
    if (!isDifferentiable(stored))
        return typeError(c, stored);
    const DType type = computeType(c, {0});
    std::array<Tensor, 5> in;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (c.hasInput(i) && c.input(i).dtype() != stored)
            return runError("input {} is {}, X is {}", i, name(c.input(i).dtype()), name(stored));
        NABLA_TRY(in[i], inputAs(c, i, type));
    }
    NABLA_TRY(KernelOutput y, KernelOutput::make(c, 0, stored, type, s.conv.output));
    withFloatType(type, [&]<typename T>(T) {
        const auto at = [&](std::size_t i) { return in[i].defined() ? elements<T>(in[i]) : nullptr; };
        deformConvolve<T>(c, s, at(0), at(1), at(2), at(3), at(4), y.data<T>());
    });
    return y.finish();
}

// ---- the expansion that is differentiated ----

/// The place of every tap without its offset along axis d: floats [taps, outputs].
ValueId straightPlaces(Sheet& s, const WindowAttributes& window, std::size_t d, ValueId outputShape, ValueId outputs) {
    std::vector<double> shifts;
    for (IndexWalk tap(window.kernel); !tap.done(); tap.next())
        shifts.push_back(static_cast<double>(tap[d] * window.dilations[d] - window.pads[d]));
    const auto taps = static_cast<std::int64_t>(shifts.size());
    const Attribute to = number("to", static_cast<std::int64_t>(s.type()));
    const ValueId shift = s.op("Cast", {s.constant(Tensor::of<double>({taps, 1}, shifts))}, {to});
    const ValueId size = s.op("Gather", {outputShape, s.intScalar(static_cast<std::int64_t>(d))});
    const ValueId start = s.mul(s.op("Range", {s.intScalar(0), size, s.intScalar(1)}), s.intScalar(window.strides[d]));
    std::vector<std::int64_t> ones(window.kernel.size() - d, 1); // the axes after d
    ones[0] = -1;
    const ValueId everywhere = s.op("Expand", {s.op("Reshape", {start, s.ints(ones)}), outputShape});
    return s.add(shift, s.op("Cast", {reshapeTo(s, everywhere, {outputs})}, {to}));
}

struct DeformFormals {
    ValueId x, w, offset, bias, mask;
};

/// Sizes that are known when it runs, as int64 [1] each.
struct DeformSizes {
    ValueId batch, channels, filters, image, output; ///< image, output: int64 [axes]
    ValueId images, perGroup, cells, outputs;        ///< images: batch * offset groups
};

ValueId expandDeformConv(Sheet& s, const Node& node, const WindowAttributes& window, const DeformFormals& in) {
    const auto r = static_cast<std::int64_t>(window.kernel.size());
    const std::int64_t taps = elementCount(window.kernel), groups = node.intAttribute("offset_group", 1), group = node.intAttribute("group", 1);
    const auto size = [&](ValueId of, std::int64_t axis) { return s.op("Shape", {of}, {number("start", axis), number("end", axis + 1)}); };
    const auto product = [&](ValueId sizes) { return s.op("ReduceProd", {sizes}, {number("keepdims", 1)}); };
    DeformSizes n{size(in.x, 0), size(in.x, 1), size(in.w, 0), s.op("Shape", {in.x}, {number("start", 2)}), s.op("Shape", {in.offset}, {number("start", 2)}), {}, {}, {}, {}};
    n.images = s.mul(n.batch, s.ints({groups}));
    n.perGroup = s.op("Div", {n.channels, s.ints({groups})});
    n.cells = product(n.image);
    n.outputs = product(n.output);
    const auto turned = [&](ValueId x, std::vector<std::int64_t> perm) { return s.op("Transpose", {x}, {{"perm", std::move(perm)}}); };
    const ValueId rows = reshapeTo(s, turned(reshapeTo(s, in.x, {n.images, n.perGroup, n.cells}), {0, 2, 1}), {s.mul(n.images, n.cells), n.perGroup});
    const DType placeType = s.type() == DType::Float64 ? DType::Float64 : DType::Float32; // half floats do not tell pixels apart
    Sheet places(s.editor(), placeType);
    ValueId offset = reshapeTo(s, in.offset, {n.images, s.ints({taps, r}), n.outputs});
    if (placeType != s.type())
        offset = s.op("Cast", {offset}, {number("to", static_cast<std::int64_t>(placeType))});
    std::vector<AxisNeighbours> axes;
    for (std::int64_t d = 0; d < r; ++d) {
        const auto axis = static_cast<std::size_t>(d);
        const ValueId moved = s.op("Gather", {offset, s.intScalar(d)}, {number("axis", 2)}); // [images, taps, outputs]
        axes.push_back(neighboursWithZeros(places, s.add(moved, straightPlaces(places, window, axis, n.output, n.outputs)), s.op("Slice", {n.image, s.ints({d}), s.ints({d + 1})})));
    }
    const ValueId image = s.op("Range", {s.intScalar(0), s.op("Squeeze", {n.images}), s.intScalar(1)});
    const ValueId firstRow = s.op("Unsqueeze", {s.mul(image, n.cells), s.ints({1, 2})});
    const auto terms = cornerTerms(places, rows, firstRow, axes, s.type());
    ValueId sampled = terms.size() == 1 ? terms[0] : s.op("Sum", terms); // [images, taps, outputs, channels of a group]
    if (in.mask)
        sampled = s.mul(sampled, s.op("Unsqueeze", {reshapeTo(s, in.mask, {n.images, s.ints({taps}), n.outputs}), s.ints({-1})}));
    const ValueId apart = reshapeTo(s, sampled, {n.batch, s.ints({groups, taps}), n.outputs, n.perGroup});
    const ValueId depth = s.op("Div", {s.mul(n.channels, s.ints({taps})), s.ints({group})});
    const ValueId columns = reshapeTo(s, turned(apart, {0, 1, 4, 2, 3}), {n.batch, s.ints({group}), depth, n.outputs});
    const ValueId weight = reshapeTo(s, in.w, {s.ints({group}), s.op("Div", {n.filters, s.ints({group})}), depth});
    ValueId y = reshapeTo(s, s.op("MatMul", {weight, columns}), {n.batch, n.filters, n.output});
    if (in.bias) {
        std::vector<std::int64_t> view(static_cast<std::size_t>(r) + 1, 1);
        view[0] = -1;
        y = s.add(y, s.op("Reshape", {in.bias, s.ints(view)}));
    }
    return y;
}

Result<GraphPtr> deformConvBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    if (inputTypes.size() < 3 || !isDifferentiable(inputTypes[0].elementType))
        return runError("the element type of X is not known or no float");
    std::vector<std::int64_t> kernel;
    std::optional<std::size_t> rank;
    for (std::size_t i = 0; i < 3; ++i) {
        if (inputTypes[i].shape && inputTypes[i].shape->size() > 2)
            rank = inputTypes[i].shape->size();
    }
    if (inputTypes[1].shape) {
        for (std::size_t i = 2; i < inputTypes[1].shape->size() && (*inputTypes[1].shape)[i].constant(); ++i)
            kernel.push_back(*(*inputTypes[1].shape)[i].constant());
    }
    if (!rank || *rank - 2 > kMaxAxes)
        return runError("the expansion of DeformConv wants 1 to {} spatial axes", kMaxAxes);
    if (kernel.size() + 2 != *rank)
        kernel.clear();
    NABLA_TRY(const WindowAttributes window, windowAttributes(node, *rank - 2, kernel));
    if (elementCount(window.kernel) > (1 << 20) || node.intAttribute("group", 1) < 1 || node.intAttribute("offset_group", 1) < 1)
        return runError("kernel {}, group {} or offset_group {} is out of range", toString(window.kernel), node.intAttribute("group", 1), node.intAttribute("offset_group", 1));
    ModelInfo info;
    info.opsets[""] = opset;
    GraphEditor editor = GraphEditor::empty(node.opType, std::make_shared<const ModelInfo>(std::move(info)), ids);
    constexpr const char* kNames[] = {"X", "W", "offset", "B", "mask"};
    std::vector<ValueId> formals(5);
    for (std::size_t i = 0; i < node.inputs.size() && i < formals.size(); ++i) {
        const ValueId formal = editor.addInput(kNames[i], i < inputTypes.size() ? inputTypes[i] : ValueType{});
        if (node.inputs[i])
            formals[i] = formal;
    }
    if (!formals[0] || !formals[1] || !formals[2])
        return runError("X, W and offset are wanted");
    Sheet s(editor, inputTypes[0].elementType);
    editor.setOutputs({expandDeformConv(s, node, window, {formals[0], formals[1], formals[2], formals[3], formals[4]})});
    return std::make_shared<const Graph>(editor.finish());
}

/// The convolution, and an interpolation of 2^axes cells for every tap of every channel.
std::int64_t deformConvFlops(const CostInputs& c) {
    if (c.inputs.size() < 3 || !c.inputs[0] || !c.inputs[1] || !c.outputs[0] || c.inputs[0]->size() < 3 || c.inputs[1]->size() != c.inputs[0]->size()
        || c.outputs[0]->size() != c.inputs[0]->size() || c.inputs[0]->size() - 2 > kMaxAxes)
        return 0;
    const ShapeView w(*c.inputs[1]), y(*c.outputs[0]);
    const std::int64_t taps = elementCount(w.subspan(2)), cells = saturatedProduct({y[0], elementCount(y.subspan(2))});
    const std::int64_t sampling = saturatedProduct({2, std::int64_t{1} << (c.inputs[0]->size() - 2), cells, taps, (*c.inputs[0])[1]});
    const std::int64_t bias = c.inputs.size() > 3 && c.inputs[3] ? elementCount(y) : 0;
    return saturatedSum(saturatedSum(saturatedProduct({2, elementCount(y), elementCount(w.subspan(1))}), sampling), bias);
}

constexpr OpDef kOps[] = {
    {.name = "DeformConv", .since = 22, .source = "ONNX Operators.md, DeformConv-22", .run = runDeformConv, .gradient = throughBody(),
        .flops = deformConvFlops, .body = deformConvBody},
};

} // namespace

std::span<const OpDef> deformConvOps() { return kOps; }

} // namespace nabla::engine
