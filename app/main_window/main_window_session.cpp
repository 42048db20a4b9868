// Asking: where to save the history, and what becomes of one that no file holds. Nothing here blocks: dialogs answer by signals.
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>

#include "app/main_window/main_window.h"

namespace nabla::app {

void MainWindow::connectSessions() {
    connect(&m_controller, &Controller::replaceAsked, this, [this](const std::function<void()>& replace) { askAboutHistory(replace); });
    connect(&m_controller, &Controller::sessionSaved, this, [this](const QString& path) {
        remember(path);
        if (const auto then = std::exchange(m_afterSaving, {}))
            then();
    });
    connect(&m_controller, &Controller::failed, this, [this] { m_afterSaving = {}; });
}

void MainWindow::saveSession(std::function<void()> then) {
    if (m_controller.sessionPath().isEmpty()) {
        saveSessionAs(std::move(then));
        return;
    }
    m_afterSaving = std::move(then);
    m_controller.saveSession(m_controller.sessionPath());
}

void MainWindow::saveSessionAs(std::function<void()> then) {
    const QFileInfo suggested(m_controller.suggestedSessionPath());
    auto* dialog = new QFileDialog(this, tr("Save session"), suggested.absolutePath(), tr("Nablascope sessions (*.nabla)"));
    dialog->setObjectName("saveSessionDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix("nabla");
    dialog->selectFile(suggested.fileName());
    connect(dialog, &QFileDialog::fileSelected, this, [this, then = std::move(then)](const QString& path) {
        m_afterSaving = then;
        m_controller.saveSession(path);
    });
    dialog->open();
}

void MainWindow::askAboutHistory(std::function<void()> then) {
    if (auto* open = findChild<QMessageBox*>("unsavedQuestion")) { // one question at a time: the newer wish counts
        open->setObjectName({});
        open->reject();
    }
    auto* box = new QMessageBox(QMessageBox::Question, tr("Save the history?"),
        tr("The history of %1 has states that are in no file.").arg(QString::fromStdString(m_controller.state().documentTitle)),
        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box->setObjectName("unsavedQuestion");
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setDefaultButton(QMessageBox::Save);
    connect(box, &QMessageBox::finished, this, [this, then = std::move(then)](int answer) {
        if (answer == QMessageBox::Save)
            saveSession(then);
        else if (answer == QMessageBox::Discard)
            then();
    });
    box->open();
}

} // namespace nabla::app
