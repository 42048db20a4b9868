// A day's work and the next one, by keys: open a model, run the passes, differentiate, save, close, open again, go on.
#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QTemporaryDir>

#include "tests/gui/window_fixture.h"

using namespace nabla;
using namespace nabla::app;
using nabla::tests::kPatience;

class TestSessionWindow : public QObject, protected tests::WindowFixture {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    QString model() const { return m_folder.filePath("model.onnx"); }
    QString session() const { return m_folder.filePath("work.nabla"); }

    void openAndWait(const QString& path) {
        m_window->openFile(path);
        QTRY_VERIFY_WITH_TIMEOUT(state().documentTitle == QFileInfo(path).fileName().toStdString() && state().graph.nodeCount() > 0, kPatience);
        settle();
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
    }
    QMessageBox* question() const { return m_window->findChild<QMessageBox*>("unsavedQuestion"); }
    void answer(QMessageBox::StandardButton button) {
        QTRY_VERIFY_WITH_TIMEOUT(question() && question()->isVisible(), kPatience);
        QTest::mouseClick(question()->button(button), Qt::LeftButton);
        QTRY_VERIFY(!question());
    }
    void typeFileName(const QString& path) {
        QFileDialog* dialog = nullptr;
        QTRY_VERIFY((dialog = m_window->findChild<QFileDialog*>("saveSessionDialog")) && dialog->isVisible());
        auto* edit = dialog->findChild<QLineEdit*>("fileNameEdit");
        QVERIFY(edit);
        edit->setText(path); // typed, the completer of the dialog would answer for us
        QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save), Qt::LeftButton);
        QTRY_VERIFY(!m_window->findChild<QFileDialog*>("saveSessionDialog"));
        settle();
    }

private Q_SLOTS:
    void initTestCase() {
        useOwnSettings("NablascopeSessionTest");
        const QString sample = QString(NABLA_SAMPLE_MODELS) + "/digits_cnn/";
        QVERIFY(QFile::copy(sample + "model.onnx", model()));
        QVERIFY(QFile::copy(sample + "inputs.npz", m_folder.filePath("inputs.npz")));
        makeWindow();
    }

    void workIsMarkedUntilItIsSaved() {
        openAndWait(model());
        QVERIFY(!m_window->isWindowModified());
        press(Qt::Key_P, Qt::ControlModifier);
        QVERIFY(state().history.size() >= 4);
        QVERIFY(m_window->isWindowModified());
        press(Qt::Key_G, Qt::ControlModifier);
        QVERIFY(!state().gradientOf.empty());
        activate();
        QTest::keyClick(m_window.get(), Qt::Key_S, Qt::ControlModifier);
        typeFileName(session());
        QVERIFY2(m_window->errorText().isEmpty(), qPrintable(m_window->errorText()));
        QVERIFY(QFile::exists(session()));
        QVERIFY(!m_window->isWindowModified());
        QVERIFY(m_window->windowTitle().startsWith("work.nabla"));
    }

    void ctrlSSavesAgainWithoutAsking() {
        const views::ViewState before = state();
        // The selection is part of it: step to a node of the gradient state, whose place is kept.
        press(Qt::Key_F8);
        QVERIFY(state().selection.node);
        activate();
        QTest::keyClick(m_window.get(), Qt::Key_S, Qt::ControlModifier);
        settle();
        QVERIFY(!m_window->findChild<QFileDialog*>("saveSessionDialog"));
        QCOMPARE(state().history.size(), before.history.size());
    }

    void closedAndOpenedEverythingIsThere() {
        const views::ViewState before = state();
        m_window->close();
        QVERIFY(!m_window->isVisible()); // nothing unsaved: no question
        makeWindow();
        openAndWait(session());
        QCOMPARE(state().history.size(), before.history.size());
        for (std::size_t i = 0; i < before.history.size(); ++i) {
            QCOMPARE(state().history[i].title, before.history[i].title);
            QCOMPARE(state().history[i].subtitle, before.history[i].subtitle);
            QCOMPARE(state().history[i].parent, before.history[i].parent);
            QCOMPARE(state().history[i].pass != nullptr, before.history[i].pass != nullptr);
        }
        QCOMPARE(state().currentState, before.currentState);
        QCOMPARE(state().selection.node.value, before.selection.node.value);
        QCOMPARE(state().gradientOf.size(), before.gradientOf.size());
        QVERIFY(!m_window->isWindowModified());
        QVERIFY(QSettings().value("recent/files").toStringList().contains(session()));
    }

    void steppingGoesOnInTheGradientState() {
        press(Qt::Key_F8);
        QCOMPARE(state().step->position, std::size_t(1));
        QVERIFY(state().step->backwardStart < state().step->count);
        press(Qt::Key_F5); // to the end of the backward pass
        QCOMPARE(state().step->position, state().step->count);
        int cotangents = 0;
        for (const auto& [forward, cotangent] : state().gradientOf)
            cotangents += state().values->contains(cotangent) ? 1 : 0;
        QVERIFY2(cotangents >= 10, qPrintable(QString::number(cotangents)));
    }

    void unsavedHistoryIsAskedAbout() {
        m_window->controller().showState(1);
        settle();
        press(Qt::Key_G, Qt::ControlModifier); // one state more
        const std::size_t states = state().history.size();
        QVERIFY(m_window->isWindowModified());
        m_window->close();
        answer(QMessageBox::Cancel);
        QVERIFY(m_window->isVisible());
        m_window->openFile(model());
        answer(QMessageBox::Cancel);
        settle();
        QCOMPARE(state().history.size(), states);
        m_window->openFile(model());
        answer(QMessageBox::Discard);
        QTRY_COMPARE_WITH_TIMEOUT(state().history.size(), std::size_t(1), kPatience);
        settle();
        QCOMPARE(state().documentTitle, std::string("model.onnx"));
        QVERIFY(!m_window->isWindowModified());
    }

    void closingCanSaveFirst() {
        press(Qt::Key_G, Qt::ControlModifier);
        m_window->close();
        answer(QMessageBox::Save);
        typeFileName(m_folder.filePath("second.nabla"));
        QTRY_VERIFY_WITH_TIMEOUT(!m_window->isVisible(), kPatience);
        QVERIFY(QFile::exists(m_folder.filePath("second.nabla")));
    }
};

QTEST_MAIN(TestSessionWindow)
#include "tests/gui/window_fixture.h"
#include "tst_session_window.moc"
