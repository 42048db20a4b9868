// The picture of the memory map: blocks, peak line, phases, current step; zoom, pan, hover and keys.
#pragma once

#include <optional>
#include <unordered_set>

#include <QWidget>

#include "views/memory_map/memory_map_view_model.h"
#include "views/theme/theme_source.h"

namespace nabla::views {

class MemoryMapCanvas : public QWidget {
    Q_OBJECT
public:
    explicit MemoryMapCanvas(const ThemeSource& theme, QWidget* parent = nullptr);

    void setMap(MemoryMap map);
    void setSelection(const Selection& selection);
    /// The step that runs next while stepping; none when not stepping.
    void setCurrentStep(std::optional<std::uint32_t> step);
    /// The step whose living blocks are strong; the peak at first.
    void setShownStep(std::uint32_t step);
    const MemoryMap& map() const { return m_map; }
    std::uint32_t shownStep() const { return m_shown; }
    /// Where a value's block is, clipped to the picture; none when it has none or is out of view.
    std::optional<QRectF> rectOfValue(engine::ValueId value) const;
    std::optional<QRectF> rectOfBlock(std::size_t block) const;
    std::optional<std::size_t> blockAt(const QPointF& at) const;
    QRectF picture() const;
    void fit();
    QSize sizeHint() const override { return {640, 320}; }
    QSize minimumSizeHint() const override { return {260, 140}; }

Q_SIGNALS:
    void blockPicked(std::size_t block);
    void blockActivated(std::size_t block); ///< Enter: also show the node on the graph
    void shownStepChanged(std::uint32_t step);
    void stepPicked(std::uint32_t step);    ///< in the strip of phases: go there

protected:
    bool event(QEvent* e) override;
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent* e) override;
    void mouseMoveEvent(QMouseEvent* e) override;
    void mouseReleaseEvent(QMouseEvent* e) override;
    void mouseDoubleClickEvent(QMouseEvent* e) override;
    void leaveEvent(QEvent*) override;
    void wheelEvent(QWheelEvent* e) override;
    void keyPressEvent(QKeyEvent* e) override;

private:
    const ThemeSource& m_theme;
    MemoryMap m_map;
    MemoryWindow m_window;
    Selection m_selection;
    std::unordered_set<std::size_t> m_selected;
    std::optional<std::size_t> m_hovered;
    std::optional<std::uint32_t> m_current;
    std::uint32_t m_shown = 0;
    QPointF m_pressed, m_last;
    bool m_down = false, m_panning = false;

    QRectF stripRect() const;
    QString peakText() const;
    QString tooltip(const MemoryBlock& block) const;
    std::uint32_t stepAt(double x) const;
    void walk(int direction);
    void showStep(std::uint32_t step);
    void paintAxes(QPainter& painter) const;
    void paintBlocks(QPainter& painter) const;
    void paintLabel(QPainter& painter, const QRectF& rect, const MemoryBlock& block, const QColor& fill) const;
    void paintPeak(QPainter& painter) const;
    void paintSteps(QPainter& painter) const;
    void paintPhases(QPainter& painter) const;
};

} // namespace nabla::views
