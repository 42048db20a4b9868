// Scenes without a window: index, sizes, plain text, far raster, export.
#include <QBuffer>
#include <QGuiApplication>
#include <QPainter>
#include <QTest>
#include <QXmlStreamReader>

#include "canvas_scenes.h"
#include "layout_graphs.h"
#include "views/canvas/far_raster.h"
#include "views/canvas/plain_text.h"
#include "views/canvas/render_scene.h"
#include "views/canvas/scene_painter.h"

using namespace nabla::views;
using namespace nabla::views::test;

class TestScene : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void edgeWidthFollowsBytes_data();
    void edgeWidthFollowsBytes();
    void indexFindsWhatASearchFinds();
    void edgesAreFoundNearTheirCurve();
    void plainTextIsHarmless_data();
    void plainTextIsHarmless();
    void labelStandsBelowTheGroup();
    void tilesMeetWithoutSeams_data();
    void tilesMeetWithoutSeams();
    void nodesBelowAPixelAreOnePixel();
    void svgKeepsNamesAsText();
    void pngAndPdfAreWritten();
};

void TestScene::edgeWidthFollowsBytes_data() {
    // clamp(1 + 0.25 log2(bytes / 16 KiB), 1, 4): the design's formula at powers of two.
    QTest::addColumn<qint64>("bytes");
    QTest::addColumn<float>("width");
    QTest::newRow("unknown") << qint64(-1) << 1.0f;
    QTest::newRow("1 KiB") << qint64(1024) << 1.0f;
    QTest::newRow("16 KiB") << qint64(16 << 10) << 1.0f;
    QTest::newRow("256 KiB") << qint64(256 << 10) << 2.0f;
    QTest::newRow("64 MiB") << qint64(64 << 20) << 4.0f;
    QTest::newRow("1 TiB") << (qint64(1) << 40) << 4.0f;
}

void TestScene::edgeWidthFollowsBytes() {
    QFETCH(qint64, bytes);
    QFETCH(float, width);
    QCOMPARE(edgeWidth(bytes), width);
}

void TestScene::indexFindsWhatASearchFinds() {
    GraphScene s;
    const LayoutRequest r = irregularSkips(3000);
    s.nodes.resize(r.nodes.size());
    for (const LayoutEdge& e : r.edges) {
        SceneEdge edge;
        edge.from = e.from;
        edge.to = e.to;
        s.edges.push_back(edge);
    }
    place(s);
    const auto prepared = PreparedScene::make(std::move(s));
    SceneIndex::Scratch scratch;
    const GraphScene& scene = prepared->scene();
    for (int i = 0; i < 50; ++i) {
        const Box area{scene.bounds.width * static_cast<float>(i % 7) / 7,
            scene.bounds.height * static_cast<float>(i) / 50, 1500, 900};
        prepared->index().query(area, scratch);
        std::vector<int> expected;
        for (std::size_t n = 0; n < scene.nodes.size(); ++n) {
            const Box& b = scene.nodes[n].box;
            if (b.x <= area.right() && area.x <= b.right() && b.y <= area.bottom() && area.y <= b.bottom())
                expected.push_back(static_cast<int>(n));
        }
        QVERIFY(scratch.nodes == expected);
    }
    for (std::size_t n = 0; n < scene.nodes.size(); n += 97)
        QCOMPARE(prepared->index().nodeAt(scene.nodes[n].box.centre()), std::optional<int>(static_cast<int>(n)));
    std::size_t joined = 0;
    for (std::size_t n = 0; n < scene.nodes.size(); ++n) {
        for (const int e : prepared->index().edgesInto(static_cast<int>(n)))
            QCOMPARE(scene.edges[e].to, static_cast<int>(n));
        joined += prepared->index().edgesInto(static_cast<int>(n)).size();
    }
    QCOMPARE(joined, scene.edges.size());
}

void TestScene::edgesAreFoundNearTheirCurve() {
    const auto prepared = PreparedScene::make(resnetBlock());
    const auto points = prepared->scene().route(4);
    const Point middle{points[0].x, (points[0].y + points.back().y) / 2};
    QCOMPARE(prepared->index().edgeAt({middle.x + 2, middle.y}, 5), std::optional<int>(4));
    QVERIFY(!prepared->index().edgeAt({middle.x + 30, middle.y}, 5));
}

void TestScene::plainTextIsHarmless_data() {
    QTest::addColumn<QByteArray>("utf8");
    QTest::addColumn<QString>("text");
    QTest::newRow("plain") << QByteArray("conv1") << QStringLiteral("conv1");
    QTest::newRow("markup stays text") << QByteArray("<b>&amp;</b>") << QStringLiteral("<b>&amp;</b>");
    QTest::newRow("right-to-left override") << QByteArray("\u202Eabc") << QStringLiteral("\uFFFDabc");
    QTest::newRow("line ends") << QByteArray("a\nb\r\u2028c\t") << QStringLiteral("a\uFFFDb\uFFFD\uFFFDc\uFFFD");
    QTest::newRow("not UTF-8") << QByteArray("a\xff") << QStringLiteral("a\uFFFD");
    QTest::newRow("Chinese") << QByteArray("卷积") << QStringLiteral("卷积");
}

