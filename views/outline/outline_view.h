// OutlineView: the scope tree with a filter field.
#pragma once

#include <memory>

#include <QAbstractItemModel>

#include "views/outline/outline_view_model.h"
#include "views/view.h"

class QLineEdit;
class QTreeView;

namespace nabla::views {

/// Item model over OutlineModel; rows carry the roles of RowDelegate.
class OutlineItemModel : public QAbstractItemModel {
    Q_OBJECT
public:
    explicit OutlineItemModel(QObject* parent = nullptr);

    void reset(const ViewState& state);
    /// New right-hand texts and step marks on the same tree.
    void refresh(const ViewState& state);
    QModelIndex indexOf(engine::NodeId node) const;
    const OutlineItem* item(const QModelIndex& index) const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    OutlineModel m_model;
    ViewState m_state;
};

class OutlineView : public View {
    Q_OBJECT
public:
    explicit OutlineView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    QTreeView* tree() const { return m_tree; }
    OutlineItemModel* model() const { return m_model; }

private:
    void applyFilter(const QString& text);
    bool filterItem(const QModelIndex& index, const QString& text);

    OutlineItemModel* m_model;
    QTreeView* m_tree;
    QLineEdit* m_filter;
    ViewState m_state;
    bool m_selecting = false; // a selection that came from elsewhere must not be sent back
};

} // namespace nabla::views
