// Composition, state, errors and progress.
#include "app/main_window/main_window.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/main_window/start_page.h"
#include "app/main_window/trouble_bar.h"
#include "profiler/store/file_kind.h"
#include "views/theme/fonts.h"
#include "views/theme/icons.h"
#include "views/theme/nabla_style.h"
#include "views/theme/units.h"

namespace nabla::app {

using views::ThemeKind;

namespace {
constexpr int kLayoutVersion = 1;
constexpr int kMaxRecent = 10;
}

ThemeKind savedTheme() {
    const QString name = QSettings().value("window/theme").toString();
    if (name == "light")
        return ThemeKind::Light;
    if (name == "dark")
        return ThemeKind::Dark;
    if (name == "contrast")
        return ThemeKind::Contrast;
    return views::isDark(QApplication::palette()) ? ThemeKind::Dark : ThemeKind::Light;
}

namespace {

/// Title of a dock by the design: name in semibold on the header's colour, a quiet close button.
QWidget* dockTitle(QDockWidget* dock, const views::ThemeSource& theme) {
    auto* bar = new QWidget(dock);
    bar->setBackgroundRole(QPalette::AlternateBase);
    bar->setAutoFillBackground(true);
    auto* label = new QLabel(dock->windowTitle(), bar);
    label->setFont(views::Fonts::from(QApplication::font()).dockTitle);
    auto* close = new QToolButton(bar);
    close->setIcon(views::themedIcon("cancel", theme, views::IconInk::Muted));
    close->setIconSize(QSize(14, 14));
    close->setAutoRaise(true);
    close->setToolTip(QObject::tr("Close; the View menu brings it back"));
    close->setAccessibleName(QObject::tr("Close %1").arg(dock->windowTitle()));
    QObject::connect(close, &QToolButton::clicked, dock, &QDockWidget::close);
    QObject::connect(dock, &QDockWidget::windowTitleChanged, label, &QLabel::setText);
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(12, 2, 4, 2);
    row->addWidget(label, 1);
    row->addWidget(close);
    return bar;
}

} // namespace

MainWindow::MainWindow(views::ThemeSource& theme) : m_theme(theme) {
    setObjectName("mainWindow");
    setWindowTitle("Nablascope");
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowNestedDocks | AllowTabbedDocks);
    setTabPosition(Qt::BottomDockWidgetArea, QTabWidget::North);
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    m_start = new StartPage(theme, this);
    m_panel = new GraphPanel(theme, this);
    m_stack = new QStackedWidget(this);
    m_stack->addWidget(m_start);
    m_stack->addWidget(m_panel);
    m_errorBar = new QWidget(this);
    m_errorBar->setObjectName("errorBar");
    m_errorLabel = new QLabel(m_errorBar);
    m_errorLabel->setObjectName("errorText");
    m_errorLabel->setTextFormat(Qt::PlainText);
    m_errorLabel->setWordWrap(true);
    m_errorLabel->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* copy = new QToolButton(m_errorBar);
    copy->setText(tr("Copy details"));
    auto* close = new QToolButton(m_errorBar);
    close->setIcon(views::themedIcon("cancel", theme));
    close->setAccessibleName(tr("Close the message"));
    auto* errorRow = new QHBoxLayout(m_errorBar);
    errorRow->setContentsMargins(12, 6, 8, 6);
    errorRow->addWidget(m_errorLabel, 1);
    errorRow->addWidget(copy);
    errorRow->addWidget(close);
    m_errorBar->hide();
    connect(copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(m_errorLabel->text()); });
    connect(close, &QToolButton::clicked, this, &MainWindow::hideError);
    m_troubleBar = new TroubleBar(theme, this);
    connect(m_troubleBar, &TroubleBar::findWanted, &m_controller, &Controller::findNonFinite);
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_errorBar);
    column->addWidget(m_troubleBar);
    column->addWidget(m_stack, 1);
    setCentralWidget(centre);
    makeActions();
    makeDocks();
    makeMenus();
    makeToolBar();
    makeStatusBar();
    connect(&m_controller, &Controller::stateChanged, this, &MainWindow::showState);
    connect(&m_controller, &Controller::failed, this, &MainWindow::showError);
    connect(&m_controller, &Controller::opened, this, &MainWindow::remember);
    connect(&m_controller, &Controller::done, this, [this](const QString& words) { statusBar()->showMessage(words, 6000); });
    connect(m_panel, &GraphPanel::selectionWanted, &m_controller, &Controller::select);
    connect(m_panel, &GraphPanel::breakpointToggled, &m_controller, &Controller::toggleBreakpoint);
    connectSessions();
    connect(m_panel, &GraphPanel::bodyWanted, &m_controller, &Controller::openBody);
    connect(m_panel, &GraphPanel::leaveWanted, &m_controller, &Controller::leaveBodies);
    connect(m_panel, &GraphPanel::iterationWanted, &m_controller, &Controller::goToIteration);
    connect(m_start, &StartPage::openWanted, this, &MainWindow::openFile);
    connect(m_start, &StartPage::browseWanted, this, &MainWindow::browse);
    connect(&theme, &views::ThemeSource::changed, this, [this] {
        views::applyTheme(m_theme);
        hideError();
    });
    restore();
    updateActions();
}