void TestScene::plainTextIsHarmless() {
    QFETCH(QByteArray, utf8);
    QFETCH(QString, text);
    QCOMPARE(plainText({utf8.constData(), static_cast<std::size_t>(utf8.size())}), text);
    const QString longText = plainText(std::string(500'000, 'a') + std::string(500'000, 'b'));
    QCOMPARE(longText.size(), kLongestText);
    QVERIFY(longText.startsWith(QStringLiteral("aaa")) && longText.endsWith(QStringLiteral("bbb")));
}

void TestScene::labelStandsBelowTheGroup() {
    const GraphScene s = resnetBlock();
    const Point label = labelAnchor(s, 10); // relu_1 leaves layer2.0
    QVERIFY(label.y - kLabelHeight / 2 > s.groups[0].box.bottom());
    QVERIFY(label.y + kLabelHeight / 2 < s.nodes[10].box.y);
    const Point first = labelAnchor(s, 0);
    QVERIFY(first.y - kLabelHeight / 2 > s.nodes[0].box.bottom());
    QVERIFY(first.y + kLabelHeight / 2 < s.groups[0].box.y);
}

void TestScene::tilesMeetWithoutSeams_data() {
    QTest::addColumn<double>("zoom");
    QTest::addColumn<double>("ratio");
    QTest::newRow("near") << 1.0 << 1.0;
    QTest::newRow("near, two device pixels") << 0.84 << 2.0;
    QTest::newRow("mid") << 0.42 << 1.0;
    QTest::newRow("far") << 0.15 << 1.0;
}

void TestScene::tilesMeetWithoutSeams() {
    QFETCH(double, zoom);
    QFETCH(double, ratio);
    const auto prepared = PreparedScene::make(resnetBlock());
    const Theme theme = Theme::load(ThemeKind::Light);
    const PaintContext context(*prepared, theme, QGuiApplication::font(), zoom, ratio);
    SceneIndex::Scratch scratch;
    const QImage whole = rasterScene({512, 512}, {0, 0}, context, scratch);
    for (int x = 0; x < 512; x += 128) {
        for (int y = 0; y < 512; y += 128) {
            const QImage part = rasterScene({128, 128}, {x, y}, context, scratch);
            const QImage expected = whole.copy(x, y, 128, 128);
            // Clipping a curve to the image may round one coverage value; a broken line would differ by far more.
            for (int py = 0; py < 128; ++py) {
                for (int px = 0; px < 128; ++px) {
                    const QColor a = part.pixelColor(px, py), b = expected.pixelColor(px, py);
                    const int away
                        = std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue());
                    QVERIFY2(away <= 48,
                        qPrintable(QStringLiteral("%1,%2 in tile %3,%4: %5").arg(px).arg(py).arg(x).arg(y).arg(away)));
                }
            }
        }
    }
}

void TestScene::nodesBelowAPixelAreOnePixel() {
    const auto prepared = PreparedScene::make(resnetBlock());
    const Theme theme = Theme::load(ThemeKind::Light);
    PaintContext context(*prepared, theme, QGuiApplication::font(), 0.001, 1);
    SceneIndex::Scratch scratch;
    const QImage image = rasterScene({4, 4}, {0, 0}, context, scratch);
    QVERIFY(image.pixelColor(0, 0) != theme.canvas);
    QCOMPARE(image.pixelColor(3, 3).rgb(), theme.canvas.rgb());
}

void TestScene::svgKeepsNamesAsText() {
    GraphScene s = resnetBlock();
    s.nodes[1].name = "a<b>&\"c";
    const auto prepared = PreparedScene::make(std::move(s));
    QBuffer buffer;
    QVERIFY(buffer.open(QIODevice::WriteOnly));
    QVERIFY(
        writePicture(buffer, PictureFormat::Svg, *prepared, Theme::load(ThemeKind::Light), QGuiApplication::font()));
    QXmlStreamReader xml(buffer.data());
    QStringList texts;
    while (!xml.atEnd()) {
        if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String("text"))
            texts << xml.readElementText().trimmed();
    }
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QVERIFY(texts.contains(QStringLiteral("a<b>&\"c")));
    QVERIFY(texts.contains(QStringLiteral("downsample.0")));
    QVERIFY(texts.contains(QStringLiteral("layer2.0")));
}

void TestScene::pngAndPdfAreWritten() {
    const auto prepared = PreparedScene::make(resnetBlock());
    const Theme theme = Theme::load(ThemeKind::Dark);
    QBuffer png;
    QVERIFY(png.open(QIODevice::WriteOnly));
    QVERIFY(writePicture(png, PictureFormat::Png, *prepared, theme, QGuiApplication::font()));
    const QImage image = QImage::fromData(png.data());
    QCOMPARE(image.size(), QSizeF(pictureSize(*prepared).width(), pictureSize(*prepared).height()).toSize());
    QCOMPARE(image.pixelColor(1, 1).rgb(), theme.canvas.rgb());
    QBuffer pdf;
    QVERIFY(pdf.open(QIODevice::WriteOnly));
    QVERIFY(writePicture(pdf, PictureFormat::Pdf, *prepared, theme, QGuiApplication::font()));
    QVERIFY(pdf.data().startsWith("%PDF-"));
    QBuffer closed;
    QVERIFY(!writePicture(closed, PictureFormat::Png, *prepared, theme, QGuiApplication::font()));
}

int main(int argc, char** argv) {
    QGuiApplication app(argc, argv); // no widgets, no window
    TestScene test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_scene.moc"
