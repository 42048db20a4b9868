// The last layer stands at the top, as the gradient flows downwards. With more steps than pixels, a column shows the worst of its steps.
#include "views/gradient_flow/flow_map.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

QFont mono() { return Fonts::from(QApplication::font()).cardMono; }
QString q(const std::string& text) { return QString::fromStdString(text); }

} // namespace

FlowMap::FlowMap(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName("flowMap");
    setAccessibleName(tr("Gradients by weight and training step"));
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void FlowMap::setTraining(std::shared_ptr<const TrainingState> state) {
    m_state = std::move(state);
    update();
}
void FlowMap::setMeasure(FlowMeasure measure) {
    m_measure = measure;
    update();
}
void FlowMap::setPicked(int weight, int step) {
    m_weight = weight;
    m_step = step;
    update();
}

int FlowMap::labelWidth() const {
    int widest = 40;
    const QFontMetrics metrics(mono());
    for (const std::string& name : m_state->weights)
        widest = std::max(widest, metrics.horizontalAdvance(q(name)));
    return std::min(widest + 12, width() / 3);
}
QRectF FlowMap::lossRect() const {
    const int line = QFontMetrics(mono()).height();
    return {static_cast<qreal>(labelWidth()), 2, static_cast<qreal>(width() - labelWidth() - 64), static_cast<qreal>(std::clamp(height() / 4, 2 * line, 6 * line))};
}
QRectF FlowMap::plotRect() const {
    const QRectF loss = lossRect();
    const int line = QFontMetrics(mono()).height();
    return {loss.left(), loss.bottom() + 6, loss.width(), std::max(10.0, height() - loss.bottom() - 8 - line)};
}

QRectF FlowMap::cellRect(int weight, int step) const {
    if (!m_state || m_state->weights.empty() || m_state->steps.empty())
        return {};
    const QRectF plot = plotRect();
    const auto rows = static_cast<qreal>(m_state->weights.size()), columns = static_cast<qreal>(std::max<std::size_t>(m_state->steps.size(), 8));
    const qreal h = plot.height() / rows, w = plot.width() / columns;
    return {plot.left() + step * w, plot.top() + (rows - 1 - weight) * h, w, h};
}

std::pair<int, int> FlowMap::cellAt(const QPointF& at) const {
    if (!m_state || m_state->weights.empty() || m_state->steps.empty() || !plotRect().contains(at))
        return {-1, -1};
    const QRectF first = cellRect(0, 0);
    const int step = static_cast<int>((at.x() - plotRect().left()) / first.width());
    const int weight = static_cast<int>(m_state->weights.size()) - 1 - static_cast<int>((at.y() - plotRect().top()) / first.height());
    if (step >= static_cast<int>(m_state->steps.size()) || weight < 0)
        return {-1, -1};
    return {weight, step};
}

void FlowMap::paintLoss(QPainter& painter) {
    const Theme& theme = m_theme.theme();
    const QRectF box = lossRect();
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const TrainingStepPtr& step : m_state->steps) {
        if (std::isfinite(step->loss)) {
            low = std::min(low, step->loss);
            high = std::max(high, step->loss);
        }
    }
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, box.top(), box.left() - 8, box.height()), Qt::AlignRight | Qt::AlignTop, tr("loss"));
    if (low > high)
        return;
    const double span = std::max(high - low, 1e-12);
    QPainterPath path;
    bool down = false;
    for (std::size_t i = 0; i < m_state->steps.size(); ++i) {
        const double loss = m_state->steps[i]->loss;
        if (!std::isfinite(loss)) {
            down = false;
            continue;
        }
        const QPointF p(cellRect(0, static_cast<int>(i)).center().x(), box.bottom() - 2 - (loss - low) / span * (box.height() - 4));
        down ? path.lineTo(p) : path.moveTo(p);
        down = true;
    }
    painter.setPen(QPen(theme.track, 1));
    painter.drawLine(box.bottomLeft(), box.bottomRight());
    painter.setPen(QPen(theme.accent, 1.5));
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.drawPath(path);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme.muted);
    const QRectF right(box.right() + 6, box.top(), 58, box.height());
    painter.drawText(right, Qt::AlignTop | Qt::AlignLeft, q(formatNumber(high)));
    painter.drawText(right, Qt::AlignBottom | Qt::AlignLeft, q(formatNumber(low)));
}

