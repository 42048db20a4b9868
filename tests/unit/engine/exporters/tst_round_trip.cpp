// What is written reads back equal: over every model at hand, twice in a row, and as text.
#include <filesystem>

#include <QTemporaryDir>
#include <QTest>

#include "engine/exporters/exporter.h"
#include "engine/graph/graph_editor.h"
#include "engine/importers/importer.h"
#include "engine/schema/onnx_file/read_graph.h"
#include "engine/schema/schema.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

/// A graph as words, value names in place of ids: equal words mean equal graphs up to ids. Captures by the outer name.
class Words {
public:
    QStringList of(const Graph& graph) {
        add("graph", graph.name(), graph.doc());
        for (const ValueId id : graph.inputs())
            add("input", name(graph, id), graph.value(id)->declared.text(), graph.value(id)->doc);
        for (const ValueId id : graph.outputs())
            add("output", name(graph, id), graph.value(id)->declared.text());
        graph.forEachNode([&](const Node& node) { addNode(graph, node); });
        QStringList values;
        graph.forEachValue([&](const Value& value) {
            if (!value.producer && !value.constant)
                return;
            QString text = QString::fromStdString(value.name) + ' ' + QString::fromStdString(value.declared.text()) + ' ' + QString::fromStdString(value.doc);
            if (value.constant)
                text += ' ' + tensorText(*value.constant);
            values << text;
        });
        values.sort();
        m_words << values;
        for (const auto& [key, function] : graph.functions()) {
            add("function", key, function->doc, std::to_string(function->attributes.size()));
            for (const auto& [domain, version] : function->body->info().opsets)
                add("opset", domain, std::to_string(version));
            of(*function->body);
        }
        return m_words;
    }

    static QString tensorText(const Tensor& tensor) {
        QString out = QString::fromUtf8(nabla::engine::name(tensor.dtype()).data()) + QString::fromStdString(toString(tensor.shape()));
        if (tensor.dtype() == DType::String) {
            for (const std::string& text : tensor.data<std::string>())
                out += '|' + QString::fromStdString(text);
            return out;
        }
        const QByteArray bytes(reinterpret_cast<const char*>(tensor.raw()), static_cast<qsizetype>(tensor.bytes()));
        return out + ' ' + QString::number(qHash(bytes), 16);
    }

private:
    template <typename... Parts> void add(const Parts&... parts) { m_words << QStringList{QString::fromStdString(std::string(parts))...}.join(' '); }
    static std::string name(const Graph& graph, ValueId id) { return id ? graph.value(id)->name : ""; }

    void addNode(const Graph& graph, const Node& node) {
        add("node", node.name, node.domain, node.opType, node.overload, node.doc);
        for (const ValueId id : node.inputs)
            add("reads", name(graph, id));
        for (const ValueId id : node.outputs)
            add("makes", name(graph, id));
        for (const ValueId id : node.captures)
            add("captures", name(graph, id));
        for (const auto& [key, value] : node.metadata)
            add("meta", key, value);
        for (const Attribute& attribute : node.attributes)
            addAttribute(attribute);
    }
    void addAttribute(const Attribute& a) {
        add("attribute", a.name, std::to_string(a.value.index()));
        if (const auto* v = std::get_if<std::int64_t>(&a.value))
            add(std::to_string(*v));
        else if (const auto* f = std::get_if<float>(&a.value))
            m_words << QString::number(std::bit_cast<std::uint32_t>(*f));
        else if (const auto* s = std::get_if<std::string>(&a.value))
            add(*s);
        else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&a.value))
            add(toString(ShapeView(*ints)));
        else if (const auto* tensor = std::get_if<TensorPtr>(&a.value); tensor && *tensor)
            m_words << tensorText(**tensor);
        else if (const auto* body = std::get_if<GraphPtr>(&a.value))
            of(**body);
    }

    QStringList m_words;
};

Graph readBytes(const std::string& bytes) {
    OnnxReadOptions options;
    auto kept = std::make_shared<const std::string>(bytes);
    options.source.owner = kept;
    auto graph = readOnnxModel(*kept, options);
    if (!graph)
        qFatal("%s", graph.error().message().c_str());
    return *graph;
}

std::vector<fs::path> modelFiles() {
    std::vector<fs::path> files;
    for (const char* root : {NABLA_SAMPLE_MODELS, NABLA_TEST_DATA "/models", NABLA_TEST_DATA "/grad", NABLA_TEST_DATA "/bugs"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
            const std::string path = entry.path().string();
            if (entry.path().extension() == ".onnx" && path.find("truncated") == std::string::npos && path.find("missing-external") == std::string::npos)
                files.push_back(entry.path());
        }
    }
    return files;
}

} // namespace

