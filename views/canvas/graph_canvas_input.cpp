// Mouse, wheel and keys of the canvas.
#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QStyle>
#include <QToolTip>
#include <QWheelEvent>

#include "views/canvas/graph_canvas.h"
#include "views/canvas/plain_text.h"

namespace nabla::views {
namespace {

constexpr double kEdgeReach = 5; // pixels
constexpr double kArrowPan = 60;
constexpr int kWheelNotch = 120;

} // namespace

GraphCanvas::Hit GraphCanvas::hitAt(QPointF position) const {
    Hit hit;
    const Point p = toScene(position);
    const SceneIndex& index = m_scene->index();
    hit.node = index.nodeAt(p);
    if (hit.node)
        return hit;
    hit.group = index.groupAt(p);
    // A group's header belongs to the group, its inside to what is drawn there.
    if (hit.group && p.y <= scene().groups[*hit.group].box.y + 28)
        return hit;
    hit.edge = index.edgeAt(p, static_cast<float>(kEdgeReach / zoom()));
    if (hit.edge)
        hit.group.reset();
    return hit;
}

void GraphCanvas::hover(QPointF position) {
    const Hit hit = minimapFrame().contains(position) && !minimapPicture().isEmpty() ? Hit() : hitAt(position);
    const int node = hit.node.value_or(-1), edge = hit.edge.value_or(-1);
    if (node == m_hovered && edge == m_hoveredEdge)
        return;
    if (node != m_hovered)
        Q_EMIT nodeHovered(node);
    m_hovered = node;
    m_hoveredEdge = edge;
    update();
}

void GraphCanvas::panBy(QPointF pixels) {
    m_centre -= pixels / zoom();
    changed();
}

void GraphCanvas::moveLens(QPointF position) {
    const QRectF picture = minimapPicture();
    if (picture.isEmpty())
        return;
    const Box& b = scene().bounds;
    m_centre = {std::clamp((position.x() - picture.left()) / picture.width(), 0.0, 1.0) * b.width,
        std::clamp((position.y() - picture.top()) / picture.height(), 0.0, 1.0) * b.height};
    changed();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
    m_pressAt = m_lastAt = event->position().toPoint();
    m_moved = false;
    if (event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_spaceHeld)) {
        m_drag = Drag::Pan;
        setCursor(Qt::ClosedHandCursor);
        return;
    }
    if (event->button() != Qt::LeftButton)
        return event->ignore(); // back and forward belong to the window
    if (!minimapPicture().isEmpty() && minimapFrame().contains(event->position())) {
        m_drag = Drag::Lens;
        moveLens(event->position());
        return;
    }
    const Hit hit = hitAt(event->position());
    const Point p = toScene(event->position());
    const Depth depth = event->modifiers() & Qt::AltModifier ? Depth::All : Depth::One;
    if (hit.node) {
        const SceneNode& node = scene().nodes[*hit.node];
        if (node.form == NodeForm::CollapsedGroup && CardPainter::expandBox(node).contains(p)) {
            Q_EMIT collapsedGroupToggled(*hit.node, depth);
            return;
        }
        select(*hit.node, event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier));
    } else if (hit.group && CardPainter::collapseBox(scene().groups[*hit.group]).contains(p)) {
        Q_EMIT groupToggled(*hit.group, depth);
    } else if (hit.edge) {
        clickEdge(*hit.edge, event->modifiers());
    } else {
        m_drag = Drag::Pan;
    }
}

void GraphCanvas::clickEdge(int edge, Qt::KeyboardModifiers modifiers) {
    const SceneEdge& e = scene().edges[edge];
    if (modifiers & Qt::ControlModifier) {
        select(e.to, false);
        ensureVisible(e.to);
    } else if (modifiers & Qt::AltModifier) {
        select(e.from, false);
        ensureVisible(e.from);
    }
    Q_EMIT edgeClicked(edge);
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (m_drag == Drag::Lens)
        return moveLens(event->position());
    if (m_drag == Drag::Pan) {
        if (!m_moved && (at - m_pressAt).manhattanLength() < QApplication::startDragDistance())
            return;
        m_moved = true;
        setCursor(Qt::ClosedHandCursor);
        panBy(at - m_lastAt);
        m_lastAt = at;
        return;
    }
    hover(event->position());
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (m_drag == Drag::Pan) {
        m_drag = Drag::None;
        setCursor(m_spaceHeld ? Qt::OpenHandCursor : Qt::ArrowCursor);
        if (!m_moved && event->button() == Qt::LeftButton && !m_spaceHeld)
            select(-1, false); // a click on the background
        return;
    }
    m_drag = Drag::None;
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    const Hit hit = hitAt(event->position());
    const Depth depth = event->modifiers() & Qt::AltModifier ? Depth::All : Depth::One;
    if (hit.node && scene().nodes[*hit.node].form == NodeForm::CollapsedGroup)
        Q_EMIT collapsedGroupToggled(*hit.node, depth);
    else if (hit.node)
        Q_EMIT nodeActivated(*hit.node);
    else if (hit.group)
        Q_EMIT groupToggled(*hit.group, depth);
}

