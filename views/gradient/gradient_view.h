// GradientView: the chain rule at one element, with its numbers.
#pragma once

#include <unordered_map>

#include "views/gradient/gradient_view_model.h"
#include "views/theme/text_table.h"
#include "views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QStackedWidget;
class QTableView;
class QVBoxLayout;

namespace nabla::views {

class CurvePlot;
class NumberBox;

class GradientView : public View {
    Q_OBJECT
public:
    explicit GradientView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    EmptyPanel* emptyPanel() const { return m_empty; }

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Table {
        QLabel* title;
        TextTableModel* model;
        QTableView* table;
        std::vector<GradientRow> rows;
    };
    QWidget* makePage();
    Table makeTableOf(const QString& title, const QString& name, std::vector<TextColumn> columns, QVBoxLayout* layout);
    void fill(Table& table, std::vector<GradientRow> rows);
    void follow(const GradientRow& row);
    void choose();
    void ask();
    void editElement();
    void show();
    engine::ValueId chosen() const;

    ViewState m_state;
    std::vector<GradientChoice> m_choices;
    std::unordered_map<engine::ValueId, std::int64_t> m_elements; ///< picked by hand or followed to
    std::size_t m_path = 0;
    bool m_stale = false; ///< something changed while the view was hidden
    QStackedWidget* m_pages;
    EmptyPanel* m_empty;
    QLabel *m_title, *m_subtitle, *m_rule, *m_sum, *m_note;
    QComboBox* m_value;
    QLineEdit* m_element;
    NumberBox *m_upstream, *m_local, *m_result;
    CurvePlot* m_curve;
    Table m_terms, m_paths, m_checks, m_chain;
};

} // namespace nabla::views
