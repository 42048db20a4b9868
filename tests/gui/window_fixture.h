// The main window as a user has it, for tests that click and type.
#pragma once

#include <memory>

#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QTabBar>
#include <QTest>
#include <QToolBar>
#include <QTreeView>

#include "app/main_window/main_window.h"
#include "views/outline/outline_view.h"
#include "views/theme/nabla_style.h"

namespace nabla::tests {

inline constexpr int kPatience = 60'000; // ms, for a loaded machine; nothing waits this long otherwise

/// A base of the test's class, beside QObject.
class WindowFixture {
protected:
    std::unique_ptr<views::ThemeSource> m_theme;
    std::unique_ptr<app::MainWindow> m_window;

    const views::ViewState& state() const { return m_window->controller().state(); }

    /// Empty settings that no other test shares: tests run beside each other.
    void useOwnSettings(const char* name) {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName("NablascopeTest");
        QCoreApplication::setApplicationName(name);
        QSettings().clear();
        m_theme = std::make_unique<views::ThemeSource>(views::ThemeKind::Light);
        views::applyTheme(*m_theme);
    }
    void makeWindow() {
        m_window.reset(); // before another one is shown and active
        m_window = std::make_unique<app::MainWindow>(*m_theme);
        m_window->resize(1600, 1000);
        m_window->show();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }
    /// Until nothing is computed and no picture of the graph is being made.
    void settle() { QTRY_VERIFY_WITH_TIMEOUT(!m_window->controller().jobs().busy() && !m_window->graphPanel()->building(), kPatience); }
    void noError() { QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText())); }

    void activate() { // a dialog that closed may have taken the activation with it
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }
    void open(const QString& path) {
        m_window->openFile(path);
        settle();
        noError();
    }
    /// Clicks a tile of the start page.
    void openSample(const char* name) {
        auto* tile = m_window->findChild<QPushButton*>(QStringLiteral("sample_%1").arg(name));
        QVERIFY2(tile, name);
        QTest::mouseClick(tile, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(state().graph.nodeCount() > 0, kPatience);
        settle();
        noError();
    }
    /// Clicks an action's button of the tool bar.
    void click(const char* action) {
        QWidget* button = m_window->findChild<QToolBar*>("toolBar")->widgetForAction(m_window->action(action));
        QVERIFY2(button && button->isVisible() && button->isEnabled(), action);
        QTest::mouseClick(button, Qt::LeftButton);
        settle();
    }
    void press(QWidget* receiver, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QTest::keyClick(receiver, key, modifiers);
        settle();
        noError();
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        activate();
        press(m_window.get(), key, modifiers);
    }
    /// Every tab of that title.
    void showTab(const QString& title) {
        for (QTabBar* tabs : m_window->findChildren<QTabBar*>()) {
            for (int i = 0; i < tabs->count(); ++i) {
                if (tabs->tabText(i).startsWith(title))
                    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(i).center());
            }
        }
    }
    void clickInOutline(const QString& name) {
        QTreeView* tree = qobject_cast<views::OutlineView*>(m_window->view("outline"))->tree();
        tree->expandAll();
        const QModelIndexList found = tree->model()->match(tree->model()->index(0, 0), Qt::DisplayRole, name, 1, Qt::MatchExactly | Qt::MatchRecursive);
        QVERIFY2(!found.isEmpty(), qPrintable(name));
        tree->scrollTo(found.front());
        QTest::mouseClick(tree->viewport(), Qt::LeftButton, {}, tree->visualRect(found.front()).center());
        settle();
    }
};

} // namespace nabla::tests
