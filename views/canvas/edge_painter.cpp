// Curves with filled arrow heads, width by bytes, dashes by meaning.
#include "views/canvas/edge_painter.h"

#include <cmath>

#include <QPainterPath>

#include "views/canvas/plain_text.h"

namespace nabla::views {
namespace {

constexpr double kArrowLength = 8;
constexpr double kArrowWidth = 7;

/// The unit vector along which the route arrives; from the last control point that differs from the end.
QPointF arrivalDirection(std::span<const Point> points) {
    const Point end = points.back();
    for (std::size_t i = points.size() - 1; i-- > 0;) {
        const double dx = end.x - points[i].x, dy = end.y - points[i].y;
        const double length = std::hypot(dx, dy);
        if (length > 0.01)
            return {dx / length, dy / length};
    }
    return {0, 1};
}

} // namespace

QPen EdgePainter::penOf(const SceneEdge& edge, EdgeEmphasis emphasis) const {
    const Theme& t = m_context.theme;
    QPen pen(t.edge, static_cast<double>(edgeWidth(edge.bytes)));
    pen.setCapStyle(Qt::FlatCap);
    const auto dash = [&pen](double on, double off) { pen.setDashPattern({on / pen.widthF(), off / pen.widthF()}); };
    switch (edge.style) {
    case EdgeStyle::Value:
        break;
    case EdgeStyle::Saved:
        pen.setWidthF(1.5);
        dash(2, 3);
        break;
    case EdgeStyle::Gradient:
        pen.setColor(t.bwd);
        break;
    case EdgeStyle::NotYet:
        dash(5, 4);
        break;
    }
    if (!std::isnan(edge.overlay) && m_context.scene().overlayRamp == OverlayRamp::Health && edge.style != EdgeStyle::NotYet) {
        // The middle of the ramp is nearly the canvas: mixed with the edge's ink it stays a line.
        pen.setColor(mix(t.edge, t.healthAt(static_cast<double>(edge.overlay)), 0.35 + 0.65 * std::fabs(static_cast<double>(edge.overlay))));
        pen.setWidthF(static_cast<double>(overlayEdgeWidth(edge.overlay)));
        if (edge.style == EdgeStyle::Saved)
            dash(2, 3);
    }
    if (edge.diff == DiffState::Added)
        pen.setColor(t.added);
    else if (edge.diff == DiffState::Changed)
        pen.setColor(t.changed);
    else if (edge.diff == DiffState::Removed) {
        pen.setColor(t.removed);
        dash(4, 3);
    }
    if (m_context.dimmed)
        pen.setColor(t.border);
    if (emphasis == EdgeEmphasis::Selected) {
        pen.setColor(t.focus);
        pen.setWidthF(std::max(2.0, pen.widthF()));
    } else if (emphasis == EdgeEmphasis::Hovered) {
        pen.setColor(t.text);
        pen.setWidthF(std::max(1.5, pen.widthF()));
    }
    if (m_context.level == DetailLevel::Mid)
        pen.setWidthF(std::max(1.0, pen.widthF() * 0.75));
    return pen;
}

void EdgePainter::paintEdge(std::size_t index, EdgeEmphasis emphasis) const {
    const SceneEdge& edge = m_context.scene().edges[index];
    const auto points = m_context.scene().route(index);
    if (points.size() < 4)
        return;
    const QPen pen = penOf(edge, emphasis);
    const QPointF along = arrivalDirection(points);
    const QPointF tip = m_context.point(points.back());
    const double scale = m_context.level == DetailLevel::Near ? 1 : 0.75;
    const double length = kArrowLength * scale, half = (kArrowWidth + std::max(0.0, pen.widthF() - 2)) * scale / 2;
    const QPointF base = tip - along * length;
    QPainterPath path(m_context.point(points[0]));
    for (std::size_t i = 1; i + 2 < points.size(); i += 3) {
        // The line ends inside the head, or its square end would show beside the tip.
        const bool last = i + 3 == points.size();
        const QPointF end = last ? tip - along * (length - 1) : m_context.point(points[i + 2]);
        const QPointF c2
            = last ? m_context.point(points[i + 1]) - along * (length - 1) : m_context.point(points[i + 1]);
        path.cubicTo(m_context.point(points[i]), c2, end);
    }
    m_painter.strokePath(path, pen);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(pen.color());
    const QPointF across(-along.y() * half, along.x() * half);
    m_painter.drawPolygon(QPolygonF{tip, base + across, base - across});
}

void EdgePainter::paintLabel(std::size_t index, EdgeEmphasis emphasis) const {
    const SceneEdge& edge = m_context.scene().edges[index];
    if (m_context.level != DetailLevel::Near || edge.label.empty() || m_context.scene().route(index).size() < 4)
        return;
    const Theme& t = m_context.theme;
    const QString text = plainText(edge.label);
    const QPointF c = m_context.point(labelAnchor(m_context.scene(), index));
    const double width = m_context.monoMetrics.horizontalAdvance(text) + m_context.px(12);
    const double height = m_context.px(kLabelHeight);
    const auto snap = [this](double v) { return std::round(v * m_context.ratio) / m_context.ratio; };
    const QRectF pill(snap(c.x() - width / 2), snap(c.y() - height / 2), snap(width), snap(height));
    const QColor line = emphasis == EdgeEmphasis::Selected ? t.focus
        : edge.style == EdgeStyle::Gradient                ? t.bwd
                                                           : t.border;
    m_painter.setPen(QPen(line, 1));
    m_painter.setBrush(t.sunken);
    m_painter.drawRoundedRect(pill.adjusted(0.5, 0.5, -0.5, -0.5), m_context.px(3), m_context.px(3));
    m_painter.setFont(m_context.monoFont);
    m_painter.setPen(edge.style == EdgeStyle::Gradient && !m_context.dimmed ? t.bwd : m_context.text());
    m_painter.drawText(pill, Qt::AlignCenter | Qt::TextDontClip, text);
}

} // namespace nabla::views
