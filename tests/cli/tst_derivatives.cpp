// grad in all its modes, vmap and train on the command line: values of torch and onnxruntime, refusals, exit codes.
#include <cmath>
#include <csignal>
#include <cstring>

#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include "engine/importers/values/npz.h"
#include "tests/support/program.h"

using namespace nabla::tests;
using namespace nabla::engine;

namespace {

const QString kData = QStringLiteral(NABLA_TEST_DATA);
const QString kSamples = QStringLiteral(NABLA_SAMPLE_MODELS);

QString sample(const QString& name, const char* file = "model.onnx") { return kSamples + "/" + name + "/" + file; }
QString reference(const QString& name, const char* file = "gradients.npz") { return kData + "/samples/" + name + "/" + file; }

NamedTensors arraysOf(const QString& file) {
    auto arrays = readNpz(file.toStdString());
    return arrays ? *arrays : NamedTensors{};
}

/// Largest difference over the largest entry of what is right; NaN where shapes differ.
double distance(const Tensor& actual, const Tensor& right) {
    if (actual.shape() != right.shape())
        return std::nan("");
    double largest = 0, apart = 0;
    for (std::int64_t i = 0; i < right.elementCount(); ++i) {
        largest = std::max(largest, std::abs(right.asDouble(i)));
        apart = std::max(apart, std::abs(actual.asDouble(i) - right.asDouble(i)));
    }
    return largest > 0 ? apart / largest : apart;
}

/// The same elements in another shape, float32 or int64.
Tensor reshaped(const Tensor& from, Shape shape) {
    Tensor to = *Tensor::make(from.dtype(), std::move(shape));
    std::memcpy(to.mutableRaw(), from.raw(), static_cast<std::size_t>(from.bytes()));
    return to;
}

QStringList gradOf(const QString& name, const char* of = "loss") { return {"grad", sample(name), "--of", of, "--inputs", sample(name, "inputs.npz")}; }

} // namespace

