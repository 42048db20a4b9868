// Focus rings, selected rows and fields, painted once for all widgets.
#include "views/theme/nabla_style.h"

#include <QApplication>
#include <QPainter>
#include <QStyleOptionViewItem>
#include <QToolTip>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"

namespace nabla::views {

NablaStyle::NablaStyle(const ThemeSource& source)
    : QProxyStyle(QStringLiteral("Fusion"))
    , m_source(source) { }

void NablaStyle::drawFocusRing(QPainter* painter, const QRect& rect, double radius) const {
    const Theme& t = m_source.theme();
    const double width = t.kind == ThemeKind::Contrast ? 3 : 2;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(t.focus, width));
    painter->setBrush(Qt::NoBrush);
    const double inset = width / 2;
    painter->drawRoundedRect(QRectF(rect).adjusted(inset, inset, -inset, -inset), radius, radius);
    painter->restore();
}

void NablaStyle::drawPrimitive(
    PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const {
    const Theme& t = m_source.theme();
    switch (element) {
    case PE_IndicatorButtonDropDown:
        return; // Fusion's is black on flat buttons; the arrow follows
    case PE_FrameFocusRect:
        drawFocusRing(painter, option->rect, 3);
        return;
    case PE_PanelItemViewItem:
    case PE_PanelItemViewRow: {
        const auto* item = qstyleoption_cast<const QStyleOptionViewItem*>(option);
        if (item != nullptr && item->backgroundBrush.style() != Qt::NoBrush)
            painter->fillRect(option->rect, item->backgroundBrush);
        if (option->state & State_Selected)
            painter->fillRect(option->rect, t.selection);
        else if (option->state & State_MouseOver && option->state & State_Enabled)
            painter->fillRect(option->rect, t.hover);
        return;
    }
    case PE_PanelLineEdit:
        if (option->state & State_HasFocus && option->state & State_Enabled && widget != nullptr) {
            QStyleOption plain = *option;
            QProxyStyle::drawPrimitive(element, option, painter, widget);
            drawFocusRing(painter, option->rect, 4);
            return;
        }
        break;
    default:
        break;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
}

void NablaStyle::drawControl(
    ControlElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const {
    // The row is `selection` and its text stays `text`: Fusion would take the palette's highlight for both.
    if (element == CE_ItemViewItem) {
        if (const auto* item = qstyleoption_cast<const QStyleOptionViewItem*>(option)) {
            QStyleOptionViewItem plain = *item;
            for (const auto group : {QPalette::Active, QPalette::Inactive}) {
                plain.palette.setColor(group, QPalette::Highlight, m_source.theme().selection);
                plain.palette.setColor(group, QPalette::HighlightedText, item->palette.color(group, QPalette::Text));
            }
            QProxyStyle::drawControl(element, &plain, painter, widget);
            return;
        }
    }
    QProxyStyle::drawControl(element, option, painter, widget);
}

int NablaStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    switch (metric) {
    case PM_SplitterWidth:
        return 1;
    case PM_SmallIconSize:
        return 16;
    case PM_ToolBarIconSize:
        return 20;
    case PM_TreeViewIndentation:
        return 16;
    case PM_ToolBarExtensionExtent:
        return 28;
    default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

QIcon NablaStyle::standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const {
    if (icon == SP_ToolBarHorizontalExtensionButton)
        return themedIcon(QStringLiteral("chevron-right"), m_source); // Fusion's is black in every theme
    return QProxyStyle::standardIcon(icon, option, widget);
}

int NablaStyle::styleHint(
    StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const {
    if (hint == SH_ItemView_ShowDecorationSelected)
        return 1; // the whole row is selected, not only its text
    return QProxyStyle::styleHint(hint, option, widget, data);
}

void applyTheme(ThemeSource& source) {
    QApplication::setStyle(new NablaStyle(source)); // the application owns its style
    QApplication::setFont(uiFont(QApplication::font()));
    const auto refresh = [&source] {
        QApplication::setPalette(source.theme().palette());
        QToolTip::setPalette(source.theme().palette());
        qApp->setStyleSheet(source.theme().styleSheet());
    };
    refresh();
    QObject::connect(&source, &ThemeSource::changed, qApp, refresh);
}

} // namespace nabla::views
