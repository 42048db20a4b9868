// Saved histories: what is opened is what was saved, and files that were damaged or made up end in errors.
#include <filesystem>
#include <fstream>

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <fmt/format.h>

#include "app/document/dim_terms.h"
#include "app/document/sample_inputs.h"
#include "app/document/session_file.h"
#include "app/document/state_blob.h"
#include "app/document/state_checks.h"
#include "engine/exporters/exporter.h"
#include "engine/graph/graph_diff.h"
#include "engine/graph/graph_editor.h"
#include "engine/runtime/session.h"
#include "engine/schema/text_form.h"
#include "profiler/store/document_store.h"
#include "profiler/store/recording.h"
#include "tests/support/must.h"

using namespace nabla::engine;
using namespace nabla::app;
using nabla::profiler::StateRow;
using nabla::tests::must;
namespace fs = std::filesystem;

namespace {

/// A sample with all its passes and the gradient of the last state.
Document worked(const fs::path& model, const char* target) {
    Document document = must(Document::open(model));
    std::uint32_t parent = 1;
    OptimiseOptions options;
    options.pipeline.verifyValues = true;
    options.pipeline.dims = sampleBindings(document.imported()->graph);
    for (HistoryState& state : statesOf(must(optimise(document.imported()->graph, options)))) {
        state.parent = parent;
        parent = document.add(std::move(state))->id;
    }
    HistoryState gradient = must(differentiate(document.state(parent)->graph, {target}, {}, GradOptions::Cotangents::Ones));
    gradient.parent = parent;
    document.add(std::move(gradient));
    return document;
}

/// y = relu(x W) V with W [300, 256] and V [256, 300], 600 KiB of weights in the file.
void writeLargeModel(const fs::path& path) {
    ModelInfo info;
    info.format = "ONNX";
    info.irVersion = 10;
    info.opsets[""] = 21;
    GraphEditor editor = GraphEditor::empty("large", std::make_shared<const ModelInfo>(info), std::make_shared<IdSource>());
    const auto weight = [&](const char* name, std::int64_t rows, std::int64_t columns) {
        std::vector<float> elements(static_cast<std::size_t>(rows * columns));
        for (std::size_t i = 0; i < elements.size(); ++i)
            elements[i] = static_cast<float>(i % 251) / 251.0F - 0.5F;
        return editor.addInitializer(name, std::make_shared<const Tensor>(Tensor::of<float>({rows, columns}, elements)));
    };
    const ValueId x = editor.addInput("x", ValueType::tensor(DType::Float32, Shape{1, 300}));
    const ValueId h = editor.addValue({.opType = "MatMul", .inputs = {x, weight("W", 300, 256)}, .outputNames = {"h"}});
    const ValueId r = editor.addValue({.opType = "Relu", .inputs = {h}, .outputNames = {"r"}});
    const ValueId y = editor.addValue({.opType = "MatMul", .inputs = {r, weight("V", 256, 300)}, .outputNames = {"y"}});
    editor.setDeclaredType(y, ValueType::tensor(DType::Float32, Shape{1, 300}));
    editor.setOutputs({y});
    fs::create_directories(path.parent_path());
    must(saveOnnx(editor.finish(), path, {}));
}

std::vector<StateRow> rowsOf(const fs::path& file) { return must(must(nabla::profiler::Recording::open(file)).loadStates()); }

OpenedSession opened(const fs::path& file) { return must(openSession(file)).value(); }

/// Every output on the sample's inputs, as text: equal texts are equal bits but for the sign and payload of NaNs.
std::string outputsOf(const Graph& graph) {
    const Graph newest = must(legalized(graph));
    std::string out;
    for (const auto& [name, value] : must(must(Session::create(newest, {}))->run(must(sampleInputs(newest))))) {
        out += name + ":";
        for (std::int64_t i = 0; value.isTensor() && i < value.tensor().elementCount(); ++i)
            out += " " + value.tensor().asText(i);
    }
    return out;
}

std::vector<std::size_t> sizes(const GraphDiff& d) {
    return {d.added.size(), d.removed.size(), d.changed.size(), d.addedValues.size(), d.removedValues.size(), d.changedValues.size()};
}

void compareStates(const Document& saved, const Document& again, std::size_t i) {
    const HistoryState &a = *saved.states()[i], &b = *again.states()[i];
    QCOMPARE(b.id, a.id);
    QCOMPARE(b.parent, a.parent);
    QCOMPARE(b.kind, a.kind);
    QCOMPARE(b.title, a.title);
    QCOMPARE(b.subtitle, a.subtitle);
    QCOMPARE(printGraphText(b.graph), printGraphText(a.graph));
    a.graph.forEachNode([&](const Node& node) {
        const Node* other = b.graph.node(node.id);
        QVERIFY(other && other->opType == node.opType && other->inputs == node.inputs && other->outputs == node.outputs && other->origins == node.origins);
    });
    for (std::size_t j = 0; j < i; ++j) // objects shared by two states are shared again
        QCOMPARE(sizes(diff(again.states()[j]->graph, b.graph)), sizes(diff(saved.states()[j]->graph, a.graph)));
    QCOMPARE(b.pass.has_value(), a.pass.has_value());
    if (a.pass) {
        QCOMPARE(b.pass->rewrites.size(), a.pass->rewrites.size());
        QVERIFY(b.pass->changed());
        QVERIFY(b.pass->after.sameStateAs(b.graph));
        QVERIFY(a.pass->before.sameStateAs(saved.state(a.parent)->graph) == b.pass->before.sameStateAs(again.state(b.parent)->graph));
    }
    QCOMPARE(b.joint != nullptr, a.joint != nullptr);
    if (a.joint) {
        QCOMPARE(b.joint->gradientOf == a.joint->gradientOf && b.joint->seedOf == a.joint->seedOf && b.joint->wrt == a.joint->wrt, true);
        QVERIFY(b.joint->graph.sameStateAs(b.graph));
    }
    QCOMPARE(outputsOf(b.graph), outputsOf(a.graph));
}

} // namespace

