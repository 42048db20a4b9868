// The fonts of the design as factors of the system's font.
#pragma once

#include <QFont>

namespace nabla::views {

/// Two weights only: regular and semibold. Mono is for shapes, bytes, times and code; everything said in words is UI.
struct Fonts {
    QFont body, caption, strong, medium;
    QFont mono, cardMono;
    QFont dockTitle, inspectorTitle, section, bigNumber, pageTitle;

    /// `system`: QApplication::font() or QFontDatabase::systemFont(GeneralFont).
    static Fonts from(const QFont& system);
};

/// The application's font: the system's, with the design's fall-backs behind it.
QFont uiFont(const QFont& system);

} // namespace nabla::views
