// The verbs on the samples and on small real models: exit codes, outputs against onnxruntime, gradients against PyTorch, recordings.
#include <csignal>

#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/program.h"

using namespace nabla::tests;

namespace {
const QString kData = QStringLiteral(NABLA_TEST_DATA);
const QString kSamples = QStringLiteral(NABLA_SAMPLE_MODELS);
QString sample(const QString& name, const char* file = "model.onnx") { return kSamples + "/" + name + "/" + file; }
}

class CommandsTest : public QObject {
    Q_OBJECT

private slots:
    void exitCodes_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        const QString cnn = sample("digits_cnn");
        QTest::newRow("done") << QStringList{"info", cnn} << 0;
        QTest::newRow("the check failed") << QStringList{"run", cnn, "--inputs", sample("digits_cnn", "inputs.npz"), "--expected", sample("digits_mlp", "expected.npz"), "--rtol", "1e-9"} << 1;
        QTest::newRow("no such option") << QStringList{"info", cnn, "--frobnicate"} << 2;
        QTest::newRow("no such output") << QStringList{"grad", cnn, "--of", "nobody"} << 2;
        QTest::newRow("no such pass") << QStringList{"passes", cnn, "--only", "nobody"} << 2;
        QTest::newRow("not there") << QStringList{"info", "/nowhere/at/all.onnx"} << 3;
        QTest::newRow("a folder") << QStringList{"info", kSamples} << 3;
        QTest::newRow("an operator nobody knows") << QStringList{"run", kData + "/bad/onnx_unknown_op/m.onnx"} << 4;
        QTest::newRow("a picture of no kind") << QStringList{"render", cnn, "-o", "x.xyz"} << 2;
        QTest::newRow("neither verb nor file") << QStringList{"frobnicate"} << 2;
        QTest::newRow("no such dimension") << QStringList{"info", cnn, "--dim", "nobody=3"} << 2;
        QTest::newRow("a full device") << QStringList{"convert", cnn, "-o", "/dev/full"} << 3;
        QTest::newRow("a place that takes nothing") << QStringList{"convert", cnn, "-o", "/proc/nabla.onnx"} << 3;
    }
    void exitCodes() {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        const QTemporaryDir folder;
        const Ended ended = runProgram(arguments, folder.path());
        QVERIFY2(ended.code == code, ended.told().constData());
        if (code > 1)
            QVERIFY(!ended.err.isEmpty());
    }

    // tests/data/bugs/run-first-nan/case.json: the NaN is born in the softmax of the row that is masked whole; the infinity comes in by the mask.
    void firstNotFiniteValueIsNamed() {
        const QString folder = kData + "/bugs/run-first-nan";
        const QStringList command{"run", folder + "/model.onnx", "--inputs", folder + "/inputs.npz", "--find-nonfinite"};
        const Ended told = runProgram(command);
        QCOMPARE(told.code, 1);
        QVERIFY2(told.out.contains("NaN is born in") && told.out.contains("attn_softmax") && told.out.contains("a graph input"), told.told().constData());
        const Ended ended = runProgram(command + QStringList{"--json"});
        QCOMPARE(ended.code, 1);
        const QJsonObject nan = ended.json()[u"first_nan"].toObject(), infinite = ended.json()[u"first_infinite"].toObject();
        QCOMPARE(nan[u"node"].toString(), QStringLiteral("attn_softmax"));
        QCOMPARE(nan[u"tensor"].toString(), QStringLiteral("p"));
        QCOMPARE(nan[u"nan"].toInteger(), 3);
        QCOMPARE(infinite[u"tensor"].toString(), QStringLiteral("mask"));
        QVERIFY(infinite[u"node"].isNull());
        const Ended fine = runProgram({"run", sample("digits_cnn"), "--inputs", sample("digits_cnn", "inputs.npz"), "--find-nonfinite", "--json"});
        QVERIFY2(fine.code == 0 && fine.json()[u"finite"].toBool(), fine.told().constData());
    }

    // tests/data/half_range/README.md: closed forms of float16.
    void endsOfFloat16AreCounted() {
        const QString folder = kData + "/half_range";
        const QStringList command{"run", folder + "/model.onnx", "--inputs", folder + "/inputs.npz"};
        const Ended told = runProgram(command);
        QVERIFY2(told.code == 0 && told.out.contains("; 25 % at the largest number, 65504; 25 % below the smallest normal number"), told.told().constData());
        const QJsonArray outputs = runProgram(command + QStringList{"--json"}).json()[u"outputs"].toArray();
        QCOMPARE(outputs.size(), qsizetype(2));
        QVERIFY(outputs[0][u"saturated"].toInteger() == 2 && outputs[0][u"subnormal"].toInteger() == 2);
        QVERIFY(outputs[1][u"saturated"].toInteger() == 0 && outputs[1][u"subnormal"].toInteger() == 2);
        const Ended against = runProgram(command + QStringList{"--find-nonfinite"});
        QVERIFY2(against.code == 0 && against.out.contains("z: of 8 elements 0 saturated, 1 became zero and 2 are subnormal (37.5 % in all)"), against.told().constData());
    }

    void firstDifferingOutputIsNamed() {
        const Ended ended = runProgram({"run", sample("digits_cnn"), "--inputs", sample("digits_cnn", "inputs.npz"), "--expected", sample("digits_mlp", "expected.npz"), "--rtol", "1e-9"});
        QCOMPARE(ended.code, 1);
        QVERIFY2(ended.err.contains("logits"), ended.told().constData());
    }

    // expected.npz: onnxruntime 1.32.0, optimisations off (sample_models/README).
    void samplesEqualOnnxruntime_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"digits_cnn", "digits_mlp", "tiny_gpt", "control_flow", "scan_filter", "karate_gnn", "rnn_loop", "two_tower", "cart_pole"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void samplesEqualOnnxruntime() {
        QFETCH(QString, name);
        for (const char* executor : {"compiled", "stepping", "eager"}) {
            const Ended ended = runProgram({"run", sample(name), "--inputs", sample(name, "inputs.npz"), "--expected", sample(name, "expected.npz"), "--rtol", "2e-4", "--of-max", "--executor", executor});
            QVERIFY2(ended.code == 0, ended.told().constData());
        }
    }

    // gradients.npz: torch 2.15 in double (tests/data/samples/README.md). Sums of a few hundred terms: 1e-6 of the largest entry.
    void gradientsEqualTorch_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"digits_cnn", "digits_mlp", "tiny_gpt", "karate_gnn", "two_tower", "cart_pole"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void gradientsEqualTorch() {
        QFETCH(QString, name);
        const Ended ended = runProgram({"grad", sample(name), "--of", "loss", "--inputs", sample(name, "inputs.npz"), "--grads", kData + "/samples/" + name + "/gradients.npz", "--double", "--reference",
            "--rtol", "1e-6", "--of-max"});
        QVERIFY2(ended.code == 0, ended.told().constData());
    }

    void savedJointGraphGivesTheSameGradients() {
        const QTemporaryDir folder;
        const QString model = folder.filePath("joint.onnx"), outputs = folder.filePath("out.npz");
        const Ended saved = runProgram({"grad", sample("digits_mlp"), "--of", "loss", "--wrt", "image", "--inputs", sample("digits_mlp", "inputs.npz"), "--save", model, "--outputs", outputs});
        QVERIFY2(saved.code == 0, saved.told().constData());
        const Ended info = runProgram({"info", model, "--json"});
        QVERIFY2(info.code == 0, info.told().constData());
        QStringList names;
        for (const auto& port : info.json()[u"outputs"].toArray())
            names << port.toObject()[u"name"].toString();
        QVERIFY2(names.contains("grad:image"), qPrintable(names.join(' ')));
    }

    void passesKeepValues_data() { gradientsEqualTorch_data(); }
    void passesKeepValues() {
        QFETCH(QString, name);
        const QTemporaryDir folder;
        const Ended ended = runProgram({"passes", sample(name), "--verify", "--json", "--report", folder.filePath("r.json")});
        QVERIFY2(ended.code == 0, ended.told().constData()); // exit 1 above 1e-6 in double
        QFile report(folder.filePath("r.json"));
        QVERIFY(report.open(QIODevice::ReadOnly));
        const QJsonObject written = QJsonDocument::fromJson(report.readAll()).object();
        QCOMPARE(written[u"total"].toObject()[u"delta"], ended.json()[u"total"].toObject()[u"delta"]);
        QCOMPARE(written[u"passes"].toArray().size(), ended.json()[u"passes"].toArray().size());
    }

    void arenaIsItsLowerBound() {
        const QList<QPair<const char*, QStringList>> models
            = {{"digits_cnn", {"--dim", "batch=4"}}, {"digits_mlp", {"--dim", "batch=4"}}, {"tiny_gpt", {"--dim", "batch=4", "--dim", "seq=12"}}, {"control_flow", {}}};
        for (const auto& [name, dims] : models) {
            const Ended ended = runProgram(QStringList{"info", sample(name), "--json"} + dims);
            QVERIFY2(ended.code == 0, ended.told().constData());
            QVERIFY(ended.json()[u"peak_bytes"].toInteger() > 0);
            QCOMPARE(ended.json()[u"peak_bytes"].toInteger(), ended.json()[u"lower_bound_bytes"].toInteger());
        }
    }

    void aThousandRunsAreAThousandTimesEachStep() {
        const QTemporaryDir folder;
        const QString file = folder.filePath("r.nabla");
        const Ended ended = runProgram({"profile", sample("digits_cnn"), "--inputs", sample("digits_cnn", "inputs.npz"), "-n", "1000", "-o", file, "--json"});
        QVERIFY2(ended.code == 0, ended.told().constData());
        QCOMPARE(ended.json()[u"events"].toInteger(), 36 * 1000); // 36 nodes: sample_models/digits_cnn/README.md
        QCOMPARE(ended.json()[u"dropped"].toInteger(), 0);
        const Ended asked = runProgram({"trace", file, "--json", "--sql", "SELECT count(*), count(DISTINCT stepId), count(DISTINCT nodeId) FROM NABLA_OP_EVENT"});
        const QJsonArray row = asked.json()[u"rows"].toArray()[0].toArray();
        QCOMPARE(row[0].toInteger(), 36000);
        QCOMPARE(row[1].toInteger(), 1000);
        QCOMPARE(row[2].toInteger(), 36);
        QCOMPARE(runProgram({"trace", file, "--check"}).code, 0);
    }

    void killedRecordingIsRecovered() {
        const QTemporaryDir folder;
        const QString file = folder.filePath("k.nabla");
        QProcess process;
        process.start(programPath(), {"profile", sample("digits_mlp"), "-n", "1000000", "-o", file});
        QVERIFY(process.waitForStarted());
        // Until something is committed: rows are there when the write-ahead log has grown.
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo(file + "-wal").size() > 400'000 || QFileInfo(file).size() > 400'000, 30'000);
        ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
        QVERIFY(process.waitForFinished());
        const Ended opened = runProgram({"trace", file, "--json"});
        QVERIFY2(opened.code == 0, opened.told().constData());
        QVERIFY2(opened.out.contains("interrupted"), opened.told().constData());
        const Ended checked = runProgram({"trace", file, "--json", "--sql", "SELECT count(*) FROM NABLA_OP_EVENT"});
        QVERIFY(checked.json()[u"rows"].toArray()[0].toArray()[0].toInteger() > 0);
    }

    void interruptedIsExit130() {
        const QTemporaryDir folder;
        QProcess process;
        process.start(programPath(), {"profile", sample("digits_mlp"), "-n", "1000000", "-o", folder.filePath("i.nabla")});
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(folder.filePath("i.nabla")), 30'000);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 130);
    }

    void everyVerbSpeaksJson_data() {
        QTest::addColumn<QStringList>("arguments");
        const QString mlp = sample("digits_mlp");
        QTest::newRow("info") << QStringList{"info", mlp};
        QTest::newRow("run") << QStringList{"run", mlp};
        QTest::newRow("grad") << QStringList{"grad", mlp};
        QTest::newRow("passes") << QStringList{"passes", mlp};
        QTest::newRow("passes --list") << QStringList{"passes", "--list"};
        QTest::newRow("render") << QStringList{"render", mlp, "-o", "x.svg"};
        QTest::newRow("convert") << QStringList{"convert", mlp, "-o", "x.onnx"};
        QTest::newRow("devices") << QStringList{"devices"};
        QTest::newRow("an error") << QStringList{"info", "/nowhere.onnx"};
    }
    void everyVerbSpeaksJson() {
        QFETCH(QStringList, arguments);
        const QTemporaryDir folder;
        const Ended ended = runProgram(arguments << "--json", folder.path());
        QVERIFY2(ended.json().contains(u"schema"), ended.told().constData());
    }
};

QTEST_GUILESS_MAIN(CommandsTest)
#include "tst_commands.moc"
