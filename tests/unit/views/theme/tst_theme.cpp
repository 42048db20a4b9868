// Colours of the three themes: complete, and legible by the WCAG 2 formula; icons take the theme's colours.
#include <QApplication>
#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"
#include "views/theme/nabla_style.h"

using namespace nabla::views;

namespace {

struct Pair {
    const char* ink;
    const char* ground;
    double least;
    double ratio[3]; // light, dark, contrast: the design document's table, to one decimal
};
constexpr Pair kPairs[] = {
    {"text", "dock", 4.5, {16.7, 12.7, 21.0}},
    {"text", "canvas", 4.5, {15.5, 14.2, 21.0}},
    {"text", "selection", 4.5, {13.3, 9.1, 11.9}},
    {"text", "stepBg", 4.5, {15.3, 10.9, 15.3}},
    {"muted", "dock", 4.5, {6.9, 7.1, 16.0}},
    {"muted", "chrome", 4.5, {6.2, 7.4, 16.0}},
    {"muted", "group", 4.5, {6.0, 7.2, 15.1}},
    {"muted", "card", 4.5, {6.9, 6.3, 16.0}},
    {"muted", "selection", 4.5, {5.5, 5.0, 9.1}},
    {"muted", "removedBg", 4.5, {5.8, 5.9, 11.6}},
    {"onAccent", "accent", 4.5, {6.0, 7.6, 12.4}},
    {"accentText", "dock", 4.5, {6.9, 8.2, 12.4}},
    {"accentText", "selection", 4.5, {5.5, 5.8, 7.1}},
    {"fwd", "selection", 4.5, {4.6, 5.0, 6.2}},
    {"bwd", "selection", 4.5, {4.9, 4.8, 6.2}},
    {"ok", "selection", 4.5, {4.9, 5.7, 8.1}},
    {"error", "selection", 4.5, {5.2, 5.1, 6.1}},
    {"accentText", "errorBg", 4.5, {5.8, 7.1, 9.9}},
    {"stepText", "stepBg", 4.5, {6.2, 8.2, 9.7}},
    {"fwd", "fwdBg", 4.5, {4.9, 5.0, 8.4}},
    {"bwd", "bwdBg", 4.5, {5.2, 4.9, 8.5}},
    {"opt", "optBg", 4.5, {4.9, 6.2, 11.2}},
    {"added", "dock", 4.5, {5.9, 7.0, 10.8}},
    {"removed", "group", 4.5, {4.6, 7.7, 11.2}},
    {"changed", "dock", 4.5, {10.1, 11.3, 17.7}},
    {"vanish", "dock", 4.5, {5.2, 6.0, 11.2}},
    {"explode", "dock", 4.5, {4.8, 6.5, 10.5}},
    {"nan", "dock", 4.5, {6.6, 10.0, 7.1}},
    {"ok", "dock", 4.5, {6.1, 8.0, 14.3}},
    {"warning", "dock", 4.5, {5.9, 8.9, 14.8}},
    {"error", "dock", 4.5, {6.5, 7.1, 10.7}},
    {"borderStrong", "dock", 3, {3.6, 4.2, 21.0}},
    {"borderStrong", "canvas", 3, {3.3, 4.7, 21.0}},
    {"focus", "dock", 3, {6.0, 6.5, 16.5}},
    {"edge", "canvas", 3, {3.6, 3.8, 13.4}},
    {"edge", "group", 3, {3.4, 3.5, 12.6}},
    {"step", "stepBg", 3, {3.8, 7.2, 9.7}},
    {"dead", "dock", 3, {4.2, 5.8, 12.6}},
};

QJsonObject tokens() {
    (void)Theme::load(ThemeKind::Light); // registers the resources
    QFile file(QStringLiteral(":/nablascope/tokens.json"));
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

constexpr const char* kNames[] = {"light", "dark", "contrast"};
constexpr ThemeKind kKinds[] = {ThemeKind::Light, ThemeKind::Dark, ThemeKind::Contrast};

} // namespace

class TestTheme : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pairsKeepTheirContrast_data();
    void pairsKeepTheirContrast();
    void kindsStandOutFromTheCard();
    void inkOnTilesIsLegible();
    void rampsGetSteadilyDarkerOrLighter();
    void rampsClampAndMarkNan();
    void missingTokenIsNamed();
    void contrastFormulaMatchesTheStandard();
    void operatorsHaveKinds_data();
    void operatorsHaveKinds();
    void iconsTakeTheThemesColour();
    void everyIconRenders();
    void styleSheetHasNoOpenNames();
    void darkIsRecognised();
};

