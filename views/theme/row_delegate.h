// Rows of trees and lists: glyph tile, name, a second line or a right-hand number in mono; shared by outline, history,
// problems.
#pragma once

#include <QStyledItemDelegate>

#include "views/theme/theme_source.h"

namespace nabla::views {

/// Data roles that the delegate reads beside Qt::DisplayRole.
enum RowRole {
    kKindRole = Qt::UserRole + 1, ///< int of OperatorKind: a glyph tile; absent = none
    kIconRole, ///< QString: an icon of resources/icons in place of the tile
    kRightRole, ///< QString: right-aligned, mono, muted
    kSecondRole, ///< QString: second line, muted
    kMutedRole, ///< bool: the whole row in quiet text (not run yet)
    kMarkRole, ///< QString token of a signal at the left edge: "step", "error", "warning", "ok", "info", "added",
               ///< "removed", "changed"
    kStrongRole, ///< bool: semibold
    kIndentRole, ///< int: levels below the row above in a plain list
};

/// Paints one- and two-line rows by the design's sizes (24 and 38 px at the 12 px font).
class RowDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit RowDelegate(const ThemeSource& theme, QObject* parent = nullptr)
        : QStyledItemDelegate(parent)
        , m_theme(theme) { }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    const ThemeSource& m_theme;
};

/// Glyph tile of a kind: rounded square in its colour, glyph in the ink that contrasts.
void paintGlyphTile(QPainter& painter, const QRectF& rect, OperatorKind kind, const Theme& theme);

} // namespace nabla::views
