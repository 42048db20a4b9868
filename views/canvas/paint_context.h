// What every painter of the canvas needs: colours, fonts at the current zoom, and how much detail fits.
#pragma once

#include <QFont>
#include <QFontMetricsF>
#include <QImage>
#include <QPainter>
#include <QRectF>

#include "views/canvas/scene_index.h"
#include "views/theme/theme.h"

namespace nabla::views {

/// Near: whole cards, from 7 px text. Mid: strip, tile and name. Far: blocks of colour.
enum class DetailLevel { Far, Mid, Near };
DetailLevel detailLevel(double zoom);

/// How a node stands out beside what its scene says; painted live, never into tiles.
struct NodeMarks {
    bool selected = false;
    bool hovered = false;
    bool currentStep = false;
    bool breakpoint = false;
    bool searchHit = false;
};

/// One zoom of one scene in one theme. Coordinates are pixels: scene units times zoom; the painter's device pixel ratio
/// is on top of that.
struct PaintContext {
    const PreparedScene& prepared;
    const Theme& theme;
    double zoom = 1;
    double ratio = 1; ///< device pixels a pixel
    bool dimmed = false; ///< draw as farther than one hop from the selection
    DetailLevel level = DetailLevel::Near;
    QFont nameFont, bodyFont, monoFont, tileFont;
    QFontMetricsF nameMetrics, bodyMetrics, monoMetrics;

    /// `system`: the font of the widget; only its family matters, sizes are in scene units.
    PaintContext(const PreparedScene& prepared, const Theme& theme, const QFont& system, double zoom, double ratio);

    const GraphScene& scene() const { return prepared.scene(); }
    /// A box in pixels, its edges on device pixels, so that hairlines are sharp.
    QRectF rect(const Box& box) const;
    QPointF point(Point p) const { return {p.x * zoom, p.y * zoom}; }
    double px(double units) const { return units * zoom; }

    QColor text() const { return dimmed ? theme.disabled : theme.text; }
    QColor muted() const { return dimmed ? theme.disabled : theme.muted; }
    /// Fill of a block or strip: the overlay's colour where there is one, else the kind's.
    QColor blockColour(const SceneNode& node) const;
};

/// The icon as an image in device pixels, cached by name, colour and size; usable from any thread.
QImage cachedIcon(const QString& name, const QColor& colour, double size, double ratio);

} // namespace nabla::views