MainWindow::~MainWindow() = default;

views::View* MainWindow::view(const QString& id) const {
    const auto it = m_views.find(id);
    return it == m_views.end() ? nullptr : it->second.second;
}

QString MainWindow::errorText() const { return m_errorBar->isHidden() ? QString() : m_errorLabel->text(); }

void MainWindow::makeDocks() {
    QDockWidget *lastBottom = nullptr, *lastRight = nullptr;
    setTabPosition(Qt::RightDockWidgetArea, QTabWidget::North);
    for (const views::ViewDef& def : views::viewDefs()) {
        auto* dock = new QDockWidget(def.title, this);
        dock->setObjectName(def.id);
        dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
        views::View* view = def.make(m_theme, dock);
        view->setAccessibleName(def.title);
        dock->setWidget(view);
        const Qt::DockWidgetArea area = def.area == views::DockArea::Left ? Qt::LeftDockWidgetArea : def.area == views::DockArea::Right ? Qt::RightDockWidgetArea : Qt::BottomDockWidgetArea;
        // Views that share a place are named by their tabs.
        dock->setTitleBarWidget(def.area == views::DockArea::Left ? dockTitle(dock, m_theme) : new QWidget(dock));
        addDockWidget(area, dock);
        if (def.area == views::DockArea::Bottom) {
            if (lastBottom)
                tabifyDockWidget(lastBottom, dock);
            lastBottom = dock;
        }
        if (def.area == views::DockArea::Right) {
            if (lastRight)
                tabifyDockWidget(lastRight, dock);
            lastRight = dock;
        }
        m_views[def.id] = {dock, view};
        connect(view, &views::View::selectionWanted, &m_controller, &Controller::select);
        connect(view, &views::View::revealWanted, m_panel, &GraphPanel::reveal);
        connect(view, &views::View::historyStateWanted, &m_controller, &Controller::showState);
        connect(view, &views::View::comparisonWanted, &m_controller, &Controller::compare);
        connect(view, &views::View::breakpointToggled, &m_controller, &Controller::toggleBreakpoint);
        connect(view, &views::View::learningRateWanted, &m_controller, &Controller::setLearningRate);
        connect(view, &views::View::explanationWanted, &m_controller, &Controller::explain);
        connect(view, &views::View::stepWanted, &m_controller, &Controller::goToStep);
        connect(view, &views::View::actionWanted, this, [this](const QString& name) {
            if (QAction* wanted = m_actions.value(name))
                wanted->trigger();
        });
    }
}

