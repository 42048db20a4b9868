// ProblemsView: what is wrong with the model, each with its place.
#pragma once

#include <QAbstractListModel>

#include "views/view.h"

class QLabel;
class QListView;

namespace nabla::views {

class ProblemsItemModel : public QAbstractListModel {
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;

    void setState(const ViewState& state);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    const engine::Diagnostic* problem(const QModelIndex& index) const;

private:
    ViewState m_state;
};

class ProblemsView : public View {
    Q_OBJECT
public:
    explicit ProblemsView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    QListView* list() const { return m_list; }

private:
    ProblemsItemModel* m_model;
    QListView* m_list;
    QLabel* m_empty;
};

} // namespace nabla::views
