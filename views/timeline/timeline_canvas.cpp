// Places and input of the timeline; painting is in timeline_paint.cpp.
#include "views/timeline/timeline_canvas.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include "views/theme/units.h"

namespace nabla::views {

using namespace profiler;

TimelineCanvas::TimelineCanvas(const ThemeSource& theme, QWidget* parent) : QAbstractScrollArea(parent), m_theme(theme) {
    setObjectName("timelineCanvas");
    setAccessibleName(tr("Timeline of the recording"));
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    setMinimumSize(kLabels + 100, 100);
    connect(&theme, &ThemeSource::changed, viewport(), qOverload<>(&QWidget::update));
}

void TimelineCanvas::setData(std::shared_ptr<const TimelineData> recording, const engine::Graph& graph) {
    const bool same = recording == m_data;
    m_data = std::move(recording);
    m_index = m_data ? TimelineIndex(*m_data, graph) : TimelineIndex();
    if (!same) {
        m_window.setWhole(m_data ? m_data->range : TimeRange{0, 1});
        m_range.reset();
        m_nameWidths.assign(m_data ? m_data->names.size() : 0, -1.0F);
        m_nodeSlices.clear();
        m_walked.reset();
        if (m_data && m_node)
            m_nodeSlices = slicesOfNode(*m_data, m_node.value);
    }
    layOut();
    viewport()->update();
}

void TimelineCanvas::setSelectedNode(engine::NodeId node) {
    if (node != m_node) {
        m_node = node;
        m_walked.reset();
        m_nodeSlices = m_data && node ? slicesOfNode(*m_data, node.value) : std::vector<std::pair<std::uint32_t, std::uint32_t>>{};
        if (!rectOfNode(node)) {
            if (const auto first = m_data ? firstSlice(*m_data, m_nodeSlices, m_window.range().begin) : std::nullopt) {
                const TimelineLane& lane = m_data->lanes[first->first];
                m_window.reveal({lane.start[first->second], lane.endOf(first->second)});
                showLane(first->first);
            }
        }
    }
    viewport()->update();
}

int TimelineCanvas::rulerHeight() const { return fontMetrics().height() + 12; }
int TimelineCanvas::laneHeight() const { return fontMetrics().height() + 8; }

int TimelineCanvas::laneTop(std::size_t lane) const {
    return rulerHeight() + 4 + static_cast<int>(lane) * (laneHeight() + 2) - verticalScrollBar()->value();
}

int TimelineCanvas::counterTop(std::size_t counter) const {
    return laneTop(m_data ? m_data->lanes.size() : 0) + 6 + static_cast<int>(counter) * (counterHeight() + 6);
}

int TimelineCanvas::contentHeight() const {
    return counterTop(m_data ? m_data->counters.size() : 0) + verticalScrollBar()->value() + 4;
}

std::optional<std::size_t> TimelineCanvas::laneAt(double y) const {
    if (!m_data || y < rulerHeight())
        return std::nullopt;
    const double at = y - laneTop(0);
    const auto lane = static_cast<std::ptrdiff_t>(std::floor(at / (laneHeight() + 2)));
    if (lane < 0 || lane >= static_cast<std::ptrdiff_t>(m_data->lanes.size()) || at - static_cast<double>(lane) * (laneHeight() + 2) >= laneHeight())
        return std::nullopt;
    return static_cast<std::size_t>(lane);
}

void TimelineCanvas::layOut() {
    m_window.setArea(kLabels, viewport()->width() - kLabels);
    verticalScrollBar()->setRange(0, std::max(0, contentHeight() - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(laneHeight());
}

void TimelineCanvas::resizeEvent(QResizeEvent*) { layOut(); }

void TimelineCanvas::showLane(std::size_t lane) {
    const int top = laneTop(lane), bottom = top + laneHeight();
    if (top < rulerHeight())
        verticalScrollBar()->setValue(verticalScrollBar()->value() + top - rulerHeight() - 4);
    else if (bottom > viewport()->height())
        verticalScrollBar()->setValue(verticalScrollBar()->value() + bottom - viewport()->height() + 4);
}

QRectF TimelineCanvas::rectOfSlice(std::uint32_t lane, std::uint32_t slice) const {
    const TimelineLane& l = m_data->lanes[lane];
    const double left = std::max(m_window.x(), m_window.xOf(l.start[slice]));
    const double right = std::min(m_window.x() + m_window.width(), m_window.xOf(l.endOf(slice)));
    return {left, static_cast<double>(laneTop(lane)), std::max(1.0, right - left), static_cast<double>(laneHeight())};
}

std::optional<QRectF> TimelineCanvas::rectOfNode(engine::NodeId node) const {
    if (!m_data || !node)
        return std::nullopt;
    const auto found = node == m_node ? m_nodeSlices : slicesOfNode(*m_data, node.value);
    const TimeRange range = m_window.range();
    for (const auto& [lane, slice] : found) {
        const TimelineLane& l = m_data->lanes[lane];
        const int top = laneTop(lane);
        if (l.start[slice] < range.end && l.endOf(slice) > range.begin && top >= rulerHeight() && top < viewport()->height())
            return rectOfSlice(lane, slice);
    }
    return std::nullopt;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> TimelineCanvas::sliceAtPoint(const QPointF& at) const {
    const auto lane = laneAt(at.y());
    if (!lane || at.x() < m_window.x())
        return std::nullopt;
    const TimelineLane& l = m_data->lanes[*lane];
    // A slice narrower than a pixel is still hit by the pixel that shows it.
    for (const double dx : {0.0, 0.5, -0.5, 1.0, -1.0}) {
        if (const auto slice = sliceAt(l, m_window.timeAt(at.x() + dx)))
            return std::pair(static_cast<std::uint32_t>(*lane), static_cast<std::uint32_t>(*slice));
    }
    return std::nullopt;
}

QString TimelineCanvas::tooltip(std::uint32_t lane, std::uint32_t slice) const {
    const TimelineLane& l = m_data->lanes[lane];
    QString text = QString::fromStdString(m_data->names[l.nameId[slice]]) + '\n' + QString::fromStdString(formatDurationNs(l.durationOf(slice)))
        + tr(" · %1").arg(sliceSourceWord(l.source));
    const std::uint32_t node = l.nodeId[slice];
    if (node != 0) {
        const int count = static_cast<int>(m_index.countOfNode(node));
        text += tr("\nnode %1, %2").arg(node).arg(operatorKindName(m_index.kindOfNode(node)));
        const auto median = m_medians.find(engine::NodeId{node});
        text += median == m_medians.end() ? tr("\nslices of this node: %1").arg(count)
                                          : tr("\nslices of this node: %1, median %2").arg(count)
                                                .arg(QString::fromStdString(formatDurationNs(median->second)));
    }
    return text;
}

bool TimelineCanvas::viewportEvent(QEvent* e) {
    if (e->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(e);
        if (const auto slice = sliceAtPoint(help->pos()))
            QToolTip::showText(help->globalPos(), tooltip(slice->first, slice->second).toHtmlEscaped().replace('\n', "<br>"), viewport());
        else
            QToolTip::hideText();
        return true;
    }
    return QAbstractScrollArea::viewportEvent(e);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* e) {
    setFocus(Qt::MouseFocusReason);
    m_pressed = m_last = e->position();
    if (e->button() == Qt::MiddleButton || (e->modifiers() & Qt::ShiftModifier))
        m_drag = Drag::Pan;
    else if (e->button() == Qt::LeftButton && e->position().x() >= kLabels)
        m_drag = Drag::Undecided;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* e) {
    if (m_drag == Drag::Undecided && std::abs(e->position().x() - m_pressed.x()) > 4)
        m_drag = Drag::Select;
    if (m_drag == Drag::Select) {
        const std::int64_t a = m_window.timeAt(m_pressed.x()), b = m_window.timeAt(e->position().x());
        const TimeRange whole = m_window.whole();
        m_range = TimeRange{std::clamp(std::min(a, b), whole.begin, whole.end), std::clamp(std::max(a, b), whole.begin, whole.end)};
        // Summing ten million slices takes longer than a frame; then only at the end of the drag.
        if (m_data && m_data->slices() < 200'000)
            Q_EMIT rangeChanged();
    } else if (m_drag == Drag::Pan) {
        m_window.pan(e->position().x() - m_last.x());
        verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(e->position().y() - m_last.y()));
    }
    m_last = e->position();
    if (m_drag != Drag::None)
        viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* e) {
    const Drag drag = m_drag;
    m_drag = Drag::None;
    if (drag == Drag::Select) {
        Q_EMIT rangeChanged();
    } else if (drag == Drag::Undecided) {
        if (const auto slice = sliceAtPoint(e->position())) {
            Q_EMIT slicePicked(slice->first, slice->second);
        } else if (m_range) {
            m_range.reset();
            Q_EMIT rangeChanged();
        }
    }
    viewport()->update();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* e) {
    if (const auto slice = sliceAtPoint(e->position())) {
        const TimelineLane& l = m_data->lanes[slice->first];
        const std::int64_t air = std::max<std::int64_t>(l.durationOf(slice->second) / 8, 1);
        m_window.show({l.start[slice->second] - air, l.endOf(slice->second) + air});
        viewport()->update();
    }
}

void TimelineCanvas::wheelEvent(QWheelEvent* e) {
    const int turn = e->angleDelta().y() != 0 ? e->angleDelta().y() : e->angleDelta().x();
    if (e->position().x() < kLabels)
        verticalScrollBar()->setValue(verticalScrollBar()->value() - turn / 2);
    else if (e->modifiers() & Qt::ShiftModifier)
        m_window.pan(turn * 0.5);
    else
        m_window.zoom(std::pow(1.25, turn / 120.0), e->position().x());
    viewport()->update();
    e->accept();
}

/// To the next slice of the selected node; without one, picks the first slice in view.
void TimelineCanvas::walk(int direction) {
    if (!m_data)
        return;
    if (m_nodeSlices.empty()) {
        for (const std::size_t l : m_index.workLanes()) {
            const TimelineLane& lane = m_data->lanes[l];
            for (std::size_t i = 0; i < lane.size(); ++i) {
                if (lane.nodeId[i] != 0 && lane.endOf(i) > m_window.range().begin) {
                    Q_EMIT slicePicked(static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(i));
                    return;
                }
            }
        }
        return;
    }
    const std::size_t count = m_nodeSlices.size();
    m_walked = m_walked ? (*m_walked + (direction > 0 ? 1 : count - 1)) % count : 0;
    const auto& [lane, slice] = m_nodeSlices[*m_walked];
    m_window.reveal({m_data->lanes[lane].start[slice], m_data->lanes[lane].endOf(slice)});
    showLane(lane);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* e) {
    const double middle = m_window.x() + m_window.width() / 2;
    switch (e->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal: m_window.zoom(1.5, middle); break;
    case Qt::Key_S:
    case Qt::Key_Minus: m_window.zoom(1 / 1.5, middle); break;
    case Qt::Key_A:
    case Qt::Key_Left: m_window.pan(m_window.width() * 0.2); break;
    case Qt::Key_D:
    case Qt::Key_Right: m_window.pan(-m_window.width() * 0.2); break;
    case Qt::Key_F: m_window.fit(); break;
    case Qt::Key_Backspace: m_window.back(); break;
    case Qt::Key_BracketRight: walk(1); break;
    case Qt::Key_BracketLeft: walk(-1); break;
    case Qt::Key_Escape:
        if (!m_range) {
            QAbstractScrollArea::keyPressEvent(e);
            return;
        }
        m_range.reset();
        Q_EMIT rangeChanged();
        break;
    default: QAbstractScrollArea::keyPressEvent(e); return; // up, down and pages scroll
    }
    viewport()->update();
}

QString sliceSourceWord(SliceSource source) {
    switch (source) {
    case SliceSource::Step: return TimelineCanvas::tr("runs");
    case SliceSource::OpEvent: return TimelineCanvas::tr("operators");
    case SliceSource::Range: return TimelineCanvas::tr("ranges");
    case SliceSource::RuntimeCall: return TimelineCanvas::tr("launches");
    case SliceSource::Kernel: return TimelineCanvas::tr("kernels");
    case SliceSource::Memcpy: return TimelineCanvas::tr("copies");
    case SliceSource::Memset: return TimelineCanvas::tr("fills");
    case SliceSource::Synchronization: return TimelineCanvas::tr("waits");
    case SliceSource::GraphTrace: return TimelineCanvas::tr("graphs");
    }
    return {};
}

} // namespace nabla::views
