// Switching of themes.
#include "views/theme/theme_source.h"

namespace nabla::views {

ThemeSource::ThemeSource(ThemeKind kind, QObject* parent)
    : QObject(parent)
    , m_theme(std::make_shared<const Theme>(Theme::load(kind))) { }

void ThemeSource::setKind(ThemeKind kind) {
    if (kind == m_theme->kind)
        return;
    m_theme = std::make_shared<const Theme>(Theme::load(kind));
    ++m_revision;
    Q_EMIT changed();
}

} // namespace nabla::views
