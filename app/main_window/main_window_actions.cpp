// Actions, menus and tool bar. Every command is an action, with its key, its icon and its words.
#include <QApplication>
#include <QDockWidget>
#include <QDir>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>

#include "app/main_window/differentiate_dialog.h"
#include "app/main_window/main_window.h"
#include "app/main_window/train_dialog.h"
#include "views/theme/icons.h"

namespace nabla::app {

QAction* MainWindow::add(const QString& name, const QString& words, const char* icon, const QKeySequence& key, std::function<void()> act) {
    auto* action = new QAction(words, this);
    action->setObjectName(name);
    if (icon[0] != '\0')
        action->setIcon(views::themedIcon(icon, m_theme));
    action->setShortcut(key);
    if (!key.isEmpty())
        action->setToolTip(QStringLiteral("%1 (%2)").arg(QString(words).remove('&'), key.toString(QKeySequence::NativeText)));
    connect(action, &QAction::triggered, this, [this, act = std::move(act)] {
        hideError();
        act();
    });
    addAction(action);
    m_actions[name] = action;
    return action;
}

void MainWindow::makeActions() {
    add("open", tr("&Open"), "open", QKeySequence::Open, [this] { browse(); });
    add("save_session", tr("&Save session"), "save", QKeySequence::Save, [this] { saveSession(); });
    add("save_session_as", tr("Save session &as…"), "", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), [this] { saveSessionAs(); });
    add("save", tr("Save state as &ONNX…"), "", {}, [this] { saveModel(); });
    add("quit", tr("&Quit"), "", QKeySequence::Quit, [this] { close(); });
    add("run", tr("&Run"), "run", QKeySequence(Qt::CTRL | Qt::Key_R), [this] { m_controller.run(); });
    add("back", tr("&Back"), "step-back", QKeySequence(Qt::SHIFT | Qt::Key_F8), [this] { m_controller.stepBack(); });
    add("step", tr("S&tep"), "step-forward", QKeySequence(Qt::Key_F8), [this] { m_controller.stepForward(); });
    add("into", tr("Step &into"), "step-into", QKeySequence(Qt::Key_F11), [this] { m_controller.stepInto(); });
    add("out", tr("Step o&ut"), "step-out", QKeySequence(Qt::SHIFT | Qt::Key_F11), [this] { m_controller.stepOut(); });
    const auto iterate = [this](qint64 by) {
        const auto& step = m_controller.state().step;
        if (step && !step->levels.empty() && step->levels.back().iteration + by >= 0)
            m_controller.goToIteration(step->levels.back().iteration + by);
    };
    add("next_iteration", tr("&Next iteration"), "", QKeySequence(Qt::Key_F12), [iterate] { iterate(1); });
    add("previous_iteration", tr("Pre&vious iteration"), "", QKeySequence(Qt::SHIFT | Qt::Key_F12), [iterate] { iterate(-1); });
    add("open_body", tr("Open &body"), "", QKeySequence(Qt::CTRL | Qt::Key_B), [this] { m_controller.openBody(m_controller.state().bodies.size(), m_controller.state().selection.node); });
    add("leave_body", tr("&Leave body"), "", QKeySequence(Qt::Key_Backspace), [this] {
        if (const std::size_t depth = m_controller.state().bodies.size())
            m_controller.leaveBodies(depth - 1);
    });
    add("continue", tr("&Continue"), "continue", QKeySequence(Qt::Key_F5), [this] { m_controller.continueForward(); });
    add("stop", tr("St&op"), "stop", QKeySequence(Qt::SHIFT | Qt::Key_F5), [this] { m_controller.stopStepping(); });
    add("find_nonfinite", tr("&Find where NaN comes from"), "nan", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N), [this] { m_controller.findNonFinite(); });
    add("breakpoint", tr("Toggle break&point"), "breakpoint", QKeySequence(Qt::Key_F9), [this] { m_controller.toggleBreakpoint(m_controller.state().selection.node); });
    add("differentiate", tr("&Differentiate"), "differentiate", QKeySequence(Qt::CTRL | Qt::Key_G), [this] { m_controller.differentiate(); });
    add("differentiate_by", tr("Differentiate &by…"), "differentiate", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_G), [this] { chooseGradient(); });
    add("counterpart", tr("Go to backward or &forward node"), "link", QKeySequence(Qt::CTRL | Qt::Key_J), [this] { goToCounterpart(); });
    add("train", tr("&Train…"), "gradient", QKeySequence(Qt::CTRL | Qt::Key_T), [this] { chooseTraining(); });
    add("train_pause", tr("Pa&use training"), "pause", {}, [this] { m_controller.pauseTraining(); });
    add("train_resume", tr("&Go on training"), "run", {}, [this] { m_controller.resumeTraining(); });
    add("train_once", tr("Train &one step"), "step-forward", {}, [this] { m_controller.trainOnce(); });
    add("train_stop", tr("&Stop training"), "stop", {}, [this] { m_controller.stopTraining(); });
    add("passes", tr("&Passes"), "passes", QKeySequence(Qt::CTRL | Qt::Key_P), [this] { m_controller.optimise(); });
    add("record", tr("Recor&d"), "record", QKeySequence(Qt::CTRL | Qt::Key_E), [this] { m_controller.record(); });
    add("compare", tr("Co&mpare"), "compare", QKeySequence(Qt::CTRL | Qt::Key_D), [this] {
        const auto& state = m_controller.state();
        if (state.comparedState) {
            m_controller.showState(state.currentState);
            return;
        }
        for (const auto& entry : state.history) {
            if (entry.id == state.currentState && entry.parent)
                m_controller.compare(entry.parent, entry.id);
        }
    });
    add("find", tr("&Find"), "search", QKeySequence::Find, [this] {
        m_panel->searchField()->setFocus();
        m_panel->searchField()->selectAll();
    });
    add("cancel", tr("Cancel what is running"), "cancel", QKeySequence(Qt::CTRL | Qt::Key_Period), [this] { m_controller.jobs().cancel(); });
    add("shortcuts", tr("&Keyboard shortcuts"), "help", QKeySequence(Qt::Key_F1), [this] { showShortcuts(); });
    const std::pair<const char*, std::pair<QString, views::ThemeKind>> themes[] = {
        {"light", {tr("&Light"), views::ThemeKind::Light}}, {"dark", {tr("&Dark"), views::ThemeKind::Dark}}, {"contrast", {tr("&High contrast"), views::ThemeKind::Contrast}}};
    for (const auto& [name, words] : themes) {
        add(QString("theme_") + name, words.first, "", {}, [this, name = QString(name), kind = words.second] {
            QSettings().setValue("window/theme", name);
            m_theme.setKind(kind);
        });
    }
}

