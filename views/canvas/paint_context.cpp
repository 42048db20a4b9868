// Fonts and rounding for one zoom.
#include "views/canvas/paint_context.h"

#include <cmath>

#include <QCache>
#include <QMutex>

#include "views/theme/fonts.h"
#include "views/theme/icons.h"

namespace nabla::views {
namespace {

// Scene units of the fonts; the card's size is made for them.
constexpr double kNameUnits = 12.5;
constexpr double kBodyUnits = 11;
constexpr double kMonoUnits = 10.5;
constexpr double kTileUnits = 10.5;
constexpr double kMidPixels = 10.5; // names between near and far do not shrink with the zoom

QFont sized(QFont font, double pixels) {
    font.setPixelSize(std::max(1, static_cast<int>(std::lround(pixels))));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

} // namespace

DetailLevel detailLevel(double zoom) {
    if (zoom * kNameUnits >= 7)
        return DetailLevel::Near;
    return zoom >= 0.35 ? DetailLevel::Mid : DetailLevel::Far;
}

PaintContext::PaintContext(
    const PreparedScene& preparedScene, const Theme& usedTheme, const QFont& system, double atZoom, double atRatio)
    : prepared(preparedScene)
    , theme(usedTheme)
    , zoom(atZoom)
    , ratio(atRatio)
    , level(detailLevel(atZoom))
    , nameMetrics(system)
    , bodyMetrics(system)
    , monoMetrics(system) {
    const Fonts fonts = Fonts::from(system);
    const bool mid = level == DetailLevel::Mid;
    nameFont = sized(mid ? fonts.body : fonts.strong, mid ? kMidPixels : kNameUnits * zoom);
    bodyFont = sized(fonts.body, kBodyUnits * zoom);
    monoFont = sized(fonts.mono, kMonoUnits * zoom);
    tileFont = sized(fonts.strong, mid ? 9 : kTileUnits * zoom);
    tileFont.setWeight(QFont::Bold);
    nameMetrics = QFontMetricsF(nameFont);
    bodyMetrics = QFontMetricsF(bodyFont);
    monoMetrics = QFontMetricsF(monoFont);
}

QRectF PaintContext::rect(const Box& box) const {
    const auto snap = [this](double v) { return std::round(v * zoom * ratio) / ratio; };
    const double left = snap(box.x), top = snap(box.y);
    return {left, top, std::max(1 / ratio, snap(box.right()) - left), std::max(1 / ratio, snap(box.bottom()) - top)};
}

QColor PaintContext::blockColour(const SceneNode& node) const {
    QColor colour = theme.strip(node.kind);
    if (node.form == NodeForm::CollapsedGroup)
        colour = theme.groupBorder;
    if (node.hasNan)
        colour = theme.nan;
    else if (node.diff == DiffState::Added)
        colour = theme.added;
    else if (node.diff == DiffState::Removed)
        colour = theme.removed;
    else if (node.diff == DiffState::Changed)
        colour = theme.changed;
    else if (!std::isnan(node.overlay) && scene().overlayRamp != OverlayRamp::None)
        colour = scene().overlayRamp == OverlayRamp::Heat ? theme.heatAt(node.overlay) : theme.healthAt(node.overlay);
    return dimmed ? mix(theme.canvas, colour, 0.3) : colour;
}

QImage cachedIcon(const QString& name, const QColor& colour, double size, double ratio) {
    static QMutex mutex; // tiles are painted by a worker while the window paints
    static QCache<QString, QImage> cache(400);
    const int pixels = std::max(1, static_cast<int>(std::lround(size * ratio)));
    const QString key = name + colour.name() + QString::number(pixels);
    const QMutexLocker lock(&mutex);
    if (const QImage* image = cache.object(key))
        return *image;
    auto image = iconImage(name, colour, pixels);
    image.setDevicePixelRatio(ratio);
    cache.insert(key, new QImage(image));
    return image;
}

} // namespace nabla::views
