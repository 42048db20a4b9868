// View: the widget side of one view. It shows a ViewState and says what the user wants; it never works itself.
#pragma once

#include <QWidget>

#include "views/theme/theme_source.h"
#include "views/view_state.h"

namespace nabla::views {

/// Base of every view in views/<name>/. Signals carry wishes; the application answers with a new state.
class View : public QWidget {
    Q_OBJECT
public:
    /// `theme` must outlive the view; a view repaints by itself when the theme changes.
    explicit View(const ThemeSource& theme, QWidget* parent = nullptr) : QWidget(parent), m_theme(theme) {
        setBackgroundRole(QPalette::Base);
        setAutoFillBackground(true);
    }

    virtual void setState(const ViewState& state, const Changes& changes) = 0;

protected:
    const ThemeSource& themeSource() const { return m_theme; }

Q_SIGNALS:
    void selectionWanted(const nabla::views::Selection& selection);
    /// Also bring the node into view on the graph (double click, link).
    void revealWanted(nabla::engine::NodeId node);
    void historyStateWanted(std::uint32_t id);               ///< show this state
    void comparisonWanted(std::uint32_t before, std::uint32_t after);
    void breakpointToggled(nabla::engine::NodeId node);
    void explanationWanted(nabla::engine::ValueId value, qint64 element); ///< of dL/d(value[element])
    void learningRateWanted(double rate); ///< of the training that runs
    void stepWanted(std::size_t position);                   ///< go to this step (click in a list of steps or the memory map)
    /// An action of the main window by its object name: "open", "run", "step", "back", "continue", "differentiate", "passes", "record", …
    void actionWanted(const QString& action);

private:
    const ThemeSource& m_theme;
};

} // namespace nabla::views
