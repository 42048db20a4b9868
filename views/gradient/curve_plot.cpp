// Function solid, derivative dashed, the element a vertical line; labels with the numbers instead of a legend.
#include "views/gradient/curve_plot.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QPainter>
#include <QPainterPath>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QString number(double value) { return QString::fromStdString(formatNumber(value, 4)); }

/// Linear between the two samples around x.
double at(const std::vector<double>& xs, const std::vector<double>& ys, double x) {
    const auto it = std::lower_bound(xs.begin(), xs.end(), x);
    if (it == xs.begin())
        return ys.front();
    if (it == xs.end())
        return ys.back();
    const auto i = static_cast<std::size_t>(it - xs.begin());
    const double t = (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
    return ys[i - 1] + t * (ys[i] - ys[i - 1]);
}

} // namespace

CurvePlot::CurvePlot(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName("gradientCurve");
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void CurvePlot::setCurve(const engine::Curve& curve, double x) {
    m_curve = curve;
    m_x = x;
    setAccessibleName(tr("f(x) = %1 and f′(x) = %2 at x = %3").arg(number(at(curve.x, curve.y, x)), number(at(curve.x, curve.slope, x)), number(x)));
    update();
}

QSize CurvePlot::sizeHint() const { return {260, 9 * QFontMetrics(QApplication::font()).height()}; }

void CurvePlot::paintEvent(QPaintEvent*) {
    if (m_curve.x.size() < 2)
        return;
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(QApplication::font());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(fonts.cardMono);
    const int line = QFontMetrics(fonts.cardMono).height();
    const QRectF plot(8, line + 6, width() - 16, height() - 2 * line - 14);
    double low = 0, high = 0;
    for (const auto* ys : {&m_curve.y, &m_curve.slope}) {
        for (const double y : *ys) {
            if (std::isfinite(y)) {
                low = std::min(low, y);
                high = std::max(high, y);
            }
        }
    }
    const double span = std::max(high - low, 1e-12), from = m_curve.x.front(), to = m_curve.x.back();
    const auto place = [&](double x, double y) { return QPointF(plot.left() + (x - from) / (to - from) * plot.width(), plot.bottom() - (y - low) / span * plot.height()); };
    painter.setPen(QPen(theme.track, 1));
    painter.drawLine(place(from, 0), place(to, 0));
    const auto draw = [&](const std::vector<double>& ys, const QColor& colour, Qt::PenStyle style) {
        QPainterPath path;
        bool down = false;
        for (std::size_t i = 0; i < ys.size(); ++i) {
            if (!std::isfinite(ys[i])) {
                down = false;
                continue;
            }
            const QPointF p = place(m_curve.x[i], ys[i]);
            down ? path.lineTo(p) : path.moveTo(p);
            down = true;
        }
        painter.setPen(QPen(colour, 1.5, style));
        painter.drawPath(path);
    };
    draw(m_curve.slope, theme.bwd, Qt::DashLine);
    draw(m_curve.y, theme.fwd, Qt::SolidLine);
    const double y = at(m_curve.x, m_curve.y, m_x), slope = at(m_curve.x, m_curve.slope, m_x);
    painter.setPen(QPen(theme.step, 1, Qt::DotLine));
    painter.drawLine(QPointF(place(m_x, 0).x(), plot.top()), QPointF(place(m_x, 0).x(), plot.bottom()));
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.fwd);
    painter.drawEllipse(place(m_x, y), 3.5, 3.5);
    painter.setBrush(theme.bwd);
    painter.drawEllipse(place(m_x, slope), 3.5, 3.5);
    const QRectF top(8, 2, width() - 16, line), bottom(8, height() - line - 4, width() - 16, line);
    painter.setPen(theme.fwd);
    painter.drawText(top, Qt::AlignLeft, QStringLiteral("f(x) = %1").arg(number(y)));
    painter.setPen(theme.bwd);
    painter.drawText(top, Qt::AlignRight, QStringLiteral("f′(x) = %1").arg(number(slope)));
    painter.setPen(theme.muted);
    painter.drawText(bottom, Qt::AlignLeft, number(from));
    painter.drawText(bottom, Qt::AlignRight, number(to));
    painter.setPen(theme.stepText);
    painter.drawText(bottom, Qt::AlignHCenter, QStringLiteral("x = %1").arg(number(m_x)));
}

} // namespace nabla::views
