// The widget that shows a graph scene: tiles underneath, selection, hover and the current step painted live on top.
#pragma once

#include <optional>
#include <vector>

#include <QVariantAnimation>
#include <QWidget>

#include "views/canvas/card_painter.h"
#include "views/canvas/scene_index.h"
#include "views/canvas/tile_cache.h"
#include "views/theme/theme_source.h"

namespace nabla::views {

class CanvasAccessible;

class GraphCanvas : public QWidget {
    Q_OBJECT
public:
    enum class Follow { No, Yes }; ///< move the picture so that the node is seen
    enum class Depth { One, All }; ///< a group alone, or with everything inside
    enum class Wheel { Zooms, Scrolls };

    /// `theme` must outlive the canvas.
    explicit GraphCanvas(const ThemeSource& theme, QWidget* parent = nullptr);
    ~GraphCanvas() override;

    /// Shows another scene. What both scenes have in common (by key) stays selected, and the node `anchorKey`, else the
    /// selected one, else the one nearest to the middle keeps its place on the screen. The first scene is fitted.
    void setScene(ScenePtr scene, std::uint64_t anchorKey = 0);
    const ScenePtr& scenePtr() const { return m_scene; }

    void setSelection(std::vector<int> nodes, Follow follow = Follow::No);
    const std::vector<int>& selection() const { return m_selection; }
    void setCurrentStep(int node, Follow follow = Follow::Yes); ///< -1: none
    int currentStep() const { return m_currentStep; }
    void setBreakpoints(std::vector<int> nodes);
    void setSearchHits(std::vector<int> nodes);
    /// Draws everything farther than one hop from the selection in quiet colours.
    void setDimming(bool on);
    bool dimming() const { return m_dimming; }
    void setMinimapVisible(bool on);
    bool isMinimapVisible() const { return m_minimap; }
    void setLegendVisible(bool on);
    void setWheel(Wheel wheel) { m_wheel = wheel; }
    void setAnimated(bool on) { m_animated = on; }

    double zoom() const { return zoomOfLevel(m_level); }
    int zoomLevel() const { return m_level; }
    QPointF centre() const { return m_centre; } ///< scene units
    /// For linked canvases: the same part at the same zoom. Emits viewChanged() only when something changed.
    void setView(QPointF centre, int level);
    void zoomBy(int levels, QPointF around); ///< `around`: widget coordinates
    void fitAll();
    void fitNodes(const std::vector<int>& nodes);
    void resetZoom();
    void ensureVisible(int node);

    QPointF toWidget(Point p) const;
    Point toScene(QPointF p) const;
    QRectF widgetRect(const Box& box) const;
    /// False while tiles of the current view are missing.
    bool isSettled() const;
    TileCache& tiles() { return m_tiles; }
    /// One line that says what a node is; also its accessible name.
    QString describe(int node) const;

    QSize sizeHint() const override { return {800, 600}; }

public Q_SLOTS:
    void zoomIn();
    void zoomOut();
    void focusSelection(); ///< fits the selection, or everything when nothing is selected

Q_SIGNALS:
    void nodeSelected(int sceneNode); ///< -1: selection cleared
    void nodeActivated(int sceneNode); ///< double click or Enter
    void groupToggled(int sceneGroup, nabla::views::GraphCanvas::Depth depth); ///< an open group is to be closed
    void collapsedGroupToggled(int sceneNode, nabla::views::GraphCanvas::Depth depth); ///< a closed one is to be opened
    void edgeClicked(int sceneEdge);
    void breakpointToggled(int sceneNode); ///< F9
    void nodeHovered(int sceneNode); ///< -1: none
    void contextMenuAsked(int sceneNode, QPoint globalPosition);
    void viewChanged(QPointF centre, int level);
    void minimapToggled(bool on);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void keyReleaseEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Hit {
        std::optional<int> node, group, edge;
    };
    enum class Drag { None, Pan, Lens };

    const ThemeSource& m_theme;
    TileCache m_tiles;
    ScenePtr m_scene;
    double m_tileRatio = 0;
    std::vector<int> m_selection, m_breakpoints, m_searchHits;
    int m_currentStep = -1;
    int m_hovered = -1;
    int m_hoveredEdge = -1;
    bool m_dimming = false, m_minimap = true, m_legend = true, m_animated = true, m_everFitted = false,
         m_startPending = false, m_showFocus = false;
    Wheel m_wheel = Wheel::Zooms;
    QPointF m_centre;
    int m_level = 0;
    Drag m_drag = Drag::None;
    bool m_spaceHeld = false, m_moved = false;
    QPoint m_pressAt, m_lastAt;
    double m_wheelRest = 0;
    QVariantAnimation m_animation;
    std::vector<Box> m_animateFrom; ///< by node of the new scene; empty: no animation
    mutable QImage m_minimapImage;

    // graph_canvas.cpp
    const GraphScene& scene() const { return m_scene->scene(); }
    double ratio() const { return devicePixelRatioF(); }
    QPoint origin() const; ///< device pixel of the scene at the widget's top left
    void refreshSource();
    void changed();
    int fitLevel(const Box& box) const;
    void fitBox(const Box& box, int mostLevel);
    void showStart(); ///< the first view of a scene: all of it, or its readable top when it is a thin thread
    void select(int node, bool extend);
    void remap(const ScenePtr& old, const ScenePtr& fresh);
    void keepAnchor(const ScenePtr& old, std::uint64_t anchorKey, const std::vector<int>& oldSelection);
    void startAnimation(const ScenePtr& old);

    // graph_canvas_paint.cpp
    void paintTiles(QPainter& painter);
    void paintStandIn(QPainter& painter, const TileKey& key, const QRectF& target);
    void paintLive(QPainter& painter) const;
    void paintHiddenEdges(QPainter& painter, const PaintContext& context) const;
    void paintAnimation(QPainter& painter) const;
    void paintLegend(QPainter& painter) const;
    void paintMinimap(QPainter& painter) const;
    NodeMarks marksOf(int node) const;
    QRectF legendFrame() const; ///< empty when there is none to show
    QRectF minimapFrame() const;
    QRectF minimapPicture() const; ///< empty when there is none to show

    // graph_canvas_input.cpp
    Hit hitAt(QPointF position) const;
    void hover(QPointF position);
    void panBy(QPointF pixels);
    void moveLens(QPointF position);
    void walk(int key);
    int neighbourInRow(int node, int direction) const;
    void showNeighbourMenu(int key);
    bool showToolTip(const QPoint& position, const QPoint& global);
    void clickEdge(int edge, Qt::KeyboardModifiers modifiers);
    bool handleKey(const QKeyEvent& event);
    bool handleViewKey(const QKeyEvent& event);
};

} // namespace nabla::views
