// Pad and CenterCropPad: room around a tensor, or less of it.
#include <limits>
#include <numeric>

#include "engine/ops/cost_rules.h"
#include "engine/ops/gradient_builder.h"
#include "engine/ops/mover.h"
#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

namespace {

/// Elements added (or, when negative, removed) before and after every axis.
struct Pads {
    std::vector<std::int64_t> before, after;
};

constexpr std::int64_t kLimit = std::int64_t{1} << 40; // far beyond any tensor, far from overflow

Result<Pads> padsOf(const KernelContext& c, const Tensor& x) {
    NABLA_TRY(const auto values, needInts(c, 1));
    std::vector<std::int64_t> axes(x.rank());
    std::iota(axes.begin(), axes.end(), 0);
    if (c.hasInput(3)) {
        NABLA_TRY(const auto asked, needInts(c, 3));
        NABLA_TRY(axes, normalizeAxes(asked, x.rank()));
    }
    if (values.size() != 2 * axes.size())
        return runError("Pad: {} pads for {} axes", values.size(), axes.size());
    Pads pads{std::vector<std::int64_t>(x.rank(), 0), std::vector<std::int64_t>(x.rank(), 0)};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(axes[i]);
        pads.before[axis] = values[i];
        pads.after[axis] = values[i + axes.size()];
        for (const std::int64_t pad : {pads.before[axis], pads.after[axis]}) {
            if (pad > kLimit || pad < -kLimit)
                return runError("Pad: {} elements at axis {} are too many", pad, axis);
        }
        if (pads.before[axis] + pads.after[axis] < -x.dim(axis))
            return runError("Pad: axis {} of {} is cut by more than it has", axis, x.dim(axis));
    }
    return pads;
}

/// Which element of an axis of `size` lies at `index`, which may be outside; -1 = none.
using Fold = std::int64_t (*)(std::int64_t index, std::int64_t size);
std::int64_t foldConstant(std::int64_t index, std::int64_t size) { return index >= 0 && index < size ? index : -1; }
std::int64_t foldEdge(std::int64_t index, std::int64_t size) { return std::clamp<std::int64_t>(index, 0, size - 1); }
std::int64_t foldWrap(std::int64_t index, std::int64_t size) { return (index % size + size) % size; }
std::int64_t foldReflect(std::int64_t index, std::int64_t size) {
    if (size == 1)
        return 0;
    const std::int64_t period = 2 * (size - 1), at = foldWrap(index, period);
    return at < size ? at : period - at;
}

Result<Fold> foldOf(const std::string& mode) {
    if (mode == "constant")
        return foldConstant;
    if (mode == "edge")
        return foldEdge;
    if (mode == "wrap")
        return foldWrap;
    if (mode == "reflect")
        return foldReflect;
    return runError("Pad: mode is \"{}\", wants constant, edge, reflect or wrap", mode);
}

/// Constant padding: the box of x that is left is copied as one.
void padConstant(Tensor& y, const Tensor& x, const Pads& pads, const Tensor& value) {
    fillElements(y, 0, y.elementCount(), value);
    Strided out = contiguous(y.shape()), in = contiguous(x.shape());
    Shape box(x.rank());
    for (std::size_t i = 0; i < x.rank(); ++i) {
        const std::int64_t cut = std::max<std::int64_t>(0, -pads.before[i]);
        const std::int64_t end = std::min(x.dim(i), x.dim(i) + pads.after[i]);
        box[i] = std::max<std::int64_t>(0, end - cut);
        in.start += cut * in.strides[i];
        out.start += std::max<std::int64_t>(0, pads.before[i]) * out.strides[i];
    }
    copyStrided(y, out, x, in, box);
}

Result<void> runPad(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const Pads pads, padsOf(c, x));
    const std::string mode = c.stringAttribute("mode");
    NABLA_TRY(const Fold fold, foldOf(mode));
    Tensor value;
    if (c.hasInput(2)) {
        value = c.input(2);
        if (value.dtype() != x.dtype() || value.elementCount() != 1)
            return runError("Pad: the constant is {} {}, wants one {}", name(value.dtype()), toString(value.shape()), name(x.dtype()));
    }
    Shape shape = x.shape();
    for (std::size_t i = 0; i < x.rank(); ++i) {
        shape[i] += pads.before[i] + pads.after[i];
        if (fold != foldConstant && x.dim(i) == 0 && shape[i] > 0)
            return runError("Pad: mode {} has nothing to repeat along axis {} of {}", mode, i, toString(x.shape()));
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    if (fold == foldConstant) {
        padConstant(y, x, pads, value);
    } else {
        const auto strides = rowMajorStrides(x.shape());
        std::vector<std::vector<std::int64_t>> offsets(x.rank()); // of each index of each axis
        for (std::size_t d = 0; d < x.rank(); ++d) {
            for (std::int64_t i = 0; i < shape[d]; ++i)
                offsets[d].push_back(fold(i - pads.before[d], x.dim(d)) * strides[d]);
        }
        std::int64_t at = 0;
        for (IndexWalk walk(shape); !walk.done(); walk.next()) {
            std::int64_t from = 0;
            for (std::size_t d = 0; d < x.rank(); ++d)
                from += offsets[d][static_cast<std::size_t>(walk[d])];
            copyElements(y, at++, x, from, 1);
        }
    }
    c.setOutput(0, std::move(y));
    return {};
}

