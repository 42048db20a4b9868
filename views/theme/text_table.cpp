// Array-backed tables and the empty panel.
#include "views/theme/text_table.h"

#include <algorithm>

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QVBoxLayout>

#include "views/theme/fonts.h"
#include "views/theme/row_delegate.h"

namespace nabla::views {

TextTableModel::TextTableModel(std::vector<TextColumn> columns, QObject* parent)
    : QAbstractTableModel(parent)
    , m_columns(std::move(columns)) {
}

void TextTableModel::setRows(std::vector<TextRow> rows) {
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int TextTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TextTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
}

QVariant TextTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount())
        return {};
    const TextRow& row = m_rows[static_cast<std::size_t>(index.row())];
    const auto column = static_cast<std::size_t>(index.column());
    const bool number = m_columns[column].content == TextColumn::Content::Number;
    switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: return column < row.cells.size() ? row.cells[column] : QString();
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1: %2").arg(
            m_columns[column].title, column < row.cells.size() ? row.cells[column] : QString());
    case Qt::TextAlignmentRole: return QVariant::fromValue((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
        if (number)
            return Fonts::from(QApplication::font()).mono;
        return row.strong ? QVariant(Fonts::from(QApplication::font()).strong) : QVariant();
    case kKindRole: return column == 0 && row.kind ? QVariant(static_cast<int>(*row.kind)) : QVariant();
    case kStrongRole: return row.strong;
    default: return {};
    }
}

QVariant TextTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const TextColumn& column = m_columns[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole)
        return column.title;
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            (column.content == TextColumn::Content::Number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    return {};
}

namespace {

void copyRows(const QTableView& table) {
    QStringList lines;
    const int columns = table.model()->columnCount();
    for (int row = 0; row < table.model()->rowCount(); ++row) {
        if (!table.selectionModel()->isRowSelected(row))
            continue;
        QStringList cells;
        for (int c = 0; c < columns; ++c)
            cells << table.model()->index(row, c).data().toString();
        lines << cells.join('\t');
    }
    if (!lines.isEmpty())
        QApplication::clipboard()->setText(lines.join('\n'));
}

} // namespace

QTableView* makeTable(
    TextTableModel* model, const ThemeSource& theme, const QString& accessibleName, QWidget* parent, int stretch) {
    auto* table = new QTableView(parent);
    table->setModel(model);
    table->setAccessibleName(accessibleName);
    table->setFrameShape(QFrame::NoFrame);
    table->setShowGrid(false);
    table->setWordWrap(false);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setTabKeyNavigation(false);
    table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->setItemDelegateForColumn(0, new RowDelegate(theme, table));
    table->verticalHeader()->hide();
    table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->verticalHeader()->setDefaultSectionSize(QFontMetrics(QApplication::font()).height() + 9);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setMinimumSectionSize(40);
    auto* copy = new QShortcut(QKeySequence::Copy, table, nullptr, nullptr, Qt::WidgetShortcut);
    QObject::connect(copy, &QShortcut::activated, table, [table] { copyRows(*table); });
    QObject::connect(&theme, &ThemeSource::changed, table->viewport(), qOverload<>(&QWidget::update));
    fitColumns(table, stretch);
    return table;
}

void fitColumns(QTableView* table, int stretch) {
    QHeaderView* header = table->horizontalHeader();
    const QFontMetrics words(QApplication::font());
    const QFontMetrics mono(Fonts::from(QApplication::font()).mono);
    const int rows = std::min(table->model()->rowCount(), 200);
    for (int c = 0; c < table->model()->columnCount(); ++c) {
        const QString title = table->model()->headerData(c, Qt::Horizontal).toString();
        int width = words.horizontalAdvance(title) + 20;
        for (int r = 0; r < rows; ++r) {
            const QModelIndex index = table->model()->index(r, c);
            const QFontMetrics& metrics = index.data(Qt::FontRole).isValid() ? mono : words;
            width = std::max(width, metrics.horizontalAdvance(index.data().toString()) + (c == 0 ? 40 : 20));
        }
        header->setSectionResizeMode(c, c == stretch ? QHeaderView::Stretch : QHeaderView::Interactive);
        if (c != stretch)
            header->resizeSection(c, std::min(width, 320));
    }
}

EmptyPanel::EmptyPanel(const QString& sentence, const QString& verb, QWidget* parent)
    : QWidget(parent)
    , m_label(new QLabel(this))
    , m_button(new QPushButton(this)) {
    m_label->setWordWrap(true);
    m_label->setAlignment(Qt::AlignCenter);
    m_label->setMinimumWidth(280);
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addStretch();
    layout->addWidget(m_label, 0, Qt::AlignHCenter);
    layout->addWidget(m_button, 0, Qt::AlignHCenter);
    layout->addStretch();
    setText(sentence, verb);
}

void EmptyPanel::setText(const QString& sentence, const QString& verb) {
    m_label->setText(sentence);
    m_button->setText(verb);
    m_button->setAccessibleName(verb);
}

} // namespace nabla::views
