// Row painting; sizes follow the font.
#include "views/theme/row_delegate.h"

#include <QApplication>
#include <QPainter>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"

namespace nabla::views {

namespace {

QColor signalColour(const Theme& theme, const QString& token) {
    if (token == "step")
        return theme.step;
    if (token == "error")
        return theme.error;
    if (token == "warning")
        return theme.warning;
    if (token == "ok")
        return theme.ok;
    if (token == "info")
        return theme.info;
    if (token == "added")
        return theme.added;
    if (token == "removed")
        return theme.removed;
    return token == "changed" ? theme.changed : theme.muted;
}

} // namespace

void paintGlyphTile(QPainter& painter, const QRectF& rect, OperatorKind kind, const Theme& theme) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor fill = theme.colour(kind);
    const bool outlined = kind == OperatorKind::Constant || kind == OperatorKind::Unknown;
    painter.setPen(outlined ? QPen(theme.borderStrong, 1) : QPen(Qt::NoPen));
    painter.setBrush(fill);
    painter.drawRoundedRect(outlined ? rect.adjusted(0.5, 0.5, -0.5, -0.5) : rect, 3, 3);
    QFont font = Fonts::from(QApplication::font()).strong;
    font.setPixelSize(static_cast<int>(rect.height() * 0.66));
    painter.setFont(font);
    painter.setPen(theme.inkOn(fill));
    const std::string_view glyph = operatorGlyph(kind);
    painter.drawText(rect, Qt::AlignCenter, QString::fromUtf8(glyph.data(), static_cast<qsizetype>(glyph.size())));
    painter.restore();
}

QSize RowDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const int line = QFontMetrics(option.font).height();
    const bool two = !index.data(kSecondRole).toString().isEmpty();
    return {QFontMetrics(option.font).horizontalAdvance('x') * 20, two ? line * 2 + 8 : line + 9};
}

void RowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& theme = m_theme.theme();
    const Fonts fonts = Fonts::from(QApplication::font());
    painter->save();
    const QString mark = index.data(kMarkRole).toString();
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect, theme.selection);
    else if (mark == "step")
        painter->fillRect(option.rect, theme.stepBg);
    else if (option.state & QStyle::State_MouseOver)
        painter->fillRect(option.rect, theme.hover);
    QRect rect = option.rect.adjusted(4, 0, -8, 0);
    if (!mark.isEmpty()) {
        painter->fillRect(
            QRect(option.rect.left(), option.rect.top() + 2, 3, option.rect.height() - 4), signalColour(theme, mark));
        rect.adjust(2, 0, 0, 0);
    }
    const int tile = 16;
    rect.adjust(index.data(kIndentRole).toInt() * tile, 0, 0, 0);
    if (const QVariant kind = index.data(kKindRole); kind.isValid()) {
        paintGlyphTile(*painter, QRectF(rect.left(), rect.center().y() - tile / 2 + 1, tile, tile),
            static_cast<OperatorKind>(kind.toInt()), theme);
        rect.setLeft(rect.left() + tile + 8);
    } else if (const QString icon = index.data(kIconRole).toString(); !icon.isEmpty()) {
        const IconInk ink = mark == "error" ? IconInk::Error
            : mark == "warning"             ? IconInk::Warning
            : mark == "info"                ? IconInk::Info
                                            : IconInk::Text;
        themedIcon(icon, m_theme, ink).paint(painter, rect.left(), rect.center().y() - tile / 2 + 1, tile, tile);
        rect.setLeft(rect.left() + tile + 8);
    }
    const bool muted = index.data(kMutedRole).toBool();
    const QString right = index.data(kRightRole).toString();
    if (!right.isEmpty()) {
        painter->setFont(fonts.mono);
        painter->setPen(theme.muted);
        painter->drawText(rect, Qt::AlignRight | Qt::AlignVCenter, right);
        rect.setRight(rect.right() - QFontMetrics(fonts.mono).horizontalAdvance(right) - 8);
    }
    const QString second = index.data(kSecondRole).toString();
    const QFont first = index.data(kStrongRole).toBool() ? fonts.strong : fonts.body;
    painter->setFont(first);
    painter->setPen(muted ? theme.muted : mark == "step" ? theme.stepText : theme.text);
    const QString text = QFontMetrics(first).elidedText(
        index.data(Qt::DisplayRole).toString().left(300).simplified(), Qt::ElideMiddle, rect.width());
    if (second.isEmpty()) {
        painter->drawText(rect, Qt::AlignLeft | Qt::AlignVCenter, text);
    } else {
        const QRect top(rect.left(), rect.top() + 3, rect.width(), rect.height() / 2 - 3);
        const QRect bottom(rect.left(), rect.center().y() + 1, rect.width(), rect.height() / 2 - 3);
        painter->drawText(top, Qt::AlignLeft | Qt::AlignVCenter, text);
        painter->setFont(fonts.caption);
        painter->setPen(theme.muted);
        painter->drawText(bottom, Qt::AlignLeft | Qt::AlignVCenter,
            QFontMetrics(fonts.caption).elidedText(second.left(400).simplified(), Qt::ElideRight, rect.width()));
    }
    if (option.state & QStyle::State_HasFocus) {
        painter->setPen(QPen(theme.focus, 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
    }
    painter->restore();
}

} // namespace nabla::views
