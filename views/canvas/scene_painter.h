// A whole part of a scene in the right order, at the detail that the zoom allows.
#pragma once

#include "views/canvas/paint_context.h"

namespace nabla::views {

/// Paints what meets `area` (pixels: scene units times zoom) without a background: groups, edges, ports, nodes, labels.
void paintScene(QPainter& painter, const QRectF& area, const PaintContext& context, SceneIndex::Scratch& scratch);

/// A tile or picture of `size` device pixels whose top left device pixel is `origin`, background included.
QImage rasterScene(QSize size, QPoint origin, const PaintContext& context, SceneIndex::Scratch& scratch);

} // namespace nabla::views
