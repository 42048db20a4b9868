// One loop over windows that every pooling kernel shares.
#pragma once

#include <algorithm>

#include "engine/base/saturated.h"
#include "engine/ops/float_kernel.h"
#include "engine/ops/window.h"

namespace nabla::engine {

/// x [N, C, ..] as pools see it: planes of N * C.
struct PoolShape {
    std::int64_t planes = 0, inputCells = 1, outputCells = 1;
    Window window;
    Shape output;
};
/// Errors (Run): a rank below 2, anything that windowAttributes or slideOver refuse.
Result<PoolShape> poolShape(const KernelContext& c, ShapeView x);

/// Cells of the input that the window at one output cell covers, in row-major order, and how many taps it has with the padding.
struct WindowCells {
    std::vector<std::int64_t> inside;
    std::int64_t padded = 0; ///< taps that fall on the input or its padding (windows may hang over the end with ceil_mode)
};
/// Calls f(output cell, cells) for every output cell.
template <typename F> void forEachWindow(const PoolShape& s, F&& f) {
    const Window& w = s.window;
    const auto strides = rowMajorStrides(w.input), outStrides = rowMajorStrides(w.output);
    WindowCells cells;
    std::vector<std::int64_t> grown;
    for (std::int64_t o = 0; o < s.outputCells; ++o) {
        cells.inside.assign(1, 0);
        cells.padded = 1;
        for (std::size_t i = 0; i < w.rank(); ++i) {
            const TapRange taps = tapsInside(w, i, o / outStrides[i] % w.output[i]);
            const std::int64_t end = w.input[i] + w.padEnd[i];
            cells.padded = saturatedProduct({cells.padded, std::clamp<std::int64_t>((end - taps.start + w.dilations[i] - 1) / w.dilations[i], 0, w.kernel[i])});
            grown.clear();
            for (const std::int64_t base : cells.inside) {
                for (std::int64_t t = taps.first; t < taps.last; ++t)
                    grown.push_back(base + (taps.start + t * w.dilations[i]) * strides[i]);
            }
            cells.inside.swap(grown);
        }
        f(o, cells);
    }
}

} // namespace nabla::engine
