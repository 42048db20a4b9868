// Arrays and test-data files written by NumPy and ONNX (tests/data/values/make_values.py) read as what they are.
#include <QTemporaryDir>
#include <QTest>

#include "engine/base/write_file.h"
#include "engine/importers/importer.h"
#include "engine/importers/onnx/tensor_file.h"
#include "engine/importers/values/npz.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

fs::path dataFile(const char* name) { return fs::path(NABLA_TEST_DATA) / "values" / name; }

template <typename T> T must(Result<T> result) {
    if (!result)
        qFatal("%s", result.error().message().c_str());
    return *std::move(result);
}

std::vector<std::string> texts(const Tensor& tensor) {
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        out.push_back(tensor.dtype() == DType::String ? tensor.data<std::string>()[static_cast<std::size_t>(i)] : tensor.asText(i));
    return out;
}

} // namespace

class tst_values : public QObject {
    Q_OBJECT
private slots:
    void everyNumpyTypeIsRead_data();
    void everyNumpyTypeIsRead();
    void singleArray();
    void writtenArchiveReadsBack();
    void typesWithoutNumpyCounterpartAreWidened();
    void hostileArchivesAreRefused_data();
    void hostileArchivesAreRefused();
    void testDataFiles();
    void valueFileWrittenReadsBack();
    void typedFieldsOfEveryType();
};

void tst_values::everyNumpyTypeIsRead_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("stored") << "stored.npz";
    QTest::newRow("deflated") << "deflated.npz";
}

void tst_values::everyNumpyTypeIsRead() {
    QFETCH(const QString, file);
    const NamedTensors all = must(readNpz(dataFile(qPrintable(file))));
    QCOMPARE(all.size(), 20U);
    for (const char* type : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"}) {
        const Tensor& tensor = all.at(type);
        QCOMPARE(tensor.dtype(), dtypeFromName(type));
        QCOMPARE(tensor.shape(), (Shape{2, 3}));
        for (std::int64_t i = 0; i < 6; ++i)
            QCOMPARE(tensor.asDouble(i), static_cast<double>(i));
    }
    for (std::int64_t i = 0; i < 6; ++i) {
        QCOMPARE(all.at("bool").asInt64(i), i % 2);
        QCOMPARE(all.at("complex64").data<std::complex<float>>()[static_cast<std::size_t>(i)], std::complex<float>(static_cast<float>(i), static_cast<float>(10 + i)));
        QCOMPARE(all.at("complex128").data<std::complex<double>>()[static_cast<std::size_t>(i)], std::complex<double>(static_cast<double>(i), static_cast<double>(-i)));
        QCOMPARE(all.at("fortran").asDouble(i), static_cast<double>(i));
        QCOMPARE(all.at("big_endian").asDouble(i), static_cast<double>(i));
    }
    QCOMPARE(texts(all.at("unicode")), (std::vector<std::string>{"a", "é中", "😀"}));
    QCOMPARE(texts(all.at("bytes")), (std::vector<std::string>{"ab", "", "xyz"}));
    QCOMPARE(all.at("scalar").rank(), 0U);
    QCOMPARE(all.at("scalar").asDouble(0), 2.5);
    QCOMPARE(all.at("empty").shape(), (Shape{0, 4}));
}

void tst_values::singleArray() {
    const NamedTensors all = must(readNpz(dataFile("single.npy")));
    QCOMPARE(all.size(), 1U);
    QCOMPARE(all.at("single").asDouble(5), 5.0);
}

void tst_values::writtenArchiveReadsBack() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "out.npz";
    NamedTensors all = must(readNpz(dataFile("stored.npz")));
    QVERIFY(writeNpz(path, all));
    const NamedTensors again = must(readNpz(path));
    QCOMPARE(again.size(), all.size());
    for (const auto& [name, tensor] : all) {
        QCOMPARE(again.at(name).dtype(), tensor.dtype());
        QCOMPARE(again.at(name).shape(), tensor.shape());
        QCOMPARE(texts(again.at(name)), texts(tensor));
    }
    QVERIFY(writeNpz(path, {}));
    QVERIFY(must(readNpz(path)).empty());
}

void tst_values::typesWithoutNumpyCounterpartAreWidened() {
    const auto roundTrip = [](const Tensor& tensor) {
        const std::string bytes = must(formatNpy(tensor));
        return must(readNpy(std::as_bytes(std::span(bytes))));
    };
    const Tensor bf16 = roundTrip(must(castTensor(Tensor::of<float>({2}, {1.5F, -2.0F}), DType::BFloat16)));
    QCOMPARE(bf16.dtype(), DType::Float32);
    QCOMPARE(texts(bf16), (std::vector<std::string>{"1.5", "-2"}));
    const Tensor int4 = roundTrip(must(castTensor(Tensor::of<float>({3}, {1.0F, -2.0F, 7.0F}), DType::Int4)));
    QCOMPARE(int4.dtype(), DType::Int8);
    QCOMPARE(int4.shape(), Shape{3});
    QCOMPARE(texts(int4), (std::vector<std::string>{"1", "-2", "7"}));
}

void tst_values::hostileArchivesAreRefused_data() {
    QTest::addColumn<QString>("word");
    QTest::newRow("bad_truncated.npz") << "npz";
    QTest::newRow("bad_object.npy") << "object";
    QTest::newRow("bad_huge_shape.npz") << "needs";
    QTest::newRow("bad_negative.npz") << "negative";
    QTest::newRow("bad_not_npy.npz") << "readme.txt";
    QTest::newRow("bad_checksum.npz") << "checksum";
    QTest::newRow("tensor.pb") << "neither";
}

