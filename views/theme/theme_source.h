// The theme that the window shows now; made by main and handed to every view.
#pragma once

#include <QObject>

#include "views/theme/theme.h"

namespace nabla::views {

/// Holds the current theme. Views keep a pointer to it, read theme() when they paint, and repaint on changed().
class ThemeSource : public QObject {
    Q_OBJECT
public:
    explicit ThemeSource(ThemeKind kind = ThemeKind::Light, QObject* parent = nullptr);

    const Theme& theme() const { return *m_theme; }
    ThemePtr themePtr() const { return m_theme; }
    ThemeKind kind() const { return m_theme->kind; }
    void setKind(ThemeKind kind);
    /// Counts changes; part of the key of whatever is cached by colour.
    int revision() const { return m_revision; }

Q_SIGNALS:
    void changed();

private:
    ThemePtr m_theme;
    int m_revision = 1;
};

} // namespace nabla::views
