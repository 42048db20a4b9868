// Reading of tokens.json, and what is computed from its colours.
#include "views/theme/theme.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "engine/base/assert.h"

static void initResources() {
    Q_INIT_RESOURCE(nablascope);
} // must stand outside every namespace

namespace nabla::views {

using engine::readError;
using engine::Result;

namespace {

struct Token {
    const char* name;
    QColor Theme::*colour;
};

#define TOKEN(name)                                                                                                    \
    { #name, &Theme::name }
constexpr Token kTokens[] = {TOKEN(window), TOKEN(chrome), TOKEN(dock), TOKEN(header), TOKEN(canvas), TOKEN(card),
    TOKEN(group), TOKEN(sunken), TOKEN(hover), TOKEN(track), TOKEN(border), TOKEN(borderStrong), TOKEN(groupBorder),
    TOKEN(edge), TOKEN(text), TOKEN(muted), TOKEN(disabled), TOKEN(accent), TOKEN(onAccent), TOKEN(accentText),
    TOKEN(selection), TOKEN(focus), TOKEN(fwd), TOKEN(fwdBg), TOKEN(bwd), TOKEN(bwdBg), TOKEN(opt), TOKEN(optBg),
    TOKEN(added), TOKEN(addedBg), TOKEN(removed), TOKEN(removedBg), TOKEN(changed), TOKEN(changedBg), TOKEN(step),
    TOKEN(stepBg), TOKEN(stepText), TOKEN(vanish), TOKEN(healthy), TOKEN(explode), TOKEN(dead), TOKEN(nan), TOKEN(ok),
    TOKEN(okBg), TOKEN(warning), TOKEN(warningBg), TOKEN(error), TOKEN(errorBg), TOKEN(info), TOKEN(infoBg)};
#undef TOKEN

constexpr const char* kThemeNames[] = {"light", "dark", "contrast"};

Result<QColor> colourOf(const QJsonValue& value, const std::string& name) {
    const QColor colour(value.toString());
    if (!value.isString() || !colour.isValid())
        return readError("token \"{}\": not a colour", name);
    return colour;
}

Result<Ramp> rampOf(const QJsonValue& value, const char* name) {
    const QJsonArray steps = value.toArray();
    Ramp ramp;
    if (steps.size() != static_cast<qsizetype>(ramp.size()))
        return readError("token \"{}\": {} steps, not {}", name, steps.size(), ramp.size());
    for (std::size_t i = 0; i < ramp.size(); ++i) {
        NABLA_TRY(ramp[i], colourOf(steps[static_cast<qsizetype>(i)], name));
    }
    return ramp;
}

QColor along(const Ramp& ramp, double t) {
    const double at = std::clamp(t, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
    const auto step = std::min(static_cast<std::size_t>(at), ramp.size() - 2);
    return mix(ramp[step], ramp[step + 1], at - static_cast<double>(step));
}

double luminance(const QColor& c) {
    const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

} // namespace

QColor mix(const QColor& a, const QColor& b, double t) {
    const auto channel = [t](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * t)); };
    return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

bool isDark(const QPalette& palette) {
    return luminance(palette.color(QPalette::WindowText)) > luminance(palette.color(QPalette::Window));
}

QString operatorKindName(OperatorKind kind) {
    return QCoreApplication::translate("OperatorKind", operatorKindWord(kind));
}

Result<Theme> Theme::parse(const QByteArray& json, ThemeKind kind) {
    QJsonParseError problem;
    const QJsonObject root = QJsonDocument::fromJson(json, &problem).object();
    if (problem.error != QJsonParseError::NoError)
        return readError("tokens.json: {} at byte {}", problem.errorString().toStdString(), problem.offset);
    const char* name = kThemeNames[static_cast<int>(kind)];
    const QJsonObject tokens = root["themes"][QLatin1String(name)].toObject();
    Theme theme;
    theme.kind = kind;
    for (const Token& t : kTokens) {
        NABLA_TRY(theme.*t.colour, colourOf(tokens[QLatin1String(t.name)], t.name));
    }
    for (int k = 0; k < kOperatorKindCount; ++k) {
        const std::string token(operatorToken(static_cast<OperatorKind>(k)));
        if (token.empty()) {
            theme.kinds[static_cast<std::size_t>(k)] = theme.card;
            continue;
        }
        NABLA_TRY(theme.kinds[static_cast<std::size_t>(k)], colourOf(tokens[QString::fromStdString(token)], token));
    }
    NABLA_TRY(theme.heat, rampOf(tokens["heat"], "heat"));
    NABLA_TRY(theme.health, rampOf(tokens["health"], "health"));
    for (qsizetype i = 0; i < 2; ++i) {
        NABLA_TRY(theme.inks[static_cast<std::size_t>(i)], colourOf(root["ink"].toArray()[i], "ink"));
    }
    theme.sliceMix = root["sliceMix"][QLatin1String(name)].toDouble(0.5);
    return theme;
}

Theme Theme::load(ThemeKind kind) {
    initResources();
    QFile file(QStringLiteral(":/nablascope/tokens.json"));
    const bool opened = file.open(QIODevice::ReadOnly);
    NABLA_ASSERT(opened, "tokens.json is linked into the program");
    auto theme = parse(file.readAll(), kind);
    NABLA_ASSERT(theme.has_value(), "the built-in tokens.json is complete; a test reads all its themes");
    return *theme;
}

QColor Theme::strip(OperatorKind k) const {
    return k == OperatorKind::Constant || k == OperatorKind::Unknown ? borderStrong : colour(k);
}

QColor Theme::slice(OperatorKind k) const {
    return mix(dock, strip(k), sliceMix);
}

QColor Theme::inkOn(const QColor& fill) const {
    return contrastRatio(inks[0], fill) >= contrastRatio(inks[1], fill) ? inks[0] : inks[1];
}

QColor Theme::heatAt(double t) const {
    return std::isnan(t) ? nan : along(heat, t);
}
QColor Theme::healthAt(double t) const {
    return std::isnan(t) ? nan : along(health, (t + 1) / 2);
}

QPalette Theme::palette() const {
    QPalette p;
    p.setColor(QPalette::Window, chrome);
    p.setColor(QPalette::WindowText, text);
    p.setColor(QPalette::Base, dock);
    p.setColor(QPalette::AlternateBase, header);
    p.setColor(QPalette::Text, text);
    p.setColor(QPalette::PlaceholderText, muted);
    p.setColor(QPalette::Button, chrome);
    p.setColor(QPalette::ButtonText, text);
    p.setColor(QPalette::BrightText, error);
    p.setColor(QPalette::Highlight, accent);
    p.setColor(QPalette::HighlightedText, onAccent);
    p.setColor(QPalette::Link, accentText);
    p.setColor(QPalette::LinkVisited, accentText);
    p.setColor(QPalette::ToolTipBase, dock);
    p.setColor(QPalette::ToolTipText, text);
    p.setColor(QPalette::Light, hover);
    p.setColor(QPalette::Midlight, hover);
    p.setColor(QPalette::Mid, border);
    p.setColor(QPalette::Dark, borderStrong);
    p.setColor(QPalette::Shadow, border);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, disabled);
    p.setColor(QPalette::Disabled, QPalette::Highlight, track);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, disabled);
    return p;
}

QString Theme::styleSheet() const {
    QString sheet = QStringLiteral(R"(
QMainWindow, QSplitter { background: @window; }
QMainWindow::separator { background: @border; width: 1px; height: 1px; }
QSplitter::handle { background: @border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QToolTip { background: @dock; color: @text; border: 1px solid @borderStrong; padding: 4px 6px; }
QTabWidget::pane { border: 0; border-top: 1px solid @border; }
QTabBar { background: @header; }
QTabBar::tab { background: transparent; color: @muted; border: 0; border-bottom: 2px solid transparent; padding: 6px 12px; }
QTabBar::tab:hover { color: @text; background: @hover; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:disabled { color: @disabled; }
QToolBar { background: @chrome; border: 0; border-bottom: 1px solid @border; spacing: 2px; padding: 5px 8px; }
QToolBar::separator { background: @border; width: 1px; margin: 4px 6px; }
QToolButton { background: transparent; color: @text; border: 1px solid transparent; border-radius: 4px; padding: 4px 7px; }
QToolButton#qt_toolbar_ext_button { padding: 2px; }
QToolButton:hover { background: @hover; }
QToolButton:checked, QToolButton:pressed { background: @selection; }
QToolButton:focus { border: @focusWidth solid @focus; padding: @focusPadding; }
QToolButton:disabled { color: @disabled; }
QHeaderView { background: @dock; }
QHeaderView::section { background: @dock; color: @muted; border: 0; border-bottom: 1px solid @border; padding: 4px 8px; }
QTableCornerButton::section { background: @dock; border: 0; }
QPushButton[primary="true"] { background: @accent; color: @onAccent; border: 1px solid @accent; border-radius: 4px; padding: 5px 14px; }
QPushButton[primary="true"]:hover { border-color: @text; }
QPushButton[primary="true"]:focus { border: @focusWidth solid @text; padding: 4px 13px; }
QPushButton[primary="true"]:disabled { background: @track; color: @disabled; border-color: @track; }
QScrollBar { background: transparent; border: 0; margin: 0; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: @border; border: 0; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: @borderStrong; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QStatusBar { background: @chrome; border-top: 1px solid @border; }
QStatusBar::item { border: 0; }
)");
    const bool strong = kind == ThemeKind::Contrast;
    sheet.replace(QStringLiteral("@focusWidth"), strong ? QStringLiteral("3px") : QStringLiteral("2px"));
    sheet.replace(QStringLiteral("@focusPadding"), strong ? QStringLiteral("2px 5px") : QStringLiteral("3px 6px"));
    // Longer names first: "@text" must not eat the start of "@textSomething".
    std::vector<Token> tokens(std::begin(kTokens), std::end(kTokens));
    std::sort(
        tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return qstrlen(a.name) > qstrlen(b.name); });
    for (const Token& t : tokens)
        sheet.replace(QLatin1Char('@') + QLatin1String(t.name), (this->*t.colour).name());
    return sheet;
}

} // namespace nabla::views
