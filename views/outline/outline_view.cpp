// Tree over the outline model; the filter hides rows without a match below them.
#include "views/outline/outline_view.h"

#include <QLineEdit>
#include <QTreeView>
#include <QVBoxLayout>

#include "views/theme/row_delegate.h"

namespace nabla::views {

OutlineItemModel::OutlineItemModel(QObject* parent) : QAbstractItemModel(parent) { m_model.items.emplace_back(); }

void OutlineItemModel::reset(const ViewState& state) {
    beginResetModel();
    m_state = state;
    m_model = outlineModel(state);
    endResetModel();
}

void OutlineItemModel::refresh(const ViewState& state) {
    m_state = state;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0));
}

const OutlineItem* OutlineItemModel::item(const QModelIndex& index) const {
    return index.isValid() ? &m_model.items[index.internalId()] : nullptr;
}

QModelIndex OutlineItemModel::indexOf(engine::NodeId node) const {
    const auto it = m_model.itemOf.find(node);
    return it == m_model.itemOf.end() ? QModelIndex() : createIndex(m_model.items[static_cast<std::size_t>(it->second)].row, 0, static_cast<quintptr>(it->second));
}

QModelIndex OutlineItemModel::index(int row, int column, const QModelIndex& parent) const {
    if (column != 0 || row < 0 || row >= rowCount(parent))
        return {};
    const auto& children = m_model.items[parent.isValid() ? parent.internalId() : 0].children;
    return createIndex(row, 0, static_cast<quintptr>(children[static_cast<std::size_t>(row)]));
}

QModelIndex OutlineItemModel::parent(const QModelIndex& index) const {
    const OutlineItem* child = item(index);
    if (!child || child->parent <= 0)
        return {};
    return createIndex(m_model.items[static_cast<std::size_t>(child->parent)].row, 0, static_cast<quintptr>(child->parent));
}

int OutlineItemModel::rowCount(const QModelIndex& parent) const {
    return static_cast<int>(m_model.items[parent.isValid() ? parent.internalId() : 0].children.size());
}

int OutlineItemModel::columnCount(const QModelIndex&) const { return 1; }

QVariant OutlineItemModel::data(const QModelIndex& index, int role) const {
    const OutlineItem* i = item(index);
    if (!i)
        return {};
    const auto steps = shownSteps(m_state);
    const bool isNext = steps && i->node && steps->next() == i->node;
    switch (role) {
    case Qt::DisplayRole: return QString::fromStdString(i->title.substr(0, 300));
    case Qt::ToolTipRole: return QString::fromStdString(i->title.substr(0, 300)).toHtmlEscaped();
    case Qt::AccessibleTextRole: {
        const engine::Node* node = m_state.graph.node(i->node);
        return node ? QStringLiteral("%1, %2").arg(QString::fromStdString(i->title.substr(0, 300)), QString::fromStdString(node->opType.substr(0, 100))) : QString::fromStdString(i->title.substr(0, 300));
    }
    case kKindRole: return i->scope.empty() ? QVariant(static_cast<int>(i->kind)) : QVariant();
    case kIconRole: return i->scope.empty() ? QVariant() : QVariant(QStringLiteral("graph"));
    case kRightRole: return QString::fromStdString(outlineRightText(m_state, *i));
    case kMarkRole: return isNext ? QVariant(QStringLiteral("step")) : QVariant();
    default: return {};
    }
}

OutlineView::OutlineView(const ThemeSource& theme, QWidget* parent)
    : View(theme, parent), m_model(new OutlineItemModel(this)), m_tree(new QTreeView(this)), m_filter(new QLineEdit(this)) {
    m_tree->setObjectName("outlineTree");
    m_tree->setAccessibleName(tr("Outline of the graph"));
    m_tree->setHeaderHidden(true);
    m_tree->setUniformRowHeights(true);
    m_tree->setItemDelegate(new RowDelegate(theme, m_tree));
    m_tree->setModel(m_model);
    m_tree->setFrameShape(QFrame::NoFrame);
    m_tree->setIndentation(16);
    m_tree->setMouseTracking(true);
    m_filter->setPlaceholderText(tr("Filter by name"));
    m_filter->setAccessibleName(tr("Filter the outline"));
    m_filter->setClearButtonEnabled(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* filterRow = new QVBoxLayout;
    filterRow->setContentsMargins(8, 6, 8, 6);
    filterRow->addWidget(m_filter);
    layout->addLayout(filterRow);
    layout->addWidget(m_tree);
    connect(m_filter, &QLineEdit::textChanged, this, &OutlineView::applyFilter);
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& current) {
        const OutlineItem* item = m_model->item(current);
        if (m_selecting || !item || (!item->node && !item->value))
            return;
        const engine::Node* node = m_state.graph.node(item->node);
        Q_EMIT selectionWanted({item->node, node ? node->output(0) : item->value});
    });
    connect(m_tree, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
        if (const OutlineItem* item = m_model->item(index); item && item->node)
            Q_EMIT revealWanted(item->node);
    });
    connect(&theme, &ThemeSource::changed, m_tree->viewport(), qOverload<>(&QWidget::update));
}

void OutlineView::setState(const ViewState& state, const Changes& changes) {
    m_state = state;
    m_selecting = true;
    if (changes.graph) {
        m_model->reset(state);
        if (state.graph.nodeCount() <= 400)
            m_tree->expandAll();
        applyFilter(m_filter->text());
    } else if (changes.step || changes.values || changes.timeline) {
        m_model->refresh(state);
        m_tree->viewport()->update();
    }
    if (changes.graph || changes.selection || changes.step) {
        const engine::NodeId shown = state.selection.node;
        const QModelIndex index = m_model->indexOf(shown);
        if (index.isValid()) {
            m_tree->setCurrentIndex(index);
            m_tree->scrollTo(index);
        } else if (!state.selection.value) {
            m_tree->selectionModel()->clearSelection();
        }
    }
    m_selecting = false;
}

void OutlineView::applyFilter(const QString& text) {
    for (int row = 0; row < m_model->rowCount(); ++row)
        filterItem(m_model->index(row, 0), text.trimmed());
}

bool OutlineView::filterItem(const QModelIndex& index, const QString& text) { // depth is bounded by the scope tree's
    bool shown = text.isEmpty() || index.data().toString().contains(text, Qt::CaseInsensitive);
    for (int row = 0; row < m_model->rowCount(index); ++row)
        shown |= filterItem(m_model->index(row, 0, index), text);
    m_tree->setRowHidden(index.row(), index.parent(), !shown);
    return shown;
}

} // namespace nabla::views
