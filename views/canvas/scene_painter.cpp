// Order of painting and choice of detail.
#include "views/canvas/scene_painter.h"

#include "views/canvas/card_painter.h"
#include "views/canvas/edge_painter.h"
#include "views/canvas/far_raster.h"

namespace nabla::views {

void paintScene(QPainter& painter, const QRectF& area, const PaintContext& c, SceneIndex::Scratch& scratch) {
    // Marks stick out of boxes, labels are wider than the cells of their edges: look a bit farther than the area.
    constexpr double kMarks = 24;
    constexpr double kLabels = 160;
    const GraphScene& scene = c.scene();
    const double margin = c.level == DetailLevel::Near ? kLabels : kMarks;
    const QRectF wide = area.adjusted(-margin, -margin, margin, margin);
    const Box units{static_cast<float>(wide.x() / c.zoom), static_cast<float>(wide.y() / c.zoom),
        static_cast<float>(wide.width() / c.zoom), static_cast<float>(wide.height() / c.zoom)};
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::TextAntialiasing);
    const CardPainter cards(painter, c);
    const EdgePainter edges(painter, c);
    for (const int g : c.prepared.index().groupsOutsideIn()) {
        if (scene.groups[g].box.overlaps(units))
            cards.paintGroup(scene.groups[g]);
    }
    c.prepared.index().query(units, scratch);
    for (const int e : scratch.edges)
        edges.paintEdge(static_cast<std::size_t>(e));
    for (const LayoutPort& p : scene.ports) {
        if (units.contains(p.at))
            cards.paintPort(p);
    }
    for (const int n : scratch.nodes)
        cards.paintNode(scene.nodes[n]);
    for (const int e : scratch.edges) {
        if (scene.edges[e].labelled)
            edges.paintLabel(static_cast<std::size_t>(e));
    }
}

QImage rasterScene(QSize size, QPoint origin, const PaintContext& c, SceneIndex::Scratch& scratch) {
    QImage image(size, QImage::Format_RGB32);
    if (image.isNull())
        return image;
    if (c.level == DetailLevel::Far) {
        rasterFar(image, origin, c, scratch);
        image.setDevicePixelRatio(c.ratio);
        return image;
    }
    image.fill(c.theme.canvas);
    image.setDevicePixelRatio(c.ratio);
    QPainter painter(&image);
    const QPointF corner(origin.x() / c.ratio, origin.y() / c.ratio);
    painter.translate(-corner);
    paintScene(painter, QRectF(corner, QSizeF(size) / c.ratio), c, scratch);
    return image;
}

} // namespace nabla::views
