// PassesView: every pass of the history with what it changed and what it cost; below it the rewrites and the near misses.
#pragma once

#include "views/passes/passes_view_model.h"
#include "views/theme/text_table.h"
#include "views/view.h"

class QLabel;
class QStackedWidget;
class QToolButton;

namespace nabla::views {

class PassesView : public View {
    Q_OBJECT
public:
    explicit PassesView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;

    QTableView* passTable() const { return m_passTable; }
    QTableView* rewriteTable() const { return m_rewriteTable; }
    QTableView* nearMissTable() const { return m_missTable; }
    QToolButton* compareButton() const { return m_compare; }
    EmptyPanel* emptyPanel() const { return m_empty; }

private:
    TextTableModel *m_passModel, *m_rewriteModel, *m_missModel;
    QTableView *m_passTable, *m_rewriteTable, *m_missTable;
    QLabel *m_summary, *m_rewriteTitle, *m_missTitle;
    QToolButton *m_compare, *m_run;
    EmptyPanel* m_empty;
    QStackedWidget* m_pages;
    ViewState m_state;
    std::vector<PassRow> m_passes;
    std::vector<RewriteRow> m_rewrites;
    std::vector<NearMissRow> m_misses;
    bool m_filling = false;

    QWidget* makeToolRow();
    QWidget* makeDetails();
    void connectAll();
    void fillPasses();
    void fillDetails();
    void selectNodes(const std::vector<engine::NodeId>& nodes);
    const PassRow* currentPass() const;
};

} // namespace nabla::views
