// Cards, closed groups, portals, ghosts and group boxes. Lengths are scene units, turned to pixels by the context.
#include "views/canvas/card_painter.h"

#include <cmath>

#include <QPainterPath>

#include "views/canvas/plain_text.h"

namespace nabla::views {
namespace {

constexpr double kStrip = 4;
constexpr double kTile = 16;
constexpr double kPad = 10;
constexpr double kCardRadius = 4;
constexpr double kTileRadius = 3;
constexpr double kGroupRadius = 6;
constexpr double kHeader = 28;
constexpr double kExpandSide = 14;

QString fromView(std::string_view s) {
    return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size()));
}

} // namespace

Box CardPainter::expandBox(const SceneNode& node) {
    return {node.box.x + 8, node.box.y + 6, kExpandSide + 4, kExpandSide + 4};
}

Box CardPainter::collapseBox(const SceneGroup& group) {
    return {group.box.x + 6, group.box.y + 5, kExpandSide + 4, kExpandSide + 4};
}

void CardPainter::writeLeft(double x, double baseline, double width, std::string_view text, const QFont& font,
    const QFontMetricsF& metrics, const QColor& colour, Qt::TextElideMode mode) const {
    const QString shown = elided(text, metrics, width, mode);
    if (shown.isEmpty())
        return;
    m_painter.setFont(font);
    m_painter.setPen(colour);
    m_painter.drawText(QPointF(x, baseline), shown);
}

double CardPainter::writeRight(double right, double baseline, std::string_view text, const QFont& font,
    const QFontMetricsF& metrics, const QColor& colour, double most) const {
    const QString shown = elided(text, metrics, most, Qt::ElideRight);
    if (shown.isEmpty())
        return 0;
    const double width = metrics.horizontalAdvance(shown);
    m_painter.setFont(font);
    m_painter.setPen(colour);
    m_painter.drawText(QPointF(right - width, baseline), shown);
    return width;
}

CardPainter::Frame CardPainter::frameOf(const SceneNode& node, const NodeMarks& marks) const {
    const Theme& t = m_context.theme;
    const bool group = node.form == NodeForm::CollapsedGroup;
    Frame f{group ? t.group : t.card, group ? t.groupBorder : t.border, 1};
    if (node.form == NodeForm::Portal)
        f.line = t.borderStrong;
    if (!m_context.dimmed && node.diff != DiffState::None) {
        f.width = 1.5;
        if (node.diff == DiffState::Added) {
            f.fill = t.addedBg;
            f.line = t.added;
        } else if (node.diff == DiffState::Changed) {
            f.fill = t.changedBg;
            f.line = t.changed;
        } else {
            f.fill = t.removedBg;
            f.line = t.removed;
            f.dashed = f.hatched = true;
        }
    }
    // Fills in the design's order: difference, step, selection; the last one wins.
    if (marks.hovered) {
        if (node.diff == DiffState::None)
            f.fill = t.hover;
        f.line = t.borderStrong;
    }
    if (marks.searchHit) {
        f.line = t.warning;
        f.width = 2;
    }
    if (marks.currentStep) {
        f = {t.stepBg, t.step, 2, false, false};
    }
    if (marks.selected) {
        if (!marks.currentStep && node.diff == DiffState::None)
            f.fill = t.selection;
        f.line = t.focus;
        f.width = t.kind == ThemeKind::Contrast ? 3 : 2;
        f.dashed = false;
    }
    return f;
}

void CardPainter::paintFrame(const QRectF& r, const Frame& frame, double radius) const {
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(frame.fill);
    m_painter.drawRoundedRect(r, radius, radius);
    if (frame.hatched) {
        m_painter.save();
        m_painter.setClipRect(r.adjusted(1, 1, -1, -1), Qt::IntersectClip);
        QColor line = mix(frame.fill, frame.line, 0.35);
        m_painter.setPen(QPen(line, 1));
        QList<QLineF> lines;
        for (double x = r.left() - r.height(); x < r.right(); x += 7)
            lines.emplace_back(x, r.bottom(), x + r.height(), r.top());
        m_painter.drawLines(lines);
        m_painter.restore();
    }
    QPen pen(frame.line, frame.width);
    if (frame.dashed)
        pen.setDashPattern({4 / frame.width, 3 / frame.width});
    m_painter.setPen(pen);
    m_painter.setBrush(Qt::NoBrush);
    // Thin lines lie inside the box, so that neighbours keep their distance; thick ones straddle its edge.
    const double inset = frame.width < 2 ? frame.width / 2 : 0;
    m_painter.drawRoundedRect(r.adjusted(inset, inset, -inset, -inset), radius, radius);
}

