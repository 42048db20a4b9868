// Faithful reading of ONNX files: the open- cases of tests/data/bugs, bodies and their captures, weights that stay in the file.
#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "engine/base/write_file.h"
#include "engine/importers/importer.h"
#include "engine/schema/text_form.h"
#include "engine/tensor/file_elements.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

fs::path bug(const char* name) { return fs::path(NABLA_TEST_DATA) / "bugs" / name; }

Model open(const fs::path& path) {
    ImportContext context;
    auto model = openModel(path, context);
    if (!model)
        qFatal("%s", model.error().message().c_str());
    return *std::move(model);
}

nlohmann::json expectedOf(const char* name) {
    QFile file(QString::fromStdString((bug(name) / "case.json").string()));
    return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString()).at("expected") : nlohmann::json();
}

const Value* find(const Graph& graph, std::string_view name) {
    const Value* found = nullptr;
    graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = &value;
    });
    return found;
}

const Node* nodeOf(const Graph& graph, std::string_view opType) {
    const Node* found = nullptr;
    graph.forEachNode([&](const Node& node) {
        if (node.opType == opType)
            found = &node;
    });
    return found;
}

} // namespace

class tst_onnx_importer : public QObject {
    Q_OBJECT
private slots:
    void sixteenBitFloatsInTheIntegerField();
    void wholeNumbersStayExact();
    void hostileNamesAreKept();
    void missingWeightsAreNamed();
    void truncatedFilesNameTheByte_data();
    void truncatedFilesNameTheByte();
    void nestedBodiesCaptureThroughEachOther();
    void bodyThatMakesTheNameItselfDoesNotReadTheOuterValue();
    void weightsStayInTheFile();
    void linksOutsideTheFolderAreRefusedUnlessAllowed();
    void cancelledReadingStops();
    void sniffingPrefersContent();
    void weightsKnowWhereTheyLie_data();
    void weightsKnowWhereTheyLie();
    void tensorsInAFileKnowTheirPlace_data();
    void tensorsInAFileKnowTheirPlace();
};

void tst_onnx_importer::sixteenBitFloatsInTheIntegerField() {
    const Model model = open(bug("open-bf16-int32data/model.onnx"));
    const auto expected = expectedOf("open-bf16-int32data"); // a temporary would end before the loop begins
    for (const auto& [name, tensor] : expected.at("tensors").items()) {
        const Value* value = find(model.graph, name);
        QVERIFY(value && value->constant);
        QCOMPARE(std::string(nabla::engine::name(value->constant->dtype())), tensor.at("dtype").get<std::string>());
        for (std::size_t i = 0; i < tensor.at("values").size(); ++i) {
            const auto& want = tensor.at("values")[i];
            const double number = want.is_string() ? std::numeric_limits<double>::infinity() : want.get<double>();
            const double got = value->constant->asDouble(static_cast<std::int64_t>(i));
            QCOMPARE(got, number);
            QCOMPARE(std::signbit(got), std::signbit(number)); // element 3 is negative zero
        }
    }
}

void tst_onnx_importer::wholeNumbersStayExact() {
    const Model model = open(bug("open-int64-extremes/model.onnx"));
    const auto expected = expectedOf("open-int64-extremes");
    for (const auto& [name, texts] : expected.at("tensors_text").items()) {
        const TensorPtr tensor = find(model.graph, name)->constant;
        for (std::size_t i = 0; i < texts.size(); ++i)
            QCOMPARE(tensor->asText(static_cast<std::int64_t>(i)), texts[i].get<std::string>());
    }
    model.graph.forEachNode([&](const Node& node) {
        if (node.name != "tagged")
            return;
        QCOMPARE(node.intAttribute("big", 0), 9007199254740993);
        QCOMPARE(node.intAttribute("low", 0), std::numeric_limits<std::int64_t>::min());
        QCOMPARE(node.intsAttribute("list"), (std::vector<std::int64_t>{-1, -2, 9007199254740995}));
    });
}

void tst_onnx_importer::hostileNamesAreKept() {
    const Model model = open(bug("open-hostile-names/model.onnx"));
    std::vector<std::string> names;
    model.graph.forEachNode([&](const Node& node) { names.push_back(node.name); });
    QCOMPARE(names, expectedOf("open-hostile-names").at("node_names").get<std::vector<std::string>>());
}

void tst_onnx_importer::missingWeightsAreNamed() {
    const Model model = open(bug("open-missing-external/model.onnx"));
    QCOMPARE(model.graph.nodeCount(), 2U);
    const Value* weights = find(model.graph, "W");
    QCOMPARE(QString::fromStdString(weights->declared.text()), QString("float32[2,3]"));
    QVERIFY(!weights->constant);
    QCOMPARE(model.graph.diagnostics().size(), 1U);
    const Diagnostic& said = model.graph.diagnostics()[0];
    QVERIFY(said.blocksRun && said.value == weights->id);
    QVERIFY2(said.message.find("weights.bin") != std::string::npos && said.message.find("not found") != std::string::npos, said.message.c_str());
}

