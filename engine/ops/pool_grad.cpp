// Gradients of the pools: by the indices of the maxima, or by a ConvTranspose with ones.
#include "engine/ops/pool_grad.h"

#include "engine/ops/conv_grad.h"

namespace nabla::engine {

namespace {

ValueId flat(GradientBuilder& b, ValueId x) { return b.op("Reshape", {x, b.ints({-1})}); }

/// A node's attributes less some, for another operator over the same windows.
std::vector<Attribute> attributesWithout(const Node& n, std::initializer_list<std::string_view> names) {
    std::vector<Attribute> out;
    for (const Attribute& a : n.attributes) {
        if (std::find(names.begin(), names.end(), a.name) == names.end())
            out.push_back(a);
    }
    return out;
}

Result<WindowGradient> poolWindow(GradientBuilder& b, const Node& n) {
    const auto rank = b.rank(n.inputs[0]);
    if (!rank || *rank < 2)
        return runError("the gradient of {} wants an input of known rank", n.opType);
    NABLA_TRY(WindowAttributes attributes, windowAttributes(n, *rank - 2));
    WindowGradient w = windowGradient(b, std::move(attributes), 1, n.inputs[0], n.outputs[0]);
    const ValueType output = b.type(n.outputs[0]);
    if (n.intAttribute("ceil_mode", 0) != 0 && w.inputSizes && !output.concreteShape()) { // sizes by floor would be wrong
        NABLA_TRY(const Window window, slideOver(w.window, *w.inputSizes, Rounding::Ceil));
        w.outputSizes = window.output;
    }
    // Without sizes a stride of 1 leaves no remainder, with ceil_mode neither.
    return w;
}

/// Adds each value of `g` [N, C, out..] to all cells of its window, giving [N, C, in..]: planes become the batch of a one-channel ConvTranspose.
ValueId sumBack(GradientBuilder& b, const WindowGradient& w, ValueId g, ValueId x) {
    const auto one = b.intScalar(1);
    const ValueId planes = b.op("Reshape", {g, b.op("Concat", {b.ints({-1, 1}), b.op("Shape", {g}, {intAttr("start", 2)})}, {intAttr("axis", 0)})});
    std::vector<std::int64_t> kernel{1, 1};
    kernel.insert(kernel.end(), w.window.kernel.begin(), w.window.kernel.end());
    const ValueId weight = b.op("Expand", {b.castLike(one, x), b.ints(kernel)});
    return b.reshapeLike(spreadBack(b, w, planes, weight), x);
}

/// |x|^(p-1) sign(x) as a product that is 0 at 0.
ValueId oddPower(GradientBuilder& b, ValueId x, std::int64_t p) {
    if (p == 1)
        return b.op("Sign", {x});
    if (p == 2)
        return x;
    return b.mul(b.op("Sign", {x}), b.op("Pow", {b.op("Abs", {x}), b.scalar(x, static_cast<double>(p - 1))}));
}

/// dy * y^(1-p), 0 where y is 0: the gradient of a norm at 0 is 0.
ValueId overPower(GradientBuilder& b, ValueId dy, ValueId y, std::int64_t p) {
    if (p == 1)
        return dy;
    const ValueId isZero = b.op("Equal", {y, b.scalar(y, 0)});
    const ValueId safe = b.where(isZero, b.scalar(y, 1), y);
    const ValueId power = p == 2 ? safe : b.op("Pow", {safe, b.scalar(y, static_cast<double>(p - 1))});
    return b.where(isZero, b.scalar(y, 0), b.div(dy, power));
}

} // namespace

// Each dY goes to the cell its maximum came from; cells that several windows chose sum up.
Gradients gradMaxPool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    ValueId indices = n.intAttribute("storage_order", 0) == 0 ? n.output(1) : ValueId{};
    if (!indices)
        indices = b.ops("MaxPool", {n.inputs[0]}, 2, attributesWithout(n, {"storage_order"}))[1];
    const ValueId zeros = flat(b, b.zerosLike(n.inputs[0]));
    const ValueId summed = b.op("ScatterElements", {zeros, flat(b, indices), flat(b, dy[0])}, {intAttr("axis", 0), stringAttr("reduction", "add")});
    return std::vector<ValueId>{b.reshapeLike(summed, n.inputs[0])};
}

