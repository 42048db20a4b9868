// Convolution as a matrix product over columns of the input, for every element type and number of spatial axes.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/ops/float_kernel.h"
#include "engine/ops/matmul_core.h"
#include "engine/ops/window.h"

namespace nabla::engine {

/// x [N, group * C, ..] and w [M, C, ..] as a convolution sees them.
struct ConvShape {
    std::int64_t batch = 0, group = 1, channels = 0, filters = 0; ///< channels and filters of one group
    std::int64_t inputCells = 1, outputCells = 1, taps = 1;
    Window window;
    Shape output;
};
/// Errors (Run) name "group", "kernel", "pads" and the numbers.
Result<ConvShape> convShape(const Node& node, std::int64_t group, ShapeView x, ShapeView w);
/// The same for ConvTranspose: w [group * C, M, ..]; window.input is the input, window.output the output.
Result<ConvShape> convTransposeShape(const Node& node, std::int64_t group, ShapeView x, ShapeView w);

/// Coordinates of input cells that the columns [begin, end) of the output start from, axis by axis.
std::vector<std::vector<std::int64_t>> windowStarts(const Window& w, ShapeView positions, std::int64_t begin, std::int64_t end);

/// columns[c * taps + t][o - begin] = input cell that tap t of channel c reads for output cell o; 0 in the padding.
template <typename T>
void gatherColumns(const T* x, const ConvShape& s, const std::vector<std::vector<std::int64_t>>& starts, std::int64_t count, T* columns) {
    const Window& w = s.window;
    const auto strides = rowMajorStrides(w.input);
    std::vector<std::int64_t> tap(w.rank());
    for (std::int64_t t = 0; t < s.taps; ++t) {
        for (std::size_t i = w.rank(), rest = static_cast<std::size_t>(t); i-- > 0;) {
            tap[i] = static_cast<std::int64_t>(rest) % w.kernel[i];
            rest /= static_cast<std::size_t>(w.kernel[i]);
        }
        std::vector<std::int64_t> cells(static_cast<std::size_t>(count), 0);
        for (std::size_t i = 0; i < w.rank(); ++i) {
            const std::int64_t shift = tap[i] * w.dilations[i];
            for (std::size_t o = 0; o < cells.size(); ++o) {
                const std::int64_t at = starts[i][o] + shift;
                cells[o] = cells[o] < 0 || at < 0 || at >= w.input[i] ? -1 : cells[o] + at * strides[i];
            }
        }
        for (std::int64_t c = 0; c < s.channels; ++c) {
            const T* const channel = x + c * s.inputCells;
            T* const row = columns + (c * s.taps + t) * count;
            for (std::size_t o = 0; o < cells.size(); ++o)
                row[o] = cells[o] < 0 ? T{} : channel[cells[o]];
        }
    }
}

/// y [N, group * M, ..] = x * w, without bias. Blocks of output cells keep the columns in the cache.
template <typename T> void convolve(const KernelContext& c, const ConvShape& s, const T* x, const T* w, T* y) {
    const std::int64_t depth = s.channels * s.taps;
    const std::int64_t block = std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(depth, 1), 64, 4096);
    const std::int64_t blocks = (s.outputCells + block - 1) / block;
    parallelFor(c, s.batch * s.group * blocks, depth * s.filters * std::min(block, s.outputCells), [&](std::int64_t first, std::int64_t last) {
        std::vector<T> columns, product;
        for (std::int64_t task = first; task < last; ++task) {
            const std::int64_t image = task / blocks, begin = task % blocks * block, end = std::min(begin + block, s.outputCells), count = end - begin;
            columns.resize(static_cast<std::size_t>(depth * count));
            product.resize(static_cast<std::size_t>(s.filters * count));
            gatherColumns(x + image * s.channels * s.inputCells, s, windowStarts(s.window, s.window.output, begin, end), count, columns.data());
            multiplyRows(w + image % s.group * s.filters * depth, columns.data(), product.data(), 0, s.filters, depth, count);
            for (std::int64_t m = 0; m < s.filters; ++m)
                std::copy_n(product.data() + m * count, count, y + (image * s.filters + m) * s.outputCells + begin);
        }
    });
}

/// y [N, group * M, ..] += transposed convolution of x by w [group * C, M, ..]: each input cell adds its taps to the output.
template <typename T> void convolveTransposed(const KernelContext& c, const ConvShape& s, const T* x, const T* w, T* y) {
    const Window& win = s.window;
    const auto strides = rowMajorStrides(win.output);
    const std::int64_t block = 1024;
    parallelFor(c, s.batch * s.group * s.filters, s.channels * s.taps * s.inputCells, [&](std::int64_t first, std::int64_t last) {
        std::vector<T> products, filter(static_cast<std::size_t>(s.taps * s.channels));
        std::vector<std::int64_t> tap(win.rank());
        for (std::int64_t task = first; task < last; ++task) {
            const std::int64_t image = task / s.filters, m = task % s.filters, groupAt = image % s.group;
            for (std::int64_t k = 0; k < s.channels; ++k) {
                for (std::int64_t t = 0; t < s.taps; ++t)
                    filter[static_cast<std::size_t>(t * s.channels + k)] = w[((groupAt * s.channels + k) * s.filters + m) * s.taps + t];
            }
            T* const out = y + task * s.outputCells;
            for (std::int64_t begin = 0; begin < s.inputCells; begin += block) {
                const std::int64_t count = std::min(block, s.inputCells - begin);
                const auto starts = windowStarts(win, win.input, begin, begin + count);
                std::vector<T> cells(static_cast<std::size_t>(s.channels * count));
                for (std::int64_t k = 0; k < s.channels; ++k)
                    std::copy_n(x + (image * s.channels + k) * s.inputCells + begin, count, cells.data() + k * count);
                products.resize(static_cast<std::size_t>(s.taps * count));
                multiplyRows(filter.data(), cells.data(), products.data(), 0, s.taps, s.channels, count);
                for (std::int64_t t = 0; t < s.taps; ++t) {
                    for (std::size_t i = win.rank(), rest = static_cast<std::size_t>(t); i-- > 0;) {
                        tap[i] = static_cast<std::int64_t>(rest) % win.kernel[i];
                        rest /= static_cast<std::size_t>(win.kernel[i]);
                    }
                    for (std::int64_t o = 0; o < count; ++o) {
                        std::int64_t at = 0;
                        bool inside = true;
                        for (std::size_t i = 0; i < win.rank() && inside; ++i) {
                            const std::int64_t position = starts[i][static_cast<std::size_t>(o)] + tap[i] * win.dilations[i];
                            inside = position >= 0 && position < win.output[i];
                            at += position * strides[i];
                        }
                        if (inside)
                            out[at] += products[static_cast<std::size_t>(t * count + o)];
                    }
                }
            }
        }
    });
}

} // namespace nabla::engine