void CardPainter::paintStrip(const QRectF& r, const SceneNode& node, double width, double radius) const {
    QPainterPath rounded;
    const QRectF inner = r.adjusted(0, 0, 0, 0);
    rounded.moveTo(inner.left() + width, inner.top());
    rounded.lineTo(inner.left() + radius, inner.top());
    rounded.quadTo(inner.left(), inner.top(), inner.left(), inner.top() + radius);
    rounded.lineTo(inner.left(), inner.bottom() - radius);
    rounded.quadTo(inner.left(), inner.bottom(), inner.left() + radius, inner.bottom());
    rounded.lineTo(inner.left() + width, inner.bottom());
    rounded.closeSubpath();
    const Theme& t = m_context.theme;
    QColor colour = t.strip(node.kind);
    if (!std::isnan(node.overlay) && m_context.scene().overlayRamp == OverlayRamp::Health)
        colour = t.healthAt(node.overlay);
    m_painter.fillPath(rounded, m_context.dimmed ? mix(t.canvas, colour, 0.3) : colour);
}

void CardPainter::paintTile(const QPointF& at, double side, OperatorKind kind) const {
    const Theme& t = m_context.theme;
    const QColor fill = m_context.dimmed ? t.border : t.colour(kind);
    const QRectF tile(at, QSizeF(side, side));
    const bool outlined = kind == OperatorKind::Constant || kind == OperatorKind::Unknown;
    m_painter.setPen(outlined ? QPen(t.borderStrong, 1) : QPen(Qt::NoPen));
    m_painter.setBrush(fill);
    const double inset = outlined ? 0.5 : 0;
    m_painter.drawRoundedRect(
        tile.adjusted(inset, inset, -inset, -inset), kTileRadius * side / kTile, kTileRadius * side / kTile);
    m_painter.setFont(m_context.tileFont);
    m_painter.setPen(m_context.dimmed ? t.muted : t.inkOn(fill));
    m_painter.drawText(tile, Qt::AlignCenter | Qt::TextDontClip, fromView(operatorGlyph(kind)));
}

void CardPainter::paintBar(const QRectF& r, float share) const {
    const Theme& t = m_context.theme;
    const PaintContext& c = m_context;
    const double height = std::max(1.0, std::round(c.px(3) * c.ratio) / c.ratio);
    QRectF bar(
        r.left() + c.px(kStrip + 7), r.bottom() - c.px(4.5) - height, r.width() - c.px(kStrip + 7 + kPad), height);
    m_painter.fillRect(bar, t.track);
    bar.setWidth(std::max(bar.width() * std::min(1.0, static_cast<double>(share)), share > 0 ? 1.0 : 0.0));
    m_painter.fillRect(bar, c.dimmed ? t.border : t.heat[5]);
}

double CardPainter::paintDiffBadge(const QRectF& r, DiffState diff) const {
    if (diff == DiffState::None || m_context.dimmed)
        return 0;
    const Theme& t = m_context.theme;
    const double side = m_context.px(kTile);
    const QColor fill = diff == DiffState::Added ? t.added : diff == DiffState::Removed ? t.removed : t.changed;
    const QRectF badge(r.right() - m_context.px(kPad) - side, r.top() + m_context.px(8), side, side);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(fill);
    m_painter.drawRoundedRect(badge, m_context.px(kTileRadius), m_context.px(kTileRadius));
    m_painter.setFont(m_context.tileFont);
    m_painter.setPen(t.inkOn(fill));
    m_painter.drawText(badge, Qt::AlignCenter | Qt::TextDontClip,
        diff == DiffState::Added         ? QStringLiteral("+")
            : diff == DiffState::Removed ? QStringLiteral("−")
                                         : QStringLiteral("≈"));
    return side + m_context.px(6);
}

double CardPainter::paintRepeat(QPointF rightCentre, int repeat) const {
    if (repeat < 2)
        return 0;
    const Theme& t = m_context.theme;
    const QString text = QStringLiteral("×%1").arg(repeat);
    const double width = m_context.nameMetrics.horizontalAdvance(text) + m_context.px(14);
    const double height = m_context.px(18);
    const QRectF badge(rightCentre.x() - width, rightCentre.y() - height / 2, width, height);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(m_context.dimmed ? t.border : t.accent);
    m_painter.drawRoundedRect(badge, height / 2, height / 2);
    m_painter.setFont(m_context.nameFont);
    m_painter.setPen(m_context.dimmed ? t.muted : t.onAccent);
    m_painter.drawText(badge, Qt::AlignCenter | Qt::TextDontClip, text);
    return width;
}

