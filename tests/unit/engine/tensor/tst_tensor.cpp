// Element types, casts and storage: against ml_dtypes and NumPy (tests/data/dtypes/make_dtypes.py) and closed forms.
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <nlohmann/json.hpp>

#include <QFile>
#include <QTest>

#include "engine/tensor/element.h"
#include "engine/tensor/half_range.h"
#include "engine/tensor/tensor.h"

using namespace nabla::engine;

namespace {

const nlohmann::json& expected() {
    static const nlohmann::json all = [] {
        QFile file(NABLA_TEST_DATA "/dtypes/casts.json");
        return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString()) : nlohmann::json();
    }();
    return all;
}

Tensor must(Result<Tensor> tensor) {
    if (!tensor)
        qFatal("%s", tensor.error().message().c_str());
    return *std::move(tensor);
}

std::uint32_t bitsAt(const Tensor& tensor, std::int64_t i) {
    const auto width = static_cast<std::size_t>(bitWidth(tensor.dtype()) / 8);
    std::uint32_t bits = 0;
    std::memcpy(&bits, tensor.raw() + i * static_cast<std::int64_t>(width), width);
    return bits;
}

} // namespace

class tst_tensor : public QObject {
    Q_OBJECT
private slots:
    /// IEEE 754 binary16 and the upper half of binary32: the ends, one step inside them, and what is no number.
    void endsOfHalfTypesAreCounted_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("largest");
        QTest::addColumn<double>("normal");
        QTest::addColumn<double>("smallest");
        QTest::newRow("float16") << static_cast<int>(DType::Float16) << 65504.0 << std::ldexp(1, -14) << std::ldexp(1, -24);
        QTest::newRow("bfloat16") << static_cast<int>(DType::BFloat16) << std::ldexp(255, 120) << std::ldexp(1, -126) << std::ldexp(1, -133);
    }
    void endsOfHalfTypesAreCounted() {
        QFETCH(int, type);
        QFETCH(double, largest);
        QFETCH(double, normal);
        QFETCH(double, smallest);
        const DType dtype = static_cast<DType>(type);
        QCOMPARE(halfRange(dtype)->largest, largest);
        QCOMPARE(halfRange(dtype)->smallestNormal, normal);
        const double values[] = {largest, -largest, largest / 2, normal, -normal, normal / 2, smallest, 0, -0.0, HUGE_VAL, std::nan("")};
        Tensor t = *Tensor::make(dtype, {std::ssize(values)});
        for (std::int64_t i = 0; i < t.elementCount(); ++i)
            writeDouble(dtype, t.mutableRaw(), i, values[i]);
        const HalfCounts counts = halfCounts(t);
        QCOMPARE(counts.count, std::int64_t{11});
        QCOMPARE(counts.saturated, std::int64_t{2});
        QCOMPARE(counts.subnormal, std::int64_t{2});
        QVERIFY(!halfRange(DType::Float32) && halfCounts(Tensor::of<float>({1}, {1e-40F})).subnormal == 0);
    }

    void castsAgree_data() { listTypes("casts"); }
    void castsAgree();
    void codesDecode_data() { listTypes("codes"); }
    void codesDecode();
    void wholeNumbersPastDoubleStayExact();
    void floatsTruncateAndSaturateToIntegers();
    void packedTypesKeepLowBitsFirst();
    void sixBitFloatsFillThreeBytesWithFour();
    void powersOfTwoWithoutSaturationHaveNoZero();
    void tooLargeIsRefusedBeforeAllocation();
    void shapesThatOverflowAreRefused();
    void broadcasting_data();
    void broadcasting();
    void lazyElementsAreFilledOnce();

private:
    static void listTypes(const char* section) {
        QTest::addColumn<QString>("type");
        for (const auto& [name, values] : expected().at(section).items())
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
};

void tst_tensor::castsAgree() {
    QFETCH(const QString, type);
    std::vector<float> inputs;
    for (const auto& bits : expected().at("float32_bits"))
        inputs.push_back(std::bit_cast<float>(bits.get<std::uint32_t>()));
    const DType to = dtypeFromName(type.toStdString());
    QVERIFY(to != DType::Undefined);
    const Tensor cast = must(castTensor(Tensor::of<float>({static_cast<std::int64_t>(inputs.size())}, inputs), to, false));
    const auto& want = expected().at("casts").at(type.toStdString());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        if (std::isnan(cast.asDouble(at))) // which of several NaN codes is free
            QVERIFY(std::isnan(inputs[i]) || std::isnan(readDouble(to, reinterpret_cast<const std::byte*>(std::array{want[i].get<std::uint32_t>()}.data()), 0)));
        else
            QVERIFY2(bitsAt(cast, at) == want[i].get<std::uint32_t>(), qPrintable(QString("%1: %2 instead of %3").arg(static_cast<double>(inputs[i])).arg(bitsAt(cast, at), 0, 16).arg(want[i].get<std::uint32_t>(), 0, 16)));
    }
}

