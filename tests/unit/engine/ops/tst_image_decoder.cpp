// ImageDecoder on broken and hostile files: cut at any length and with any byte changed, every format ends in an image, an empty image or an
// error; a size that a few bytes claim is refused before it is allocated. The files are those of tests/data/vision.
#include <QtTest>

#include <filesystem>

#include "engine/importers/onnx/tensor_file.h"
#include "engine/ops/op_def.h"

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

struct Run {
    Result<void> result;
    Tensor image;
};

Run decode(const std::vector<std::uint8_t>& bytes, const char* format = "RGB") {
    Node node;
    node.opType = "ImageDecoder";
    node.inputs.push_back({1});
    node.outputs.push_back({2});
    node.attributes.push_back({"pixel_format", std::string(format)});
    const std::vector<RuntimeValue> in{Tensor::of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())}, bytes)};
    std::vector<RuntimeValue> out(1);
    KernelContext context(node, newestOpset(""), in, out);
    Run run{findOp("ImageDecoder", "")->run.run()(context), {}};
    if (run.result)
        run.image = out[0].tensor();
    return run;
}

std::vector<std::uint8_t> fileOf(const std::string& name) {
    const auto value = readValueFile(NABLA_TEST_DATA "/vision/" + name + "/test_data_set_0/input_0.pb", {});
    if (!value)
        return {};
    const auto data = value->tensor().data<std::uint8_t>();
    return {data.begin(), data.end()};
}

} // namespace

class ImageDecoderTest : public QObject {
    Q_OBJECT
private slots:
    void everyPrefixAndChangedByteEnds_data();
    void everyPrefixAndChangedByteEnds();
    void claimedSizeIsRefused_data();
    void claimedSizeIsRefused();
    void unknownBytesGiveAnEmptyImage();
    void channelsAreOrderedAsAsked();
};

void ImageDecoderTest::everyPrefixAndChangedByteEnds_data() {
    QTest::addColumn<QString>("name");
    for (const auto& entry : fs::directory_iterator(NABLA_TEST_DATA "/vision")) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("image_"))
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
}
void ImageDecoderTest::everyPrefixAndChangedByteEnds() {
    QFETCH(QString, name);
    const std::vector<std::uint8_t> file = fileOf(name.toStdString());
    QVERIFY(!file.empty());
    const auto fine = [](const Run& run) { return !run.result || (run.image.dtype() == DType::UInt8 && run.image.rank() == 3 && run.image.dim(2) == 3); };
    const std::size_t step = std::max<std::size_t>(1, file.size() / 300); // some hundred of each are enough
    for (std::size_t i = 0; i < file.size(); i += i < 100 ? 1 : step) {
        QVERIFY(fine(decode({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(i)})));
        for (const int value : {0, 255, file[i] ^ 1}) {
            std::vector<std::uint8_t> changed = file;
            changed[i] = static_cast<std::uint8_t>(value);
            if (value == 255 && i < 64 && name.contains("tiff"))
                continue; // a size of millions is allowed, and slow to fill
            QVERIFY(fine(decode(changed)));
        }
    }
}

void ImageDecoderTest::claimedSizeIsRefused_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("ppm") << QByteArray("P6 100000 100000 255\nxyz");
    QTest::newRow("pam") << QByteArray("P7\nWIDTH 99999\nHEIGHT 99999\nDEPTH 3\nMAXVAL 255\nENDHDR\nxyz");
    QByteArray bmp("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\0\x18\0", 30);
    bmp.append(QByteArray(24, 0));
    QTest::newRow("bmp") << bmp;
    // The signature and a header chunk of 60000 x 60000 RGB, with its checksum (zlib.crc32 of Python).
    QTest::newRow("png") << QByteArray::fromHex("89504e470d0a1a0a0000000d494844520000ea600000ea600802000000") + QByteArray::fromHex("0fb0e215") + QByteArray::fromHex("0000000049444154") + QByteArray::fromHex("35af061e");
    // SIZ of 65535 x 65535 in one tile, one component of 8 bits.
    QTest::newRow("jpeg2000") << QByteArray::fromHex("ff4fff51002900000000ffff0000ffff00000000000000000000ffff0000ffff00000000000000000001070101ff52");
}
void ImageDecoderTest::claimedSizeIsRefused() {
    QFETCH(QByteArray, bytes);
    const Run run = decode({bytes.begin(), bytes.end()});
    QVERIFY(!run.result);
    QVERIFY2(run.result.error().message().find("is refused: at most 178956970") != std::string::npos, run.result.error().message().c_str());
}

/// "If it can't decode for any reason … it will return an empty matrix" (ONNX Operators.md, ImageDecoder-20).
void ImageDecoderTest::unknownBytesGiveAnEmptyImage() {
    for (const char* format : {"RGB", "BGR", "Grayscale"}) {
        for (const std::vector<std::uint8_t>& bytes : {std::vector<std::uint8_t>{}, {1, 2, 3}, {'P', '6'}, {0xff, 0xd8, 0xff}}) {
            const Run run = decode(bytes, format);
            QVERIFY(run.result.has_value());
            QCOMPARE(run.image.elementCount(), std::int64_t(0));
        }
    }
    QVERIFY(!decode({1, 2, 3}, "RGBA").result);
}

/// One pixel of (10, 20, 30); gray: (10 * 19595 + 20 * 38470 + 30 * 7471 + 32768) / 65536 = 18.65, cut.
void ImageDecoderTest::channelsAreOrderedAsAsked() {
    const std::vector<std::uint8_t> file{'P', '6', ' ', '1', ' ', '1', ' ', '2', '5', '5', '\n', 10, 20, 30};
    const auto pixel = [&](const char* format) {
        const Run run = decode(file, format);
        const auto data = run.image.data<std::uint8_t>();
        return std::vector<std::uint8_t>(data.begin(), data.end());
    };
    QCOMPARE(pixel("RGB"), (std::vector<std::uint8_t>{10, 20, 30}));
    QCOMPARE(pixel("BGR"), (std::vector<std::uint8_t>{30, 20, 10}));
    QCOMPARE(pixel("Grayscale"), (std::vector<std::uint8_t>{18}));
}

QTEST_GUILESS_MAIN(ImageDecoderTest)
#include "tst_image_decoder.moc"