void MainWindow::makeMenus() {
    const auto menu = [this](const QString& title, std::initializer_list<const char*> names) {
        QMenu* out = menuBar()->addMenu(title);
        for (const char* name : names) {
            if (name[0] == '-')
                out->addSeparator();
            else
                out->addAction(m_actions[name]);
        }
        return out;
    };
    QMenu* file = menu(tr("&File"), {"open"});
    m_recentMenu = file->addMenu(tr("Open &recent"));
    connect(m_recentMenu, &QMenu::aboutToShow, this, [this] {
        m_recentMenu->clear();
        for (const QString& path : recentFiles())
            m_recentMenu->addAction(path, this, [this, path] { openFile(path); })->setEnabled(QFileInfo::exists(path));
        if (m_recentMenu->isEmpty())
            m_recentMenu->addAction(tr("No recent files"))->setEnabled(false);
    });
    for (const char* name : {"save_session", "save_session_as", "save"})
        file->addAction(m_actions[name]);
    file->addSeparator();
    file->addAction(m_actions["quit"]);
    menu(tr("&Edit"), {"find"});
    QMenu* view = menu(tr("&View"), {"open_body", "leave_body", "-", "compare", "-"});
    for (const auto& [id, pair] : m_views)
        view->addAction(pair.first->toggleViewAction());
    view->addSeparator();
    QMenu* theme = view->addMenu(tr("&Theme"));
    for (const char* name : {"theme_light", "theme_dark", "theme_contrast"})
        theme->addAction(m_actions[name]);
    menu(tr("&Run"), {"run", "-", "step", "back", "into", "out", "next_iteration", "previous_iteration", "continue", "stop", "-", "breakpoint", "find_nonfinite", "-", "cancel"});
    menu(tr("&Differentiate"), {"differentiate", "differentiate_by", "-", "counterpart", "-", "train", "train_pause", "train_resume", "train_once", "train_stop"});
    menu(tr("&Passes"), {"passes"});
    menu(tr("Recor&d"), {"record"});
    menu(tr("&Help"), {"shortcuts"});
}

void MainWindow::makeToolBar() {
    QToolBar* bar = addToolBar(tr("Tool bar"));
    bar->setObjectName("toolBar");
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    bar->setIconSize(QSize(20, 20));
    for (const char* name : {"open", "-", "run", "back", "step", "into", "out", "continue", "stop", "-", "differentiate", "passes", "record", "compare"}) {
        if (name[0] == '-')
            bar->addSeparator();
        else
            bar->addAction(m_actions[name]);
    }
}

void MainWindow::chooseGradient() {
    const views::ViewState& state = m_controller.state();
    if (!state.types)
        return;
    DifferentiateDialog dialog(state.main(), *state.types, lossOutputs(state.main()), this);
    if (dialog.exec() == QDialog::Accepted)
        m_controller.differentiateBy(dialog.of(), dialog.wrt());
}

