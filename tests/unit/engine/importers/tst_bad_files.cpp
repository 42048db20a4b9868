// Hostile and broken ONNX files end as tests/data/bad/list.json demands.
#include <nlohmann/json.hpp>

#include <QFile>
#include <QTest>

#include "engine/analysis/topology.h"
#include "engine/analysis/types.h"
#include "engine/importers/importer.h"

using namespace nabla::engine;

namespace {

std::filesystem::path dataFolder() { return std::filesystem::path(NABLA_TEST_DATA) / "bad"; }

bool containsAny(const QString& text, const QStringList& words) {
    return words.isEmpty() || std::any_of(words.begin(), words.end(), [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

/// Everything said about a model without running it.
std::vector<Diagnostic> allDiagnostics(const Graph& graph) {
    std::vector<Diagnostic> all = graph.diagnostics();
    for (const auto& list : {problems(graph), types(graph)->diagnostics})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

} // namespace

class tst_bad_files : public QObject {
    Q_OBJECT
private slots:
    void endsAsListed_data();
    void endsAsListed();
};

void tst_bad_files::endsAsListed_data() {
    QTest::addColumn<QString>("open");
    QTest::addColumn<QString>("outcome");
    QTest::addColumn<QStringList>("words");
    QFile file(QString::fromStdString((dataFolder() / "list.json").string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto list = nlohmann::json::parse(file.readAll().toStdString());
    for (const auto& entry : list) {
        if (entry.at("kind") != "onnx")
            continue;
        QStringList words;
        for (const auto& word : entry.at("message"))
            words << QString::fromStdString(word.get<std::string>());
        QTest::newRow(entry.at("case").get<std::string>().c_str())
            << QString::fromStdString(entry.at("open").get<std::string>()) << QString::fromStdString(entry.at("outcome").get<std::string>()) << words;
    }
}

void tst_bad_files::endsAsListed() {
    QFETCH(const QString, open);
    QFETCH(const QString, outcome);
    QFETCH(const QStringList, words);
    ImportContext context;
    const auto model = openModel(dataFolder() / open.toStdString(), context);
    if (!model) {
        const QString message = QString::fromStdString(model.error().message());
        QVERIFY2(outcome != "view", qPrintable(message));
        QVERIFY2(containsAny(message, words), qPrintable(message));
        QCOMPARE(model.error().kind(), ErrorKind::Read);
        return;
    }
    QVERIFY2(outcome != "error", "opened, but is to be refused");
    QString said;
    bool blocks = false;
    for (const Diagnostic& d : allDiagnostics(model->graph)) {
        said += QString::fromStdString(d.message) + '\n';
        blocks = blocks || d.blocksRun;
    }
    if (outcome == "safe" || words.isEmpty())
        return;
    QVERIFY2(containsAny(said, words), qPrintable("said: " + said));
    QVERIFY2(blocks, qPrintable("nothing keeps it from running: " + said));
}

QTEST_GUILESS_MAIN(tst_bad_files)
#include "tst_bad_files.moc"
