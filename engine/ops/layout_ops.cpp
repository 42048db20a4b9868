// Transpose, Concat, Split, Slice, Expand, Tile, Trilu, ReverseSequence, DepthToSpace, SpaceToDepth: elements in another order.
#include <limits>
#include <numeric>

#include "engine/ops/constant_of.h"
#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/slice_axis.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

// ---- Transpose ----

Result<std::vector<std::int64_t>> permutation(const std::vector<std::int64_t>& asked, bool given, std::size_t rank) {
    std::vector<std::int64_t> perm(rank);
    if (!given) {
        for (std::size_t i = 0; i < rank; ++i)
            perm[i] = static_cast<std::int64_t>(rank - 1 - i);
        return perm;
    }
    if (asked.size() != rank)
        return runError("Transpose: perm {} has {} entries, the input has rank {}", toString(asked), asked.size(), rank);
    return normalizeAxes(asked, rank);
}

Result<void> runTranspose(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto perm, permutation(c.intsAttribute("perm"), c.hasAttribute("perm"), x.rank()));
    const auto own = rowMajorStrides(x.shape());
    Shape shape(x.rank());
    Strided in{0, std::vector<std::int64_t>(x.rank())};
    for (std::size_t i = 0; i < x.rank(); ++i) {
        shape[i] = x.dim(static_cast<std::size_t>(perm[i]));
        in.strides[i] = own[static_cast<std::size_t>(perm[i])];
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    copyStrided(y, contiguous(shape), x, in, shape);
    c.setOutput(0, std::move(y));
    return {};
}

Gradients gradTranspose(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto perm = n.intsAttribute("perm");
    if (perm.empty())
        return std::vector{b.op("Transpose", {dy[0]})};
    std::vector<std::int64_t> inverse(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) {
        NABLA_TRY(const std::int64_t axis, normalizeAxis(perm[i], perm.size()));
        inverse[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(i);
    }
    return std::vector{b.op("Transpose", {dy[0]}, {intsAttr("perm", std::move(inverse))})};
}

// ---- Concat, Split ----

Result<void> runConcat(const KernelContext& c) {
    NABLA_TRY(const Tensor first, needTensor(c, 0));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), first.rank()));
    const auto a = static_cast<std::size_t>(axis);
    Shape shape = first.shape();
    for (std::size_t i = 1; i < c.inputCount(); ++i) {
        NABLA_TRY(const Tensor next, needTensor(c, i));
        if (next.dtype() != first.dtype() || next.rank() != first.rank())
            return runError("Concat: input {} is {} {}, input 0 is {} {}", i, name(next.dtype()), toString(next.shape()), name(first.dtype()), toString(first.shape()));
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (d != a && next.dim(d) != first.dim(d))
                return runError("Concat along axis {}: input {} is {}, input 0 is {}", axis, i, toString(next.shape()), toString(first.shape()));
        }
        if (next.dim(a) > std::numeric_limits<std::int64_t>::max() - shape[a])
            return runError("Concat: the sum of sizes along axis {} overflows", axis);
        shape[a] += next.dim(a);
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, first.dtype(), shape));
    const AxisSplit all(shape, axis);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < c.inputCount(); ++i) {
        const std::int64_t run = c.input(i).dim(a) * all.inner;
        for (std::int64_t o = 0; o < all.outer; ++o)
            copyElements(y, o * all.size * all.inner + offset, c.input(i), o * run, run);
        offset += run;
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// The cotangent of each input is its slice. Sizes come from the run-time shapes when the types do not tell.
Gradients gradConcat(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t axis = n.intAttribute("axis", 0);
    std::vector<std::int64_t> sizes;
    std::vector<ValueId> dynamic;
    for (const ValueId input : n.inputs) {
        const ValueType type = b.type(input);
        if (!type.shape)
            break;
        NABLA_TRY(const std::int64_t at, normalizeAxis(axis, type.shape->size()));
        const auto size = (*type.shape)[static_cast<std::size_t>(at)].constant();
        if (size)
            sizes.push_back(*size);
    }
    ValueId split;
    if (sizes.size() == n.inputs.size()) {
        split = b.ints(std::move(sizes));
    } else {
        for (const ValueId input : n.inputs)
            dynamic.push_back(b.op("Gather", {b.shapeOf(input), b.ints({axis})}));
        split = dynamic.size() == 1 ? dynamic[0] : b.op("Concat", dynamic, {intAttr("axis", 0)});
    }
    return b.ops("Split", {dy[0], split}, n.inputs.size(), {intAttr("axis", axis)});
}

Result<std::vector<std::int64_t>> splitSizes(const KernelContext& c, std::int64_t total) {
    const std::size_t outputs = c.node().outputs.size();
    if (c.hasInput(1)) {
        NABLA_TRY(auto sizes, needInts(c, 1));
        std::int64_t left = total;
        for (const std::int64_t size : sizes) {
            if (size < 0 || size > left)
                return runError("Split: sizes {} do not fit into {}", toString(sizes), total);
            left -= size;
        }
        if (left != 0 || sizes.size() != outputs)
            return runError("Split: sizes {} for {} outputs of an axis of {}", toString(sizes), outputs, total);
        return sizes;
    }
    const std::int64_t parts = c.hasAttribute("num_outputs") ? c.intAttribute("num_outputs") : static_cast<std::int64_t>(outputs);
    if (parts <= 0 || parts != static_cast<std::int64_t>(outputs))
        return runError("Split: num_outputs is {}, the node has {} outputs", parts, outputs);
    const std::int64_t chunk = total / parts + (total % parts != 0 ? 1 : 0);
    std::vector<std::int64_t> sizes;
    std::int64_t left = total;
    for (std::int64_t i = 0; i < parts; ++i) { // the last chunk is smaller when it does not divide
        sizes.push_back(std::min(chunk, left));
        left -= sizes.back();
    }
    return sizes;
}

Result<void> runSplit(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const std::int64_t axis, normalizeAxis(c.intAttribute("axis"), x.rank()));
    const AxisSplit all(x.shape(), axis);
    NABLA_TRY(const auto sizes, splitSizes(c, all.size));
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t run = sizes[i] * all.inner;
        if (c.wantsOutput(i)) {
            Shape shape = x.shape();
            shape[static_cast<std::size_t>(axis)] = sizes[i];
            NABLA_TRY(Tensor y, c.makeOutput(i, x.dtype(), shape));
            for (std::int64_t o = 0; o < all.outer; ++o)
                copyElements(y, o * run, x, o * all.size * all.inner + offset, run);
            c.setOutput(i, std::move(y));
        }
        offset += run;
    }
    return {};
}