void tst_onnx_importer::truncatedFilesNameTheByte_data() {
    QTest::addColumn<QString>("words");
    QTest::newRow("cut_in_a_tensor.onnx") << "truncated;5029";
    QTest::newRow("cut_in_the_header.onnx") << "truncated";
    QTest::newRow("empty.onnx") << "empty;0 bytes";
}

void tst_onnx_importer::truncatedFilesNameTheByte() {
    QFETCH(const QString, words);
    ImportContext context;
    const auto model = openModel(bug("open-truncated") / QTest::currentDataTag(), context);
    QVERIFY(!model);
    for (const QString& word : words.split(';'))
        QVERIFY2(QString::fromStdString(model.error().message()).contains(word), model.error().message().c_str());
}

void tst_onnx_importer::nestedBodiesCaptureThroughEachOther() {
    const auto graph = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, float[2] z, bool c) => (float[2] y) {
        y = If <then_branch = t () => (r) { r = If <then_branch = tt () => (s) { s = Add (x, z) }, else_branch = te () => (s) { s = Neg (z) }> (c) },
                else_branch = e () => (r) { r = Abs (x) }> (c) })");
    QVERIFY(graph);
    const Node* outer = nodeOf(*graph, "If");
    // Read from outside by the branches together: c, x, z in whatever order, the same for both bodies.
    QCOMPARE(outer->captures.size(), 3U);
    const GraphPtr then = outer->graphAttribute("then_branch"), otherwise = outer->graphAttribute("else_branch");
    QCOMPARE(then->captures().size(), 3U);
    QCOMPARE(otherwise->captures().size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) {
        QCOMPARE(then->value(then->captures()[k])->name, graph->value(outer->captures[k])->name);
        QCOMPARE(otherwise->value(otherwise->captures()[k])->name, graph->value(outer->captures[k])->name);
    }
    const Node* inner = nodeOf(*then, "If");
    QCOMPARE(inner->captures.size(), 2U);
    QVERIFY(then->value(inner->captures[0])); // a value of the body around it: its own capture
    QCOMPARE(nodeOf(*otherwise, "Abs")->inputs[0], otherwise->captures()[static_cast<std::size_t>(
        std::find(outer->captures.begin(), outer->captures.end(), graph->inputs()[0]) - outer->captures.begin())]);
}

void tst_onnx_importer::bodyThatMakesTheNameItselfDoesNotReadTheOuterValue() {
    const auto graph = parseGraphText(R"(<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, bool c) => (float[2] y) {
        y = If <then_branch = t () => (r) { x = Constant <value_floats = [1.0, 2.0]> () r = Neg (x) }, else_branch = e () => (r) { r = Abs (x) }> (c) })");
    QVERIFY(graph);
    const Node* node = nodeOf(*graph, "If");
    QCOMPARE(node->captures, std::vector<ValueId>{graph->inputs()[0]});
    const GraphPtr then = node->graphAttribute("then_branch");
    QCOMPARE(nodeOf(*then, "Neg")->inputs[0], nodeOf(*then, "Constant")->outputs[0]);
    QCOMPARE(then->value(nodeOf(*then, "Neg")->inputs[0])->name, std::string("x"));
    QVERIFY(then->value(then->captures()[0])->name != "x"); // the formal capture that this branch does not use
}

void tst_onnx_importer::weightsStayInTheFile() {
    const Model model = open(fs::path(NABLA_SAMPLE_MODELS) / "digits_mlp" / "model.onnx");
    const std::byte* const begin = model.file->bytes().data();
    const std::byte* const end = begin + model.file->bytes().size();
    int inside = 0, outside = 0;
    model.graph.forEachValue([&](const Value& value) {
        if (!value.constant)
            return;
        const bool in = value.constant->raw() >= begin && value.constant->raw() < end;
        (in ? inside : outside) += 1;
        // Where they were copied they had to be: elements may not be read unaligned.
        QCOMPARE(reinterpret_cast<std::uintptr_t>(value.constant->raw()) % static_cast<std::uintptr_t>(bitWidth(value.constant->dtype()) / 8), 0U);
    });
    QVERIFY(inside + outside > 0);
}

void tst_onnx_importer::linksOutsideTheFolderAreRefusedUnlessAllowed() {
    QTemporaryDir temporary;
    const fs::path root = temporary.path().toStdString();
    fs::create_directories(root / "blobs");
    fs::create_directories(root / "model");
    fs::copy_file(bug("open-missing-external/model.onnx"), root / "model" / "model.onnx");
    QVERIFY(writeFile(root / "blobs" / "data", std::string(4096, '\0')));
    fs::create_symlink("../blobs/data", root / "model" / "weights.bin");
    ImportContext context;
    const auto refused = openModel(root / "model" / "model.onnx", context);
    QVERIFY(!refused);
    QVERIFY2(refused.error().message().find("blobs/data") != std::string::npos, refused.error().message().c_str());
    context.allowLinksOutsideFolder = true;
    const auto allowed = openModel(root / "model" / "model.onnx", context);
    QVERIFY2(allowed, allowed ? "" : allowed.error().message().c_str());
    QVERIFY(find(allowed->graph, "W")->constant);
}

