// TimelineView: a recording over time, and the sums of the selected part below it.
#pragma once

#include "views/theme/text_table.h"
#include "views/timeline/timeline_canvas.h"
#include "views/view.h"

class QLabel;
class QStackedWidget;

namespace nabla::views {

class TimelineView : public View {
    Q_OBJECT
public:
    explicit TimelineView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;

    TimelineCanvas* canvas() const { return m_canvas; }
    QTableView* table() const { return m_table; }
    EmptyPanel* emptyPanel() const { return m_empty; }
    /// Where the node's first slice in view is, in the canvas's viewport; none when none is in view.
    std::optional<QRectF> rectOfNode(engine::NodeId node) const { return m_canvas->rectOfNode(node); }

private:
    TimelineCanvas* m_canvas;
    TextTableModel* m_model;
    QTableView* m_table;
    QLabel* m_title;
    EmptyPanel* m_empty;
    QStackedWidget* m_pages;
    ViewState m_state;
    std::vector<TimelineSum> m_sums;
    bool m_filling = false;

    void connectAll();
    void fillTable();
    void pickNode(std::uint32_t node);
};

} // namespace nabla::views