// dX = ConvTranspose(dY / count, ones). 1 / count is the pool of ones over the number of real cells, which LpPool with p = 1 counts.
Gradients gradAveragePool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const WindowGradient w, poolWindow(b, n));
    const ValueId x = n.inputs[0];
    const bool plain = n.intAttribute("ceil_mode", 0) == 0 && n.stringAttribute("auto_pad", "NOTSET").starts_with("SAME") == false
        && (n.intAttribute("count_include_pad", 0) != 0
            || std::all_of(w.window.pads.begin(), w.window.pads.end(), [](std::int64_t pad) { return pad == 0; }));
    ValueId share;
    if (plain) {
        share = b.div(dy[0], b.scalar(x, static_cast<double>(elementCount(w.window.kernel))));
    } else {
        const ValueId ones = b.add(b.zerosLike(x), b.scalar(x, 1));
        const ValueId pooled = b.op("AveragePool", {ones}, n.attributes);
        std::vector<Attribute> counting = attributesWithout(n, {"count_include_pad"});
        counting.push_back(intAttr("p", 1));
        share = b.mul(dy[0], b.div(pooled, b.op("LpPool", {ones}, std::move(counting))));
    }
    return std::vector<ValueId>{sumBack(b, w, share, x)};
}

// y = (sum |x|^p)^(1/p): dX = |x|^(p-1) sign(x) * sum over windows of dY y^(1-p).
Gradients gradLpPool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const WindowGradient w, poolWindow(b, n));
    const std::int64_t p = n.intAttribute("p", 2);
    const ValueId x = n.inputs[0];
    return std::vector<ValueId>{b.mul(oddPower(b, x, p), sumBack(b, w, overPower(b, dy[0], n.outputs[0], p), x))};
}

Gradients gradGlobalAveragePool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const ValueId cells = b.castLike(b.div(b.op("Size", {x}), b.op("Size", {n.outputs[0]})), x);
    return std::vector<ValueId>{b.op("Expand", {b.div(dy[0], cells), b.shapeOf(x)})};
}

// Equal maxima share alike, as in PyTorch's amax.
Gradients gradGlobalMaxPool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const ValueId x = n.inputs[0];
    const auto rank = b.rank(x);
    if (!rank || *rank < 2)
        return runError("the gradient of GlobalMaxPool wants an input of known rank");
    std::vector<std::int64_t> axes;
    for (std::size_t i = 2; i < *rank; ++i)
        axes.push_back(static_cast<std::int64_t>(i));
    const ValueId chosen = b.castLike(b.op("Equal", {x, n.outputs[0]}), x);
    return std::vector<ValueId>{b.mul(chosen, b.div(dy[0], b.reduceSum(chosen, axes, true)))};
}

Gradients gradGlobalLpPool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    const std::int64_t p = n.intAttribute("p", 2);
    return std::vector<ValueId>{b.mul(oddPower(b, n.inputs[0], p), overPower(b, dy[0], n.outputs[0], p))};
}

// Without output_size the indices count in the output itself.
Gradients gradMaxUnpool(GradientBuilder& b, const Node& n, OutputGrads dy) {
    if (n.input(2))
        return runError("the gradient of MaxUnpool with output_size is not known");
    const ValueId picked = b.op("Gather", {flat(b, dy[0]), flat(b, n.inputs[1])}, {intAttr("axis", 0)});
    return std::vector<ValueId>{b.reshapeLike(picked, n.inputs[0]), ValueId{}};
}

} // namespace nabla::engine
