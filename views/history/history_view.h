// HistoryView: the states of the document; click shows one, the compare button shows it beside its parent.
#pragma once

#include <QAbstractListModel>

#include "views/view.h"

class QListView;
class QToolButton;

namespace nabla::views {

class HistoryItemModel : public QAbstractListModel {
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;

    void setState(const ViewState& state);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    const HistoryEntry* entry(const QModelIndex& index) const;
    QModelIndex indexOf(std::uint32_t id) const;

private:
    std::vector<HistoryEntry> m_entries;
    std::uint32_t m_current = 0, m_compared = 0;
};

class HistoryView : public View {
    Q_OBJECT
public:
    explicit HistoryView(const ThemeSource& theme, QWidget* parent = nullptr);

    void setState(const ViewState& state, const Changes& changes) override;
    QListView* list() const { return m_list; }
    QToolButton* compareButton() const { return m_compare; }

private:
    HistoryItemModel* m_model;
    QListView* m_list;
    QToolButton* m_compare;
    bool m_selecting = false;
};

} // namespace nabla::views
