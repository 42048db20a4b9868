// The design's icons in the colours of the theme.
#pragma once

#include <QIcon>
#include <QImage>
#include <QString>

#include "views/theme/theme_source.h"

namespace nabla::views {

/// Which token the icon's lines take; a disabled icon is always `disabled`.
enum class IconInk { Text, Muted, OnAccent, Accent, Ok, Warning, Error, Info };

/// The icon `name` ("open", "step-back", ...) of resources/icons. It follows `source`: after a change of theme a
/// repaint suffices. A name that does not exist gives a null icon. `source` must outlive the icon's last painting, or
/// the icon paints nothing.
QIcon themedIcon(const QString& name, const ThemeSource& source, IconInk ink = IconInk::Text);

/// The same as an image of `pixels` x `pixels`, usable from any thread.
QImage iconImage(const QString& name, const QColor& colour, int pixels);

} // namespace nabla::views