void CardPainter::paintCard(const QRectF& r, const SceneNode& node) const {
    const PaintContext& c = m_context;
    paintTile({r.left() + c.px(kStrip + 7), r.top() + c.px(8)}, c.px(kTile), node.kind);
    const double right = r.right() - c.px(kPad);
    const double left = r.left() + c.px(kStrip + 7);
    const double badge = paintDiffBadge(r, node.diff);
    const double first = r.top() + c.px(20.5);
    const QColor quiet = node.notYet ? c.theme.disabled : c.muted();
    const double time
        = writeRight(right - badge, first, node.rightText, c.monoFont, c.monoMetrics, c.muted(), r.width() / 2);
    const double name = left + c.px(kTile + 7);
    writeLeft(name, first, right - badge - time - c.px(8) - name, node.name, c.nameFont, c.nameMetrics, c.text(),
        Qt::ElideMiddle);
    writeLeft(left, r.top() + c.px(37), right - left, node.subtitle, c.bodyFont, c.bodyMetrics, quiet, Qt::ElideRight);
    const double last = r.top() + c.px(51.5);
    const double bytes = writeRight(right, last, node.bytesText, c.monoFont, c.monoMetrics, quiet, r.width() / 2);
    writeLeft(left, last, right - bytes - c.px(8) - left, node.shapeText, c.monoFont, c.monoMetrics, c.text(),
        Qt::ElideRight);
    if (node.share >= 0)
        paintBar(r, node.share);
}

void CardPainter::paintMid(const QRectF& r, const SceneNode& node) const {
    const PaintContext& c = m_context;
    const double tile = std::min(14.0, r.height() - 4);
    double x = r.left() + 6;
    if (node.form == NodeForm::CollapsedGroup) {
        if (r.height() < 12)
            return;
        m_painter.drawImage(
            QPointF(x, r.center().y() - 6), cachedIcon(QStringLiteral("expand"), c.muted(), 12, c.ratio));
        x += 16;
    } else if (tile >= 8) {
        paintTile({x, r.center().y() - tile / 2}, tile, node.kind);
        x += tile + 4;
    }
    if (r.height() < c.nameMetrics.height() - 2)
        return;
    const double baseline = r.center().y() + (c.nameMetrics.ascent() - c.nameMetrics.descent()) / 2;
    writeLeft(x, baseline, r.right() - 4 - x, node.name, c.nameFont, c.nameMetrics, c.text(), Qt::ElideMiddle);
}

void CardPainter::paintClosedGroup(const QRectF& r, const SceneNode& node, const Frame& frame) const {
    const PaintContext& c = m_context;
    if (node.repeat > 1) {
        Frame behind = frame;
        behind.width = 1;
        behind.line = c.theme.groupBorder;
        const double shift = std::max(2.0, c.px(4));
        paintFrame(r.translated(shift, shift), behind, c.px(kCardRadius));
    }
    paintFrame(r, frame, c.px(kCardRadius));
    if (c.level == DetailLevel::Mid)
        return paintMid(r, node);
    const double right = r.right() - c.px(kPad);
    const double left = r.left() + c.px(kPad);
    m_painter.drawImage(
        QPointF(left, r.top() + c.px(8)), cachedIcon(QStringLiteral("expand"), c.muted(), c.px(kExpandSide), c.ratio));
    const double badge
        = node.repeat > 1 ? paintRepeat({right, r.top() + c.px(15)}, node.repeat) : paintDiffBadge(r, node.diff);
    const double text = left + c.px(kExpandSide + 7);
    const double time = node.repeat > 1 || node.diff != DiffState::None
        ? 0
        : writeRight(right, r.top() + c.px(19.5), node.rightText, c.monoFont, c.monoMetrics, c.muted(), r.width() / 2);
    writeLeft(text, r.top() + c.px(19.5), right - badge - time - c.px(6) - text, node.name, c.nameFont, c.nameMetrics,
        c.text(), Qt::ElideMiddle);
    const double bytes
        = writeRight(right, r.top() + c.px(37), node.bytesText, c.monoFont, c.monoMetrics, c.text(), r.width() / 2);
    writeLeft(text, r.top() + c.px(37), right - bytes - c.px(6) - text, node.subtitle, c.bodyFont, c.bodyMetrics,
        c.muted(), Qt::ElideRight);
}