void GraphCanvas::leaveEvent(QEvent*) {
    if (m_hovered >= 0)
        Q_EMIT nodeHovered(-1);
    m_hovered = m_hoveredEdge = -1;
    update();
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
    const QPoint turn = event->angleDelta();
    const bool zooms = event->modifiers() & Qt::ControlModifier
        || (m_wheel == Wheel::Zooms && !(event->modifiers() & Qt::ShiftModifier));
    if (!zooms) {
        QPointF pixels = event->pixelDelta().isNull() ? QPointF(turn) / 2 : QPointF(event->pixelDelta());
        if (event->modifiers() & Qt::ShiftModifier && pixels.x() == 0)
            pixels = {pixels.y(), 0};
        panBy(pixels);
    } else {
        // Touchpads send fractions of a notch; two levels a notch are a factor of 1.41.
        m_wheelRest += 2.0 * turn.y() / kWheelNotch;
        const int levels = static_cast<int>(m_wheelRest);
        m_wheelRest -= levels;
        zoomBy(levels, event->position());
    }
    event->accept();
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
    if (!handleKey(*event))
        QWidget::keyPressEvent(event);
}

void GraphCanvas::keyReleaseEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
        m_spaceHeld = false;
        setCursor(Qt::ArrowCursor);
        return;
    }
    QWidget::keyReleaseEvent(event);
}

/// Zoom, fit and the minimap.
bool GraphCanvas::handleViewKey(const QKeyEvent& event) {
    const bool control = event.modifiers() & Qt::ControlModifier;
    switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoomIn();
        return true;
    case Qt::Key_Minus:
        zoomOut();
        return true;
    case Qt::Key_0:
        if (control)
            return false;
        resetZoom();
        return true;
    case Qt::Key_F:
        if (control)
            return false; // find
        event.modifiers() & Qt::ShiftModifier ? fitAll() : focusSelection();
        return true;
    case Qt::Key_Home:
        fitAll();
        return true;
    case Qt::Key_M:
        setMinimapVisible(!m_minimap);
        return true;
    default:
        return false;
    }
}

bool GraphCanvas::handleKey(const QKeyEvent& event) {
    const int first = m_selection.empty() ? -1 : m_selection[0];
    const bool control = event.modifiers() & Qt::ControlModifier;
    const bool alt = event.modifiers() & Qt::AltModifier;
    if (handleViewKey(event))
        return true;
    switch (event.key()) {
    case Qt::Key_F9:
        if (first >= 0)
            Q_EMIT breakpointToggled(first);
        return first >= 0;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (first < 0)
            return false;
        if (scene().nodes[first].form == NodeForm::CollapsedGroup)
            Q_EMIT collapsedGroupToggled(first, alt ? Depth::All : Depth::One);
        else
            Q_EMIT nodeActivated(first);
        return true;
    case Qt::Key_Escape:
        if (first < 0)
            return false; // one level up is the window's
        select(-1, false);
        return true;
    case Qt::Key_Space:
        if (!event.isAutoRepeat()) {
            m_spaceHeld = true;
            setCursor(Qt::OpenHandCursor);
        }
        return true;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        panBy({0, (event.key() == Qt::Key_PageUp ? 0.9 : -0.9) * height()});
        return true;
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
        if (alt)
            return false; // history and scopes
        if (control && first >= 0)
            showNeighbourMenu(event.key());
        else
            walk(event.key());
        return true;
    default:
        return false;
    }
}

void GraphCanvas::walk(int key) {
    const bool vertical = key == Qt::Key_Up || key == Qt::Key_Down;
    const bool back = key == Qt::Key_Up || key == Qt::Key_Left;
    if (m_selection.empty()) {
        const double way = back ? kArrowPan : -kArrowPan;
        return panBy(vertical ? QPointF(0, way) : QPointF(way, 0));
    }
    const int from = m_selection[0];
    int next = -1;
    if (vertical) {
        float nearest = std::numeric_limits<float>::infinity();
        for (const int e : back ? m_scene->index().edgesInto(from) : m_scene->index().edgesFrom(from)) {
            const int other = back ? scene().edges[e].from : scene().edges[e].to;
            const Point a = scene().nodes[from].box.centre(), b = scene().nodes[other].box.centre();
            // The nearest one by way, sideways counting more, so that a spine is followed rather than a skip.
            const float way = std::abs(a.y - b.y) + 2 * std::abs(a.x - b.x);
            if (way < nearest) {
                nearest = way;
                next = other;
            }
        }
    } else {
        next = neighbourInRow(from, back ? -1 : 1);
    }
    if (next < 0)
        return;
    select(next, false);
    ensureVisible(next);
}