class tst_round_trip : public QObject {
    Q_OBJECT
private slots:
    void readsBackEqual_data() { listModels(); }
    void readsBackEqual();
    void textReadsBackEqual_data() { listModels(); }
    void textReadsBackEqual();
    void clashingNamesOfBodiesAreResolved();
    void innerNamesHideNoOuterOnes();
    void weightsBesideReadBackEqual();
    void anotherOpsetOnlyWhereOperatorsMeanTheSame();
    void internalOperatorsAreRefused();

private:
    static void listModels();
};

void tst_round_trip::listModels() {
    QTest::addColumn<QString>("path");
    for (const fs::path& file : modelFiles())
        QTest::newRow((file.parent_path().filename() / file.filename()).c_str()) << QString::fromStdString(file.string());
}

void tst_round_trip::readsBackEqual() {
    QFETCH(const QString, path);
    ImportContext context;
    const auto model = openModel(path.toStdString(), context);
    QVERIFY2(model, qPrintable(QString::fromStdString(model ? "" : model.error().message())));
    const auto bytes = exportOnnx(model->graph);
    QVERIFY2(bytes, qPrintable(QString::fromStdString(bytes ? "" : bytes.error().message())));
    const Graph again = readBytes(*bytes);
    QCOMPARE(Words().of(again), Words().of(model->graph));
    QCOMPARE(again.info().opsets, model->graph.info().opsets);
    QCOMPARE(again.info().metadata, model->graph.info().metadata);
    QCOMPARE(again.info().irVersion, model->graph.info().irVersion);
    QCOMPARE(again.info().producer, model->graph.info().producer);
    const auto bytesAgain = exportOnnx(again);
    QVERIFY(bytesAgain);
    QVERIFY(*bytesAgain == *bytes);
}

void tst_round_trip::textReadsBackEqual() {
    QFETCH(const QString, path);
    ImportContext context;
    const auto model = openModel(path.toStdString(), context);
    QVERIFY(model);
    if (model->graph.valueCount() > 3000 || path.contains("hostile-names"))
        QSKIP("text of a large model, or names that are no text");
    const std::string text = printGraphText(model->graph, 1'000'000);
    const auto again = parseGraphText(text);
    QVERIFY2(again, qPrintable(QString::fromStdString(again ? "" : again.error().message() + "\n" + text.substr(0, 3000))));
    QCOMPARE(QString::fromStdString(printGraphText(*again, 1'000'000)), QString::fromStdString(text));
}

void tst_round_trip::clashingNamesOfBodiesAreResolved() {
    // The body makes its own "x" after a pass renamed the outer value to "x": the capture must still read the outer one.
    const auto parsed = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]>
        g (float[2] outer, bool c) => (float[2] y) {
           y = If <then_branch = t () => (float[2] r) { x = Neg(outer) r = Add(x, outer) }, else_branch = e () => (float[2] r) { r = Identity(outer) }> (c)
        })");
    QVERIFY2(parsed, qPrintable(QString::fromStdString(parsed ? "" : parsed.error().message())));
    GraphEditor editor(*parsed);
    editor.renameValue(parsed->inputs()[0], "x");
    const auto bytes = exportOnnx(editor.finish());
    QVERIFY(bytes);
    const Graph again = readBytes(*bytes);
    QCOMPARE(again.value(again.inputs()[0])->name, std::string("x"));
    const Node* branch = nullptr;
    again.forEachNode([&](const Node& node) { branch = &node; });
    QCOMPARE(branch->captures, std::vector<ValueId>{again.inputs()[0]});
    const GraphPtr body = branch->graphAttribute("then_branch");
    QCOMPARE(body->captures().size(), 1U);
    std::vector<const Node*> nodes;
    body->forEachNode([&](const Node& node) { nodes.push_back(&node); });
    QCOMPARE(nodes.size(), 2U);
    QCOMPARE(nodes[0]->inputs[0], body->captures()[0]);
    QCOMPARE(nodes[1]->inputs, (std::vector<ValueId>{nodes[0]->outputs[0], body->captures()[0]}));
}

void tst_round_trip::innerNamesHideNoOuterOnes() {
    // onnxruntime 1.32: "Graph must be in single static assignment (SSA) form", also where the body does not read the outer value of that name.
    const auto parsed = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]>
        g (float[2] x, bool c) => (float[2] y, float[2] outer) { outer = Neg(x)
           y = If <then_branch = t () => (float[2] r) { a = Abs(x) s = If <then_branch = tt () => (float[2] q) { b = Exp(x) q = Neg(b) },
               else_branch = ee () => (float[2] q) { q = Identity(x) }> (c) r = Add(a, s) }, else_branch = e () => (float[2] r) { r = Identity(x) }> (c)
        })");
    QVERIFY2(parsed, qPrintable(QString::fromStdString(parsed ? "" : parsed.error().message())));
    GraphEditor editor(*parsed);
    const Node& node = *parsed->producer(parsed->outputs()[0]);
    Node renamed = node;
    for (Attribute& attribute : renamed.attributes) {
        const GraphPtr body = std::get<GraphPtr>(attribute.value);
        GraphEditor inner(*body);
        body->forEachNode([&](const Node& each) {
            if (each.opType == "Abs")
                inner.renameValue(each.outputs[0], "outer");
        });
        attribute.value = std::make_shared<const Graph>(inner.finish());
    }
    editor.replaceNode(std::move(renamed));
    const auto bytes = exportOnnx(editor.finish());
    QVERIFY(bytes);
    const Graph again = readBytes(*bytes);
    const GraphPtr body = again.producer(again.outputs()[0])->graphAttribute("then_branch");
    QStringList names;
    body->forEachNode([&](const Node& each) { names << QString::fromStdString(body->value(each.outputs[0])->name); });
    QVERIFY2(names.contains("outer_2") && !names.contains("outer"), qPrintable(names.join(' ')));
}

