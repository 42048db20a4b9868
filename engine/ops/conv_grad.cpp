// Gradients of Conv and ConvTranspose: the data gradient of each is the other, the weight gradient is a Conv whose kernel is the cotangent.
#include "engine/ops/conv_grad.h"

namespace nabla::engine {

namespace {

using AutoPad = WindowAttributes::AutoPad;

std::optional<Shape> spatialSizes(const ValueType& type) {
    if (!type.shape || type.shape->size() < 2)
        return std::nullopt;
    Shape out;
    for (std::size_t i = 2; i < type.shape->size(); ++i) {
        const auto size = (*type.shape)[i].constant();
        if (!size)
            return std::nullopt;
        out.push_back(*size);
    }
    return out;
}

std::vector<Attribute> convAttributes(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dilations, std::int64_t group) {
    std::vector<Attribute> attributes{intsAttr("strides", strides), intsAttr("dilations", dilations)};
    if (group != 1)
        attributes.push_back(intAttr("group", group));
    return attributes;
}

/// Pads at the beginning and the cells to drop at the end (negative: to add) when the window's whole span, stride * (outputs - 1) + extent, is
/// laid over the input.
struct Fit {
    std::vector<std::int64_t> begin, endCut;
};

std::optional<Fit> knownFit(const WindowGradient& w) {
    const std::size_t rank = w.window.kernel.size();
    Fit fit;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t extent = (w.window.kernel[i] - 1) * w.window.dilations[i] + 1;
        std::int64_t begin = w.window.pads[i];
        const bool same = w.window.autoPad == AutoPad::SameUpper || w.window.autoPad == AutoPad::SameLower;
        if (w.inputSizes && w.outputSizes) {
            const std::int64_t full = w.window.strides[i] * ((*w.outputSizes)[i] - 1) + extent;
            if (same) {
                const std::int64_t total = std::max<std::int64_t>(0, full - (*w.inputSizes)[i]);
                begin = w.window.autoPad == AutoPad::SameUpper ? total / 2 : total - total / 2;
            }
            fit.endCut.push_back(full - begin - (*w.inputSizes)[i]);
        } else if (w.window.strides[i] == 1 && !same) {
            fit.endCut.push_back(w.window.pads[rank + i]); // no remainder: the span is the padded input
        } else {
            return std::nullopt;
        }
        fit.begin.push_back(begin);
    }
    return fit;
}

/// The same at run time, as int64 vectors. `full`: spans.
struct RunTimeFit {
    ValueId begin, endCut;
};
RunTimeFit runTimeFit(GradientBuilder& b, const WindowGradient& w) {
    std::vector<std::int64_t> rest(w.window.kernel.size());
    for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] = (w.window.kernel[i] - 1) * w.window.dilations[i] + 1 - w.window.strides[i];
    const ValueId input = b.op("Shape", {w.input}, {intAttr("start", 2)}), output = b.op("Shape", {w.output}, {intAttr("start", 2)});
    const ValueId full = b.add(b.mul(output, b.ints(w.window.strides)), b.ints(rest));
    const ValueId over = b.sub(full, input);
    ValueId begin = b.ints({w.window.pads.begin(), w.window.pads.begin() + static_cast<std::ptrdiff_t>(rest.size())});
    if (w.window.autoPad == AutoPad::SameUpper || w.window.autoPad == AutoPad::SameLower) {
        const ValueId total = b.op("Max", {over, b.intScalar(0)});
        const ValueId half = b.div(total, b.intScalar(2));
        begin = w.window.autoPad == AutoPad::SameUpper ? half : b.sub(total, half);
    }
    return {begin, b.sub(over, begin)};
}

ValueId spatialAxes(GradientBuilder& b, std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    for (std::size_t i = 0; i < rank; ++i)
        axes[i] = static_cast<std::int64_t>(i) + 2;
    return b.ints(std::move(axes));
}

ValueId padSpatial(GradientBuilder& b, ValueId x, ValueId begin, ValueId end, std::size_t rank) {
    const ValueId pads = b.op("Concat", {begin, end}, {intAttr("axis", 0)});
    return b.op("Pad", {x, pads, ValueId{}, spatialAxes(b, rank)});
}

