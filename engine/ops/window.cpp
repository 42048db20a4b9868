// Checked reading of window attributes and the sizes that follow from them.
#include "engine/ops/window.h"

#include <algorithm>

namespace nabla::engine {

namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 31; // products of two such numbers fit

Result<std::vector<std::int64_t>> list(const Node& node, std::string_view name, std::size_t length, std::int64_t otherwise, std::int64_t least) {
    std::vector<std::int64_t> values = node.intsAttribute(name);
    if (values.empty())
        values.assign(length, otherwise);
    if (values.size() != length)
        return runError("{} has {} numbers, {} are wanted", name, values.size(), length);
    for (const std::int64_t value : values) {
        if (value < least || value > kLimit)
            return runError("{} {} is out of range: each must be at least {} and at most {}", name, toString(values), least, kLimit);
    }
    return values;
}

} // namespace

Result<WindowAttributes> windowAttributes(const Node& node, std::size_t spatialRank, std::vector<std::int64_t> kernel) {
    WindowAttributes a;
    const std::vector<std::int64_t> stated = node.intsAttribute("kernel_shape");
    if (kernel.empty() && spatialRank > 0 && stated.empty())
        return runError("attribute kernel_shape is missing");
    if (!kernel.empty() && !stated.empty() && stated != kernel)
        return runError("attribute kernel_shape {} is not the kernel {} of the weight", toString(stated), toString(kernel));
    if (kernel.empty()) {
        NABLA_TRY(kernel, list(node, "kernel_shape", spatialRank, 1, 1));
    }
    for (const std::int64_t size : kernel) {
        if (size < 1 || size > kLimit)
            return runError("kernel {} is out of range: each size must be at least 1", toString(kernel));
    }
    a.kernel = std::move(kernel);
    NABLA_TRY(a.strides, list(node, "strides", spatialRank, 1, 1));
    NABLA_TRY(a.dilations, list(node, "dilations", spatialRank, 1, 1));
    const std::string mode = node.stringAttribute("auto_pad", "NOTSET");
    using AutoPad = WindowAttributes::AutoPad;
    if (mode == "SAME_UPPER")
        a.autoPad = AutoPad::SameUpper;
    else if (mode == "SAME_LOWER")
        a.autoPad = AutoPad::SameLower;
    else if (mode == "VALID")
        a.autoPad = AutoPad::Valid;
    else if (mode != "NOTSET" && !mode.empty())
        return runError("auto_pad \"{}\" is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", mode);
    NABLA_TRY(a.pads, list(node, "pads", 2 * spatialRank, 0, 0));
    if (a.autoPad != AutoPad::NotSet)
        a.pads.assign(2 * spatialRank, 0);
    return a;
}

Result<Window> slideOver(const WindowAttributes& a, ShapeView input, Rounding rounding) {
    using AutoPad = WindowAttributes::AutoPad;
    const std::size_t rank = a.kernel.size();
    Window w{a.kernel, a.strides, a.dilations, {}, {}, Shape(input.begin(), input.end()), {}};
    for (std::size_t i = 0; i < rank; ++i) {
        std::int64_t begin = a.pads[i], end = a.pads[rank + i];
        const std::int64_t extent = w.extent(i);
        if (a.autoPad == AutoPad::SameUpper || a.autoPad == AutoPad::SameLower) {
            const std::int64_t steps = (input[i] + a.strides[i] - 1) / a.strides[i];
            const std::int64_t total = std::max<std::int64_t>(0, (steps - 1) * a.strides[i] + extent - input[i]);
            begin = a.autoPad == AutoPad::SameUpper ? total / 2 : total - total / 2;
            end = total - begin;
        }
        const std::int64_t room = input[i] + begin + end - extent;
        if (room < 0) {
            return runError("the kernel spans {} cells along spatial axis {}, the input with its pads has {} ({} + {} + {})", extent, i, room + extent,
                begin, input[i], end);
        }
        std::int64_t output = room / a.strides[i] + 1;
        if (rounding == Rounding::Ceil && room % a.strides[i] != 0) {
            ++output;
            if ((output - 1) * a.strides[i] >= input[i] + begin)
                --output;
        }
        w.padBegin.push_back(begin);
        w.padEnd.push_back(end);
        w.output.push_back(output);
    }
    return w;
}

} // namespace nabla::engine