void tst_tensor::codesDecode() {
    QFETCH(const QString, type);
    const DType dtype = dtypeFromName(type.toStdString());
    const auto& want = expected().at("codes").at(type.toStdString());
    for (unsigned code = 0; code < 256; ++code) {
        const std::byte byte{static_cast<unsigned char>(code)};
        const double value = readDouble(dtype, &byte, 0);
        if (want[code].is_null())
            QVERIFY2(std::isnan(value), qPrintable(QString::number(code, 16)));
        else
            QVERIFY2(std::bit_cast<std::uint32_t>(static_cast<float>(value)) == want[code].get<std::uint32_t>(), qPrintable(QString::number(code, 16)));
    }
}

void tst_tensor::wholeNumbersPastDoubleStayExact() {
    const Tensor t = Tensor::of<std::int64_t>({3}, {9007199254740993, std::numeric_limits<std::int64_t>::min(), -1});
    QCOMPARE(t.asText(0), std::string("9007199254740993")); // 2^53 + 1 is no double
    QCOMPARE(t.asText(1), std::string("-9223372036854775808"));
    QCOMPARE(must(castTensor(t, DType::String)).data<std::string>()[0], std::string("9007199254740993"));
    QCOMPARE(must(castTensor(must(castTensor(t, DType::String)), DType::Int64)).toInt64s(), t.toInt64s());
    QCOMPARE(Tensor::scalar<std::uint64_t>(18446744073709551615ULL).asText(0), std::string("18446744073709551615"));
}

void tst_tensor::floatsTruncateAndSaturateToIntegers() {
    const Tensor t = Tensor::of<float>({4}, {2.9F, -2.9F, 0.0F, 0.5F});
    QCOMPARE(must(castTensor(t, DType::Int32)).toInt64s(), (std::vector<std::int64_t>{2, -2, 0, 0}));
    QCOMPARE(must(castTensor(t, DType::Bool)).toInt64s(), (std::vector<std::int64_t>{1, 1, 0, 1}));
}

