// ProblemsView: what is wrong with the model, each with its place; values that are not finite first, with the way back to their cause.
#pragma once

#include <QAbstractListModel>

#include "views/problems/trouble_rows.h"
#include "views/view.h"

class QLabel;
class QListView;
class QPushButton;

namespace nabla::views {

class ProblemsItemModel : public QAbstractListModel {
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;

    void setState(const ViewState& state);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    /// Null: the row is none of these.
    const engine::Diagnostic* problem(const QModelIndex& index) const;
    const TroubleRow* trouble(const QModelIndex& index) const;
    /// The row where the trouble begins; -1: nobody has asked.
    int birthRow() const;

private:
    QVariant troubleData(const TroubleRow& row, int role) const;
    QVariant problemData(const engine::Diagnostic& problem, int role) const;

    ViewState m_state;
    std::vector<TroubleRow> m_trouble; ///< before the problems
};

class ProblemsView : public View {
    Q_OBJECT
public:
    explicit ProblemsView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    QListView* list() const { return m_list; }

private:
    void choose(const QModelIndex& index);

    ProblemsItemModel* m_model;
    QListView* m_list;
    QLabel* m_empty;
    QPushButton* m_find;
    std::shared_ptr<const NumericTrouble> m_shown;
    bool m_selecting = false; ///< a row is chosen by the program: nobody's wish
};

} // namespace nabla::views