void MainWindow::makeStatusBar() {
    m_status = new QLabel(this);
    m_facts = new QLabel(this);
    m_peak = new QLabel(this);
    m_progress = new QProgressBar(this);
    m_progress->setTextVisible(false);
    m_progress->setFixedSize(120, 6);
    m_progress->setAccessibleName(tr("Progress"));
    m_cancel = new QToolButton(this);
    m_cancel->setText(tr("Cancel"));
    m_cancel->setObjectName("cancelJob");
    m_cancel->setToolTip(tr("Stop what is running (Esc)"));
    m_cancel->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Period));
    for (QLabel* label : {m_status, m_facts, m_peak})
        label->setTextFormat(Qt::PlainText);
    statusBar()->addWidget(m_status);
    statusBar()->addWidget(m_progress);
    statusBar()->addWidget(m_cancel);
    statusBar()->addWidget(m_facts, 1);
    statusBar()->addPermanentWidget(m_peak);
    m_progress->hide();
    m_cancel->hide();
    m_busyTimer = new QTimer(this);
    m_busyTimer->setSingleShot(true);
    m_busyTimer->setInterval(300); // shorter work shows nothing
    connect(m_busyTimer, &QTimer::timeout, this, [this] {
        m_status->setText(m_controller.jobs().title());
        m_progress->setRange(0, 0);
        m_progress->show();
        m_cancel->show();
    });
    connect(&m_controller.jobs(), &JobRunner::started, this, [this] {
        if (!m_busyTimer->isActive() && m_progress->isHidden())
            m_busyTimer->start();
        updateActions();
    });
    connect(&m_controller.jobs(), &JobRunner::progressed, this, [this](const QString& phase, qint64 done, qint64 total) {
        if (m_progress->isHidden())
            return;
        m_status->setText(total > 0 ? tr("%1: %2 of %3").arg(phase).arg(done).arg(total) : phase);
        m_progress->setRange(0, total > 0 ? 1000 : 0);
        if (total > 0)
            m_progress->setValue(static_cast<int>(done * 1000 / total));
    });
    connect(&m_controller.jobs(), &JobRunner::idle, this, [this] {
        m_busyTimer->stop();
        m_progress->hide();
        m_cancel->hide();
        m_status->clear();
        updateActions();
    });
    connect(m_cancel, &QToolButton::clicked, &m_controller.jobs(), &JobRunner::cancel);
}

void MainWindow::showState(const views::ViewState& state, const views::Changes& changes) {
    if (state.hasDocument() && m_stack->currentWidget() == m_start) {
        m_stack->setCurrentWidget(m_panel);
        showDocks(true);
        m_panel->canvas()->setFocus();
    }
    const HistoryStatePtr before = m_controller.comparedState();
    m_panel->setState(state, changes, before ? &before->graph : nullptr, before ? QString::fromStdString(before->title) : QString());
    for (auto& [id, pair] : m_views)
        pair.second->setState(state, changes);
    setWindowTitle(state.hasDocument() ? QStringLiteral("%1[*] — Nablascope").arg(QString::fromStdString(state.documentTitle)) : QStringLiteral("Nablascope"));
    setWindowModified(m_controller.unsaved());
    QStringList facts;
    if (state.cost) {
        facts << tr("%1 parameters").arg(QString::fromStdString(views::formatCount(state.cost->parameters)));
        facts << QString::fromStdString(views::formatFlops(static_cast<double>(state.cost->flops))) + (state.cost->unknownNodes > 0 ? tr(" known") : QString());
        facts << (state.bodies.empty() ? tr("%1 nodes") : tr("%1 nodes in this body")).arg(QString::fromStdString(views::formatCount(static_cast<std::int64_t>(state.graph.nodeCount()))));
    }
    if (state.step)
        facts << tr("values kept: %1 of %2").arg(QString::fromStdString(views::formatBytes(state.step->keptBytes)), QString::fromStdString(views::formatBytes(state.step->budgetBytes)));
    if (state.step && !state.step->note.empty())
        facts << QString::fromStdString(state.step->note);
    m_facts->setText(facts.join("  ·  "));
    m_peak->setText(state.plan ? tr("peak %1, lower bound %2").arg(QString::fromStdString(views::formatBytes(state.plan->arena.arenaBytes)), QString::fromStdString(views::formatBytes(state.plan->arena.lowerBoundBytes))) : QString());
    m_troubleBar->setState(state);
    if (auto it = m_views.find("problems"); it != m_views.end()) {
        const std::size_t problems = state.problems.size() + (state.trouble ? 1 : 0);
        it->second.first->setWindowTitle(problems == 0 ? tr("Problems") : tr("Problems (%1)").arg(problems));
        const bool walked = state.trouble && !state.trouble->walk.empty();
        if (walked && !m_walked) {
            it->second.first->raise();
            m_views["inspector"].first->raise(); // the element is shown there
        }
        m_walked = walked;
    }
    if (changes.timeline && state.timeline) {
        if (auto it = m_views.find("timeline"); it != m_views.end())
            it->second.first->raise();
    }
    if (changes.training && state.training && state.training->steps.empty())
        m_views["gradient_flow"].first->raise();
    if (changes.graph && changes.history) { // another state; a backward pass is there to be explained
        m_views[state.gradientOf.empty() ? "inspector" : "gradient"].first->raise();
        const auto shown = std::find_if(state.history.begin(), state.history.end(), [&](const views::HistoryEntry& each) { return each.id == state.currentState; });
        if (shown != state.history.end() && shown->kind == views::HistoryEntry::Kind::Pass)
            m_views["passes"].first->raise();
    }
    updateActions();
}

