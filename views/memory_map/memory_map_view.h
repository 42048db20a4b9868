// MemoryMapView: the arena of the plan as a picture, and beside it what is alive at the peak or at the step picked.
#pragma once

#include "views/memory_map/memory_map_canvas.h"
#include "views/theme/text_table.h"
#include "views/view.h"

class QLabel;
class QStackedWidget;

namespace nabla::views {

class MemoryMapView : public View {
    Q_OBJECT
public:
    explicit MemoryMapView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;

    MemoryMapCanvas* canvas() const { return m_canvas; }
    QTableView* table() const { return m_table; }
    EmptyPanel* emptyPanel() const { return m_empty; }
    /// Where a value's block is, in the canvas; none when it has none or is out of view.
    std::optional<QRectF> rectOfValue(engine::ValueId value) const { return m_canvas->rectOfValue(value); }

private:
    MemoryMapCanvas* m_canvas;
    TextTableModel* m_model;
    QTableView* m_table;
    QLabel *m_title, *m_outside;
    EmptyPanel* m_empty;
    QStackedWidget* m_pages;
    ViewState m_state;
    std::vector<std::size_t> m_alive; ///< block of each row
    bool m_filling = false;

    QWidget* makeSide();
    void connectAll();
    void pick(std::size_t block);
    void fillTable();
    void markRow();
};

} // namespace nabla::views
