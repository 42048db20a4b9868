// GraphPanel: the centre of the window: path bar, one canvas or two linked ones, search and overlay.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <stop_token>

#include <QThreadPool>
#include <QWidget>

#include "app/jobs/layout_worker.h"
#include "views/canvas/graph_canvas.h"
#include "views/graph/graph_view_model.h"
#include "views/graph/overlays.h"
#include "views/view_state.h"

class QComboBox;
class QLabel;
class QHBoxLayout;
class QLineEdit;
class QSpinBox;
class QToolButton;

namespace nabla::app {

class GraphPanel : public QWidget {
    Q_OBJECT
public:
    explicit GraphPanel(const views::ThemeSource& theme, QWidget* parent = nullptr);
    ~GraphPanel() override;

    /// `before`: the graph shown on the left while comparing; null = one canvas.
    void setState(const views::ViewState& state, const views::Changes& changes, const engine::Graph* before, const QString& beforeTitle);
    views::GraphCanvas* canvas() const { return m_after; }
    views::GraphCanvas* beforeCanvas() const { return m_before; }
    QLineEdit* searchField() const { return m_search; }
    QComboBox* overlayBox() const { return m_overlayBox; }
    /// Scene node of a graph node; -1 while it is not shown.
    int sceneNode(engine::NodeId node) const;
    void reveal(engine::NodeId node);
    void setOverlay(views::OverlayKind kind);
    bool building() const { return m_building; }

Q_SIGNALS:
    void selectionWanted(const nabla::views::Selection& selection);
    void breakpointToggled(nabla::engine::NodeId node);
    /// Double click or Enter on a node with a body, or a name in the path; `body` empty: any.
    void bodyWanted(std::size_t depth, nabla::engine::NodeId node, const QString& body);
    void leaveWanted(std::size_t depth); ///< until so many bodies are open
    void iterationWanted(qint64 k);      ///< of the innermost open body, from 0
    void sceneShown(); ///< a new scene is on the canvas

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Built;
    void showReadableTop();
    void makeBar();
    void connectCanvas(views::GraphCanvas* canvas, bool after);
    void rebuild(bool newGraph);
    void show(const std::shared_ptr<Built>& built);
    void askWorker();
    void refreshMarks();
    void setScopeClosed(const std::string& path, bool closed, views::GraphCanvas::Depth depth);
    void search(const QString& text);
    void nextHit(int direction);
    void updateBar();
    void showCrumbs(); ///< graph_panel_bodies.cpp
    void showStepBadge();
    void makeIterationBox(QHBoxLayout* row);
    const views::GraphView& viewOf(bool after) const { return after ? m_afterView : m_beforeView; }

    const views::ThemeSource& m_theme;
    QLabel *m_path, *m_stepBadge, *m_zoomLabel, *m_beforeTitle, *m_afterTitle;
    QLineEdit* m_search;
    QLabel* m_hitLabel;
    QComboBox* m_overlayBox;
    QWidget* m_crumbs;
    QSpinBox* m_iteration;
    QWidget* m_beforeSide;
    views::GraphCanvas *m_before, *m_after;
    views::ViewState m_state;
    std::optional<engine::Graph> m_beforeGraph;
    QString m_beforeName;
    views::GraphView m_beforeView, m_afterView;
    std::set<std::string> m_closed;
    std::vector<int> m_hits;
    int m_hit = -1;
    QThreadPool m_pool;
    std::stop_source m_stop;
    std::uint32_t m_generation = 0;
    bool m_building = false, m_gradientOffered = false, m_fitNext = false;
    bool m_again = false;      ///< the overlay has newer numbers
    bool m_followStep = false; ///< until something else is selected
    LayoutWorker* m_worker;
    std::uint32_t m_workerRequest = 0, m_workerGeneration = 0;
};

} // namespace nabla::app