/// Constant: the cotangent is padded by the opposite amounts, and the constant takes the rest. Other modes: the flat index of every element
/// is padded in the same way, and the cotangent added there.
Gradients gradPad(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    std::vector<ValueId> out(n.inputs.size());
    if (n.stringAttribute("mode", "constant") == "constant") {
        std::vector<ValueId> inputs{dy[0], b.neg(n.inputs[1])};
        if (n.input(3))
            inputs.insert(inputs.end(), {ValueId{}, n.inputs[3]});
        out[0] = b.op("Pad", inputs);
        if (n.input(2) && b.wants(2)) {
            const auto total = [&](ValueId v) { return b.op("ReduceSum", {v}, {intAttr("keepdims", 0)}); };
            out[2] = b.reshapeLike(b.sub(total(dy[0]), total(out[0])), n.inputs[2]);
        }
        return out;
    }
    const ValueId positions = b.reshapeLike(b.op("Range", {b.intScalar(0), b.op("Size", {x}), b.intScalar(1)}), x);
    std::vector<ValueId> inputs{positions, n.inputs[1]};
    if (n.input(3))
        inputs.insert(inputs.end(), {ValueId{}, n.inputs[3]});
    const ValueId from = b.op("Reshape", {b.op("Pad", inputs, n.attributes), b.ints({-1, 1})}, {intAttr("allowzero", 1)});
    const ValueId flatZeros = b.op("Reshape", {b.zerosLike(x), b.ints({-1})});
    const ValueId summed = b.op("ScatterND", {flatZeros, from, b.op("Reshape", {dy[0], b.ints({-1})})}, {stringAttr("reduction", "add")});
    out[0] = b.reshapeLike(summed, x);
    return out;
}

// ---- CenterCropPad ----

/// Along an axis the middle is kept: cutting rounds the start down, padding puts the odd element at the end.
Result<void> runCenterCropPad(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needTensor(c, 0));
    NABLA_TRY(const auto wanted, needInts(c, 1));
    std::vector<std::int64_t> axes(x.rank());
    std::iota(axes.begin(), axes.end(), 0);
    if (c.hasAttribute("axes")) {
        NABLA_TRY(axes, normalizeAxes(c.intsAttribute("axes"), x.rank()));
    }
    if (wanted.size() != axes.size())
        return runError("CenterCropPad: {} sizes for {} axes", wanted.size(), axes.size());
    Pads pads{std::vector<std::int64_t>(x.rank(), 0), std::vector<std::int64_t>(x.rank(), 0)};
    Shape shape = x.shape();
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<std::size_t>(axes[i]);
        if (wanted[i] < 0 || wanted[i] > kLimit)
            return runError("CenterCropPad: size {} for axis {}", wanted[i], axis);
        const std::int64_t grow = wanted[i] - x.dim(axis);
        const std::int64_t before = grow / 2; // toward zero: the smaller half on both sides of zero
        pads.before[axis] = before;
        pads.after[axis] = grow - before;
        shape[axis] = wanted[i];
    }
    NABLA_TRY(Tensor y, c.makeOutput(0, x.dtype(), shape));
    padConstant(y, x, pads, {});
    c.setOutput(0, std::move(y));
    return {};
}

/// The same again, back to the size it had: what was cut gets 0.
Gradients gradCenterCropPad(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const ValueId positions = b.add(b.reshapeLike(b.op("Range", {b.intScalar(0), b.op("Size", {x}), b.intScalar(1)}), x), b.intScalar(1));
    // Positions count from 1, so that 0 marks padding; its cotangent lands in an extra element that is cut off.
    const ValueId from = b.op("Reshape", {b.op("CenterCropPad", {positions, n.inputs[1]}, n.attributes), b.ints({-1, 1})}, {intAttr("allowzero", 1)});
    const ValueId extra = b.op("Concat", {b.op("Reshape", {b.zerosLike(x), b.ints({-1})}), b.op("Reshape", {b.scalar(x, 0), b.ints({1})})}, {intAttr("axis", 0)});
    const ValueId summed = b.op("ScatterND", {extra, from, b.op("Reshape", {dy[0], b.ints({-1})})}, {stringAttr("reduction", "add")});
    const ValueId cut = b.op("Slice", {summed, b.ints({1}), b.ints({std::numeric_limits<std::int64_t>::max()})});
    return std::vector{b.reshapeLike(cut, x), ValueId{}};
}

/// Amounts and the constant were attributes (in version 1 under another name).
Result<void> upgradePad(UpgradeContext& c) {
    Node changed = withoutAttributes(c.node, {"pads", "paddings", "value"});
    const std::string_view attribute = c.node.attribute("pads") ? "pads" : "paddings";
    setInput(changed, 1, upgradeInts(c, "pads", c.node.intsAttribute(attribute)));
    if (c.node.floatAttribute("value", 0) != 0) {
        NABLA_TRY(const ValueId value, upgradeScalar(c, "value", 0, static_cast<double>(c.node.floatAttribute("value", 0))));
        setInput(changed, 2, value);
    }
    return replaceWith(c, std::move(changed));
}
constexpr Upgrade kPadUpgrades[] = {{10, upgradePad}};

constexpr OpDef kOps[] = {
    {.name = "Pad", .since = 25, .source = "ONNX Operators.md, Pad-25", .run = runPad, .gradient = gradPad, .flops = noFlops, .upgrades = kPadUpgrades},
    {.name = "CenterCropPad", .since = 18, .source = "ONNX Operators.md, CenterCropPad-18", .run = runCenterCropPad, .gradient = gradCenterCropPad,
        .flops = noFlops, .bytes = readsChosen},
};

} // namespace

std::span<const OpDef> padOps() { return kOps; }

} // namespace nabla::engine
