// Painting of nodes and group boxes, near and mid.
#pragma once

#include "views/canvas/paint_context.h"

namespace nabla::views {

class CardPainter {
public:
    CardPainter(QPainter& painter, const PaintContext& context)
        : m_painter(painter)
        , m_context(context) { }

    void paintNode(const SceneNode& node, const NodeMarks& marks = {}) const;
    void paintGroup(const SceneGroup& group) const;
    void paintPort(const LayoutPort& port) const;

    /// Where a click opens a closed group, or closes an open one; in scene units.
    static Box expandBox(const SceneNode& node);
    static Box collapseBox(const SceneGroup& group);

private:
    QPainter& m_painter;
    const PaintContext& m_context;

    struct Frame {
        QColor fill, line;
        double width = 1;
        bool dashed = false;
        bool hatched = false;
    };
    Frame frameOf(const SceneNode& node, const NodeMarks& marks) const;
    void paintFrame(const QRectF& r, const Frame& frame, double radius) const;
    void paintStrip(const QRectF& r, const SceneNode& node, double width, double radius) const;
    void paintTile(const QPointF& at, double side, OperatorKind kind) const;
    void paintCard(const QRectF& r, const SceneNode& node) const;
    void paintMid(const QRectF& r, const SceneNode& node) const;
    void paintClosedGroup(const QRectF& r, const SceneNode& node, const Frame& frame) const;
    void paintPortal(const QRectF& r, const SceneNode& node, const Frame& frame) const;
    void paintGhost(const QRectF& r, const SceneNode& node) const;
    void paintMarks(const QRectF& r, const SceneNode& node, const NodeMarks& marks) const;
    void paintNan(const QRectF& r) const;
    /// Returns how much room it took at the right end.
    double paintDiffBadge(const QRectF& r, DiffState diff) const;
    double paintRepeat(QPointF rightCentre, int repeat) const;
    void paintBar(const QRectF& r, float share) const;
    void writeLeft(double x, double baseline, double width, std::string_view text, const QFont& font,
        const QFontMetricsF& metrics, const QColor& colour, Qt::TextElideMode mode) const;
    double writeRight(double right, double baseline, std::string_view text, const QFont& font,
        const QFontMetricsF& metrics, const QColor& colour, double most) const;
};

} // namespace nabla::views