Gradients gradSplit(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
        parts.push_back(i < dy.size() && dy[i] ? dy[i] : b.zerosLike(n.outputs[i]));
    std::vector<ValueId> out(n.inputs.size());
    out[0] = b.op("Concat", parts, {intAttr("axis", n.intAttribute("axis", 0))});
    return out;
}

// ---- Slice ----

struct SliceBox {
    SliceBox(Shape whole, Strided from) : shape(std::move(whole)), begin(shape.size(), 0), in(std::move(from)) { }
    Shape shape;                     ///< of the result
    std::vector<std::int64_t> begin; ///< first index along each axis
    Strided in;
    bool isPlain = true;             ///< no steps but 1
};

struct SliceArguments {
    std::vector<std::int64_t> starts, ends, axes, steps;
};

/// Starts, ends and steps against a shape.
Result<SliceBox> sliceBox(const SliceArguments& a, ShapeView shape) {
    if (a.starts.size() != a.ends.size() || a.axes.size() != a.starts.size() || a.steps.size() != a.starts.size())
        return runError("Slice: {} starts, {} ends, {} axes, {} steps", a.starts.size(), a.ends.size(), a.axes.size(), a.steps.size());
    NABLA_TRY(const auto at, normalizeAxes(a.axes, shape.size()));
    SliceBox box(Shape(shape.begin(), shape.end()), contiguous(shape));
    for (std::size_t i = 0; i < at.size(); ++i) {
        const auto axis = static_cast<std::size_t>(at[i]);
        const std::int64_t step = a.steps[i];
        if (step == 0)
            return runError("Slice: step 0 along axis {}", at[i]);
        const auto [begin, count] = slicedAxis(shape[axis], a.starts[i], a.ends[i], step);
        box.shape[axis] = count;
        box.begin[axis] = begin;
        box.in.start += box.begin[axis] * box.in.strides[axis];
        if (count > 1) // a step that is never taken may be any number
            box.in.strides[axis] *= step;
        box.isPlain = box.isPlain && (step == 1 || count <= 1);
    }
    return box;
}

