// Malformed and hostile files through the real program: each is refused or shown as its entry says, within time and memory.
#include <QtTest>

#include <algorithm>

#include <QDirIterator>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QXmlStreamReader>

#include "tests/support/program.h"

using nabla::tests::Ended;
using nabla::tests::runProgram;

namespace {

constexpr int kLimitMs = 10'000;
constexpr qint64 kLimitBytes = qint64(512) << 20;

/// Every path below a folder, with sizes: what a program may not change.
QStringList listing(const QString& folder) {
    QStringList out;
    for (QDirIterator it(folder, QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot, QDirIterator::Subdirectories); it.hasNext();) {
        it.next();
        out << it.filePath() + QLatin1Char(' ') + QString::number(it.fileInfo().isFile() ? it.fileInfo().size() : 0);
    }
    out.sort();
    return out;
}

/// Words of the message, not of the path that it names: the folder is called like the fault.
bool holdsOne(const QByteArray& text, const QString& file, const QStringList& words) {
    const QString all = QString::fromUtf8(text).remove(file);
    return words.isEmpty() || std::any_of(words.begin(), words.end(), [&](const QString& w) { return all.contains(w, Qt::CaseInsensitive); });
}

/// A control character, an escape, or a direction override that a terminal would obey.
bool reachesTerminal(const QByteArray& bytes) {
    for (const QChar c : QString::fromUtf8(bytes)) {
        const ushort u = c.unicode();
        if ((u < 0x20 && u != '\n' && u != '\t') || (u >= 0x7f && u < 0xa0) || (u >= 0x202a && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069))
            return true;
    }
    return false;
}

} // namespace

class BadFilesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void endsAsDemanded_data();
    void endsAsDemanded();
    void namesNeverReachTheTerminalRaw_data();
    void namesNeverReachTheTerminalRaw();
    void picturesOfHostileNamesStayWellFormed_data();
    void picturesOfHostileNamesStayWellFormed();

private:
    QString fileOf(const QString& name) const;
    QTemporaryDir m_folder;
    QJsonArray m_cases;
};

/// Copies every case folder and runs its setup line there. Source of the cases: tests/data/bad/README.md.
void BadFilesTest::initTestCase() {
    QVERIFY(m_folder.isValid());
    QFile list(QStringLiteral(NABLA_TEST_DATA "/bad/list.json"));
    QVERIFY(list.open(QIODevice::ReadOnly));
    m_cases = QJsonDocument::fromJson(list.readAll()).array();
    QCOMPARE(m_cases.size(), 65);
    QCOMPARE(QProcess::execute(QStringLiteral("cp"), {QStringLiteral("-a"), QStringLiteral(NABLA_TEST_DATA "/bad"), m_folder.path()}), 0);
    for (const auto& entry : std::as_const(m_cases)) {
        const QString setup = entry.toObject()[u"setup"].toString();
        if (setup.isEmpty())
            continue;
        QProcess shell;
        shell.setWorkingDirectory(m_folder.filePath(QStringLiteral("bad/") + entry.toObject()[u"case"].toString()));
        shell.start(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), setup});
        QVERIFY(shell.waitForFinished() && shell.exitCode() == 0);
    }
}

QString BadFilesTest::fileOf(const QString& name) const {
    for (const auto& entry : m_cases)
        if (entry.toObject()[u"case"].toString() == name)
            return m_folder.filePath(QStringLiteral("bad/") + entry.toObject()[u"open"].toString());
    return {};
}

void BadFilesTest::endsAsDemanded_data() {
    QTest::addColumn<QJsonObject>("entry");
    for (const auto& entry : std::as_const(m_cases))
        QTest::newRow(qPrintable(entry.toObject()[u"case"].toString())) << entry.toObject();
}