class DerivativesTest : public QObject {
    Q_OBJECT

private slots:
    // gradients.npz: torch 2.15 in double. Scalar weights are in it, too, which --wrt leaves out by default.
    void everyExpectedGradientIsCompared_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("of");
        for (const char* name : {"digits_mlp", "digits_cnn", "karate_gnn", "rnn_loop", "two_tower"})
            QTest::newRow(name) << name << "loss";
        QTest::newRow("control_flow") << "control_flow" << "root";
        QTest::newRow("scan_filter") << "scan_filter" << "smooth";
    }
    void everyExpectedGradientIsCompared() {
        QFETCH(QString, name);
        QFETCH(QString, of);
        const auto count = arraysOf(reference(name)).size();
        const Ended ended = runProgram(gradOf(name, qPrintable(of)) + QStringList{"--grads", reference(name), "--double", "--reference", "--rtol", "1e-9", "--of-max"});
        QVERIFY2(ended.code == 0, ended.told().constData());
        QVERIFY2(ended.err.contains(QByteArray::number(qulonglong(count)) + " gradients equal"), ended.told().constData());
    }

    void wrongScalarIsFound() {
        const QTemporaryDir folder;
        NamedTensors arrays = arraysOf(reference("two_tower"));
        arrays.at("half") = Tensor::of<double>({}, {arrays.at("half").asDouble(0) * 1.1 + 1});
        const QString file = folder.filePath("g.npz");
        QVERIFY(writeNpz(file.toStdString(), arrays));
        const Ended ended = runProgram(gradOf("two_tower") + QStringList{"--grads", file, "--double"});
        QCOMPARE(ended.code, 1);
        QVERIFY2(ended.err.contains("gradient of \"half\""), ended.told().constData());
    }

    void whatCannotBeComparedIsRefused() {
        const QTemporaryDir folder;
        const QStringList grad = gradOf("digits_mlp");
        const auto refusedWith = [&](const QStringList& options, const char* word) {
            const Ended ended = runProgram(grad + options);
            if (ended.code == 2 && ended.err.contains(word))
                return true;
            qWarning("%s", ended.told().constData());
            return false;
        };
        const auto file = [&](const char* name, const NamedTensors& arrays) {
            const QString path = folder.filePath(name);
            return writeNpz(path.toStdString(), arrays) ? path : QString();
        };
        const Tensor one = Tensor::of<float>({}, {1.F}), four = Tensor::of<float>({4}, {1.F, 1.F, 1.F, 1.F});
        NamedTensors more = arraysOf(reference("digits_mlp"));
        more.emplace("nobody", one);
        QVERIFY(refusedWith({"--grads", file("more.npz", more)}, "\"nobody\""));
        QVERIFY(refusedWith({"--grads", reference("digits_mlp"), "--wrt", "image"}, "layers.fc1.bias"));
        QVERIFY(refusedWith({"--grads", file("image.npz", {{"image", arraysOf(reference("digits_mlp")).at("image")}}), "--wrt", "image,layers.fc1.bias"}, "layers.fc1.bias"));
        QVERIFY(refusedWith({"--grads", file("none.npz", {})}, "no gradient of this model"));
        QVERIFY(refusedWith({"--cotangents", file("logits.npz", {{"logits", one}})}, "\"logits\""));
        QVERIFY(refusedWith({"--cotangents", file("shape.npz", {{"loss", four}})}, "[4]"));
        QVERIFY(refusedWith({"--cotangents", file("nobody.npz", {{"nobody", one}})}, "\"nobody\""));
        QVERIFY(refusedWith({"--mode", "forward", "--direction", file("d.npz", {{"nobody", one}})}, "\"nobody\""));
        QVERIFY(refusedWith({"--mode", "forward", "--wrt", "image", "--direction", file("e.npz", {{"layers.fc1.bias", one}})}, "layers.fc1.bias"));
        QVERIFY(refusedWith({"--mode", "hvp", "--wrt", "image", "--direction", file("f.npz", {{"image", four}})}, "[4]"));
        QVERIFY(refusedWith({"--mode", "reverse", "--direction", "d.npz"}, "--direction"));
        QVERIFY(refusedWith({"--mode", "forward", "--check"}, "--check"));
        QVERIFY(refusedWith({"--mode", "jacobian", "--direction", "d.npz"}, "--direction"));
        QVERIFY(refusedWith({"--mode", "sideways"}, "sideways"));
    }

    // tests/data/bugs/grad-*/case.json: a gradient that is NaN is accepted when the places are named that are to blame.
    void gradientsThatAreNotFiniteAreExplained_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QVector<float>>("x");
        QTest::addColumn<QStringList>("words");
        QTest::newRow("a branch not taken") << "grad-where-sqrt/model.onnx" << QVector<float>{-1, -4, 9} << QStringList{"\"x\"", "2 NaN", "root", "choose"};
        QTest::newRow("a norm at zero") << "grad-norm-zero/by_parts.onnx" << QVector<float>{0, 0, 0} << QStringList{"\"x\"", "3 NaN", "root", "infinite"};
        QTest::newRow("a norm away from zero") << "grad-norm-zero/by_parts.onnx" << QVector<float>{3, 0, -4} << QStringList{};
        QTest::newRow("a norm as one operator") << "grad-norm-zero/norm.onnx" << QVector<float>{0, 0, 0} << QStringList{};
        QTest::newRow("the slope is infinite where the branch is not taken") << "grad-where-sqrt/model.onnx" << QVector<float>{0, 0, 9} << QStringList{"root", "choose", "backward step"};
    }
    void gradientsThatAreNotFiniteAreExplained() {
        QFETCH(QString, model);
        QFETCH(QVector<float>, x);
        QFETCH(QStringList, words);
        const QTemporaryDir folder;
        const QString inputs = folder.filePath("x.npz");
        QVERIFY(writeNpz(inputs.toStdString(), {{"x", Tensor::of<float>({x.size()}, std::vector<float>(x.begin(), x.end()))}}));
        const Ended ended = runProgram({"grad", kData + "/bugs/" + model, "--of", "y", "--wrt", "x", "--inputs", inputs});
        QVERIFY2(ended.code == 0, ended.told().constData());
        QCOMPARE(ended.err.contains("warning: "), !words.isEmpty());
        for (const QString& word : words)
            QVERIFY2(ended.err.contains(word.toUtf8()), ended.told().constData());
    }

    /// J v along v = gradient is the sum of the squares of torch's gradient.
    void forwardAlongTheGradient() {
        const QTemporaryDir folder;
        const NamedTensors gradient = arraysOf(reference("two_tower"));
        QStringList wrt;
        double right = 0;
        for (const auto& [name, values] : gradient) {
            wrt << QString::fromStdString(name);
            for (std::int64_t i = 0; i < values.elementCount(); ++i)
                right += values.asDouble(i) * values.asDouble(i);
        }
        const QString file = folder.filePath("t.npz");
        const Ended ended = runProgram(gradOf("two_tower") + QStringList{"--mode", "forward", "--wrt", wrt.join(','), "--direction", reference("two_tower"), "--double", "--reference", "--outputs", file});
        QVERIFY2(ended.code == 0, ended.told().constData());
        const NamedTensors tangents = arraysOf(file);
        QCOMPARE(tangents.size(), std::size_t(1));
        const double tangent = tangents.at("loss").asDouble(0);
        QVERIFY2(std::abs(tangent - right) <= 1e-9 * right, qPrintable(QString("%1, %2 is right").arg(tangent).arg(right)));
    }

    // torch.autograd.functional (tests/data/derivatives).
    void matricesEqualTorch_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("mode");
        QTest::addColumn<QString>("of");
        QTest::addColumn<QString>("wrt");
        QTest::newRow("jacobian of two outputs") << "softmax_layer" << "jacobian" << "y,length" << "x,w,b";
        QTest::newRow("hessian") << "softmax_layer" << "hessian" << "length" << "x,b";
        QTest::newRow("hvp") << "softmax_layer" << "hvp" << "length" << "x,b";
        QTest::newRow("hvp of the CNN") << "digits_cnn" << "hvp" << "loss" << "classifier.fc2.bias,features.bn4.weight";
    }
    void matricesEqualTorch() {
        QFETCH(QString, name);
        QFETCH(QString, mode);
        QFETCH(QString, of);
        QFETCH(QString, wrt);
        const QTemporaryDir folder;
        const QString file = folder.filePath("m.npz"), ours = kData + "/derivatives/" + name;
        const bool isSample = name != "softmax_layer";
        const Ended ended = runProgram({"grad", isSample ? sample(name) : ours + ".onnx", "--inputs", isSample ? sample(name, "inputs.npz") : ours + "_inputs.npz", "--mode", mode, "--of", of, "--wrt", wrt,
            "--double", "--reference", "--outputs", file, "--json"});
        QVERIFY2(ended.code == 0, ended.told().constData());
        QCOMPARE(ended.json()[u"mode"].toString(), mode);
        const NamedTensors made = arraysOf(file);
        std::size_t compared = 0;
        for (const auto& [key, right] : arraysOf(ours + ".npz")) {
            if (!key.starts_with(mode.toStdString() + ":"))
                continue;
            const std::string ownKey = mode == "hvp" ? key.substr(4) : key;
            QVERIFY2(made.contains(ownKey), key.c_str());
            const double apart = distance(made.at(ownKey), right);
            QVERIFY2(apart <= 1e-10, qPrintable(QString("%1: %2 of the largest entry").arg(QString::fromStdString(key)).arg(apart)));
            ++compared;
        }
        QCOMPARE(compared, made.size());
    }

    void matricesTooLargeAreRefused() {
        const Ended known = runProgram(gradOf("digits_mlp") + QStringList{"--mode", "hessian", "--wrt", "layers.fc1.weight"}); // 4096 x 4096 is the limit
        QVERIFY2(known.code == 0, known.told().constData());
        const Ended rows = runProgram(gradOf("tiny_gpt") + QStringList{"--mode", "hessian", "--wrt", "wte.weight"});
        QCOMPARE(rows.code, 2);
        QVERIFY2(rows.err.contains("8192 elements") && rows.err.contains("16777216"), rows.told().constData());
        const Ended run = runProgram({"grad", sample("tiny_gpt"), "--of", "logits", "--wrt", "wte.weight", "--inputs", sample("tiny_gpt", "inputs.npz"), "--mode", "jacobian"}); // [2, 12, 128]
        QCOMPARE(run.code, 2);
        QVERIFY2(run.err.contains("3072 elements"), run.told().constData());
    }

    void savedForwardGraphHasStandardInputs() {
        const QTemporaryDir folder;
        const QString model = folder.filePath("j.onnx");
        const Ended saved = runProgram(gradOf("digits_mlp") + QStringList{"--mode", "forward", "--wrt", "image", "--save", model, "--opset", "21"});
        QVERIFY2(saved.code == 0, saved.told().constData());
        const Ended info = runProgram({"info", model, "--json"});
        QVERIFY2(info.code == 0, info.told().constData());
        QVERIFY2(info.out.contains("tangent:image") && info.out.contains("tangent:loss"), info.told().constData());
        const Ended old = runProgram(gradOf("digits_mlp") + QStringList{"--save", model, "--opset", "12"});
        QCOMPARE(old.code, 4);
        QVERIFY2(old.err.contains("opset 12 has"), old.told().constData());
    }

    // expected.npz: onnxruntime on the four pictures together; here each picture is an example.
    void vmapOverPictures_data() {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("node by node") << QStringList{};
        QTest::newRow("one Scan") << QStringList{"--scan"};
        QTest::newRow("for onnxruntime") << QStringList{"--opset", "21"};
    }
    void vmapOverPictures() {
        QFETCH(QStringList, options);
        const QTemporaryDir folder;
        const QString model = folder.filePath("v.onnx"), inputs = folder.filePath("i.npz"), outputs = folder.filePath("o.npz");
        const Ended mapped = runProgram(QStringList{"vmap", sample("digits_cnn"), "--over", "image,label", "-o", model, "--json"} + options);
        QVERIFY2(mapped.code == 0, mapped.told().constData());
        QCOMPARE(mapped.json()[u"over"].toArray().size(), 2);
        const NamedTensors given = arraysOf(sample("digits_cnn", "inputs.npz")), right = arraysOf(sample("digits_cnn", "expected.npz"));
        QVERIFY(writeNpz(inputs.toStdString(), {{"image", reshaped(given.at("image"), {4, 1, 1, 8, 8})}, {"label", reshaped(given.at("label"), {4, 1})}}));
        const Ended ran = runProgram({"run", model, "--inputs", inputs, "--outputs", outputs});
        QVERIFY2(ran.code == 0, ran.told().constData());
        const NamedTensors made = arraysOf(outputs);
        QVERIFY(distance(made.at("logits"), reshaped(right.at("logits"), {4, 1, 10})) <= 1e-5); // float32
        const Tensor& losses = made.at("loss");
        QCOMPARE(losses.shape(), Shape{4});
        const double mean = (losses.asDouble(0) + losses.asDouble(1) + losses.asDouble(2) + losses.asDouble(3)) / 4;
        QVERIFY(std::abs(mean - right.at("loss").asDouble(0)) <= 1e-5 * std::abs(mean));
    }

    void vmapRefuses_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("word");
        QTest::newRow("no input of that name") << QStringList{"--over", "nobody", "-o", "x.onnx"} << 2 << "nobody";
        QTest::newRow("a value that is no input") << QStringList{"--over", "logits", "-o", "x.onnx"} << 2 << "is no input";
        QTest::newRow("nothing to map over") << QStringList{"-o", "x.onnx"} << 2 << "--over";
        QTest::newRow("nowhere to write") << QStringList{"--over", "image"} << 2 << "--output";
        QTest::newRow("a full device") << QStringList{"--over", "image", "-o", "/dev/full"} << 3 << "/dev/full";
        QTest::newRow("an opset that does not exist") << QStringList{"--over", "image", "-o", "x.onnx", "--opset", "99"} << 2 << "99";
    }
    void vmapRefuses() {
        QFETCH(QStringList, options);
        QFETCH(int, code);
        QFETCH(QString, word);
        const QTemporaryDir folder;
        const Ended ended = runProgram(QStringList{"vmap", sample("digits_mlp")} + options, folder.path());
        QVERIFY2(ended.code == code && ended.err.contains(word.toUtf8()), ended.told().constData());
    }

    void trainRefuses_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("word");
        const QString data = sample("digits_mlp", "train.npz");
        QTest::newRow("neither steps nor epochs") << QStringList{"--data", data} << 2 << "--steps or --epochs";
        QTest::newRow("both") << QStringList{"--data", data, "--steps", "1", "--epochs", "1"} << 2 << "--steps or --epochs";
        QTest::newRow("no such optimizer") << QStringList{"--data", data, "--steps", "1", "--optimizer", "nobody"} << 2 << "nobody";
        QTest::newRow("no such schedule") << QStringList{"--data", data, "--steps", "1", "--schedule", "nobody"} << 2 << "nobody";
        QTest::newRow("two clips") << QStringList{"--data", data, "--steps", "1", "--clip", "1", "--clip-value", "1"} << 2 << "exclude";
        QTest::newRow("no such loss") << QStringList{"--data", data, "--steps", "1", "--loss", "nobody"} << 2 << "nobody";
        QTest::newRow("no data") << QStringList{"--steps", "1"} << 2 << "--data";
        QTest::newRow("data that is not there") << QStringList{"--data", "/nowhere.npz", "--steps", "1"} << 3 << "/nowhere.npz";
        QTest::newRow("data without an input") << QStringList{"--data", sample("rnn_loop", "inputs.npz"), "--steps", "1"} << 2 << "image";
        QTest::newRow("a state that is none") << QStringList{"--data", data, "--steps", "1", "--resume", data} << 2 << "no saved state";
        QTest::newRow("a weight that is not there") << QStringList{"--data", data, "--steps", "1", "--train", "nobody"} << 2 << "nobody";
        QTest::newRow("a negative batch") << QStringList{"--data", data, "--steps", "1", "--batch", "-3"} << 2 << "-3";
    }
    void trainRefuses() {
        QFETCH(QStringList, options);
        QFETCH(int, code);
        QFETCH(QString, word);
        const QTemporaryDir folder;
        const Ended ended = runProgram(QStringList{"train", sample("digits_mlp")} + options, folder.path());
        QVERIFY2(ended.code == code && ended.err.contains(word.toUtf8()), ended.told().constData());
    }

    /// The same batches in the same order, the optimizer's state and the place in the schedule: every number of the state is the same.
    void resumedRunEqualsOneWithoutPause() {
        const QTemporaryDir folder;
        const QStringList train{"train", sample("digits_mlp"), "--data", sample("digits_mlp", "train.npz"), "--optimizer", "adamw", "--weight-decay", "0.01", "--clip", "1", "--lr", "0.01",
            "--schedule", "cosine", "--schedule-length", "60", "--warmup", "5", "--batch", "48", "--json"};
        const QString whole = folder.filePath("whole.npz"), half = folder.filePath("half.npz"), rest = folder.filePath("rest.npz");
        const Ended once = runProgram(train + QStringList{"--steps", "60", "--state", whole, "-o", folder.filePath("m.onnx")}); // 30 steps an epoch: across its border
        QVERIFY2(once.code == 0, once.told().constData());
        const Ended first = runProgram(train + QStringList{"--steps", "25", "--state", half});
        QVERIFY2(first.code == 0, first.told().constData());
        const Ended second = runProgram(train + QStringList{"--steps", "60", "--resume", half, "--state", rest});
        QVERIFY2(second.code == 0, second.told().constData());
        QCOMPARE(second.json()[u"steps"].toInteger(), 60);
        QJsonArray joined = first.json()[u"losses"].toArray();
        for (const auto& loss : second.json()[u"losses"].toArray())
            joined.append(loss);
        QCOMPARE(joined, once.json()[u"losses"].toArray());
        const NamedTensors a = arraysOf(whole), b = arraysOf(rest);
        QVERIFY(!a.empty() && a.size() == b.size());
        for (const auto& [name, values] : a) {
            QVERIFY2(b.contains(name), name.c_str());
            QVERIFY2(std::memcmp(values.raw(), b.at(name).raw(), static_cast<std::size_t>(values.bytes())) == 0, name.c_str());
        }
        QCOMPARE(runProgram({"run", folder.filePath("m.onnx"), "--inputs", sample("digits_mlp", "inputs.npz")}).code, 0);
    }

    void interruptedTrainingKeepsItsState() {
        const QTemporaryDir folder;
        const QString state = folder.filePath("s.npz");
        const QStringList train{"train", sample("digits_mlp"), "--data", sample("digits_mlp", "train.npz"), "--state", state, "--json"};
        QProcess process;
        process.start(programPath(), train + QStringList{"--steps", "10000000"});
        QVERIFY(process.waitForStarted());
        process.setReadChannel(QProcess::StandardError);
        QTRY_VERIFY_WITH_TIMEOUT(process.bytesAvailable() > 0, 30'000); // the first step has been told
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(30'000));
        QCOMPARE(process.exitCode(), 130);
        const Ended resumed = runProgram(train + QStringList{"--steps", "1", "--resume", state});
        QVERIFY2(resumed.code == 0, resumed.told().constData());
    }
};

QTEST_GUILESS_MAIN(DerivativesTest)
#include "tst_derivatives.moc"