void TestTheme::pairsKeepTheirContrast_data() {
    QTest::addColumn<int>("pair");
    for (std::size_t i = 0; i < std::size(kPairs); ++i)
        QTest::addRow("%s on %s", kPairs[i].ink, kPairs[i].ground) << static_cast<int>(i);
}

void TestTheme::pairsKeepTheirContrast() {
    QFETCH(int, pair);
    const Pair& p = kPairs[pair];
    const QJsonObject themes = tokens()["themes"].toObject();
    for (int k = 0; k < 3; ++k) {
        const QJsonObject t = themes[kNames[k]].toObject();
        const double ratio = contrastRatio(QColor(t[p.ink].toString()), QColor(t[p.ground].toString()));
        QVERIFY2(ratio >= p.least, qPrintable(QStringLiteral("%1: %2").arg(kNames[k]).arg(ratio)));
        QVERIFY2(std::abs(ratio - p.ratio[k]) <= 0.051, qPrintable(QStringLiteral("%1: %2").arg(kNames[k]).arg(ratio)));
    }
}

void TestTheme::kindsStandOutFromTheCard() {
    for (const ThemeKind kind : kKinds) {
        const Theme t = Theme::load(kind);
        for (int k = 0; k < kOperatorKindCount; ++k)
            QVERIFY(contrastRatio(t.strip(static_cast<OperatorKind>(k)), t.card) >= 3);
    }
}

void TestTheme::inkOnTilesIsLegible() {
    for (const ThemeKind kind : kKinds) {
        const Theme t = Theme::load(kind);
        for (int k = 0; k < kOperatorKindCount; ++k) {
            const auto kindOf = static_cast<OperatorKind>(k);
            QVERIFY(contrastRatio(t.inkOn(t.colour(kindOf)), t.colour(kindOf)) >= 4.45); // the table says 4.5, rounded
            QVERIFY(contrastRatio(t.inkOn(t.slice(kindOf)), t.slice(kindOf)) >= 4.5);
        }
    }
}

void TestTheme::rampsGetSteadilyDarkerOrLighter() {
    for (const ThemeKind kind : kKinds) {
        const Theme t = Theme::load(kind);
        const bool darker = kind == ThemeKind::Light;
        for (std::size_t i = 1; i < t.heat.size(); ++i) {
            const double before = contrastRatio(t.heat[i - 1], Qt::black), now = contrastRatio(t.heat[i], Qt::black);
            QVERIFY(darker ? now < before : now > before);
        }
    }
}

void TestTheme::rampsClampAndMarkNan() {
    const Theme t = Theme::load(ThemeKind::Light);
    QCOMPARE(t.heatAt(-3), QColor(0xF9, 0xF5, 0xE6));
    QCOMPARE(t.heatAt(1), QColor(0x4D, 0x0E, 0x32));
    QCOMPARE(t.healthAt(0), QColor(0xEC, 0xEF, 0xF1));
    QCOMPARE(t.heatAt(std::numeric_limits<double>::quiet_NaN()), t.nan);
}