Result<SliceBox> sliceBox(const KernelContext& c, const Tensor& x) {
    SliceArguments a;
    NABLA_TRY(a.starts, needInts(c, 1));
    NABLA_TRY(a.ends, needInts(c, 2));
    a.axes.resize(a.starts.size());
    std::iota(a.axes.begin(), a.axes.end(), 0);
    a.steps.assign(a.starts.size(), 1);
    if (c.hasInput(3)) {
        NABLA_TRY(a.axes, needInts(c, 3));
    }
    if (c.hasInput(4)) {
        NABLA_TRY(a.steps, needInts(c, 4));
    }
    return sliceBox(a, x.shape());
}

Result<void> runSlice(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const SliceBox box, sliceBox(c, x));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), box.shape));
    copyStrided(y, contiguous(box.shape), x, box.in, box.shape);
    c.setOutput(0, std::move(y));
    return {};
}

/// The box when everything about it is known before running.
std::optional<SliceBox> staticSliceBox(GradientBuilder& b, const Node& n) {
    const std::optional<Shape> shape = b.type(n.inputs[0]).concreteShape();
    SliceArguments a;
    std::vector<std::int64_t>* const lists[] = {&a.starts, &a.ends, &a.axes, &a.steps};
    for (std::size_t i = 1; i <= 4 && shape; ++i) {
        if (!n.input(i))
            continue;
        const TensorPtr t = constantOf(b.editor().graph(), n.input(i));
        if (!t)
            return std::nullopt;
        *lists[i - 1] = t->toInt64s();
    }
    if (!n.input(3)) {
        a.axes.resize(a.starts.size());
        std::iota(a.axes.begin(), a.axes.end(), 0);
    }
    if (!n.input(4))
        a.steps.assign(a.starts.size(), 1);
    auto box = shape ? sliceBox(a, *shape) : Result<SliceBox>(runError("not known"));
    return box ? std::optional(std::move(*box)) : std::nullopt;
}

/// The cotangent goes back to the places it came from. A plain box that is known is padded with zeros; else the flat indices of those places
/// are sliced in the same way and scattered to.
Gradients gradSlice(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    if (const auto box = staticSliceBox(b, n); box && box->isPlain) {
        const Shape whole = *b.type(x).concreteShape();
        std::vector<std::int64_t> pads = box->begin;
        for (std::size_t i = 0; i < whole.size(); ++i)
            pads.push_back(whole[i] - box->begin[i] - box->shape[i]);
        std::vector<ValueId> padded(n.inputs.size());
        padded[0] = b.op("Pad", {dy[0], b.ints(std::move(pads))});
        return padded;
    }
    const ValueId size = b.op("Size", {x});
    const ValueId positions = b.op("Range", {b.intScalar(0), size, b.intScalar(1)});
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = b.reshapeLike(positions, x);
    const ValueId taken = b.op("Reshape", {b.op("Slice", inputs), b.ints({-1, 1})}, {intAttr("allowzero", 1)});
    const ValueId flatZeros = b.op("Reshape", {b.zerosLike(x), b.ints({-1})});
    const ValueId scattered = b.op("ScatterND", {flatZeros, taken, b.op("Reshape", {dy[0], b.ints({-1})})});
    std::vector<ValueId> out(n.inputs.size());
    out[0] = b.reshapeLike(scattered, x);
    return out;
}

// ---- Expand, Tile ----

Result<void> runExpand(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto wanted, needInts(c, 1));
    if (auto ok = checkShape(wanted); !ok)
        return Error{ErrorKind::Run, ok.error().message()};
    NABLA_TRY(const Shape shape, broadcastShapes(x.shape(), wanted));
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    Strided in{0, std::vector<std::int64_t>(shape.size(), 0)};
    const auto own = rowMajorStrides(x.shape());
    for (std::size_t i = 0; i < x.rank(); ++i)
        in.strides[shape.size() - x.rank() + i] = x.dim(i) == 1 ? 0 : own[i];
    copyStrided(y, contiguous(shape), x, in, shape);
    c.setOutput(0, std::move(y));
    return {};
}

Gradients gradExpand(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{b.unbroadcast(dy[0], n.inputs[0]), ValueId{}};
}

