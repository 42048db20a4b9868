// One line a view.
#include "views/registry.h"

#include <QCoreApplication>

#include "views/gradient/gradient_view.h"
#include "views/gradient_flow/gradient_flow_view.h"
#include "views/history/history_view.h"
#include "views/inspector/inspector_view.h"
#include "views/memory_map/memory_map_view.h"
#include "views/outline/outline_view.h"
#include "views/passes/passes_view.h"
#include "views/problems/problems_view.h"
#include "views/timeline/timeline_view.h"

namespace nabla::views {

namespace {

template <typename T> View* make(const ThemeSource& theme, QWidget* parent) { return new T(theme, parent); }

QString title(const char* text) { return QCoreApplication::translate("ViewTitle", text); }

} // namespace

std::vector<ViewDef> viewDefs() {
    return {
        {"outline", title(QT_TRANSLATE_NOOP("ViewTitle", "Outline")), "tree", DockArea::Left, make<OutlineView>},
        {"history", title(QT_TRANSLATE_NOOP("ViewTitle", "History")), "history", DockArea::Left, make<HistoryView>},
        {"inspector", title(QT_TRANSLATE_NOOP("ViewTitle", "Inspector")), "info", DockArea::Right, make<InspectorView>},
        {"gradient", title(QT_TRANSLATE_NOOP("ViewTitle", "Gradient")), "gradient", DockArea::Right, make<GradientView>},
        {"timeline", title(QT_TRANSLATE_NOOP("ViewTitle", "Timeline")), "timeline", DockArea::Bottom, make<TimelineView>},
        {"memory_map", title(QT_TRANSLATE_NOOP("ViewTitle", "Memory map")), "memory", DockArea::Bottom, make<MemoryMapView>},
        {"gradient_flow", title(QT_TRANSLATE_NOOP("ViewTitle", "Gradient flow")), "gradient", DockArea::Bottom, make<GradientFlowView>},
        {"passes", title(QT_TRANSLATE_NOOP("ViewTitle", "Passes")), "passes", DockArea::Bottom, make<PassesView>},
        {"problems", title(QT_TRANSLATE_NOOP("ViewTitle", "Problems")), "warning", DockArea::Bottom, make<ProblemsView>},
    };
}

} // namespace nabla::views
