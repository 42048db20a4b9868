// Checked shapes of Conv and ConvTranspose.
#include "engine/ops/conv_core.h"

namespace nabla::engine {

namespace {

Result<void> checkOperands(std::int64_t group, ShapeView x, ShapeView w) {
    if (x.size() < 2)
        return runError("input X {} has rank {}, at least 2 is wanted (batch, channels)", toString(x), x.size());
    if (w.size() != x.size())
        return runError("weight W {} has rank {}, input X {} has {}", toString(w), w.size(), toString(x), x.size());
    if (group < 1)
        return runError("group is {}, at least 1 is wanted", group);
    for (const std::int64_t size : w.subspan(2)) {
        if (size < 1)
            return runError("kernel {} of weight {} is empty", toString(w.subspan(2)), toString(w));
    }
    return {};
}

std::int64_t cells(ShapeView spatial) { return elementCount(spatial); }

} // namespace

Result<ConvShape> convShape(const Node& node, std::int64_t group, ShapeView x, ShapeView w) {
    NABLA_CHECK(checkOperands(group, x, w));
    if (x[1] != w[1] * group)
        return runError("weight {} wants {} input channels ({} in each of {} groups), X {} has {}", toString(w), w[1] * group, w[1], group, toString(x), x[1]);
    if (w[0] % group != 0)
        return runError("weight {} has {} filters, which do not divide into group {}", toString(w), w[0], group);
    NABLA_TRY(const WindowAttributes attributes, windowAttributes(node, x.size() - 2, {w.begin() + 2, w.end()}));
    ConvShape s;
    NABLA_TRY(s.window, slideOver(attributes, x.subspan(2)));
    s.batch = x[0];
    s.group = group;
    s.channels = w[1];
    s.filters = w[0] / group;
    s.inputCells = cells(s.window.input);
    s.outputCells = cells(s.window.output);
    s.taps = cells(s.window.kernel);
    s.output = {x[0], w[0]};
    s.output.insert(s.output.end(), s.window.output.begin(), s.window.output.end());
    return s;
}

Result<ConvShape> convTransposeShape(const Node& node, std::int64_t group, ShapeView x, ShapeView w) {
    NABLA_CHECK(checkOperands(group, x, w));
    if (x[1] != w[0])
        return runError("weight {} wants {} input channels, X {} has {}", toString(w), w[0], toString(x), x[1]);
    if (w[0] % group != 0)
        return runError("weight {} has {} input channels, which do not divide into group {}", toString(w), w[0], group);
    const std::size_t rank = x.size() - 2;
    NABLA_TRY(const WindowAttributes a, windowAttributes(node, rank, {w.begin() + 2, w.end()}));
    std::vector<std::int64_t> more = node.intsAttribute("output_padding"), wanted = node.intsAttribute("output_shape");
    if (more.empty())
        more.assign(rank, 0);
    if (more.size() != rank || (!wanted.empty() && wanted.size() != rank))
        return runError("output_padding {} and output_shape {} want {} numbers", toString(more), toString(wanted), rank);
    ConvShape s;
    s.window = {a.kernel, a.strides, a.dilations, {}, {}, Shape(x.begin() + 2, x.end()), {}};
    using AutoPad = WindowAttributes::AutoPad;
    const bool same = a.autoPad == AutoPad::SameUpper || a.autoPad == AutoPad::SameLower;
    for (std::size_t i = 0; i < rank; ++i) {
        if (more[i] < 0 || more[i] > (std::int64_t{1} << 31))
            return runError("output_padding {} is out of range", toString(more));
        std::int64_t begin = a.pads[i], end = a.pads[rank + i];
        const std::int64_t full = a.strides[i] * (x[2 + i] - 1) + more[i] + s.window.extent(i);
        std::int64_t size = full - begin - end;
        if (!wanted.empty() || same) {
            size = wanted.empty() ? x[2 + i] * a.strides[i] : wanted[i];
            const std::int64_t total = std::max<std::int64_t>(0, full - size); // cells that nothing reaches lie at the end
            begin = a.autoPad == AutoPad::SameUpper ? total / 2 : total - total / 2;
            end = total - begin;
        }
        if (size < 0)
            return runError("pads {} and {} leave spatial axis {} of the output with {} cells", begin, end, i, size);
        s.window.padBegin.push_back(begin);
        s.window.padEnd.push_back(end);
        s.window.output.push_back(size);
    }
    s.batch = x[0];
    s.group = group;
    s.channels = w[0] / group;
    s.filters = w[1];
    s.inputCells = cells(s.window.input);
    s.outputCells = cells(s.window.output);
    s.taps = cells(s.window.kernel);
    s.output = {x[0], w[1] * group};
    s.output.insert(s.output.end(), s.window.output.begin(), s.window.output.end());
    return s;
}

std::vector<std::vector<std::int64_t>> windowStarts(const Window& w, ShapeView positions, std::int64_t begin, std::int64_t end) {
    std::vector<std::vector<std::int64_t>> starts(w.rank());
    const auto strides = rowMajorStrides(positions);
    for (std::size_t i = 0; i < w.rank(); ++i) {
        starts[i].reserve(static_cast<std::size_t>(end - begin));
        for (std::int64_t o = begin; o < end; ++o)
            starts[i].push_back(o / strides[i] % positions[i] * w.strides[i] - w.padBegin[i]);
    }
    return starts;
}

} // namespace nabla::engine