Result<void> runTile(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto repeats, needInts(c, 1));
    if (repeats.size() != x.rank())
        return runError("Tile: {} repeats for rank {}", repeats.size(), x.rank());
    // As an expansion: [r0, d0, r1, d1, …] with stride 0 along the repeats.
    Shape box, shape = x.shape();
    Strided in;
    const auto own = rowMajorStrides(x.shape());
    for (std::size_t i = 0; i < x.rank(); ++i) {
        if (repeats[i] < 0)
            return runError("Tile: {} repeats along axis {}", repeats[i], i);
        if (x.dim(i) > 0 && repeats[i] > (std::int64_t{1} << 62) / x.dim(i))
            return runError("Tile: {} repeats of {} along axis {} are too large", repeats[i], x.dim(i), i);
        shape[i] *= repeats[i];
        box.insert(box.end(), {repeats[i], x.dim(i)});
        in.strides.insert(in.strides.end(), {0, own[i]});
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    copyStrided(y, contiguous(box), x, in, box);
    c.setOutput(0, std::move(y));
    return {};
}

/// Under the shape [r0, d0, r1, d1, …] the repeats are summed.
Gradients gradTile(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const auto rank = b.rank(n.inputs[0]);
    if (!rank)
        return runError("Tile: the rank of its input is not known");
    const auto r = static_cast<std::int64_t>(*rank);
    std::vector<ValueId> out(n.inputs.size());
    if (r == 0) {
        out[0] = dy[0];
        return out;
    }
    const ValueId column = b.ints({r, 1});
    const ValueId pairs = b.op("Concat", {b.op("Reshape", {n.inputs[1], column}), b.op("Reshape", {b.shapeOf(n.inputs[0]), column})}, {intAttr("axis", 1)});
    const ValueId unfolded = b.op("Reshape", {dy[0], b.op("Reshape", {pairs, b.ints({-1})})}, {intAttr("allowzero", 1)});
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < r; ++i)
        axes.push_back(2 * i);
    out[0] = b.reduceSum(unfolded, std::move(axes), false);
    return out;
}

/// Tile-1 repeated one axis: `tiles` and `axis` were scalars; only constant ones can be lifted.
Result<void> upgradeTile1(UpgradeContext& c) {
    const TensorPtr tiles = c.editor.graph().constant(c.node.input(1)), axis = c.editor.graph().constant(c.node.input(2));
    NABLA_TRY(const std::size_t rank, upgradeRank(c, 0));
    if (!tiles || !axis || tiles->elementCount() != 1 || axis->elementCount() != 1)
        return runError("{}: Tile-1 can be brought up to date only when tiles and axis are constants", describe(c.node));
    NABLA_TRY(const std::int64_t at, normalizeAxis(axis->asInt64(0), rank));
    std::vector<std::int64_t> repeats(rank, 1);
    repeats[static_cast<std::size_t>(at)] = tiles->asInt64(0);
    Node changed = c.node;
    changed.inputs = {c.node.inputs[0], upgradeInts(c, "repeats", std::move(repeats))};
    return replaceWith(c, std::move(changed));
}

// ---- Trilu, ReverseSequence ----