void CardPainter::paintPortal(const QRectF& r, const SceneNode& node, const Frame& frame) const {
    const PaintContext& c = m_context;
    const double point = r.height() / 2.6;
    const double half = frame.width < 2 ? 0.5 : 0;
    const QRectF in = r.adjusted(half, half, -half, -half);
    const QPolygonF tag{in.topLeft(), {in.right() - point, in.top()}, {in.right(), in.center().y()},
        {in.right() - point, in.bottom()}, in.bottomLeft()};
    m_painter.setPen(QPen(c.dimmed ? c.theme.border : frame.line, frame.width));
    m_painter.setBrush(frame.fill);
    m_painter.drawPolygon(tag);
    if (c.level != DetailLevel::Near)
        return;
    const double icon = c.px(12);
    m_painter.drawImage(QPointF(r.left() + c.px(7), r.center().y() - icon / 2),
        cachedIcon(QStringLiteral("link"), c.muted(), icon, c.ratio));
    const double left = r.left() + c.px(7) + icon + c.px(5);
    writeLeft(left, r.center().y() + c.monoMetrics.ascent() / 2 - c.px(1.5), in.right() - point / 2 - left, node.name,
        c.monoFont, c.monoMetrics, c.text(), Qt::ElideRight);
}

void CardPainter::paintGhost(const QRectF& r, const SceneNode& node) const {
    const PaintContext& c = m_context;
    QPen pen(c.dimmed ? c.theme.border : c.theme.removed, 1.5);
    pen.setDashPattern({4 / 1.5, 3 / 1.5});
    m_painter.setPen(pen);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRoundedRect(r.adjusted(0.75, 0.75, -0.75, -0.75), c.px(kCardRadius), c.px(kCardRadius));
    if (c.level != DetailLevel::Near)
        return;
    const double left = r.left() + c.px(kPad), width = r.width() - c.px(2 * kPad);
    writeLeft(left, r.top() + c.px(20.5), width, "− " + node.name, c.bodyFont, c.bodyMetrics, c.theme.removed,
        Qt::ElideMiddle);
    writeLeft(left, r.top() + c.px(37), width, node.subtitle, c.bodyFont, c.bodyMetrics, c.muted(), Qt::ElideRight);
}

void CardPainter::paintNan(const QRectF& r) const {
    const Theme& t = m_context.theme;
    const double half = std::clamp(m_context.px(8.5), 4.0, 9.0);
    const QPointF c(r.right() - 1, r.top() + 1);
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(t.nan);
    m_painter.drawPolygon(
        QPolygonF{{c.x(), c.y() - half}, {c.x() + half, c.y()}, {c.x(), c.y() + half}, {c.x() - half, c.y()}});
    if (m_context.level != DetailLevel::Near)
        return;
    QFont font = m_context.tileFont;
    font.setPixelSize(std::max(6, static_cast<int>(std::lround(half * 1.1))));
    m_painter.setFont(font);
    m_painter.setPen(t.inkOn(t.nan));
    m_painter.drawText(QRectF(c.x() - half, c.y() - half, 2 * half, 2 * half), Qt::AlignCenter | Qt::TextDontClip,
        QStringLiteral("N"));
}

void CardPainter::paintMarks(const QRectF& r, const SceneNode& node, const NodeMarks& marks) const {
    const Theme& t = m_context.theme;
    m_painter.setPen(Qt::NoPen);
    if (marks.currentStep) {
        const double size = std::clamp(m_context.px(9), 5.0, 10.0);
        const QPointF tip(r.left() - 2, r.center().y());
        m_painter.setBrush(t.step);
        m_painter.drawPolygon(
            QPolygonF{tip, {tip.x() - size, tip.y() - size * 0.8}, {tip.x() - size, tip.y() + size * 0.8}});
    }
    if (marks.breakpoint) {
        const double radius = std::clamp(m_context.px(5.5), 2.5, 6.0);
        m_painter.setBrush(t.error);
        m_painter.drawEllipse(QPointF(r.left() - radius - 4, r.top() + radius + m_context.px(8)), radius, radius);
    }
    if (node.hasNan)
        paintNan(r);
}

