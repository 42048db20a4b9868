// Input and places of the memory map; painting is in memory_map_paint.cpp.
#include "views/memory_map/memory_map_canvas.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include "views/theme/fonts.h"
#include "views/theme/units.h"

namespace nabla::views {

MemoryMapCanvas::MemoryMapCanvas(const ThemeSource& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName("memoryMapCanvas");
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Memory map: offset up, step across"));
    connect(&theme, &ThemeSource::changed, this, qOverload<>(&QWidget::update));
}

void MemoryMapCanvas::setMap(MemoryMap map) {
    m_map = std::move(map);
    m_hovered.reset();
    m_shown = m_map.peakStep;
    m_window.setMap(m_map.steps, m_map.arenaBytes);
    setSelection(m_selection);
    update();
}

void MemoryMapCanvas::setSelection(const Selection& selection) {
    m_selection = selection;
    m_selected.clear();
    for (const std::size_t block : m_map.blocksOf(selection.node))
        m_selected.insert(block);
    if (m_selected.empty() && selection.value) {
        if (const auto block = m_map.blockOf(selection.value))
            m_selected.insert(*block);
    }
    if (!m_selected.empty() && std::none_of(m_selected.begin(), m_selected.end(), [&](std::size_t b) { return rectOfBlock(b).has_value(); }))
        m_window.reveal(m_map.blocks[*m_selected.begin()]);
    update();
}

void MemoryMapCanvas::setCurrentStep(std::optional<std::uint32_t> step) {
    m_current = step;
    update();
}

void MemoryMapCanvas::setShownStep(std::uint32_t step) {
    m_shown = step;
    update();
}

void MemoryMapCanvas::showStep(std::uint32_t step) {
    if (m_map.steps == 0)
        return;
    m_shown = std::min(step, m_map.steps - 1);
    update();
    Q_EMIT shownStepChanged(m_shown);
}

QRectF MemoryMapCanvas::picture() const {
    const MapRect& a = m_window.area();
    return {a.x, a.y, a.width, a.height};
}

QRectF MemoryMapCanvas::stripRect() const {
    const QRectF p = picture();
    return {p.left(), p.bottom() + 4, p.width(), QFontMetricsF(font()).height() + 4};
}

std::optional<QRectF> MemoryMapCanvas::rectOfBlock(std::size_t block) const {
    if (block >= m_map.blocks.size())
        return std::nullopt;
    const MapRect r = m_window.rectOf(m_map.blocks[block]);
    const QRectF seen = QRectF(r.x, r.y, r.width, r.height) & picture();
    return seen.isEmpty() ? std::nullopt : std::optional(seen);
}

std::optional<QRectF> MemoryMapCanvas::rectOfValue(engine::ValueId value) const {
    const auto block = m_map.blockOf(value);
    return block ? rectOfBlock(*block) : std::nullopt;
}

std::optional<std::size_t> MemoryMapCanvas::blockAt(const QPointF& at) const {
    if (!picture().contains(at))
        return std::nullopt;
    const double step = m_window.stepAt(at.x()), byte = m_window.byteAt(at.y());
    for (std::size_t i = 0; i < m_map.blocks.size(); ++i) {
        const MemoryBlock& b = m_map.blocks[i];
        if (step >= b.firstStep && step < b.lastStep + 1.0 && byte >= static_cast<double>(b.offset)
            && byte < static_cast<double>(b.offset + b.bytes))
            return i;
    }
    return std::nullopt;
}

std::uint32_t MemoryMapCanvas::stepAt(double x) const {
    const double step = std::clamp(m_window.stepAt(x), 0.0, std::max(0.0, m_map.steps - 1.0));
    return static_cast<std::uint32_t>(step);
}

void MemoryMapCanvas::fit() {
    m_window.fit();
    update();
}

void MemoryMapCanvas::resizeEvent(QResizeEvent*) {
    const QFontMetricsF mono(Fonts::from(font()).mono);
    const double left = mono.horizontalAdvance("1,023 MiB") + 14;
    const double top = QFontMetricsF(font()).height() + 10;
    const double bottom = QFontMetricsF(font()).height() + mono.height() + 14;
    m_window.setArea({left, top, std::max(20.0, width() - left - 12), std::max(20.0, height() - top - bottom)});
}

QString MemoryMapCanvas::tooltip(const MemoryBlock& block) const {
    QString text = tr("%1\n%2 · %3\nsteps %4 to %5, offset %6")
                       .arg(QString::fromStdString(block.name), operatorKindName(block.kind), QString::fromStdString(formatBytes(block.bytes)))
                       .arg(block.firstStep)
                       .arg(block.lastStep)
                       .arg(QString::fromStdString(formatBytes(block.offset)));
    if (block.values.size() > 1)
        text += tr("\nvalues that share this place: %1").arg(block.values.size());
    if (block.gradient)
        text += tr("\ngradient");
    return text;
}

bool MemoryMapCanvas::event(QEvent* e) {
    if (e->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(e);
        if (const auto block = blockAt(help->pos()))
            QToolTip::showText(help->globalPos(), tooltip(m_map.blocks[*block]).toHtmlEscaped().replace('\n', "<br>"), this);
        else
            QToolTip::hideText();
        return true;
    }
    return QWidget::event(e);
}

void MemoryMapCanvas::mousePressEvent(QMouseEvent* e) {
    m_down = true;
    m_panning = e->button() == Qt::MiddleButton;
    m_pressed = m_last = e->position();
}

void MemoryMapCanvas::mouseMoveEvent(QMouseEvent* e) {
    if (m_down) {
        if (!m_panning && (e->position() - m_pressed).manhattanLength() > 4)
            m_panning = true;
        if (m_panning) {
            m_window.pan(e->position().x() - m_last.x(), e->position().y() - m_last.y());
            m_last = e->position();
            update();
        }
        return;
    }
    const auto hovered = blockAt(e->position());
    if (hovered != m_hovered) {
        m_hovered = hovered;
        update();
    }
}

void MemoryMapCanvas::mouseReleaseEvent(QMouseEvent* e) {
    const bool click = m_down && !m_panning && e->button() == Qt::LeftButton;
    m_down = m_panning = false;
    if (!click || m_map.steps == 0)
        return;
    if (const auto block = blockAt(e->position())) {
        Q_EMIT blockPicked(*block);
    } else if (e->position().x() >= picture().left() && e->position().x() <= picture().right()) {
        showStep(stepAt(e->position().x()));
        if (e->position().y() > picture().bottom())
            Q_EMIT stepPicked(m_shown);
    }
}

void MemoryMapCanvas::mouseDoubleClickEvent(QMouseEvent* e) {
    if (const auto block = blockAt(e->position())) {
        m_window.zoomTo(m_map.blocks[*block]);
        update();
    }
}

void MemoryMapCanvas::leaveEvent(QEvent*) {
    m_hovered.reset();
    update();
}

void MemoryMapCanvas::wheelEvent(QWheelEvent* e) {
    const QPoint delta = e->angleDelta();
    const int turn = delta.y() != 0 ? delta.y() : delta.x();
    if (e->modifiers() & Qt::ShiftModifier) {
        m_window.pan(turn * 0.5, 0);
    } else {
        const double factor = std::pow(1.2, turn / 120.0);
        // Ctrl: steps only, so that a long plan can be spread out without losing the bottom of the arena.
        m_window.zoom(factor, e->modifiers() & Qt::ControlModifier ? 1 : factor, e->position().x(), e->position().y());
    }
    update();
    e->accept();
}

/// The next block in the order of steps; from nothing selected, the largest of the shown step.
void MemoryMapCanvas::walk(int direction) {
    if (m_map.blocks.empty())
        return;
    std::size_t next = 0;
    if (m_selected.empty()) {
        const auto alive = m_map.aliveAt(m_shown);
        next = alive.empty() ? 0 : alive.front();
    } else {
        const std::size_t now = *std::min_element(m_selected.begin(), m_selected.end());
        const auto count = static_cast<std::ptrdiff_t>(m_map.blocks.size());
        next = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(now) + direction, 0, count - 1));
    }
    Q_EMIT blockPicked(next);
}

void MemoryMapCanvas::keyPressEvent(QKeyEvent* e) {
    const QPointF middle = picture().center();
    switch (e->key()) {
    case Qt::Key_Left: showStep(m_shown == 0 ? 0 : m_shown - 1); break;
    case Qt::Key_Right: showStep(m_shown + 1); break;
    case Qt::Key_Home: showStep(m_map.peakStep); break;
    case Qt::Key_Up: walk(1); break;
    case Qt::Key_Down: walk(-1); break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_W: m_window.zoom(1.25, 1.25, middle.x(), middle.y()); break;
    case Qt::Key_Minus:
    case Qt::Key_S: m_window.zoom(0.8, 0.8, middle.x(), middle.y()); break;
    case Qt::Key_A: m_window.pan(40, 0); break;
    case Qt::Key_D: m_window.pan(-40, 0); break;
    case Qt::Key_F: m_window.fit(); break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (!m_selected.empty())
            Q_EMIT blockActivated(*std::min_element(m_selected.begin(), m_selected.end()));
        break;
    default: QWidget::keyPressEvent(e); return;
    }
    update();
}

} // namespace nabla::views
