// Painting of the timeline: per pixel column or per visible bar, never per slice.
#include <algorithm>
#include <cmath>

#include <QPainter>

#include "views/theme/fonts.h"
#include "views/theme/units.h"
#include "views/timeline/timeline_canvas.h"

namespace nabla::views {

using namespace profiler;

namespace {

QString durationText(std::int64_t ns) { return QString::fromStdString(formatDurationNs(ns)); }

} // namespace

void TimelineCanvas::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    const Theme& theme = m_theme.theme();
    painter.fillRect(viewport()->rect(), theme.dock);
    if (!m_data)
        return;
    if (m_range) {
        const double left = std::max(m_window.xOf(m_range->begin), m_window.x());
        const double right = std::min(m_window.xOf(m_range->end), m_window.x() + m_window.width());
        if (right > left)
            painter.fillRect(QRectF(left, rulerHeight(), right - left, viewport()->height()), theme.selection);
    }
    for (std::size_t lane = 0; lane < m_data->lanes.size(); ++lane)
        paintLane(painter, lane);
    for (std::size_t counter = 0; counter < m_data->counters.size(); ++counter)
        paintCounter(painter, counter);
    paintSelectedNode(painter);
    paintRuler(painter);
    paintSelection(painter);
    painter.setPen(QPen(theme.border, 1));
    painter.drawLine(QPointF(kLabels - 0.5, 0), QPointF(kLabels - 0.5, viewport()->height()));
    if (hasFocus()) {
        painter.setPen(QPen(theme.focus, theme.kind == ThemeKind::Contrast ? 3 : 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

void TimelineCanvas::paintRuler(QPainter& painter) const {
    const Theme& theme = m_theme.theme();
    const QFont mono = Fonts::from(font()).mono;
    const QFontMetricsF metrics(mono);
    painter.fillRect(QRect(0, 0, viewport()->width(), rulerHeight()), theme.header);
    painter.setPen(QPen(theme.border, 1));
    painter.drawLine(QPointF(0, rulerHeight() - 0.5), QPointF(viewport()->width(), rulerHeight() - 0.5));
    const TimeRange range = m_window.range();
    paintLabel(painter, QRectF(0, 0, kLabels, rulerHeight()), tr("In view"), durationText(range.end - range.begin));
    painter.setFont(mono);
    painter.setPen(theme.muted);
    const std::int64_t step = rulerStep(m_window, metrics.horizontalAdvance("-100.000 ms") + 24);
    const std::int64_t zero = m_window.whole().begin;
    const double unit = step >= 1'000'000'000 ? 1e9 : step >= 100'000 ? 1e6 : step >= 100 ? 1e3 : 1;
    const char* word = unit == 1e9 ? "s" : unit == 1e6 ? "ms" : unit == 1e3 ? "µs" : "ns";
    const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(static_cast<double>(step) / unit) - 1e-9)), 0, 9);
    for (std::int64_t t = (range.begin - zero + step - 1) / step * step; t + zero <= range.end; t += step) {
        const double x = std::floor(m_window.xOf(t + zero)) + 0.5;
        const QString label = QString::number(static_cast<double>(t) / unit, 'f', digits) + ' ' + QString::fromUtf8(word);
        painter.drawLine(QPointF(x, rulerHeight() - 5), QPointF(x, rulerHeight() - 1));
        if (x + metrics.horizontalAdvance(label) + 6 < viewport()->width())
            painter.drawText(QRectF(x + 4, 0, metrics.horizontalAdvance(label) + 4, rulerHeight()), Qt::AlignLeft | Qt::AlignVCenter, label);
    }
}

void TimelineCanvas::paintLabel(QPainter& painter, const QRectF& rect, const QString& name, const QString& note) const {
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(font());
    const QFontMetricsF body(fonts.body), caption(fonts.caption);
    const QString right = caption.elidedText(note, Qt::ElideRight, rect.width() * 0.6);
    const double taken = caption.horizontalAdvance(right);
    painter.setFont(fonts.caption);
    painter.setPen(theme.muted);
    painter.drawText(rect.adjusted(8, 0, -8, 0), Qt::AlignRight | Qt::AlignVCenter, right);
    painter.setFont(fonts.body);
    painter.setPen(theme.text);
    painter.drawText(rect.adjusted(12, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
        body.elidedText(name, Qt::ElideMiddle, rect.width() - 12 - 16 - taken));
}

void TimelineCanvas::paintLane(QPainter& painter, std::size_t lane) {
    const int top = laneTop(lane), height = laneHeight();
    if (top + height < rulerHeight() || top > viewport()->height())
        return;
    const TimelineLane& l = m_data->lanes[lane];
    // The thread is named once; its deeper lanes say only what they hold.
    const bool first = lane == 0 || m_data->lanes[lane - 1].name != l.name || m_data->lanes[lane - 1].source != l.source;
    const QString note = l.depth > 0 ? tr("%1, level %2").arg(sliceSourceWord(l.source)).arg(l.depth) : sliceSourceWord(l.source);
    paintLabel(painter, QRectF(0, top, kLabels, height), first ? QString::fromStdString(l.name) : QString(), note);
    if (!l.mips.empty() && m_window.nsPerPixel() > static_cast<double>(std::int64_t{1} << l.mipShift))
        paintBusy(painter, lane);
    else
        paintSlices(painter, lane);
}

/// Share of time that is busy, one column a device pixel, written into an image: many one-pixel rectangles cost more.
void TimelineCanvas::paintBusy(QPainter& painter, std::size_t lane) {
    const Theme& theme = m_theme.theme();
    const double ratio = devicePixelRatioF();
    const int columns = std::max(1, static_cast<int>(m_window.width() * ratio));
    const int rows = std::max(1, static_cast<int>(laneHeight() * ratio));
    busyColumns(m_data->lanes[lane], m_window.range(), static_cast<std::size_t>(columns), m_busy);
    QImage image(columns, rows, QImage::Format_RGB32);
    const QRgb empty = mix(theme.dock, theme.track, 0.5).rgb(), full = mix(theme.dock, theme.accent, 0.55).rgb();
    std::vector<int> heights(static_cast<std::size_t>(columns));
    for (std::size_t c = 0; c < heights.size(); ++c)
        heights[c] = m_busy[c] <= 0 ? 0 : std::max(1, static_cast<int>(std::lround(static_cast<double>(m_busy[c]) * rows)));
    for (int y = 0; y < rows; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < columns; ++x)
            line[x] = rows - y <= heights[static_cast<std::size_t>(x)] ? full : empty;
    }
    painter.drawImage(QRectF(m_window.x(), laneTop(lane), m_window.width(), laneHeight()), image);
}

void TimelineCanvas::paintSlices(QPainter& painter, std::size_t lane) {
    const Theme& theme = m_theme.theme();
    const TimelineLane& l = m_data->lanes[lane];
    const auto narrow = static_cast<std::int64_t>(m_window.nsPerPixel() * 2);
    visibleSlices(l, m_window.range(), std::max<std::int64_t>(narrow, 1), m_bars);
    const double low = m_window.x(), high = m_window.x() + m_window.width();
    const int top = laneTop(lane), height = laneHeight();
    painter.setFont(Fonts::from(font()).caption);
    for (const VisibleSlice& bar : m_bars) {
        const double left = std::max(low, m_window.xOf(bar.start)), right = std::min(high, std::max(m_window.xOf(bar.end), left + 1));
        if (right <= left)
            continue;
        const std::uint32_t node = l.nodeId[bar.first];
        const bool scope = l.source == SliceSource::Step && node == 0;
        const bool gradient = m_index.isGradient(node);
        const OperatorKind kind = m_index.kindOfNode(node);
        const QColor strip = scope ? theme.fwd : theme.strip(kind);
        const QRectF rect(left, top, right - left, height);
        if (bar.first != bar.last || rect.width() <= 4) {
            painter.fillRect(rect, strip);
        } else {
            const QColor fill = scope ? theme.fwdBg : theme.slice(kind);
            painter.fillRect(rect, fill);
            painter.fillRect(QRectF(left, top, 2.5, height), strip);
            paintName(painter, rect, l.nameId[bar.first], gradient, fill);
        }
        if (gradient)
            painter.fillRect(QRectF(left, top + height - 2, rect.width(), 2), theme.bwd);
    }
}

/// Only where the name fits whole.
void TimelineCanvas::paintName(QPainter& painter, const QRectF& rect, std::uint32_t name, bool gradient, const QColor& fill) {
    if (rect.width() < 20 || name >= m_nameWidths.size())
        return;
    const QFontMetricsF metrics(painter.font());
    const double letter = gradient ? metrics.horizontalAdvance("B ") : 0;
    if (m_nameWidths[name] < 0)
        m_nameWidths[name] = static_cast<float>(metrics.horizontalAdvance(QString::fromStdString(m_data->names[name])));
    if (static_cast<double>(m_nameWidths[name]) + letter + 10 > rect.width())
        return;
    const QString text = QString::fromStdString(m_data->names[name]);
    painter.setPen(m_theme.theme().inkOn(fill));
    painter.drawText(QPointF(rect.left() + 6, rect.center().y() + (metrics.ascent() - metrics.descent()) / 2),
        gradient ? QStringLiteral("B ") + text : text);
}

void TimelineCanvas::paintCounter(QPainter& painter, std::size_t counter) const {
    const int top = counterTop(counter), height = counterHeight();
    if (top + height < rulerHeight() || top > viewport()->height())
        return;
    const Theme& theme = m_theme.theme();
    const TimelineCounter& c = m_data->counters[counter];
    const auto most = counterMaximum(c);
    const QString name = QString::fromStdString(c.name);
    const bool bytes = name.contains("byte", Qt::CaseInsensitive) || name.contains("memory", Qt::CaseInsensitive)
        || name.contains("arena", Qt::CaseInsensitive);
    const QString maximum = !most ? tr("no sample")
        : bytes                   ? tr("max %1").arg(QString::fromStdString(formatBytes(static_cast<std::int64_t>(*most))))
                                  : tr("max %1").arg(QString::fromStdString(formatNumber(*most)));
    paintLabel(painter, QRectF(0, top, kLabels, height), name, maximum);
    painter.setPen(QPen(theme.track, 1));
    painter.drawLine(QPointF(m_window.x(), top + height - 0.5), QPointF(m_window.x() + m_window.width(), top + height - 0.5));
    if (!most || *most <= 0)
        return;
    const auto columns = counterColumns(c, m_window.range(), static_cast<std::size_t>(m_window.width()));
    const QColor line = theme.colour(OperatorKind::Reduction), fill = mix(theme.dock, line, 0.3);
    double before = -1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].any)
            continue;
        const double x = m_window.x() + static_cast<double>(i);
        const double y = top + height * (1 - std::clamp(columns[i].max / *most, 0.0, 1.0));
        painter.fillRect(QRectF(x, y, 1, top + height - y), fill);
        const double from = before < 0 ? y : std::min(before, y), to = before < 0 ? y : std::max(before, y);
        painter.fillRect(QRectF(x, from, 1, std::max(1.5, to - from)), line);
        before = y;
    }
}