void tst_tensor::packedTypesKeepLowBitsFirst() {
    Tensor t = must(Tensor::make(DType::UInt4, {3}));
    QCOMPARE(t.bytes(), 2);
    for (std::int64_t i = 0; i < 3; ++i)
        writeInt64(DType::UInt4, t.mutableRaw(), i, i + 1);
    QCOMPARE(std::to_integer<int>(t.raw()[0]), 0x21);
    QCOMPARE(std::to_integer<int>(t.raw()[1]), 0x03);
    Tensor s = must(Tensor::make(DType::Int2, {4}));
    for (std::int64_t i = 0; i < 4; ++i)
        writeInt64(DType::Int2, s.mutableRaw(), i, i - 2);
    QCOMPARE(s.toInt64s(), (std::vector<std::int64_t>{-2, -1, 0, 1}));
    QCOMPARE(std::to_integer<int>(s.raw()[0]), 0b01'00'11'10);
}

/// onnx.proto of raw_data: byte0 = x0 | ((x1 & 0x3) << 6); byte1 = (x1 >> 2) | ((x2 & 0xF) << 4); byte2 = (x2 >> 4) | (x3 << 2).
void tst_tensor::sixBitFloatsFillThreeBytesWithFour() {
    Tensor t = must(Tensor::make(DType::Float6E3M2, {5}));
    QCOMPARE(t.bytes(), 4);
    const std::vector<double> values{0.0625, -28, 3, -0.5, 20}; // codes 0x01 0x3f 0x12 0x28 0x1d (OCP MX v1.0, E3M2: bias 3)
    for (std::int64_t i = 0; i < 5; ++i)
        writeDouble(DType::Float6E3M2, t.mutableRaw(), i, values[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < 5; ++i)
        QCOMPARE(t.asDouble(i), values[static_cast<std::size_t>(i)]);
    QCOMPARE(std::to_integer<int>(t.raw()[0]), 0x01 | (0x3f & 0x3) << 6);
    QCOMPARE(std::to_integer<int>(t.raw()[1]), 0x3f >> 2 | (0x12 & 0xf) << 4);
    QCOMPARE(std::to_integer<int>(t.raw()[2]), 0x12 >> 4 | 0x28 << 2);
    QCOMPARE(std::to_integer<int>(t.raw()[3]), 0x1d);
    QCOMPARE(must(castTensor(Tensor::of<float>({3}, {1e9F, -1e9F, 0.01F}), DType::Float6E2M3)).asDouble(1), -7.5); // the largest, as there is no infinity
}

/// The table of Cast-28 for float8e8m0 without saturation.
void tst_tensor::powersOfTwoWithoutSaturationHaveNoZero() {
    Tensor t = must(Tensor::make(DType::Float8E8M0, {1}));
    for (const double value : {0.0, 1e-60, 1e60}) {
        writeDouble(DType::Float8E8M0, t.mutableRaw(), 0, value, false);
        QVERIFY(std::isnan(t.asDouble(0)));
        writeDouble(DType::Float8E8M0, t.mutableRaw(), 0, value, true);
        QCOMPARE(t.asDouble(0), std::ldexp(1.0, value > 1 ? 127 : -127));
    }
}

void tst_tensor::tooLargeIsRefusedBeforeAllocation() {
    const auto huge = Tensor::make(DType::Float32, {std::int64_t{1} << 40});
    QVERIFY(!huge);
    QVERIFY(huge.error().message().find("too large") != std::string::npos);
}

void tst_tensor::shapesThatOverflowAreRefused() {
    QVERIFY(!checkShape(Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}));
    QVERIFY(!checkShape(Shape{2, -1}));
    QVERIFY(checkShape(Shape{0, std::int64_t{1} << 40}));
    // Empty, but the product of the other dimensions (as of an outer or inner run) would overflow.
    const Shape huge{std::int64_t{1} << 62, std::int64_t{1} << 62, 0};
    QVERIFY(!checkShape(huge));
    QCOMPARE(elementCount(huge), std::int64_t{0});
    QCOMPARE(elementCount(ShapeView(huge).first(2)), std::numeric_limits<std::int64_t>::max());
    QCOMPARE(storageBytes(DType::Complex128, std::int64_t{1} << 62), std::numeric_limits<std::int64_t>::max());
    QCOMPARE(storageBytes(DType::UInt4, std::numeric_limits<std::int64_t>::max()), std::int64_t{1} << 62);
    QCOMPARE(rowMajorStrides(Shape{1, std::int64_t{1} << 62, 4}), (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 4, 1}));
    QVERIFY(!normalizeAxis(std::numeric_limits<std::int64_t>::min(), 3));
    QCOMPARE(*normalizeAxis(-1, 3), 2);
}

void tst_tensor::broadcasting_data() {
    QTest::addColumn<QString>("a");
    QTest::addColumn<QString>("b");
    QTest::addColumn<QString>("out");
    // ONNX Broadcasting.md
    QTest::newRow("scalar") << "2,3,4,5" << "" << "[2,3,4,5]";
    QTest::newRow("suffix") << "2,3,4,5" << "4,5" << "[2,3,4,5]";
    QTest::newRow("both") << "4,5" << "2,3,4,5" << "[2,3,4,5]";
    QTest::newRow("ones") << "1,4,5" << "2,3,1,1" << "[2,3,4,5]";
    QTest::newRow("empty") << "0,3" << "1,3" << "[0,3]";
    QTest::newRow("clash") << "2,3" << "3,2" << "";
}

void tst_tensor::broadcasting() {
    QFETCH(const QString, a);
    QFETCH(const QString, b);
    QFETCH(const QString, out);
    const auto shape = [](const QString& text) {
        Shape s;
        for (const QString& part : text.split(',', Qt::SkipEmptyParts))
            s.push_back(part.toLongLong());
        return s;
    };
    const auto result = broadcastShapes(shape(a), shape(b));
    QCOMPARE(result.has_value() ? QString::fromStdString(toString(*result)) : QString(), out);
}

void tst_tensor::lazyElementsAreFilledOnce() {
    std::atomic<int> fills = 0;
    const Tensor t = Tensor::lazy(DType::Int32, {2}, [&](std::byte* out) {
        const std::int32_t values[] = {5, 6};
        std::memcpy(out, values, sizeof values);
        ++fills;
    });
    QCOMPARE(fills.load(), 0);
    const Tensor copy = t.reshaped({1, 2});
    {
        std::jthread other([&] { QCOMPARE(copy.asInt64(1), 6); });
        QCOMPARE(t.asInt64(0), 5);
    }
    QCOMPARE(fills.load(), 1);
    QCOMPARE(copy.raw(), t.raw());
}

QTEST_GUILESS_MAIN(tst_tensor)
#include "tst_tensor.moc"