/// The input as the window sees it: padded, and cut where the last window does not reach. `conv` gets what its own pads can do.
ValueId paddedInput(GradientBuilder& b, const WindowGradient& w, ValueId x, std::vector<Attribute>& conv, bool& exact) {
    const std::size_t rank = w.window.kernel.size();
    exact = true;
    if (const auto fit = knownFit(w)) {
        std::vector<std::int64_t> pads = fit->begin;
        bool any = false;
        for (const std::int64_t cut : fit->endCut) {
            exact = exact && cut >= 0;
            pads.push_back(std::max<std::int64_t>(0, cut));
        }
        for (const std::int64_t pad : pads)
            any = any || pad != 0;
        if (any)
            conv.push_back(intsAttr("pads", pads));
        return x;
    }
    const RunTimeFit fit = runTimeFit(b, w);
    return padSpatial(b, x, fit.begin, fit.endCut, rank);
}

std::vector<std::int64_t> swapFirstTwo(std::size_t rank) {
    std::vector<std::int64_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i)
        order[i] = static_cast<std::int64_t>(i);
    std::swap(order[0], order[1]);
    return order;
}

/// x [N, g * C, ..] as [C, g * N, ..]: channels become the batch, the batch becomes the channels that are summed over.
ValueId channelsAsBatch(GradientBuilder& b, ValueId x, std::int64_t group, std::size_t rank) {
    if (group == 1)
        return b.op("Transpose", {x}, {intsAttr("perm", swapFirstTwo(rank))});
    const ValueId sizes = b.op("Shape", {x}, {intAttr("start", 2)});
    const ValueId grouped = b.op("Reshape", {x, b.op("Concat", {b.ints({0, group, -1}), sizes}, {intAttr("axis", 0)})});
    std::vector<std::int64_t> order{2, 1, 0};
    for (std::size_t i = 3; i <= rank; ++i)
        order.push_back(static_cast<std::int64_t>(i));
    const ValueId turned = b.op("Transpose", {grouped}, {intsAttr("perm", order)});
    return b.op("Reshape", {turned, b.op("Concat", {b.ints({0, -1}), sizes}, {intAttr("axis", 0)})});
}

/// dW [M, C, ..] of a convolution with input `x` and cotangent `g` of its output: a Conv of x by g where channels and batch change places, and
/// strides and dilations too.
ValueId weightGradient(GradientBuilder& b, const WindowGradient& w, ValueId x, ValueId g) {
    const std::size_t rank = w.window.kernel.size() + 2;
    std::vector<Attribute> attributes = convAttributes(w.window.dilations, w.window.strides, w.group);
    bool exact = true;
    const ValueId padded = paddedInput(b, w, x, attributes, exact);
    const ValueId turned = b.op("Transpose", {g}, {intsAttr("perm", swapFirstTwo(rank))});
    ValueId out = b.op("Conv", {channelsAsBatch(b, padded, w.group, rank), turned}, std::move(attributes));
    if (!exact) { // cells past the last window gave taps that the kernel does not have
        const std::vector<std::int64_t> zeros(rank - 2, 0);
        out = b.op("Slice", {out, b.ints(zeros), b.ints(w.window.kernel), spatialAxes(b, rank - 2)});
    }
    return b.op("Transpose", {out}, {intsAttr("perm", swapFirstTwo(rank))});
}

ValueId biasGradient(GradientBuilder& b, ValueId dy, std::size_t rank) {
    std::vector<std::int64_t> axes{0};
    for (std::size_t i = 2; i < rank; ++i)
        axes.push_back(static_cast<std::int64_t>(i));
    return b.reduceSum(dy, std::move(axes), false);
}

/// Attributes of a convolution node; the kernel from the weight's type, else from kernel_shape.
Result<WindowAttributes> attributesOf(GradientBuilder& b, const Node& n) {
    const auto rank = b.rank(n.inputs[0]) ? b.rank(n.inputs[0]) : b.rank(n.inputs[1]);
    if (!rank || *rank < 2)
        return runError("the gradient of {} wants an input of known rank", n.opType);
    const auto sizes = spatialSizes(b.type(n.inputs[1]));
    if (!sizes && n.intsAttribute("kernel_shape").empty() && *rank > 2)
        return runError("the gradient of {} wants a kernel of known size", n.opType);
    return windowAttributes(n, *rank - 2, sizes ? *sizes : std::vector<std::int64_t>{});
}

} // namespace

WindowGradient windowGradient(GradientBuilder& b, WindowAttributes window, std::int64_t group, ValueId input, ValueId output) {
    WindowGradient w{std::move(window), group, input, output, spatialSizes(b.type(input)), spatialSizes(b.type(output))};
    if (w.inputSizes && !w.outputSizes) {
        if (const auto slid = slideOver(w.window, *w.inputSizes))
            w.outputSizes = slid->output;
    }
    return w;
}