void TestTheme::missingTokenIsNamed() {
    const auto theme
        = Theme::parse(R"({"themes": {"light": {"window": "#E9ECF0", "chrome": "green-ish"}}})", ThemeKind::Light);
    QVERIFY(!theme);
    QCOMPARE(theme.error().message(), std::string("token \"chrome\": not a colour"));
    QVERIFY(!Theme::parse("{", ThemeKind::Light));
}

void TestTheme::contrastFormulaMatchesTheStandard() {
    QCOMPARE(contrastRatio(Qt::black, Qt::white), 21.0);
    // WebAIM's contrast checker gives 4.54:1 for #767676 on white.
    QVERIFY(std::abs(contrastRatio(QColor(0x76, 0x76, 0x76), Qt::white) - 4.54) < 0.005);
}

void TestTheme::operatorsHaveKinds_data() {
    QTest::addColumn<QString>("domain");
    QTest::addColumn<int>("kind");
    // The examples of the design's table of kinds.
    const auto row = [](const char* name, OperatorKind kind, const char* domain = "") {
        QTest::newRow(name) << QString::fromLatin1(domain) << static_cast<int>(kind);
    };
    row("Conv", OperatorKind::Convolution);
    row("ConvTranspose", OperatorKind::Convolution);
    row("MatMul", OperatorKind::Matrix);
    row("Einsum", OperatorKind::Matrix);
    row("Softmax", OperatorKind::Activation);
    row("LayerNormalization", OperatorKind::Normalization, "ai.onnx");
    row("Where", OperatorKind::Elementwise);
    row("Cast", OperatorKind::Elementwise);
    row("TopK", OperatorKind::Reduction);
    row("ArgMax", OperatorKind::Reduction);
    row("Gather", OperatorKind::Movement);
    row("Scan", OperatorKind::Control);
    row("Constant", OperatorKind::Constant);
    row("Relu", OperatorKind::Unknown, "my.company");
    row("Frobnicate", OperatorKind::Unknown);
    row("", OperatorKind::Unknown);
}

void TestTheme::operatorsHaveKinds() {
    QFETCH(QString, domain);
    QFETCH(int, kind);
    QCOMPARE(static_cast<int>(operatorKind(QTest::currentDataTag(), domain.toStdString())), kind);
}

void TestTheme::iconsTakeTheThemesColour() {
    ThemeSource source(ThemeKind::Light);
    const QIcon icon = themedIcon(QStringLiteral("stop"), source);
    const auto darkest = [&](QIcon::Mode mode) {
        const QImage image = icon.pixmap(QSize(20, 20), 2.0, mode).toImage();
        QColor most(Qt::transparent);
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                if (image.pixelColor(x, y).alpha() > most.alpha())
                    most = image.pixelColor(x, y);
            }
        }
        return most.rgb();
    };
    QCOMPARE(icon.pixmap(QSize(20, 20), 2.0).size(), QSize(40, 40));
    QCOMPARE(darkest(QIcon::Normal), source.theme().text.rgb());
    QCOMPARE(darkest(QIcon::Disabled), source.theme().disabled.rgb());
    source.setKind(ThemeKind::Dark);
    QCOMPARE(darkest(QIcon::Normal), source.theme().text.rgb());
    QVERIFY(themedIcon(QStringLiteral("no-such-icon"), source).isNull());
}

void TestTheme::everyIconRenders() {
    (void)tokens();
    const QStringList files = QDir(QStringLiteral(":/nablascope/icons")).entryList();
    QCOMPARE(files.size(), 51); // the design's set
    for (const QString& file : files) {
        const QImage image = iconImage(file.chopped(4), Qt::red, 40);
        bool painted = false;
        for (int y = 0; y < image.height() && !painted; ++y) {
            for (int x = 0; x < image.width() && !painted; ++x)
                painted = image.pixelColor(x, y).alpha() > 200;
        }
        QVERIFY2(painted, qPrintable(file));
    }
}

void TestTheme::styleSheetHasNoOpenNames() {
    for (const ThemeKind kind : kKinds)
        QVERIFY(!Theme::load(kind).styleSheet().contains(QLatin1Char('@')));
}

void TestTheme::darkIsRecognised() {
    QVERIFY(!isDark(Theme::load(ThemeKind::Light).palette()));
    QVERIFY(isDark(Theme::load(ThemeKind::Dark).palette()));
}

QTEST_MAIN(TestTheme)
#include "tst_theme.moc"
