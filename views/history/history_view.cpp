// Two-line rows: what the state is, and what it changed.
#include "views/history/history_view.h"

#include <QHBoxLayout>
#include <QListView>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/icons.h"
#include "views/theme/row_delegate.h"
#include "views/theme/units.h"

namespace nabla::views {

namespace {

const char* iconOf(HistoryEntry::Kind kind) {
    switch (kind) {
    case HistoryEntry::Kind::Imported: return "open";
    case HistoryEntry::Kind::Legalized: return "tensor";
    case HistoryEntry::Kind::Pass: return "passes";
    case HistoryEntry::Kind::Gradient: return "differentiate";
    case HistoryEntry::Kind::Trained: return "gradient";
    }
    return "graph";
}

/// The change of planned peak memory, else of FLOPs; empty when not measured.
QString priceText(const HistoryEntry& entry) {
    if (!entry.pass || !entry.pass->priceBefore || !entry.pass->priceAfter)
        return {};
    const auto &before = *entry.pass->priceBefore, &after = *entry.pass->priceAfter;
    if (before.peakBytes && after.peakBytes && *before.peakBytes != *after.peakBytes)
        return QString::fromStdString(formatBytesChange(*after.peakBytes - *before.peakBytes));
    if (before.bytesMoved && after.bytesMoved && *before.bytesMoved != *after.bytesMoved)
        return QString::fromStdString(formatBytesChange(*after.bytesMoved - *before.bytesMoved));
    return {};
}

} // namespace

void HistoryItemModel::setState(const ViewState& state) {
    beginResetModel();
    m_entries = state.history;
    m_current = state.currentState;
    m_compared = state.comparedState;
    endResetModel();
}

int HistoryItemModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_entries.size()); }

const HistoryEntry* HistoryItemModel::entry(const QModelIndex& index) const {
    return index.isValid() && index.row() < rowCount() ? &m_entries[static_cast<std::size_t>(index.row())] : nullptr;
}

QModelIndex HistoryItemModel::indexOf(std::uint32_t id) const {
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        if (m_entries[i].id == id)
            return index(static_cast<int>(i));
    }
    return {};
}

QVariant HistoryItemModel::data(const QModelIndex& index, int role) const {
    const HistoryEntry* e = entry(index);
    if (!e)
        return {};
    switch (role) {
    case Qt::DisplayRole: return QString::fromStdString(e->title);
    case kSecondRole: return QString::fromStdString(e->subtitle);
    case kIconRole: return QString::fromLatin1(iconOf(e->kind));
    case kRightRole: return priceText(*e);
    case kStrongRole: return e->id == m_current;
    case kMarkRole: return e->id == m_compared ? QVariant(QStringLiteral("changed")) : QVariant();
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole: return QStringLiteral("%1, %2").arg(QString::fromStdString(e->title), QString::fromStdString(e->subtitle));
    default: return {};
    }
}

HistoryView::HistoryView(const ThemeSource& theme, QWidget* parent)
    : View(theme, parent), m_model(new HistoryItemModel(this)), m_list(new QListView(this)), m_compare(new QToolButton(this)) {
    m_list->setObjectName("historyList");
    m_list->setAccessibleName(tr("History of graph states"));
    m_list->setItemDelegate(new RowDelegate(theme, m_list));
    m_list->setModel(m_model);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setMouseTracking(true);
    m_compare->setObjectName("historyCompare");
    m_compare->setIcon(themedIcon("compare", theme));
    m_compare->setText(tr("Compare with parent"));
    m_compare->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_compare->setAutoRaise(true);
    m_compare->setCheckable(true);
    m_compare->setToolTip(tr("Show this state beside the one it was made from"));
    m_compare->setAccessibleName(tr("Compare with parent"));
    auto* row = new QHBoxLayout;
    row->setContentsMargins(4, 2, 4, 2);
    row->addWidget(m_compare);
    row->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_list);
    layout->addLayout(row);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& current) {
        if (const HistoryEntry* e = m_model->entry(current); e && !m_selecting)
            Q_EMIT historyStateWanted(e->id);
    });
    connect(m_compare, &QToolButton::clicked, this, [this](bool on) {
        const HistoryEntry* e = m_model->entry(m_list->currentIndex());
        if (e && on && e->parent)
            Q_EMIT comparisonWanted(e->parent, e->id);
        else if (e)
            Q_EMIT historyStateWanted(e->id);
    });
    connect(&theme, &ThemeSource::changed, m_list->viewport(), qOverload<>(&QWidget::update));
}

void HistoryView::setState(const ViewState& state, const Changes& changes) {
    if (!changes.history && !changes.graph)
        return;
    m_selecting = true;
    m_model->setState(state);
    const QModelIndex index = m_model->indexOf(state.currentState);
    m_list->setCurrentIndex(index);
    if (index.isValid())
        m_list->scrollTo(index);
    const HistoryEntry* e = m_model->entry(index);
    m_compare->setEnabled(e && e->parent != 0);
    m_compare->setChecked(state.comparedState != 0);
    m_selecting = false;
}

} // namespace nabla::views
