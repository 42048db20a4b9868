// Painted directly; at most 128 cells a side, the rest is said in words above.
#include "views/inspector/value_pictures.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {
constexpr std::int64_t kMaxCells = 128;
}

HistogramWidget::HistogramWidget(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setAccessibleName(tr("Histogram of the value"));
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void HistogramWidget::setStats(const std::optional<ValueStats>& stats) {
    m_stats = stats;
    setVisible(stats && stats->anyFinite());
    if (stats) {
        setAccessibleDescription(QStringLiteral("min %1, max %2, mean %3, std %4")
                                     .arg(QString::fromStdString(formatNumber(stats->min)), QString::fromStdString(formatNumber(stats->max)),
                                         QString::fromStdString(formatNumber(stats->mean)), QString::fromStdString(formatNumber(stats->std))));
    }
    update();
}

QSize HistogramWidget::sizeHint() const { return {240, 60 + QFontMetrics(Fonts::from(QApplication::font()).mono).height() + 4}; }

void HistogramWidget::paintEvent(QPaintEvent*) {
    if (!m_stats || !m_stats->anyFinite())
        return;
    QPainter painter(this);
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(QApplication::font());
    const int textHeight = QFontMetrics(fonts.mono).height() + 2;
    const QRectF area(0, 2, width(), height() - textHeight - 4);
    const auto& bins = m_stats->histogram;
    const double tallest = *std::max_element(bins.begin(), bins.end());
    const double step = area.width() / static_cast<double>(bins.size());
    for (std::size_t i = 0; i < bins.size(); ++i) {
        if (bins[i] == 0)
            continue;
        const double h = std::max(1.0, area.height() * bins[i] / tallest);
        painter.fillRect(QRectF(area.left() + step * static_cast<double>(i) + 0.5, area.bottom() - h, step - 1, h), theme.accent);
    }
    painter.setPen(theme.borderStrong);
    painter.drawLine(area.bottomLeft(), area.bottomRight());
    painter.setFont(fonts.mono);
    painter.setPen(theme.muted);
    const QRectF line(0, area.bottom() + 2, width(), textHeight);
    painter.drawText(line, Qt::AlignLeft, QString::fromStdString(formatNumber(m_stats->min)));
    painter.drawText(line, Qt::AlignRight, QString::fromStdString(formatNumber(m_stats->max)));
    const QString middle = tr("mean %1  std %2").arg(QString::fromStdString(formatNumber(m_stats->mean)), QString::fromStdString(formatNumber(m_stats->std)));
    if (QFontMetrics(fonts.mono).horizontalAdvance(middle) < width() - 130)
        painter.drawText(line, Qt::AlignHCenter, middle);
}

PlaneWidget::PlaneWidget(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setAccessibleName(tr("One plane of the value"));
    setMouseTracking(true);
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void PlaneWidget::setPlane(const engine::Tensor& tensor, std::int64_t plane, const std::optional<ValueStats>& stats, std::int64_t marked) {
    m_tensor = tensor;
    m_marked = marked;
    m_plane = plane;
    m_stats = stats;
    setVisible(tensor.defined() && tensor.elementCount() > 1 && stats.has_value());
    updateGeometry();
    update();
}

PlaneWidget::Grid PlaneWidget::grid() const {
    Grid g;
    if (!m_tensor.defined() || m_tensor.elementCount() == 0)
        return g;
    const std::size_t rank = m_tensor.rank();
    g.stride = rank >= 1 ? m_tensor.dim(rank - 1) : 1;
    const std::int64_t height = rank >= 2 ? m_tensor.dim(rank - 2) : 1;
    g.rows = std::min(height, kMaxCells);
    g.columns = std::min(g.stride, kMaxCells);
    g.base = m_plane * height * g.stride;
    return g;
}

QSize PlaneWidget::sizeHint() const {
    const Grid g = grid();
    const auto cell = std::clamp<std::int64_t>(g.columns > 0 ? 280 / g.columns : 8, 2, 18);
    return {240, static_cast<int>(std::clamp<std::int64_t>(g.rows * cell, 14, 200))};
}

void PlaneWidget::paintEvent(QPaintEvent*) {
    const Grid g = grid();
    if (g.rows == 0 || g.columns == 0 || !m_stats)
        return;
    QPainter painter(this);
    const Theme& theme = m_theme.theme();
    const double size = std::min({width() / static_cast<double>(g.columns), height() / static_cast<double>(g.rows), 18.0});
    const double largest = std::max(std::fabs(m_stats->min), std::fabs(m_stats->max));
    const bool hasSign = m_stats->min < 0;
    for (std::int64_t r = 0; r < g.rows; ++r) {
        for (std::int64_t c = 0; c < g.columns; ++c) {
            const double x = m_tensor.asDouble(g.base + r * g.stride + c);
            const QRectF cell(static_cast<double>(c) * size, static_cast<double>(r) * size, size > 5 ? size - 1 : size, size > 5 ? size - 1 : size);
            if (std::isnan(x)) {
                painter.fillRect(cell, theme.nan);
                painter.setPen(theme.canvas);
                painter.drawLine(cell.topLeft(), cell.bottomRight());
                continue;
            }
            const double t = largest > 0 ? x / largest : 0;
            painter.fillRect(cell, hasSign ? theme.healthAt(t) : theme.heatAt(t));
        }
    }
    const std::int64_t offset = m_marked - g.base;
    if (m_marked >= 0 && offset >= 0 && offset / g.stride < g.rows && offset % g.stride < g.columns) {
        painter.setPen(QPen(theme.focus, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(static_cast<double>(offset % g.stride) * size, static_cast<double>(offset / g.stride) * size, std::max(size - 1, 4.0), std::max(size - 1, 4.0)));
    }
}

bool PlaneWidget::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const Grid g = grid();
    if (g.rows == 0 || g.columns == 0)
        return true;
    const double size = std::min({width() / static_cast<double>(g.columns), height() / static_cast<double>(g.rows), 18.0});
    const auto c = static_cast<std::int64_t>(help->pos().x() / size), r = static_cast<std::int64_t>(help->pos().y() / size);
    if (r >= 0 && r < g.rows && c >= 0 && c < g.columns)
        QToolTip::showText(help->globalPos(), QStringLiteral("[%1,%2] %3").arg(r).arg(c).arg(QString::fromStdString(m_tensor.asText(g.base + r * g.stride + c).substr(0, 80))), this);
    else
        QToolTip::hideText();
    return true;
}

} // namespace nabla::views