/// Examples offered: train.npz beside the model, else the inputs it is run on.
void MainWindow::chooseTraining() {
    const QDir folder = QFileInfo(QString::fromStdString(m_controller.state().main().info().path.string())).dir();
    const QString examples = folder.exists("train.npz") ? folder.filePath("train.npz") : folder.exists("inputs.npz") ? folder.filePath("inputs.npz") : QString();
    TrainDialog dialog(examples, this);
    if (dialog.exec() == QDialog::Accepted)
        m_controller.train(dialog.settings());
}

/// From a backward node to its forward node; from a forward node to its backward nodes, one after another.
void MainWindow::goToCounterpart() {
    const views::ViewState& state = m_controller.state();
    const engine::Node* node = state.main().node(state.selection.node);
    if (!node)
        return;
    engine::NodeId target = node->gradientOf;
    if (!target || node->id == m_lastCounterpart) {
        const engine::NodeId forward = target ? target : node->id;
        engine::NodeId first, next;
        state.main().forEachNode([&](const engine::Node& each) {
            if (each.gradientOf != forward)
                return;
            first = first ? first : each.id;
            if (!next && node->gradientOf && each.id > node->id)
                next = each.id;
        });
        target = node->gradientOf ? (next ? next : forward) : first;
        m_lastCounterpart = target;
    }
    if (!target) {
        statusBar()->showMessage(tr("No backward node belongs to %1").arg(QString::fromStdString(node->name)), 6000);
        return;
    }
    const engine::Node* there = state.main().node(target);
    m_controller.select({target, there ? there->output(0) : engine::ValueId{}});
    m_panel->reveal(target);
}

void MainWindow::updateActions() {
    const bool document = m_controller.hasDocument();
    const bool stepping = m_controller.state().step.has_value();
    const bool inside = stepping && !m_controller.state().step->levels.empty();
    for (const char* name : {"save", "save_session", "save_session_as", "run", "step", "into", "continue", "differentiate", "differentiate_by", "train", "passes", "record", "find"})
        m_actions[name]->setEnabled(document);
    m_actions["back"]->setEnabled(stepping && (m_controller.state().step->position > 0 || inside));
    m_actions["out"]->setEnabled(inside);
    m_actions["next_iteration"]->setEnabled(inside);
    m_actions["previous_iteration"]->setEnabled(inside && m_controller.state().step->levels.back().iteration > 0);
    m_actions["leave_body"]->setEnabled(!m_controller.state().bodies.empty());
    const engine::Node* selected = m_controller.state().graph.node(m_controller.state().selection.node);
    m_actions["open_body"]->setEnabled(selected && !bodiesOf(m_controller.state().main(), *selected).empty());
    m_actions["stop"]->setEnabled(stepping || m_controller.jobs().busy());
    m_actions["find_nonfinite"]->setEnabled(m_controller.state().trouble != nullptr);
    m_actions["breakpoint"]->setEnabled(static_cast<bool>(m_controller.state().selection.node));
    using Phase = views::TrainingState::Phase;
    const auto& training = m_controller.state().training;
    const bool trains = training && training->phase != Phase::Ended;
    m_actions["train_pause"]->setEnabled(trains && training->phase == Phase::Running);
    m_actions["train_resume"]->setEnabled(trains && training->phase == Phase::Paused);
    m_actions["train_once"]->setEnabled(trains && training->phase == Phase::Paused);
    m_actions["train_stop"]->setEnabled(trains);
    m_actions["counterpart"]->setEnabled(m_controller.state().selection.node && !m_controller.state().gradientOf.empty());
    m_actions["compare"]->setEnabled(document && m_controller.state().history.size() > 1);
    m_actions["cancel"]->setEnabled(m_controller.jobs().busy());
}

void MainWindow::showShortcuts() {
    QString rows;
    for (const QAction* action : m_actions) {
        if (!action->shortcut().isEmpty())
            rows += QStringLiteral("<tr><td><b>%1</b>&nbsp;&nbsp;</td><td>%2</td></tr>").arg(action->shortcut().toString(QKeySequence::NativeText), QString(action->text()).remove('&'));
    }
    const QString canvas = tr("<p>On the graph: wheel or + and − zoom, drag pans, 0 is 100 %, F fits the selection, Home shows all, arrows follow edges, Enter opens and closes a group and opens the body of a Loop, If, Scan or function, M shows the overview map.</p>");
    QMessageBox box(QMessageBox::NoIcon, tr("Keyboard shortcuts"), QStringLiteral("<table>%1</table>%2").arg(rows, canvas), QMessageBox::Close, this);
    box.exec();
}

} // namespace nabla::app