void BadFilesTest::endsAsDemanded() {
    QFETCH(QJsonObject, entry);
    const QString file = m_folder.filePath(QStringLiteral("bad/") + entry[u"open"].toString());
    const QString outcome = entry[u"outcome"].toString();
    QStringList words;
    for (const auto& word : entry[u"message"].toArray())
        words << word.toString();
    const QStringList before = listing(m_folder.path());
    const bool recording = entry[u"kind"].toString() == QLatin1String("sqlite");

    const Ended opened = runProgram({recording ? QStringLiteral("trace") : QStringLiteral("info"), file, QStringLiteral("--json")}, m_folder.path(), kLimitMs);
    const Ended ran = recording ? opened : runProgram({QStringLiteral("run"), file}, m_folder.path(), kLimitMs);
    QVERIFY2(QList<int>({0, 3, 4}).contains(opened.code), opened.told().constData());
    QVERIFY2(QList<int>({0, 2, 3, 4}).contains(ran.code), ran.told().constData());
    QVERIFY2(opened.json().contains(u"schema"), opened.told().constData());
    if (opened.code != 0)
        QVERIFY2(!opened.json()[u"error"].toString().isEmpty(), opened.told().constData());
    if (outcome == QLatin1String("error")) {
        QVERIFY2(opened.code == 3, opened.told().constData());
        QVERIFY2(holdsOne(opened.text(), file, words), opened.told().constData());
        QVERIFY2(ran.code == 3, ran.told().constData());
    } else if (outcome == QLatin1String("view")) {
        QVERIFY2(opened.code == 0, opened.told().constData());
        QVERIFY2(holdsOne(opened.text() + ran.text(), file, words), (opened.told() + ran.told()).constData());
        QVERIFY2(words.isEmpty() || recording || ran.code != 0, ran.told().constData());
    } else {
        QCOMPARE(outcome, QStringLiteral("safe"));
    }
    QCOMPARE(listing(m_folder.path()), before);
#ifndef NABLA_SANITIZED
    QVERIFY2(nabla::tests::largestChildBytes() < kLimitBytes, QByteArray::number(nabla::tests::largestChildBytes()).constData());
#endif
}

void BadFilesTest::namesNeverReachTheTerminalRaw_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("verb");
    for (const char* name : {"onnx_names_terminal_and_html", "onnx_names_bidi_and_long"})
        for (const char* verb : {"info", "run", "passes", "grad"})
            QTest::addRow("%s %s", verb, name) << QString::fromLatin1(name) << QString::fromLatin1(verb);
}

void BadFilesTest::namesNeverReachTheTerminalRaw() {
    QFETCH(QString, name);
    QFETCH(QString, verb);
    const Ended ended = runProgram({verb, fileOf(name)}, m_folder.path(), kLimitMs);
    QVERIFY2(ended.code >= 0, ended.told().constData());
    QVERIFY(!ended.text().isEmpty());
    QVERIFY2(!reachesTerminal(ended.out), ended.out.left(400).toHex().constData());
    QVERIFY2(!reachesTerminal(ended.err), ended.err.left(400).toHex().constData());
}

void BadFilesTest::picturesOfHostileNamesStayWellFormed_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"onnx_names_terminal_and_html", "onnx_names_bidi_and_long"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void BadFilesTest::picturesOfHostileNamesStayWellFormed() {
    QFETCH(QString, name);
    QTemporaryDir out;
    const auto bytesOf = [&](const char* ending) {
        const QString path = out.filePath(QStringLiteral("picture.") + QLatin1String(ending));
        const Ended ended = runProgram({QStringLiteral("render"), fileOf(name), QStringLiteral("-o"), path}, m_folder.path(), kLimitMs);
        QFile file(path);
        return ended.code == 0 && file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    QXmlStreamReader xml(bytesOf("svg"));
    int texts = 0;
    while (!xml.atEnd()) {
        xml.readNext();
        texts += xml.isStartElement() && xml.name() == u"text";
        QVERIFY2(!xml.isStartElement() || (xml.name() != u"script" && xml.name() != u"img" && xml.name() != u"image"), qPrintable(xml.name().toString()));
    }
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QVERIFY(texts > 0);
    const QJsonDocument json = QJsonDocument::fromJson(bytesOf("json"));
    QVERIFY(json.object()[u"edges"].toArray().size() > 0);

    // Graphviz itself is the judge of the DOT text.
    const QString dotPath = QStandardPaths::findExecutable(QStringLiteral("dot"));
    const QByteArray dot = bytesOf("dot");
    QVERIFY(dot.contains("digraph"));
    if (dotPath.isEmpty())
        QSKIP("Graphviz' program dot is not there to read the DOT text");
    QProcess reader;
    reader.start(dotPath, {QStringLiteral("-Tcanon")});
    QVERIFY(reader.waitForStarted());
    reader.write(dot);
    reader.closeWriteChannel();
    QVERIFY(reader.waitForFinished());
    QCOMPARE(reader.exitCode(), 0);
}

QTEST_GUILESS_MAIN(BadFilesTest)
#include "tst_hostile_files.moc"
