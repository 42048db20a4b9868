// The far view written straight into an image: 50,000 blocks and their edges in a few milliseconds.
#pragma once

#include "views/canvas/paint_context.h"

namespace nabla::views {

/// Fills `image` (32 bits a pixel, device pixels) with the part of the scene whose device pixel (0, 0) is `origin`.
/// Blocks are at least one pixel; edges fade out below zoom 0.15.
void rasterFar(QImage& image, QPoint origin, const PaintContext& context, SceneIndex::Scratch& scratch);

} // namespace nabla::views