ValueId spreadBack(GradientBuilder& b, const WindowGradient& w, ValueId x, ValueId weight) {
    std::vector<Attribute> attributes = convAttributes(w.window.strides, w.window.dilations, w.group);
    const auto fit = knownFit(w);
    if (!fit) {
        const ValueId full = b.op("ConvTranspose", {x, weight}, std::move(attributes));
        const RunTimeFit cut = runTimeFit(b, w);
        return padSpatial(b, full, b.neg(cut.begin), b.neg(cut.endCut), w.window.kernel.size());
    }
    std::vector<std::int64_t> pads = fit->begin, more;
    for (const std::int64_t cut : fit->endCut) {
        pads.push_back(std::max<std::int64_t>(0, cut));
        more.push_back(std::max<std::int64_t>(0, -cut));
    }
    const auto any = [](const std::vector<std::int64_t>& values) { return std::any_of(values.begin(), values.end(), [](std::int64_t v) { return v != 0; }); };
    if (any(pads))
        attributes.push_back(intsAttr("pads", pads));
    if (any(more))
        attributes.push_back(intsAttr("output_padding", more));
    return b.op("ConvTranspose", {x, weight}, std::move(attributes));
}

// dX = ConvTranspose(dY, W), dW = Conv of X by dY with batch and channels exchanged, dB = sum of dY over all but channels.
Gradients gradConv(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(const WindowAttributes attributes, attributesOf(b, n));
    const WindowGradient w = windowGradient(b, attributes, n.intAttribute("group", 1), n.inputs[0], n.outputs[0]);
    std::vector<ValueId> grads(n.inputs.size());
    if (b.wants(0))
        grads[0] = spreadBack(b, w, dy[0], n.inputs[1]);
    if (b.wants(1))
        grads[1] = weightGradient(b, w, n.inputs[0], dy[0]);
    if (n.input(2) && b.wants(2))
        grads[2] = biasGradient(b, dy[0], attributes.kernel.size() + 2);
    return grads;
}

// A ConvTranspose is the data gradient of a Conv from its output to its input: that Conv gives dX, and its weight gradient gives dW.
Gradients gradConvTranspose(GradientBuilder& b, const Node& n, OutputGrads dy) {
    NABLA_TRY(WindowAttributes attributes, attributesOf(b, n));
    const std::size_t rank = attributes.kernel.size();
    const std::int64_t group = n.intAttribute("group", 1);
    WindowGradient w = windowGradient(b, attributes, group, n.outputs[0], n.inputs[0]);
    const std::vector<std::int64_t> more = n.intsAttribute("output_padding");
    for (std::size_t i = 0; i < more.size() && i < rank; ++i)
        w.window.pads[rank + i] -= more[i];
    const bool same = attributes.autoPad == AutoPad::SameUpper || attributes.autoPad == AutoPad::SameLower;
    if (same || !n.intsAttribute("output_shape").empty()) {
        // The pads follow from both sizes, by the rule of ConvTranspose.
        if (!w.inputSizes || !w.outputSizes)
            return runError("the gradient of ConvTranspose with output_shape or auto_pad wants sizes known before running");
        for (std::size_t i = 0; i < rank; ++i) {
            const std::int64_t extent = (attributes.kernel[i] - 1) * attributes.dilations[i] + 1;
            const std::int64_t full = attributes.strides[i] * ((*w.outputSizes)[i] - 1) + extent + (more.empty() ? 0 : more[i]);
            const std::int64_t total = std::max<std::int64_t>(0, full - (*w.inputSizes)[i]);
            w.window.pads[i] = attributes.autoPad == AutoPad::SameUpper ? total / 2 : total - total / 2;
        }
        w.window.autoPad = AutoPad::NotSet;
    }
    std::vector<ValueId> grads(n.inputs.size());
    if (b.wants(0)) {
        std::vector<Attribute> conv = convAttributes(w.window.strides, w.window.dilations, group);
        bool exact = true;
        ValueId out = paddedInput(b, w, dy[0], conv, exact);
        out = b.op("Conv", {out, n.inputs[1]}, std::move(conv));
        if (!exact && w.outputSizes) // output padding as wide as a stride: windows past the last input cell
            out = b.op("Slice", {out, b.ints(std::vector<std::int64_t>(rank, 0)), b.ints(*w.outputSizes), spatialAxes(b, rank)});
        grads[0] = out;
    }
    if (b.wants(1))
        grads[1] = weightGradient(b, w, dy[0], n.inputs[0]);
    if (n.input(2) && b.wants(2))
        grads[2] = biasGradient(b, dy[0], rank + 2);
    return grads;
}

} // namespace nabla::engine
