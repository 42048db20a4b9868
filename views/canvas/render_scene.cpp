// Export of a scene through the same painters that fill the tiles.
#include "views/canvas/render_scene.h"

#include <cmath>

#include <QCoreApplication>
#include <QIODevice>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "views/canvas/scene_painter.h"

namespace nabla::views {

using engine::Error;
using engine::ErrorKind;
using engine::Result;

namespace {

Error cannotWrite(const QIODevice& device) {
    return {ErrorKind::Read, "picture: cannot write: " + device.errorString().toStdString()};
}

Result<void> writeSvg(QIODevice& device, const PreparedScene& scene, const Theme& theme, const QFont& font) {
    const QSizeF size = pictureSize(scene);
    QSvgGenerator generator;
    generator.setOutputDevice(&device);
    generator.setResolution(96);
    generator.setSize(size.toSize());
    generator.setViewBox(QRectF(QPointF(0, 0), size));
    QPainter painter;
    if (!painter.begin(&generator))
        return cannotWrite(device);
    renderScene(painter, scene, theme, font);
    if (!painter.end())
        return cannotWrite(device);
    return {};
}

Result<void> writePdf(QIODevice& device, const PreparedScene& scene, const Theme& theme, const QFont& font) {
    constexpr double kMostPoints = 14'400; // the PDF specification's limit of a page
    constexpr double kPointsPerPixel = 0.75;
    const QSizeF size = pictureSize(scene) * kPointsPerPixel;
    const double shrink = std::min(1.0, kMostPoints / std::max(size.width(), size.height()));
    QPdfWriter writer(&device);
    writer.setPageSize(QPageSize(size * shrink, QPageSize::Point, QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    writer.setResolution(96);
    QPainter painter;
    if (!painter.begin(&writer))
        return cannotWrite(device);
    painter.scale(shrink, shrink);
    renderScene(painter, scene, theme, font);
    if (!painter.end())
        return cannotWrite(device);
    return {};
}

Result<void> writePng(QIODevice& device, const PreparedScene& scene, const Theme& theme, const QFont& font) {
    const QSizeF whole = pictureSize(scene);
    const double zoom = std::min({1.0, kLargestPng / whole.width(), kLargestPng / whole.height()});
    PaintContext context(scene, theme, font, zoom, 1);
    SceneIndex::Scratch scratch;
    const QSize size = (whole * zoom).toSize().expandedTo({1, 1});
    const int margin = static_cast<int>(std::lround(kPictureMargin * zoom));
    const QImage image = rasterScene(size, {-margin, -margin}, context, scratch);
    if (image.isNull())
        return Error{
            ErrorKind::Read, fmt::format("picture: no memory for {} x {} pixels", size.width(), size.height())};
    if (!image.save(&device, "PNG"))
        return cannotWrite(device);
    return {};
}

} // namespace

QSizeF pictureSize(const PreparedScene& scene, double zoom) {
    const Box& b = scene.scene().bounds;
    return QSizeF(b.right() * zoom + 2 * kPictureMargin * zoom, b.bottom() * zoom + 2 * kPictureMargin * zoom);
}

void renderScene(QPainter& painter, const PreparedScene& scene, const Theme& theme, const QFont& font, double zoom) {
    PaintContext context(scene, theme, font, zoom, 1);
    context.level = DetailLevel::Near;
    SceneIndex::Scratch scratch;
    const QSizeF size = pictureSize(scene, zoom);
    painter.save();
    painter.fillRect(QRectF(QPointF(0, 0), size), theme.canvas);
    painter.translate(kPictureMargin * zoom, kPictureMargin * zoom);
    paintScene(painter, QRectF(QPointF(0, 0), size), context, scratch);
    painter.restore();
}

Result<void> writePicture(
    QIODevice& device, PictureFormat format, const PreparedScene& scene, const Theme& theme, const QFont& font) {
    if (!device.isWritable())
        return cannotWrite(device);
    switch (format) {
    case PictureFormat::Svg:
        return writeSvg(device, scene, theme, font);
    case PictureFormat::Pdf:
        return writePdf(device, scene, theme, font);
    case PictureFormat::Png:
        return writePng(device, scene, theme, font);
    }
    return {};
}

} // namespace nabla::views