void tst_onnx_importer::cancelledReadingStops() {
    ImportContext context;
    std::stop_source stop;
    stop.request_stop();
    context.job.stop = stop.get_token();
    const auto model = openModel(bug("layout-deep-chain/model.onnx"), context);
    if (model)
        QVERIFY(model->graph.nodeCount() < 4096); // asked every 4096 nodes
    else
        QCOMPARE(model.error().kind(), ErrorKind::Cancelled);
}

void tst_onnx_importer::sniffingPrefersContent() {
    QTemporaryDir temporary;
    const fs::path path = fs::path(temporary.path().toStdString()) / "weights.dat";
    fs::copy_file(fs::path(NABLA_SAMPLE_MODELS) / "digits_mlp" / "model.onnx", path);
    ImportContext context;
    QVERIFY(openModel(path, context));
    QVERIFY(writeFile(path, "just some notes\n"));
    const auto text = openModel(path, context);
    QVERIFY(!text && text.error().message().find("plain text") != std::string::npos);
    QVERIFY(!openModel(path.parent_path(), context));
    QVERIFY(!openModel(path.parent_path() / "nothing.onnx", context));
}

void tst_onnx_importer::weightsKnowWhereTheyLie_data() {
    QTest::addColumn<int>("nameLength");
    for (int length = 1; length <= 4; ++length) // one of them puts the floats at a multiple of four
        QTest::addRow("name of %d letters", length) << length;
}

void tst_onnx_importer::weightsKnowWhereTheyLie() {
    QFETCH(int, nameLength);
    // The fields of onnx.proto: graph = 7, initializer = 5, dims = 1, data_type = 2, name = 8, raw_data = 9, opset_import = 8.
    const auto varint = [](std::size_t value) {
        std::string out;
        for (; value >= 0x80; value >>= 7)
            out += static_cast<char>(value | 0x80);
        return out + static_cast<char>(value);
    };
    const auto message = [&](int field, const std::string& bytes) { return varint(static_cast<std::size_t>(field << 3 | 2)) + varint(bytes.size()) + bytes; };
    std::vector<float> elements(20'000); // 80,000 bytes: more than is copied at once
    for (std::size_t i = 0; i < elements.size(); ++i)
        elements[i] = static_cast<float>(i);
    const std::string raw(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float));
    const std::string tensor = "\x08" + varint(elements.size()) + "\x10\x01" + message(8, std::string(static_cast<std::size_t>(nameLength), 'w')) + message(9, raw);
    const std::string file = "\x08\x08" + message(7, message(2, "g") + message(5, tensor)) + message(8, "\x10\x11");
    QTemporaryDir temporary;
    const fs::path path = fs::path(temporary.path().toStdString()) / "m.onnx";
    QVERIFY(writeFile(path, file));

    const Model model = open(path);
    const Value* weight = find(model.graph, std::string(static_cast<std::size_t>(nameLength), 'w'));
    QVERIFY(weight && weight->constant);
    const auto place = filePlace(*weight->constant);
    QVERIFY(place.has_value());
    QCOMPARE(place->offset, file.find(raw));
    QCOMPARE(place->file->path(), path);
    const auto data = weight->constant->data<float>();
    QVERIFY(std::equal(elements.begin(), elements.end(), data.begin(), data.end()));
    QCOMPARE(filePlace(*weight->constant)->offset, place->offset); // also after the elements were looked at
    QVERIFY(!filePlace(Tensor::scalar(1.0F)));
    QVERIFY(!filePlace(Tensor()));
}

void tst_onnx_importer::tensorsInAFileKnowTheirPlace_data() {
    QTest::addColumn<int>("offset");
    QTest::newRow("aligned: a view") << 8;
    QTest::newRow("unaligned: copied when read") << 5;
}

void tst_onnx_importer::tensorsInAFileKnowTheirPlace() {
    QFETCH(int, offset);
    const auto at = static_cast<std::size_t>(offset);
    QTemporaryDir temporary;
    const fs::path path = fs::path(temporary.path().toStdString()) / "weights.bin";
    const float elements[] = {1.5F, -2.0F, 0.25F, 3.0F};
    std::string bytes(at, 'x');
    bytes.append(reinterpret_cast<const char*>(elements), sizeof elements);
    QVERIFY(writeFile(path, bytes));
    Tensor tensor;
    {
        const auto file = MappedFile::open(path);
        QVERIFY(file.has_value());
        tensor = tensorInFile(DType::Float32, {2, 2}, *file, at);
    }
    for (const Tensor& each : {tensor, tensor.reshaped({4})}) {
        const auto place = filePlace(each);
        QVERIFY(place.has_value());
        QCOMPARE(place->offset, at);
        QCOMPARE(place->file->path(), path);
        QVERIFY(std::equal(std::begin(elements), std::end(elements), each.data<float>().begin()));
    }
    const auto copy = tensor.clone();
    QVERIFY(copy.has_value() && !filePlace(*copy));
}

QTEST_GUILESS_MAIN(tst_onnx_importer)
#include "tst_onnx_importer.moc"
