// The list of views: what the window offers in its docks.
#pragma once

#include <functional>
#include <vector>

#include <QString>

#include "views/view.h"

namespace nabla::views {

enum class DockArea : std::uint8_t { Left, Right, Bottom };

struct ViewDef {
    const char* id;       ///< object name of the dock: kept in saved layouts
    QString title;        ///< translated
    const char* icon;     ///< resources/icons/<icon>.svg
    DockArea area;
    View* (*make)(const ThemeSource& theme, QWidget* parent);
};

/// In the order in which docks are made; tabbed ones of the bottom area in that order too.
std::vector<ViewDef> viewDefs();

} // namespace nabla::views