class TestSessionFile : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    fs::path file(const std::string& name) const { return fs::path(m_folder.path().toStdString()) / name; }
    fs::path sample(const char* name) const { return fs::path(NABLA_SAMPLE_MODELS) / name / "model.onnx"; }

    /// Reads the rows in order with one of them replaced; the error's text, empty when they are taken.
    std::string readWith(const std::vector<StateRow>& rows, std::size_t replaced, std::span<const std::byte> blob) const {
        SessionFolder folder(fs::path(m_folder.path().toStdString()));
        StateReader reader(folder, {});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (const auto state = reader.read(i == replaced ? blob : std::span<const std::byte>(rows[i].graph)); !state)
                return state.error().message().empty() ? "an error without words" : state.error().message();
        }
        reader.finish();
        return {};
    }

private Q_SLOTS:
    void whatWasSavedIsOpened_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("target");
        QTest::newRow("digits_cnn") << "digits_cnn" << "loss";
        QTest::newRow("control_flow") << "control_flow" << "root";
        QTest::newRow("tiny_gpt") << "tiny_gpt" << "loss";
        QTest::newRow("weights by reference") << "large" << "y";
    }
    void whatWasSavedIsOpened() {
        QFETCH(const QString, name);
        QFETCH(const QString, target);
        const std::string stem = name.toStdString();
        const fs::path model = file(stem + "/model.onnx"), session = file(stem + "/a.nabla"), second = file(stem + "/b.nabla");
        if (name == "large")
            writeLargeModel(model);
        fs::create_directories(model.parent_path());
        for (const char* each : {"model.onnx", "inputs.npz"}) {
            if (fs::exists(sample(qPrintable(name)).parent_path() / each))
                fs::copy_file(sample(qPrintable(name)).parent_path() / each, model.parent_path() / each);
        }
        const Document saved = worked(model, qPrintable(target));
        QVERIFY(saved.states().size() >= 2);
        const NodeId someNode = [&] {
            NodeId last;
            saved.states().back()->graph.forEachNode([&](const Node& node) { last = node.id; });
            return last;
        }();
        QElapsedTimer clock;
        clock.start();
        must(saveSession(saved, {saved.states().back()->id, someNode, {}}, session));
        const double saveMs = static_cast<double>(clock.nsecsElapsed()) / 1e6;
        clock.start();
        const OpenedSession again = opened(session);
        qInfo("%s: %zu states, %zu bytes beside a model of %zu, saved in %.1f ms, opened in %.1f ms", qPrintable(name), saved.states().size(),
            static_cast<std::size_t>(fs::file_size(session)), static_cast<std::size_t>(fs::file_size(model)), saveMs, static_cast<double>(clock.nsecsElapsed()) / 1e6);
        QCOMPARE(again.view.node.value, someNode.value);
        QCOMPARE(again.document.chosen()->id, saved.states().back()->id);
        QCOMPARE(again.document.states().size(), saved.states().size());
        QVERIFY(!again.hasRuns);
        for (std::size_t i = 0; i < saved.states().size(); ++i)
            compareStates(saved, again.document, i);
        // Nothing was lost: saved once more it gives the same bytes.
        must(saveSession(again.document, again.view, second));
        const auto rows = rowsOf(session), rowsAgain = rowsOf(second);
        for (std::size_t i = 0; i < rows.size(); ++i)
            QVERIFY2(rows[i].graph == rowsAgain[i].graph, qPrintable(QString("state %1").arg(i + 1)));
        // New ids are new ones.
        std::uint32_t largest = 0;
        for (const auto& state : again.document.states())
            state->graph.forEachNode([&](const Node& node) { largest = std::max(largest, node.id.value); });
        QVERIFY(again.document.imported()->graph.ids()->nextNode().value > largest);
        QCOMPARE(must(Document::open(session)).chosen()->id, again.view.state);
    }

    void elsewhereTheWeightsAreInside() {
        const Document large = must(Document::open(file("large/model.onnx")));
        fs::create_directories(file("elsewhere"));
        const fs::path inside = file("elsewhere/inside.nabla");
        must(saveSession(large, {}, inside));
        QVERIFY(fs::file_size(inside) > 600 * 1024);
        QVERIFY(rowsOf(file("large/a.nabla")).front().graph.size() < 10'000); // beside its model: whatWasSavedIsOpened
        QCOMPARE(outputsOf(opened(inside).document.imported()->graph), outputsOf(large.imported()->graph));
    }

    void changedWeightsAreRefused() {
        const fs::path model = file("changed/model.onnx"), session = file("changed/s.nabla");
        writeLargeModel(model);
        must(saveSession(must(Document::open(model)), {}, session));
        {
            std::fstream change(model, std::ios::in | std::ios::out | std::ios::binary);
            change.seekg(static_cast<std::streamoff>(fs::file_size(model) / 2)); // nearly all of the file is weights
            for (int i = 0; i < 1000; ++i)
                change.put('\x42');
        }
        const auto refused = openSession(session);
        QVERIFY(!refused);
        const QString words = QString::fromStdString(refused.error().message());
        QVERIFY2(words.contains("model.onnx was changed") && words.contains("offset") && words.contains("have hash") && words.contains("was saved with"), qPrintable(words));
        fs::resize_file(model, fs::file_size(model) - 1);
        QVERIFY(QString::fromStdString(openSession(session).error().message()).contains("was changed: it has"));
        fs::remove(model);
        QVERIFY(QString::fromStdString(openSession(session).error().message()).contains("is missing"));
    }

    void filesOutsideAreNotOpened() {
        const SessionFolder folder(fs::path(m_folder.path().toStdString()));
        for (const char* name : {"/etc/passwd", "../x", "a/../../x", "", ".", "..", "./"})
            QVERIFY2(!folder.resolve(name), name);
        QVERIFY(folder.resolve("a/b.onnx"));
    }

    void truncatedStatesAreRefused() {
        const auto rows = rowsOf(file("digits_cnn/a.nabla"));
        for (std::size_t state = 0; state < rows.size(); ++state) {
            const std::span<const std::byte> all(rows[state].graph);
            for (std::size_t size = 0; size < all.size(); size += 97)
                QVERIFY2(!readWith(rows, state, all.first(size)).empty(), qPrintable(QString("state %1, %2 bytes").arg(state + 1).arg(size)));
        }
        auto longer = rows[0].graph;
        longer.push_back(std::byte{0});
        QVERIFY(readWith(rows, 0, longer).find("1 bytes follow") != std::string::npos);
    }

    void flippedBytesNeverCrash() {
        int refused = 0, tried = 0;
        for (const char* name : {"digits_cnn/a.nabla", "control_flow/a.nabla"}) {
            const auto rows = rowsOf(file(name));
            for (std::size_t state = 0; state < rows.size(); ++state) {
                for (std::size_t at = 0; at < rows[state].graph.size(); at += rows[state].graph.size() > 20'000 ? 101 : 7) {
                    auto changed = rows[state].graph;
                    changed[at] ^= at % 2 == 0 ? std::byte{0xff} : std::byte{0x01};
                    refused += readWith(rows, state, changed).empty() ? 0 : 1;
                    ++tried;
                }
            }
        }
        QVERIFY2(refused > 0 && refused < tried, qPrintable(QString("%1 of %2").arg(refused).arg(tried))); // weights and names may be anything
    }

    void madeUpRowsAreRefused() {
        const auto rows = rowsOf(file("digits_cnn/a.nabla"));
        const auto refusal = [&](std::vector<StateRow> changed) {
            const fs::path path = file("made_up.nabla");
            fs::remove(path);
            must(nabla::profiler::saveDocument(path, changed, {}));
            const auto session = openSession(path);
            return session ? std::string() : session.error().message();
        };
        QCOMPARE(refusal(rows), std::string());
        auto changed = rows;
        changed[1].parentId = 7777;
        QVERIFY(refusal(changed).find("parent 7777") != std::string::npos);
        changed[1].parentId = 2; // itself
        QVERIFY(refusal(changed).find("parent 2") != std::string::npos);
        changed = rows;
        changed.erase(changed.begin()); // state 2 patches a graph that is not there
        QVERIFY(!refusal(changed).empty());
        changed = rows;
        changed[0].graph[4] = std::byte{2};
        QVERIFY(refusal(changed).find("version 2, this program reads 1") != std::string::npos);
        changed[0].graph = {};
        QVERIFY(refusal(changed).find("is not a graph state") != std::string::npos);
        QVERIFY(!must(openSession([&] {
            const fs::path path = file("empty.nabla");
            must(nabla::profiler::saveDocument(path, {}, {}));
            return path;
        }())));
    }

    void brokenPromisesAreFound() {
        const IdSourcePtr ids = std::make_shared<IdSource>();
        GraphEditor editor = GraphEditor::empty("g", std::make_shared<const ModelInfo>(), ids);
        const ValueId x = editor.addInput("x", ValueType::tensor(DType::Float32));
        const ValueId y = editor.addValue({.opType = "Relu", .inputs = {x}});
        editor.setOutputs({y});
        const Graph graph = editor.finish();
        QVERIFY(GraphSizes().check(graph));
        const auto with = [&](auto change) {
            GraphPatch patch{.name = "g", .doc = {}, .info = graph.infoPtr(), .inputs = {x}, .captures = {}, .outputs = {y}, .removedNodes = {}, .removedValues = {}, .nodes = {}, .values = {}, .functions = {}, .diagnostics = {}};
            change(patch);
            if (const auto right = checkPatch(graph, patch); !right)
                return right.error().message();
            const auto right = GraphSizes().check(GraphDiff::patched(graph, patch, ids));
            return right ? std::string() : right.error().message();
        };
        const auto changedValue = [&](ValueId id, auto change) {
            return with([&](GraphPatch& patch) {
                Value value = *graph.value(id);
                change(value);
                patch.values.push_back(std::make_shared<const Value>(value));
            });
        };
        QCOMPARE(with([](GraphPatch&) { }), std::string());
        const TensorPtr one = std::make_shared<const Tensor>(Tensor::scalar(1.0F));
        QVERIFY(changedValue(y, [&](Value& v) { v.constant = one; }).find("is a constant and is made") != std::string::npos);
        QVERIFY(changedValue(x, [&](Value& v) { v.producer = graph.producer(y)->id; }).find("does not make it") != std::string::npos);
        QVERIFY(!changedValue(y, [&](Value& v) { v.outputIndex = 1; }).empty());
        QVERIFY(!changedValue(y, [&](Value& v) { v.name = "x"; }).empty());
        QVERIFY(with([&](GraphPatch& p) { p.inputs = {x, x}; }).find("twice") != std::string::npos);
        QVERIFY(with([&](GraphPatch& p) { p.inputs = {y}; }).find("made by a node") != std::string::npos);
        QVERIFY(with([&](GraphPatch& p) { p.nodes = {graph.nodePtr(graph.producer(y)->id), graph.nodePtr(graph.producer(y)->id)}; }).find("there twice") != std::string::npos);
        QVERIFY(with([&](GraphPatch& p) { p.removedNodes = {NodeId{999}}; }).find("not there") != std::string::npos);
        QVERIFY(!with([&](GraphPatch& p) { p.removedValues = {x}; }).empty());
    }

    void nestedCopiesOfOneBodyAreBounded() {
        // Thirty levels, each naming the one below twice: 2^30 nodes out of 60.
        const IdSourcePtr ids = std::make_shared<IdSource>();
        const ModelInfoPtr info = std::make_shared<const ModelInfo>();
        GraphSizes sizesOfAll;
        GraphPtr body;
        Result<void> result;
        int level = 0;
        for (; level < 30 && result; ++level) {
            GraphEditor editor = GraphEditor::empty("g", info, ids);
            NodeSpec spec{.opType = "Custom", .inputs = {}};
            if (body)
                spec.attributes = {{"a", body}, {"b", body}};
            editor.setOutputs({editor.addValue(std::move(spec))});
            body = std::make_shared<const Graph>(editor.finish());
            result = sizesOfAll.check(*body);
        }
        QVERIFY(!result);
        QVERIFY(level > 20);
    }

    void dimensionsAreReadBack_data() {
        QTest::addColumn<int>("row");
        for (int i = 0; i < 9; ++i)
            QTest::addRow("%d", i) << i;
    }
    void dimensionsAreReadBack() {
        QFETCH(const int, row);
        const Dim n = Dim::symbol("n"), h = Dim::symbol("h w"), odd = Dim::symbol("a+2*b"), number = Dim::symbol("2"), empty = Dim::symbol("");
        const Dim dims[] = {n, Dim(2) * n + 1, Dim(0) - n * n + h - 7, Dim::floorDiv(h - 1, Dim(2)) * n - 3, odd * n + odd, number * 2 + 2, empty, Dim::max(n, h) + Dim::min(n, odd),
            Dim(INT64_MIN) * n + Dim(INT64_MIN)};
        const auto terms = dimTerms(dims[row]);
        QVERIFY(terms);
        QVERIFY2(dimFromTerms(*terms).sameAs(dims[row]), dimFromTerms(*terms).text().c_str());
    }
};

QTEST_MAIN(TestSessionFile)
#include "tst_session_file.moc"
