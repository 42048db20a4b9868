// Painting of the memory map.
#include <algorithm>
#include <cmath>

#include <QPainter>

#include "views/memory_map/memory_map_canvas.h"
#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString bytesText(double bytes) { return QString::fromStdString(formatBytes(static_cast<std::int64_t>(std::llround(bytes)))); }

} // namespace

void MemoryMapCanvas::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Theme& theme = m_theme.theme();
    painter.fillRect(rect(), theme.dock);
    if (m_map.steps == 0)
        return;
    paintAxes(painter);
    painter.save();
    painter.setClipRect(picture().adjusted(-1, -1, 1, 1));
    paintBlocks(painter);
    painter.restore();
    paintPhases(painter);
    paintPeak(painter);
    paintSteps(painter);
    if (hasFocus()) {
        painter.setPen(QPen(theme.focus, theme.kind == ThemeKind::Contrast ? 3 : 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

void MemoryMapCanvas::paintAxes(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    const QRectF p = picture();
    const QFont mono = Fonts::from(font()).mono;
    const QFontMetricsF metrics(mono);
    painter.setFont(mono);
    const int rows = std::max(1, static_cast<int>(p.height() / (metrics.height() * 2.6)));
    const double by = niceBytes(m_window.byte1() - m_window.byte0(), rows);
    for (double b = std::ceil(m_window.byte0() / by) * by; b <= m_window.byte1(); b += by) {
        const double y = std::floor(m_window.yOf(b)) + 0.5;
        painter.setPen(QPen(theme.track, 1));
        painter.drawLine(QPointF(p.left(), y), QPointF(p.right(), y));
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, y - metrics.height() / 2, p.left() - 8, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
            b == 0 ? QStringLiteral("0") : bytesText(b));
    }
    const double top = stripRect().bottom() + 1;
    const QString last = tr("step %1").arg(m_map.steps - 1);
    const int columns = std::max(1, static_cast<int>(p.width() / (metrics.horizontalAdvance(last) * 1.8)));
    const double step = niceStep(m_window.step1() - m_window.step0(), columns);
    bool first = true;
    for (double s = std::ceil(m_window.step0() / step) * step; s < m_window.step1(); s += step, first = false) {
        const QString label = first ? tr("step %1").arg(s, 0, 'f', 0) : QString::number(s, 'f', 0);
        const double x = m_window.xOf(s);
        if (x + metrics.horizontalAdvance(label) <= width() - 2)
            painter.drawText(QPointF(x, top + metrics.ascent()), label);
    }
}

void MemoryMapCanvas::paintBlocks(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    for (std::size_t i = 0; i < m_map.blocks.size(); ++i) {
        const auto seen = rectOfBlock(i);
        if (!seen)
            continue;
        const MemoryBlock& block = m_map.blocks[i];
        const QColor colour = theme.strip(block.kind);
        const bool alive = block.aliveAt(m_shown);
        QColor fill = mix(theme.dock, colour, alive ? 0.62 : 0.26);
        if (m_hovered == i)
            fill = mix(fill, theme.text, 0.12);
        const QRectF r(seen->x(), seen->y(), std::max(1.0, seen->width()), std::max(1.0, seen->height()));
        painter.fillRect(r, fill);
        if (alive && r.height() >= 4 && r.width() >= 3) {
            painter.setPen(QPen(mix(colour, theme.text, 0.25), 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(r.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        if (block.gradient)
            painter.fillRect(QRectF(r.left(), r.top(), std::min(3.0, r.width()), r.height()), theme.bwd);
        paintLabel(painter, r, block, fill);
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.focus, 2));
    for (const std::size_t i : m_selected) {
        if (const auto seen = rectOfBlock(i))
            painter.drawRect(seen->adjusted(-1, -1, 1, 1));
    }
}

/// Only where it fits whole in height and leaves at least some letters of the name.
void MemoryMapCanvas::paintLabel(QPainter& painter, const QRectF& rect, const MemoryBlock& block, const QColor& fill) const {
    const QFont font_ = Fonts::from(font()).caption;
    const QFontMetricsF metrics(font_);
    if (rect.height() < metrics.height() || rect.width() < 48)
        return;
    const QString bytes = QString::fromStdString(formatBytes(block.bytes));
    const double room = rect.width() - 14;
    const double forBytes = metrics.horizontalAdvance(bytes) + 8;
    QString label = QString::fromStdString(block.name).simplified();
    if (metrics.horizontalAdvance(label) + forBytes <= room)
        label += QStringLiteral("  ") + bytes;
    else
        label = metrics.elidedText(label, Qt::ElideMiddle, room);
    painter.setFont(font_);
    painter.setPen(m_theme.theme().inkOn(fill));
    painter.drawText(rect.adjusted(8, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, label);
}

QString MemoryMapCanvas::peakText() const {
    const QString peak = bytesText(static_cast<double>(m_map.arenaBytes)), bound = bytesText(static_cast<double>(m_map.lowerBoundBytes));
    if (m_map.arenaBytes <= m_map.lowerBoundBytes)
        return tr("peak %1 at step %2, lower bound %3: cannot be smaller in this order").arg(peak).arg(m_map.peakStep).arg(bound);
    return tr("peak %1, lower bound %2 at step %3: %4 could be saved at most in this order")
        .arg(peak, bound)
        .arg(m_map.peakStep)
        .arg(bytesText(static_cast<double>(m_map.arenaBytes - m_map.lowerBoundBytes)));
}

void MemoryMapCanvas::paintPeak(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    const QRectF p = picture();
    QPen pen(theme.error, 1.5);
    pen.setDashPattern({6 / 1.5, 4 / 1.5});
    const double y = m_window.yOf(static_cast<double>(m_map.arenaBytes));
    if (y >= p.top() && y <= p.bottom()) {
        painter.setPen(pen);
        painter.drawLine(QPointF(p.left(), y), QPointF(p.right(), y));
    }
    const QFont words = Fonts::from(font()).medium;
    const QFontMetricsF metrics(words);
    painter.setFont(words);
    painter.setPen(theme.error);
    painter.drawText(QRectF(p.left(), 4, p.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(peakText(), Qt::ElideRight, p.width()));
}

void MemoryMapCanvas::paintSteps(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    const QRectF p = picture();
    const auto line = [&](double step, const QColor& colour, double width) {
        const double x = m_window.xOf(step);
        if (x < p.left() || x > p.right())
            return false;
        painter.setPen(QPen(colour, width));
        painter.drawLine(QPointF(x, p.top()), QPointF(x, p.bottom()));
        return true;
    };
    line(m_shown + 0.5, theme.borderStrong, 1);
    if (m_current && line(*m_current, theme.step, 2)) {
        const double x = m_window.xOf(*m_current);
        const QPolygonF mark({{x - 5, p.top() - 5}, {x + 5, p.top() - 5}, {x, p.top() + 3}});
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.step);
        painter.drawPolygon(mark);
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
}

void MemoryMapCanvas::paintPhases(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    const QRectF strip = stripRect();
    const QFont words = Fonts::from(font()).medium;
    painter.setFont(words);
    for (const PhaseSpan& span : m_map.phases) {
        const double left = std::max(strip.left(), m_window.xOf(span.firstStep));
        const double right = std::min(strip.right(), m_window.xOf(span.lastStep + 1.0));
        if (right <= left)
            continue;
        const bool backward = span.phase == engine::Phase::Backward, optimizer = span.phase == engine::Phase::Optimizer;
        const QColor fill = backward ? theme.bwdBg : optimizer ? theme.optBg : theme.fwdBg;
        const QColor ink = backward ? theme.bwd : optimizer ? theme.opt : theme.fwd;
        const QRectF r(left, strip.top(), right - left, strip.height());
        painter.fillRect(r.adjusted(0, 0, -1, 0), fill);
        painter.setPen(ink);
        const QString whole = (backward ? tr("B backward, steps %1–%2") : optimizer ? tr("O optimizer, steps %1–%2") : tr("F forward, steps %1–%2"))
                                  .arg(span.firstStep)
                                  .arg(span.lastStep);
        const QString letter = backward ? QStringLiteral("B") : optimizer ? QStringLiteral("O") : QStringLiteral("F");
        const QFontMetricsF metrics(words);
        const QString label = metrics.horizontalAdvance(whole) + 10 <= r.width() ? whole : letter;
        if (metrics.horizontalAdvance(label) + 4 <= r.width())
            painter.drawText(r.adjusted(label == whole ? 6 : 2, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, label);
    }
}

} // namespace nabla::views