void tst_round_trip::weightsBesideReadBackEqual() {
    QTemporaryDir folder;
    ImportContext context;
    const auto model = openModel(fs::path(NABLA_SAMPLE_MODELS) / "digits_cnn" / "model.onnx", context);
    QVERIFY(model);
    const fs::path path = fs::path(folder.path().toStdString()) / "m.onnx";
    ExportOptions options;
    options.weightsBeside = true;
    QVERIFY(saveOnnx(model->graph, path, options));
    QVERIFY(fs::exists(path.string() + ".data"));
    QVERIFY(fs::file_size(path) < 20'000); // the weights are 60 KB
    ImportContext other;
    const auto again = openModel(path, other);
    QVERIFY(again);
    QCOMPARE(again->graph.diagnostics().size(), 0U);
    QCOMPARE(Words().of(again->graph), Words().of(model->graph));
}

void tst_round_trip::anotherOpsetOnlyWhereOperatorsMeanTheSame() {
    // Relu has versions 1, 6, 13, 14 and Softmax 1, 11, 13 (ONNX Changelog).
    const auto relu = parseGraphText(R"(<ir_version: 8, opset_import: ["" : 14]> g (float[N] x) => (float[N] y) { y = Relu(x) })");
    ExportOptions options;
    options.opset = 20;
    const auto bytes = exportOnnx(*relu, options);
    QVERIFY(bytes);
    QCOMPARE(readBytes(*bytes).opset(""), 20);
    // Relu-14 takes whole numbers, too; of float it is Relu-13.
    options.opset = 13;
    const auto older = exportOnnx(*relu, options);
    QVERIFY2(older, older ? "" : older.error().message().c_str());
    QCOMPARE(readBytes(*older).opset(""), 13);
    const auto refused = [&](const char* text, std::int64_t opset, const char* word) {
        const auto graph = parseGraphText(text);
        ExportOptions other;
        other.opset = opset;
        const auto written = exportOnnx(*graph, other);
        return !written && written.error().message().find(word) != std::string::npos;
    };
    QVERIFY(refused(R"(<ir_version: 8, opset_import: ["" : 14]> g (int32[N] x) => (int32[N] y) { y = Relu(x) })", 13, "input 0 is tensor(int32)"));
    // Versions before 13 flatten, later ones do not; ReduceSum has axes as an input since 13; Reshape has allowzero since 14; Pad wraps since 19.
    QVERIFY(refused(R"(<ir_version: 8, opset_import: ["" : 14]> g (float[N] x) => (float[N] y) { y = Softmax(x) })", 12, "Softmax-11"));
    QVERIFY(refused(R"(<ir_version: 8, opset_import: ["" : 18]> g (float[N] x, int64[1] a) => (float[N] y) { y = ReduceMax(x, a) })", 13, "written otherwise"));
    QVERIFY(refused(R"(<ir_version: 8, opset_import: ["" : 14]> g (float[N] x, int64[1] s) => (float[N] y) { y = Reshape<allowzero = 1>(x, s) })", 13, "allowzero"));
    QVERIFY(refused(R"(<ir_version: 9, opset_import: ["" : 19]> g (float[N] x, int64[2] p) => (float[M] y) { y = Pad<mode = "wrap">(x, p) })", 18, "wrap"));
    QVERIFY(refused(R"(<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y) { y = Gelu(x) })", 19, "has no operator Gelu"));
    options.opset = 99;
    QVERIFY(!exportOnnx(*relu, options));
}

void tst_round_trip::internalOperatorsAreRefused() {
    const auto graph = parseGraphText(R"(<ir_version: 8, opset_import: ["" : 14, "nabla" : 1]> g (float[N] x) => (float[N] y) { y = nabla.Anything(x) })");
    QVERIFY(graph);
    const auto bytes = exportOnnx(*graph);
    QVERIFY(!bytes);
    QVERIFY(bytes.error().message().find("nabla") != std::string::npos);
}

QTEST_GUILESS_MAIN(tst_round_trip)
#include "tst_round_trip.moc"