void TimelineCanvas::paintSelection(QPainter& painter) const {
    if (!m_range)
        return;
    const Theme& theme = m_theme.theme();
    const double low = m_window.x(), high = m_window.x() + m_window.width();
    const double left = m_window.xOf(m_range->begin), right = m_window.xOf(m_range->end);
    painter.setPen(QPen(theme.accent, 2));
    for (const double x : {left, right}) {
        if (x >= low && x <= high)
            painter.drawLine(QPointF(x, 0), QPointF(x, viewport()->height()));
    }
    const QString text = durationText(m_range->end - m_range->begin);
    const QFont mono = Fonts::from(font()).mono;
    const QFontMetricsF metrics(mono);
    const double width = metrics.horizontalAdvance(text) + 16;
    const double middle = (std::max(left, low) + std::min(right, high)) / 2;
    const QRectF badge(std::clamp(middle - width / 2, low, std::max(low, high - width)), 4, width, rulerHeight() - 8);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.accent);
    painter.drawRoundedRect(badge, 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(mono);
    painter.setPen(theme.onAccent);
    painter.drawText(badge, Qt::AlignCenter, text);
}

void TimelineCanvas::paintSelectedNode(QPainter& painter) const {
    const TimeRange range = m_window.range();
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_theme.theme().text, 2));
    double last = -1e9;
    std::uint32_t lastLane = 0;
    for (const auto& [lane, slice] : m_nodeSlices) {
        const TimelineLane& l = m_data->lanes[lane];
        if (l.start[slice] >= range.end || l.endOf(slice) <= range.begin)
            continue;
        const QRectF rect = rectOfSlice(lane, slice);
        // Outlines less than two pixels apart are one to the eye.
        if (lane == lastLane && rect.left() < last + 2)
            continue;
        painter.drawRect(rect);
        last = rect.right();
        lastLane = lane;
    }
}

} // namespace nabla::views
