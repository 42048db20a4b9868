// A scene as a picture file; needs a QGuiApplication (offscreen is enough), no window.
#pragma once

#include <QFont>
#include <QString>

#include "engine/base/result.h"
#include "views/canvas/scene_index.h"
#include "views/theme/theme.h"

class QIODevice;
class QPainter;

namespace nabla::views {

enum class PictureFormat { Svg, Png, Pdf };

/// Paints the whole scene, background and a margin of kPictureMargin units included, with its corner at (0, 0); near
/// detail at zoom 1 and more.
void renderScene(QPainter& painter, const PreparedScene& scene, const Theme& theme, const QFont& font, double zoom = 1);
constexpr double kPictureMargin = 24;
/// Size of that picture.
QSizeF pictureSize(const PreparedScene& scene, double zoom = 1);

/// Writes the picture. SVG and PDF keep names as text and are always near; PNG shrinks to at most kLargestPng pixels a
/// side, then at the detail that fits. Errors: the device cannot be written.
engine::Result<void> writePicture(
    QIODevice& device, PictureFormat format, const PreparedScene& scene, const Theme& theme, const QFont& font);
constexpr int kLargestPng = 16'000;

} // namespace nabla::views
