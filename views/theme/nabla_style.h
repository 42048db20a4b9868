// Fusion with the design's focus rings and selected rows.
#pragma once

#include <QProxyStyle>

#include "views/theme/theme_source.h"

namespace nabla::views {

class NablaStyle : public QProxyStyle {
    Q_OBJECT
public:
    /// `source` must outlive the style.
    explicit NablaStyle(const ThemeSource& source);

    void drawPrimitive(
        PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const override;
    void drawControl(
        ControlElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    QIcon standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(
        StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const override;

private:
    const ThemeSource& m_source;

    void drawFocusRing(QPainter* painter, const QRect& rect, double radius) const;
};

/// Style, palette, font and style sheet of the whole program, kept in step with `source`.
void applyTheme(ThemeSource& source);

} // namespace nabla::views
