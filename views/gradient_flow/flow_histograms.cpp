// Two panels below each other: bars in equal bins from the smallest to the largest finite element, zero marked where it lies between.
#include "views/gradient_flow/flow_histograms.h"

#include <algorithm>

#include <QApplication>
#include <QPainter>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString q(double number) { return QString::fromStdString(formatNumber(number)); }

} // namespace

FlowHistograms::FlowHistograms(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName("flowHistograms");
    setAccessibleName(tr("Histograms of a weight and its gradient"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void FlowHistograms::setCell(const QString& title, const std::optional<TrainingCell>& cell) {
    m_title = title;
    m_cell = cell;
    setAccessibleDescription(cell ? tr("%1: gradient from %2 to %3, weight from %4 to %5").arg(title, q(cell->gradient.min), q(cell->gradient.max), q(cell->weight.min), q(cell->weight.max)) : QString());
    setToolTip(accessibleDescription().toHtmlEscaped());
    update();
}

void FlowHistograms::paintEvent(QPaintEvent*) {
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(QApplication::font());
    QPainter painter(this);
    if (!m_cell) {
        painter.setFont(fonts.caption);
        painter.setPen(theme.muted);
        painter.drawText(rect().adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap, tr("Click a row, or a layer on the graph, for its histograms."));
        return;
    }
    const QFontMetrics strong(fonts.strong);
    painter.setFont(fonts.strong);
    painter.setPen(theme.text);
    painter.drawText(QRectF(0, 0, width(), strong.height()), Qt::AlignLeft | Qt::AlignVCenter, strong.elidedText(m_title, Qt::ElideMiddle, width()));
    const double top = strong.height() + 4, half = (height() - top - 6) / 2;
    paintOne(painter, QRectF(0, top, width(), half), tr("gradient"), m_cell->gradient, theme.bwd);
    paintOne(painter, QRectF(0, top + half + 6, width(), half), tr("weight"), m_cell->weight, theme.fwd);
}

void FlowHistograms::paintOne(QPainter& painter, const QRectF& area, const QString& caption, const engine::TensorStatistics& tensor, const QColor& colour) const {
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(QApplication::font());
    const QFontMetrics mono(fonts.cardMono), small(fonts.caption);
    const auto line = static_cast<double>(std::max(mono.height(), small.height()));
    const QRectF plot = area.adjusted(0, line + 1, 0, -line - 1);
    painter.setFont(fonts.caption);
    painter.setPen(theme.muted);
    painter.drawText(QRectF(area.left(), area.top(), area.width(), line), Qt::AlignLeft | Qt::AlignVCenter, caption);
    QString facts = tr("norm %1  std %2").arg(q(tensor.l2), q(tensor.std));
    if (tensor.notFinite() > 0)
        facts = tr("%1 not finite  ").arg(tensor.notFinite()) + facts;
    const double captionWidth = small.horizontalAdvance(caption) + 12;
    painter.setFont(fonts.cardMono);
    painter.drawText(QRectF(area.left() + captionWidth, area.top(), area.width() - captionWidth, line), Qt::AlignRight | Qt::AlignVCenter,
        mono.elidedText(facts, Qt::ElideLeft, static_cast<int>(area.width() - captionWidth)));
    if (plot.height() < 6)
        return;
    const double tallest = *std::max_element(tensor.histogram.begin(), tensor.histogram.end());
    const double step = plot.width() / static_cast<double>(tensor.histogram.size());
    for (std::size_t i = 0; i < tensor.histogram.size() && tallest > 0; ++i) {
        if (tensor.histogram[i] == 0)
            continue;
        const double h = std::max(1.0, plot.height() * tensor.histogram[i] / tallest);
        painter.fillRect(QRectF(plot.left() + step * static_cast<double>(i) + 0.5, plot.bottom() - h, std::max(1.0, step - 1), h), colour);
    }
    painter.setPen(theme.borderStrong);
    painter.drawLine(plot.bottomLeft(), plot.bottomRight());
    const double span = tensor.max - tensor.min;
    const double zero = span > 0 ? plot.left() - tensor.min / span * plot.width() : -1;
    painter.setPen(theme.muted);
    const QRectF below(plot.left(), plot.bottom() + 1, plot.width(), line);
    const QString low = q(tensor.min), high = q(tensor.max);
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, low);
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, high);
    if (tensor.min < 0 && tensor.max > 0) {
        painter.drawLine(QPointF(zero, plot.bottom()), QPointF(zero, plot.bottom() + 3));
        const double half = mono.horizontalAdvance("0") / 2.0;
        if (zero - half > plot.left() + mono.horizontalAdvance(low) + 6 && zero + half < plot.right() - mono.horizontalAdvance(high) - 6)
            painter.drawText(QPointF(zero - half, below.center().y() + mono.ascent() / 2.0 - 1), "0");
    }
}

} // namespace nabla::views