Result<void> runTrilu(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    if (x.rank() < 2)
        return runError("Trilu wants at least rank 2, got {}", toString(x.shape()));
    std::int64_t k = 0;
    if (c.hasInput(1)) {
        NABLA_TRY(const auto values, needInts(c, 1));
        if (values.size() != 1)
            return runError("Trilu: k has {} values, wants one", values.size());
        k = values[0];
    }
    const bool upper = c.intAttribute("upper") != 0;
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    const std::int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
    k = std::clamp(k, -rows - 1, columns + 1); // further out nothing changes
    const std::int64_t matrices = rows * columns == 0 ? 0 : x.elementCount() / (rows * columns);
    for (std::int64_t row = 0; row < matrices * rows; ++row) {
        const std::int64_t edge = std::clamp(row % rows + k + (upper ? 0 : 1), std::int64_t{0}, columns); // upper keeps [edge, columns), lower [0, edge)
        const std::int64_t begin = row * columns;
        fillElements(y, begin + (upper ? 0 : edge), upper ? edge : columns - edge);
        copyElements(y, begin + (upper ? edge : 0), x, begin + (upper ? edge : 0), upper ? columns - edge : edge);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Gradients gradTrilu(GradientBuilder& b, const Node& n, OutputGrads dy) {
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = dy[0];
    std::vector<ValueId> out(n.inputs.size());
    out[0] = b.op("Trilu", inputs, n.attributes);
    return out;
}

Result<void> runReverseSequence(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto lengths, needInts(c, 1));
    if (x.rank() < 2)
        return runError("ReverseSequence wants at least rank 2, got {}", toString(x.shape()));
    NABLA_TRY(const std::int64_t batchAxis, normalizeAxis(c.intAttribute("batch_axis"), x.rank(), "batch_axis"));
    NABLA_TRY(const std::int64_t timeAxis, normalizeAxis(c.intAttribute("time_axis"), x.rank(), "time_axis"));
    const auto batch = static_cast<std::size_t>(batchAxis), time = static_cast<std::size_t>(timeAxis);
    if (batch == time || static_cast<std::int64_t>(lengths.size()) != x.dim(batch))
        return runError("ReverseSequence: {} lengths for batch axis {} and time axis {} of {}", lengths.size(), batchAxis, timeAxis, toString(x.shape()));
    const Strided own = contiguous(x.shape());
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), x.shape()));
    copyElements(y, 0, x, 0, x.elementCount());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] < 0 || lengths[i] > x.dim(time))
            return runError("ReverseSequence: length {} of sequence {} is not in [0, {}]", lengths[i], i, x.dim(time));
        Shape box = x.shape();
        box[batch] = 1;
        box[time] = lengths[i];
        Strided out = own, in = own;
        out.start = in.start = static_cast<std::int64_t>(i) * own.strides[batch];
        in.start += (lengths[i] - 1) * own.strides[time];
        in.strides[time] = -own.strides[time];
        copyStrided(y, out, x, in, box);
    }
    c.setOutput(0, std::move(y));
    return {};
}

Gradients gradReverseSequence(GradientBuilder& b, const Node& n, OutputGrads dy) {
    return std::vector{b.op("ReverseSequence", {dy[0], n.inputs[1]}, n.attributes), ValueId{}};
}

// ---- DepthToSpace, SpaceToDepth ----

/// The image under six axes: y [b, C, H, r, W, r] and x as it lies there.
Result<void> moveBlocks(const KernelContext& c, bool toSpace) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    const std::int64_t r = c.intAttribute("blocksize");
    if (x.rank() != 4 || r <= 0 || r > (1 << 20))
        return runError("{}: blocksize {} on {}, wants rank 4", c.node().opType, r, toString(x.shape()));
    const std::string mode = c.stringAttribute("mode"); // empty for versions that had none: DCR
    if (mode != "DCR" && mode != "CRD" && !mode.empty())
        return runError("{}: mode is \"{}\", wants DCR or CRD", c.node().opType, mode);
    const bool columnFirst = mode == "CRD";
    const std::int64_t n = x.dim(0);
    if (toSpace ? x.dim(1) % (r * r) != 0 : x.dim(2) % r != 0 || x.dim(3) % r != 0)
        return runError("{}: {} does not divide by blocksize {}", c.node().opType, toString(x.shape()), r);
    const std::int64_t depth = toSpace ? x.dim(1) / (r * r) : x.dim(1);
    const std::int64_t h = toSpace ? x.dim(2) : x.dim(2) / r, w = toSpace ? x.dim(3) : x.dim(3) / r;
    const Shape box{n, depth, h, r, w, r};
    const Shape spaceShape{n, depth, h * r, w * r}, depthShape{n, depth * r * r, h, w};
    const Strided space = contiguous(box);
    // Depth layout [n, r, r, C, h, w] (DCR) or [n, C, r, r, h, w] (CRD), walked along the box's axes.
    const auto own = rowMajorStrides(columnFirst ? Shape{n, depth, r, r, h, w} : Shape{n, r, r, depth, h, w});
    const Strided deep{0, columnFirst ? std::vector{own[0], own[1], own[4], own[2], own[5], own[3]} : std::vector{own[0], own[3], own[4], own[1], own[5], own[2]}};
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), toSpace ? spaceShape : depthShape));
    copyStrided(y, toSpace ? space : deep, x, toSpace ? deep : space, box);
    c.setOutput(0, std::move(y));
    return {};
}
Result<void> runDepthToSpace(const KernelContext& c) { return moveBlocks(c, true); }
Result<void> runSpaceToDepth(const KernelContext& c) { return moveBlocks(c, false); }