void MainWindow::showError(const QString& what, const engine::Error& error) {
    if (error.kind() == engine::ErrorKind::Cancelled) {
        statusBar()->showMessage(tr("Cancelled"), 6000);
        return;
    }
    const views::Theme& theme = m_theme.theme();
    m_errorBar->setStyleSheet(QStringLiteral("#errorBar{background:%1} #errorText{color:%2}").arg(theme.errorBg.name(), theme.text.name()));
    m_errorLabel->setText(tr("%1: %2").arg(what, QString::fromStdString(error.message().substr(0, 2000))));
    m_errorBar->show();
}

void MainWindow::hideError() { m_errorBar->hide(); }

void MainWindow::openFile(const QString& path) {
    hideError();
    const auto kind = profiler::fileKind(path.toStdString());
    if (kind && *kind == profiler::FileKind::Sqlite)
        m_controller.openStored(path);
    else
        m_controller.open(path);
}

void MainWindow::browse() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model, session or recording"), {}, tr("Models, sessions and recordings (*.onnx *.nabla *.sqlite);;All files (*)"));
    if (!path.isEmpty())
        openFile(path);
}

void MainWindow::saveModel() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save this state as ONNX"), {}, tr("ONNX (*.onnx)"));
    if (!path.isEmpty())
        m_controller.saveAs(path);
}

QStringList MainWindow::recentFiles() const { return QSettings().value("recent/files").toStringList(); }

void MainWindow::remember(const QString& path) {
    QStringList files = recentFiles();
    files.removeAll(path);
    files.prepend(path);
    while (files.size() > kMaxRecent)
        files.removeLast();
    QSettings().setValue("recent/files", files);
    m_start->setRecent(files);
}

void MainWindow::restore() {
    const QSettings settings;
    resize(1600, 1000);
    if (settings.contains("window/geometry"))
        restoreGeometry(settings.value("window/geometry").toByteArray());
    if (settings.contains("window/state"))
        restoreState(settings.value("window/state").toByteArray(), kLayoutVersion);
    m_start->setRecent(recentFiles());
    // The start page has the window to itself; the docks come with the first document, as they were left.
    for (const auto& [id, pair] : m_views)
        pair.first->setProperty("wanted", !pair.first->isHidden());
    showDocks(false);
}

void MainWindow::showDocks(bool on) {
    for (const auto& [id, pair] : m_views)
        pair.first->setVisible(on && pair.first->property("wanted").toBool());
    if (!on || QSettings().contains("window/state"))
        return;
    // Sizes hold only for docks that are shown: the first arrangement is made here.
    resizeDocks({m_views["outline"].first, m_views["inspector"].first}, {width() / 6, width() / 5}, Qt::Horizontal);
    resizeDocks({m_views["timeline"].first}, {height() / 4}, Qt::Vertical);
    resizeDocks({m_views["outline"].first, m_views["history"].first}, {height() / 2, height() / 5}, Qt::Vertical);
    m_views["timeline"].first->raise();
    m_views["inspector"].first->raise();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_controller.unsaved() && !m_historyGiven) {
        event->ignore();
        askAboutHistory([this] {
            m_historyGiven = true; // saved or given up: the question is answered
            close();
        });
        return;
    }
    QSettings settings;
    settings.setValue("window/geometry", saveGeometry());
    if (m_stack->currentWidget() != m_start) // without a document the docks are hidden, which is nobody's wish
        settings.setValue("window/state", saveState(kLayoutVersion));
    m_controller.jobs().cancel();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls()) {
        if (url.isLocalFile()) {
            event->acceptProposedAction();
            openFile(url.toLocalFile());
            return;
        }
    }
}

} // namespace nabla::app
