// The picture of the timeline: ruler, lanes and counters beside a fixed column of labels; zoom, pan, selection and keys.
#pragma once

#include <optional>

#include <QAbstractScrollArea>

#include "views/theme/theme_source.h"
#include "views/timeline/timeline_view_model.h"

namespace nabla::views {

class TimelineCanvas : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TimelineCanvas(const ThemeSource& theme, QWidget* parent = nullptr);

    void setData(std::shared_ptr<const profiler::TimelineData> data, const engine::Graph& graph);
    void setMedians(std::unordered_map<engine::NodeId, std::int64_t> medians) { m_medians = std::move(medians); }
    /// Outlines every slice of the node and brings one into view unless one is there.
    void setSelectedNode(engine::NodeId node);

    const TimelineIndex& index() const { return m_index; }
    const TimeWindow& window() const { return m_window; }
    std::optional<profiler::TimeRange> selectedRange() const { return m_range; }
    /// Where the node's first slice in view is, in the viewport; none when none is in view.
    std::optional<QRectF> rectOfNode(engine::NodeId node) const;
    std::optional<std::pair<std::uint32_t, std::uint32_t>> sliceAtPoint(const QPointF& at) const;

Q_SIGNALS:
    void slicePicked(std::uint32_t lane, std::uint32_t slice);
    void rangeChanged(); ///< of the selection; none: the whole recording

protected:
    bool viewportEvent(QEvent* e) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent* e) override;
    void mouseMoveEvent(QMouseEvent* e) override;
    void mouseReleaseEvent(QMouseEvent* e) override;
    void mouseDoubleClickEvent(QMouseEvent* e) override;
    void wheelEvent(QWheelEvent* e) override;
    void keyPressEvent(QKeyEvent* e) override;

private:
    static constexpr int kLabels = 196;
    enum class Drag { None, Undecided, Select, Pan };

    const ThemeSource& m_theme;
    std::shared_ptr<const profiler::TimelineData> m_data;
    TimelineIndex m_index;
    TimeWindow m_window;
    std::unordered_map<engine::NodeId, std::int64_t> m_medians;
    engine::NodeId m_node;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_nodeSlices;
    std::optional<profiler::TimeRange> m_range;
    std::vector<float> m_nameWidths; ///< by name id, -1 not measured; measuring costs more than painting
    std::vector<profiler::VisibleSlice> m_bars; ///< kept between paints
    std::vector<float> m_busy;
    Drag m_drag = Drag::None;
    QPointF m_pressed, m_last;
    std::optional<std::size_t> m_walked; ///< place of the keyboard in m_nodeSlices

    int rulerHeight() const;
    int laneHeight() const;
    int counterHeight() const { return laneHeight() * 2; }
    int laneTop(std::size_t lane) const;
    int counterTop(std::size_t counter) const;
    int contentHeight() const;
    std::optional<std::size_t> laneAt(double y) const;
    QRectF rectOfSlice(std::uint32_t lane, std::uint32_t slice) const;
    QString tooltip(std::uint32_t lane, std::uint32_t slice) const;
    void layOut();
    void showLane(std::size_t lane);
    void walk(int direction);

    void paintRuler(QPainter& painter) const;
    void paintLane(QPainter& painter, std::size_t lane);
    void paintBusy(QPainter& painter, std::size_t lane);
    void paintSlices(QPainter& painter, std::size_t lane);
    void paintName(QPainter& painter, const QRectF& rect, std::uint32_t name, bool gradient, const QColor& fill);
    void paintCounter(QPainter& painter, std::size_t counter) const;
    void paintLabel(QPainter& painter, const QRectF& rect, const QString& name, const QString& note) const;
    void paintSelection(QPainter& painter) const;
    void paintSelectedNode(QPainter& painter) const;
};

/// "operators", "kernels", …: what the slices of a lane are.
QString sliceSourceWord(profiler::SliceSource source);

} // namespace nabla::views
