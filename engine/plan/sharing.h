// Which results may lie where an input lies: views of the same elements, and element-wise results over an input that
// nobody reads later.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/plan/plan.h"

namespace nabla::engine {

/// The input whose elements output 0 shows under another shape (Reshape, Flatten, Squeeze, Unsqueeze, Identity).
std::optional<std::size_t> viewedInput(const Node& node);
/// Whether element i of output 0 depends on element i of each input of the output's shape, and kernels read it before
/// they write it.
bool worksInPlace(const Node& node);

/// Fills aliasOf and share, and decides between arena and heap. Live ranges must stand. `inPlace` false: nothing is
/// shared.
void shareSlots(Plan& plan, bool inPlace);

} // namespace nabla::engine
