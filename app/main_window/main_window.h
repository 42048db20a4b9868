// MainWindow: menus, tool bar, docks from the registry of views, status bar. It wires; the controller works.
#pragma once

#include <map>

#include <QMainWindow>

#include "app/main_window/controller.h"
#include "app/main_window/graph_panel.h"
#include "views/registry.h"

class QDockWidget;
class QLabel;
class QProgressBar;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace nabla::app {

class StartPage;
class TroubleBar;

/// The theme of the last session; the system's when there is none.
views::ThemeKind savedTheme();

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(views::ThemeSource& theme);
    ~MainWindow() override;

    void openFile(const QString& path); ///< a model, a saved session or a recording, by content
    Controller& controller() { return m_controller; }
    GraphPanel* graphPanel() const { return m_panel; }
    views::View* view(const QString& id) const;
    QAction* action(const QString& name) const { return m_actions.value(name); }
    /// Last error shown, as text; empty when none.
    QString errorText() const;

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();  // main_window_actions.cpp
    void makeMenus();
    void makeToolBar();
    void makeDocks();
    void makeStatusBar();
    QAction* add(const QString& name, const QString& text, const char* icon, const QKeySequence& key, std::function<void()> act);
    void showState(const views::ViewState& state, const views::Changes& changes);
    void showError(const QString& what, const engine::Error& error);
    void hideError();
    void updateActions();
    void browse();
    void saveModel();
    void connectSessions(); // main_window_session.cpp
    void saveSession(std::function<void()> then = {});
    void saveSessionAs(std::function<void()> then = {});
    void askAboutHistory(std::function<void()> then); ///< then: after it was saved, or given up
    void chooseGradient();
    void chooseTraining();
    void goToCounterpart();
    void remember(const QString& path);
    QStringList recentFiles() const;
    void showShortcuts();
    void restore();
    void showDocks(bool on);

    views::ThemeSource& m_theme;
    Controller m_controller;
    QStackedWidget* m_stack;
    StartPage* m_start;
    GraphPanel* m_panel;
    TroubleBar* m_troubleBar;
    bool m_walked = false; ///< the way back of the trouble is shown
    QWidget* m_errorBar;
    QLabel* m_errorLabel;
    QMap<QString, QAction*> m_actions;
    std::map<QString, std::pair<QDockWidget*, views::View*>> m_views;
    engine::NodeId m_lastCounterpart; ///< where goToCounterpart() went last
    std::function<void()> m_afterSaving; ///< what waits for the session to be saved
    bool m_historyGiven = false;
    QMenu* m_recentMenu = nullptr;
    QLabel *m_status, *m_facts, *m_peak;
    QProgressBar* m_progress;
    QToolButton* m_cancel;
    QTimer* m_busyTimer;
};

} // namespace nabla::app
