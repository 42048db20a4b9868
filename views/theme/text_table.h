// Tables of plain text over an array, and the panel that stands in for a view with nothing to show.
#pragma once

#include <optional>
#include <vector>

#include <QAbstractTableModel>
#include <QTableView>

#include "views/theme/theme_source.h"

class QLabel;
class QPushButton;

namespace nabla::views {

struct TextColumn {
    enum class Content { Words, Number };
    QString title;
    Content content = Content::Words; ///< numbers stand at the right, in mono
};
struct TextRow {
    std::vector<QString> cells;
    std::optional<OperatorKind> kind; ///< glyph tile in the first column
    bool strong = false;
};

class TextTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit TextTableModel(std::vector<TextColumn> columns, QObject* parent = nullptr);

    void setRows(std::vector<TextRow> rows);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<TextColumn> m_columns;
    std::vector<TextRow> m_rows;
};

/// A table in the program's style: whole rows, no grid, number columns as wide as their text, the first column or
/// `stretch` takes the rest; cells elide, never clip. Copy puts the selected rows on the clipboard as tab-separated text.
QTableView* makeTable(TextTableModel* model, const ThemeSource& theme, const QString& accessibleName, QWidget* parent,
    int stretch = 0);
/// Widths by content, after setRows; the stretched column keeps at least 120 px.
void fitColumns(QTableView* table, int stretch = 0);

/// One sentence saying why there is nothing, and one button that changes it.
class EmptyPanel : public QWidget {
    Q_OBJECT
public:
    EmptyPanel(const QString& sentence, const QString& verb, QWidget* parent = nullptr);
    void setText(const QString& sentence, const QString& verb);
    QPushButton* button() const { return m_button; }

private:
    QLabel* m_label;
    QPushButton* m_button;
};

} // namespace nabla::views