void CardPainter::paintNode(const SceneNode& node, const NodeMarks& marks) const {
    const QRectF r = m_context.rect(node.box);
    if (m_context.level == DetailLevel::Far) {
        const QColor block = node.form == NodeForm::Portal ? m_context.theme.borderStrong : m_context.blockColour(node);
        m_painter.fillRect(r, block);
        if (marks.selected || marks.currentStep || marks.hovered || marks.searchHit)
            paintFrame(r.adjusted(-1, -1, 1, 1), {Qt::transparent, frameOf(node, marks).line, 2}, 1);
        paintMarks(r, node, marks);
        return;
    }
    const Frame frame = frameOf(node, marks);
    switch (node.form) {
    case NodeForm::CollapsedGroup:
        paintClosedGroup(r, node, frame);
        break;
    case NodeForm::Portal:
        paintPortal(r, node, frame);
        break;
    case NodeForm::Ghost:
        paintGhost(r, node);
        break;
    case NodeForm::Card: {
        const double radius = m_context.level == DetailLevel::Near ? m_context.px(kCardRadius) : 3;
        // The strip lies under the outline, so that dashes and selection run around it.
        Frame inside = frame;
        paintFrame(r, inside, radius);
        paintStrip(r.adjusted(0.5, 0.5, 0, -0.5), node, m_context.level == DetailLevel::Near ? m_context.px(kStrip) : 3,
            radius);
        if (frame.width > 1) {
            inside.fill = Qt::transparent;
            inside.hatched = false;
            paintFrame(r, inside, radius);
        }
        if (m_context.level == DetailLevel::Near)
            paintCard(r, node);
        else
            paintMid(r, node);
        break;
    }
    }
    paintMarks(r, node, marks);
}

void CardPainter::paintGroup(const SceneGroup& group) const {
    const PaintContext& c = m_context;
    const QRectF r = c.rect(group.box);
    Frame frame{c.theme.group, c.dimmed ? c.theme.border : c.theme.groupBorder, 1};
    if (group.diff == DiffState::Added)
        frame.line = c.theme.added;
    else if (group.diff == DiffState::Removed) {
        frame.line = c.theme.removed;
        frame.dashed = true;
    } else if (group.diff == DiffState::Changed)
        frame.line = c.theme.changed;
    paintFrame(r, frame, std::min(c.px(kGroupRadius), 6.0));
    if (c.level == DetailLevel::Far)
        return;
    const double header = std::round(c.px(kHeader));
    m_painter.fillRect(QRectF(r.left() + 1, r.top() + header, r.width() - 2, 1 / c.ratio), frame.line);
    const double middle = r.top() + header / 2;
    QFont font = c.nameFont;
    QFontMetricsF metrics = c.nameMetrics;
    if (c.level == DetailLevel::Mid) {
        font.setPixelSize(std::clamp(static_cast<int>(header * 0.8), 8, font.pixelSize()));
        metrics = QFontMetricsF(font);
    }
    const double baseline = middle + (metrics.ascent() - metrics.descent()) / 2;
    const double icon = std::min(static_cast<double>(kExpandSide), c.px(kExpandSide) + 2);
    double left = r.left() + c.px(8);
    m_painter.drawImage(
        QPointF(left, middle - icon / 2), cachedIcon(QStringLiteral("collapse"), c.muted(), icon, c.ratio));
    left += icon + c.px(8);
    double right = r.right() - c.px(kPad);
    if (c.level == DetailLevel::Near) {
        const double badge = paintRepeat({right, middle}, group.repeat);
        right -= badge > 0 ? badge + c.px(8) : 0;
        const double time
            = writeRight(right, baseline, group.rightText, c.monoFont, c.monoMetrics, c.muted(), r.width() / 3);
        right -= time > 0 ? time + c.px(10) : 0;
    }
    const QString title = elided(group.title, metrics, right - left, Qt::ElideMiddle);
    m_painter.setFont(font);
    m_painter.setPen(c.text());
    m_painter.drawText(QPointF(left, baseline), title);
    left += metrics.horizontalAdvance(title) + c.px(16);
    if (c.level == DetailLevel::Near)
        writeLeft(left, baseline, right - left, group.countText, c.bodyFont, c.bodyMetrics, c.muted(), Qt::ElideRight);
}

void CardPainter::paintPort(const LayoutPort& port) const {
    const double radius = std::clamp(m_context.px(4.5), 2.0, 4.5);
    m_painter.setPen(QPen(m_context.dimmed ? m_context.theme.border : m_context.theme.edge, 1.5));
    m_painter.setBrush(m_context.theme.canvas);
    m_painter.drawEllipse(m_context.point(port.at), radius, radius);
}

} // namespace nabla::views