void FlowMap::paintEvent(QPaintEvent*) {
    if (!m_state || m_state->steps.empty())
        return;
    const Theme& theme = m_theme.theme();
    QPainter painter(this);
    painter.setFont(mono());
    paintLoss(painter);
    const QRectF plot = plotRect();
    const QFontMetrics metrics(mono());
    for (int w = 0; w < static_cast<int>(m_state->weights.size()); ++w) {
        const QRectF row = cellRect(w, 0);
        if (row.height() >= metrics.height() - 3 || w == m_weight) {
            painter.setPen(w == m_weight ? theme.accentText : theme.text);
            painter.drawText(QRectF(0, row.center().y() - metrics.height() / 2.0, plot.left() - 8, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                metrics.elidedText(q(m_state->weights[static_cast<std::size_t>(w)]), Qt::ElideMiddle, static_cast<int>(plot.left()) - 8));
        }
        for (int s = 0; s < static_cast<int>(m_state->steps.size());) {
            const QRectF cell = cellRect(w, s);
            const int together = std::max(1, static_cast<int>(std::ceil(1.0 / std::max(cell.width(), 1e-6)))); // steps a pixel
            double worst = 0;
            bool any = false;
            for (int k = s; k < std::min<int>(s + together, static_cast<int>(m_state->steps.size())); ++k) {
                const auto& cells = m_state->steps[static_cast<std::size_t>(k)]->cells;
                if (cells.size() != m_state->weights.size())
                    continue;
                any = true;
                const double health = healthOf(cells[static_cast<std::size_t>(w)], m_measure);
                if (std::isnan(health) || std::fabs(health) > std::fabs(worst))
                    worst = health;
            }
            if (any) {
                const QRectF area(std::floor(cell.left()), std::floor(cell.top()), std::ceil(cell.width() * together), std::max(1.0, std::ceil(cell.height()) - 1));
                painter.fillRect(area, std::isnan(worst) ? theme.nan : theme.healthAt(worst));
            }
            s += together;
        }
    }
    painter.setPen(theme.muted);
    const QRectF axis(plot.left(), plot.bottom() + 2, plot.width(), metrics.height());
    painter.drawText(axis, Qt::AlignLeft, tr("step %1").arg(m_state->steps.front()->step));
    painter.drawText(axis, Qt::AlignRight, QString::number(m_state->steps.back()->step));
    if (m_weight >= 0 && m_step >= 0) {
        painter.setPen(QPen(theme.accent, 2));
        painter.setBrush(Qt::NoBrush);
        const QRectF cell = cellRect(m_weight, m_step);
        painter.drawRect(cell.adjusted(-1, 0, 1, -1));
    }
}

void FlowMap::mousePressEvent(QMouseEvent* event) {
    const auto [weight, step] = cellAt(event->position());
    if (weight >= 0)
        Q_EMIT picked(weight, step);
}

void FlowMap::keyPressEvent(QKeyEvent* event) {
    if (!m_state || m_weight < 0)
        return QWidget::keyPressEvent(event);
    const int rows = static_cast<int>(m_state->weights.size()), columns = static_cast<int>(m_state->steps.size());
    const int up = event->key() == Qt::Key_Up ? 1 : event->key() == Qt::Key_Down ? -1 : 0;
    const int right = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (!up && !right)
        return QWidget::keyPressEvent(event);
    Q_EMIT picked(std::clamp(m_weight + up, 0, rows - 1), std::clamp(m_step + right, 0, columns - 1));
}

bool FlowMap::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto [weight, step] = cellAt(help->pos());
        if (weight >= 0) {
            const TrainingStep& at = *m_state->steps[static_cast<std::size_t>(step)];
            QString text = tr("%1, step %2, loss %3").arg(q(m_state->weights[static_cast<std::size_t>(weight)])).arg(at.step).arg(q(formatNumber(at.loss)));
            if (at.cells.size() == m_state->weights.size())
                text += "\n" + q(cellText(at.cells[static_cast<std::size_t>(weight)]));
            QToolTip::showText(help->globalPos(), text.toHtmlEscaped().replace("\n", "<br>"), this);
        } else {
            QToolTip::hideText();
        }
        return true;
    }
    return QWidget::event(event);
}

} // namespace nabla::views