int GraphCanvas::neighbourInRow(int node, int direction) const {
    constexpr float kReach = 6000;
    const Box& b = scene().nodes[node].box;
    const Box band{direction < 0 ? b.x - kReach : b.right(), b.y, kReach, b.height};
    SceneIndex::Scratch scratch;
    m_scene->index().query(band, scratch);
    int best = -1;
    float nearest = kReach;
    for (const int n : scratch.nodes) {
        const float way = (scene().nodes[n].box.centre().x - b.centre().x) * static_cast<float>(direction);
        if (n != node && way > 0 && way < nearest) {
            nearest = way;
            best = n;
        }
    }
    return best;
}

void GraphCanvas::showNeighbourMenu(int key) {
    constexpr qsizetype kMostEntries = 40;
    const bool producers = key == Qt::Key_Up || key == Qt::Key_Left;
    const int node = m_selection[0];
    QMenu menu(this);
    for (const int e : producers ? m_scene->index().edgesInto(node) : m_scene->index().edgesFrom(node)) {
        if (menu.actions().size() >= kMostEntries) {
            menu.addAction(tr("More are not listed"))->setEnabled(false);
            break;
        }
        const int other = producers ? scene().edges[e].from : scene().edges[e].to;
        QString text = plainText(scene().nodes[other].name);
        text.replace(QLatin1Char('&'), QStringLiteral("&&")); // not a mnemonic
        connect(menu.addAction(text), &QAction::triggered, this, [this, other] {
            select(other, false);
            ensureVisible(other);
        });
    }
    if (menu.isEmpty())
        menu.addAction(producers ? tr("No producer in this graph") : tr("No consumer in this graph"))
            ->setEnabled(false);
    menu.exec(mapToGlobal(widgetRect(scene().nodes[node].box).bottomLeft().toPoint()));
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
    int node = -1;
    QPoint at = event->globalPos();
    if (event->reason() == QContextMenuEvent::Keyboard) {
        node = m_selection.empty() ? -1 : m_selection[0];
        if (node >= 0)
            at = mapToGlobal(widgetRect(scene().nodes[node].box).bottomLeft().toPoint());
    } else {
        node = hitAt(event->pos()).node.value_or(-1);
        if (node >= 0 && std::find(m_selection.begin(), m_selection.end(), node) == m_selection.end())
            select(node, false);
    }
    Q_EMIT contextMenuAsked(node, at);
}

bool GraphCanvas::showToolTip(const QPoint& position, const QPoint& global) {
    const Hit hit = hitAt(position);
    QStringList lines;
    const auto add = [&lines](const std::string& s) {
        if (!s.empty())
            lines << plainText(s).toHtmlEscaped(); // a tool tip would read markup in a name
    };
    if (hit.node) {
        const SceneNode& n = scene().nodes[*hit.node];
        for (const std::string* s : {&n.name, &n.subtitle, &n.shapeText, &n.bytesText, &n.rightText})
            add(*s);
        if (n.form == NodeForm::Card)
            lines << operatorKindName(n.kind).toHtmlEscaped();
    } else if (hit.edge) {
        add(scene().edges[*hit.edge].name);
        add(scene().edges[*hit.edge].label);
    } else if (hit.group) {
        add(scene().groups[*hit.group].title);
        add(scene().groups[*hit.group].countText);
    }
    if (lines.isEmpty()) {
        QToolTip::hideText();
        return false;
    }
    QToolTip::showText(global, QStringLiteral("<qt>%1</qt>").arg(lines.join(QStringLiteral("<br>"))), this);
    return true;
}

bool GraphCanvas::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (!showToolTip(help->pos(), help->globalPos()))
            event->ignore();
        return true;
    }
    if (event->type() == QEvent::NativeGesture) {
        const auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            m_wheelRest += 4 * std::log2(1 + gesture->value());
            const int levels = static_cast<int>(m_wheelRest);
            m_wheelRest -= levels;
            zoomBy(levels, gesture->position());
            return true;
        }
    }
    const bool used = QWidget::event(event);
    if (event->type() == QEvent::Show && m_startPending) {
        showStart();
        m_startPending = false;
    }
    return used;
}

void GraphCanvas::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    // The ring is for those who come by keyboard; around a clicked canvas it would only be noise.
    const Qt::FocusReason reason = event->reason();
    m_showFocus = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason || reason == Qt::ShortcutFocusReason;
    update();
}

void GraphCanvas::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    m_spaceHeld = false;
    update();
}

} // namespace nabla::views