void tst_values::hostileArchivesAreRefused() {
    QFETCH(const QString, word);
    const auto read = readNpz(dataFile(QTest::currentDataTag()));
    QVERIFY(!read);
    QVERIFY2(QString::fromStdString(read.error().message()).contains(word), read.error().message().c_str());
}

void tst_values::testDataFiles() {
    const ValueType floats = ValueType::tensor(DType::Float32);
    const RuntimeValue tensor = must(readValueFile(dataFile("tensor.pb"), floats));
    QCOMPARE(texts(tensor.tensor()), (std::vector<std::string>{"1.5", "-2"}));
    const RuntimeValue sequence = must(readValueFile(dataFile("sequence.pb"), ValueType::sequence(floats)));
    QCOMPARE(sequence.sequence()->elements.size(), 2U);
    QCOMPARE(sequence.sequence()->elements[1].tensor().asDouble(0), 1.5);
    const RuntimeValue nested = must(readValueFile(dataFile("sequence_of_sequences.pb"), ValueType::sequence(ValueType::sequence(ValueType::tensor(DType::Int64)))));
    QCOMPARE(nested.sequence()->elements[0].sequence()->elements[0].tensor().asInt64(0), 7);
    const RuntimeValue optional = must(readValueFile(dataFile("optional_tensor.pb"), ValueType::optionalOf(floats)));
    QVERIFY(optional.optional()->hasValue);
    QCOMPARE(optional.optional()->value.tensor().asDouble(1), -2.0);
    QVERIFY(!must(readValueFile(dataFile("optional_none.pb"), ValueType::optionalOf(floats))).optional()->hasValue);
    QVERIFY(!readValueFile(dataFile("single.npy"), floats));
}

void tst_values::valueFileWrittenReadsBack() {
    QTemporaryDir folder;
    const fs::path path = fs::path(folder.path().toStdString()) / "t.pb";
    const RuntimeValue tensor(Tensor::of<std::string>({2}, {"a", "b"}));
    QVERIFY(writeFile(path, valueBytes(tensor, "t")));
    QCOMPARE(texts(must(readValueFile(path, ValueType::tensor(DType::String))).tensor()), (std::vector<std::string>{"a", "b"}));
    auto sequence = std::make_shared<RuntimeSequence>();
    sequence->elements = {tensor, tensor};
    QVERIFY(writeFile(path, valueBytes(RuntimeValue(std::shared_ptr<const RuntimeSequence>(sequence)), "s")));
    QCOMPARE(must(readValueFile(path, ValueType::sequence({}))).sequence()->elements.size(), 2U);
    // onnx.proto: SequenceProto.name = 1, elem_type = 2 with TENSOR = 1; the onnx package reads nothing where elem_type is missing.
    QCOMPARE(valueBytes(RuntimeValue(std::shared_ptr<const RuntimeSequence>(sequence)), "s").substr(0, 5), std::string("\x0a\x01s\x10\x01"));
    auto optional = std::make_shared<RuntimeOptional>(RuntimeOptional{RuntimeValue(std::shared_ptr<const RuntimeSequence>(sequence)), true});
    const std::string optionalBytes = valueBytes(RuntimeValue(std::shared_ptr<const RuntimeOptional>(optional)), {});
    QCOMPARE(optionalBytes.substr(0, 3), std::string("\x10\x03\x2a")); // OptionalProto: elem_type = 2 with SEQUENCE = 3, sequence_value = 5
    ValueType mapType;
    mapType.kind = ValueType::Kind::Map;
    const RuntimeValue map(std::make_shared<const RuntimeMap>(RuntimeMap{Tensor::of<std::string>({2}, {"no", "yes"}), Tensor::of<float>({2}, {0.25F, 0.75F})}));
    QVERIFY(writeFile(path, valueBytes(map, "m")));
    const RuntimeValue read = must(readValueFile(path, mapType));
    QCOMPARE(previewText(read), std::string("{no: 0.25, yes: 0.75}"));
    auto maps = std::make_shared<RuntimeSequence>();
    maps->elements = {map, map, map};
    QCOMPARE(previewText(RuntimeValue(std::shared_ptr<const RuntimeSequence>(maps)), 2), std::string("[{no: 0.25, yes: 0.75}, {no: 0.25, yes: 0.75}, … 3 in all]"));
}

/// float_data, int32_data, … as onnx.helper.make_tensor fills them: every type holds 0, 1, 2, 3.
void tst_values::typedFieldsOfEveryType() {
    ImportContext context;
    const Model model = must(openModel(dataFile("typed_fields.onnx"), context));
    int seen = 0;
    model.graph.forEachValue([&](const Value& value) {
        if (!value.constant)
            return;
        ++seen;
        const Tensor& tensor = *value.constant;
        QCOMPARE(tensor.shape(), Shape{4});
        if (tensor.dtype() == DType::Float8E8M0) // holds powers of two only: 0 becomes the smallest, 3 rounds
            return;
        for (std::int64_t i = 0; i < 4; ++i) {
            const double expected = tensor.dtype() == DType::Bool ? static_cast<double>(i != 0) : static_cast<double>(i);
            if (tensor.dtype() == DType::String)
                QCOMPARE(texts(tensor)[static_cast<std::size_t>(i)], std::to_string(i));
            else
                QVERIFY2(tensor.asDouble(i) == expected, value.name.c_str());
        }
    });
    QCOMPARE(seen, 25); // all but the 2-bit integers and complex128
}

QTEST_GUILESS_MAIN(tst_values)
#include "tst_values.moc"