Gradients gradDepthToSpace(GradientBuilder& b, const Node& n, OutputGrads dy) { return std::vector{b.op("SpaceToDepth", {dy[0]}, n.attributes)}; }
Gradients gradSpaceToDepth(GradientBuilder& b, const Node& n, OutputGrads dy) { return std::vector{b.op("DepthToSpace", {dy[0]}, n.attributes)}; }

// ---- upgrades ----

Result<void> upgradeConcat1(UpgradeContext& c) {
    Node changed = c.node;
    setDefault(changed, "axis", std::int64_t{1});
    return replaceWith(c, std::move(changed));
}

/// Sizes were an attribute (or, in version 1, an input); without them the number of outputs must be said now.
Result<void> upgradeSplit(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"split"});
    if (c.node.attribute("split"))
        setInput(changed, 1, upgradeInts(c, "split", c.node.intsAttribute("split")));
    else if (!c.node.input(1))
        setDefault(changed, "num_outputs", static_cast<std::int64_t>(c.node.outputs.size()));
    return replaceWith(c, std::move(changed));
}

Result<void> upgradeSlice1(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"starts", "ends", "axes"});
    setInput(changed, 1, upgradeInts(c, "starts", c.node.intsAttribute("starts")));
    setInput(changed, 2, upgradeInts(c, "ends", c.node.intsAttribute("ends")));
    if (c.node.attribute("axes"))
        setInput(changed, 3, upgradeInts(c, "axes", c.node.intsAttribute("axes")));
    return replaceWith(c, std::move(changed));
}

constexpr Upgrade kConcatUpgrades[] = {{3, upgradeConcat1}};
constexpr Upgrade kSplitUpgrades[] = {{17, upgradeSplit}};
constexpr Upgrade kSliceUpgrades[] = {{9, upgradeSlice1}};
constexpr Upgrade kTileUpgrades[] = {{5, upgradeTile1}};

constexpr OpDef kOps[] = {
    {.name = "Transpose", .since = 25, .source = "ONNX Operators.md, Transpose-25", .run = runTranspose, .gradient = gradTranspose, .flops = noFlops},
    {.name = "Concat", .since = 13, .source = "ONNX Operators.md, Concat-13", .run = runConcat, .gradient = gradConcat, .flops = noFlops,
        .upgrades = kConcatUpgrades},
    {.name = "Split", .since = 18, .source = "ONNX Operators.md, Split-18", .run = runSplit, .gradient = gradSplit, .flops = noFlops,
        .upgrades = kSplitUpgrades},
    {.name = "Slice", .since = 13, .source = "ONNX Operators.md, Slice-13", .run = runSlice, .gradient = gradSlice, .flops = noFlops, .bytes = readsChosen,
        .upgrades = kSliceUpgrades},
    {.name = "Expand", .since = 13, .source = "ONNX Operators.md, Expand-13", .run = runExpand, .gradient = gradExpand, .flops = noFlops},
    {.name = "Tile", .since = 13, .source = "ONNX Operators.md, Tile-13", .run = runTile, .gradient = gradTile, .flops = noFlops,
        .upgrades = kTileUpgrades},
    {.name = "Trilu", .since = 14, .source = "ONNX Operators.md, Trilu-14", .run = runTrilu, .gradient = gradTrilu, .flops = noFlops},
    {.name = "ReverseSequence", .since = 28, .source = "ONNX Operators.md, ReverseSequence-28", .run = runReverseSequence,
        .gradient = gradReverseSequence, .flops = noFlops},
    {.name = "DepthToSpace", .since = 28, .source = "ONNX Operators.md, DepthToSpace-28", .run = runDepthToSpace, .gradient = gradDepthToSpace,
        .flops = noFlops},
    {.name = "SpaceToDepth", .since = 28, .source = "ONNX Operators.md, SpaceToDepth-28", .run = runSpaceToDepth, .gradient = gradSpaceToDepth,
        .flops = noFlops},
};

} // namespace

std::span<const OpDef> layoutOps() { return kOps; }

} // namespace nabla::engine
