// Own rectangles and lines without antialiasing: QPainter needs ten times as long for as many.
#include "views/canvas/far_raster.h"

#include <algorithm>
#include <cmath>

namespace nabla::views {
namespace {

class Raster {
public:
    explicit Raster(QImage& image)
        : m_width(image.width())
        , m_height(image.height())
        , m_stride(image.bytesPerLine() / 4)
        , m_bits(reinterpret_cast<QRgb*>(image.bits())) { }

    /// Half-open: [left, right) x [top, bottom).
    void fill(int left, int top, int right, int bottom, QRgb colour) {
        left = std::max(left, 0);
        top = std::max(top, 0);
        right = std::min(right, m_width);
        bottom = std::min(bottom, m_height);
        for (int y = top; y < bottom && left < right; ++y)
            std::fill(m_bits + y * m_stride + left, m_bits + y * m_stride + right, colour);
    }

    void outline(int left, int top, int right, int bottom, QRgb colour) {
        fill(left, top, right, top + 1, colour);
        fill(left, bottom - 1, right, bottom, colour);
        fill(left, top, left + 1, bottom, colour);
        fill(right - 1, top, right, bottom, colour);
    }

    /// One pixel a step of the longer axis, at pixel centres, so that a line is the same whichever tile paints it.
    void line(double x0, double y0, double x1, double y1, QRgb colour) {
        if (std::abs(x1 - x0) >= std::abs(y1 - y0))
            step(x0, y0, x1, y1, m_width, m_height, 1, m_stride, colour);
        else
            step(y0, x0, y1, x1, m_height, m_width, m_stride, 1, colour);
    }

private:
    int m_width, m_height;
    qsizetype m_stride;
    QRgb* m_bits;

    void step(double a0, double b0, double a1, double b1, int lengthA, int lengthB, qsizetype strideA,
        qsizetype strideB, QRgb colour) {
        if (a1 < a0) {
            std::swap(a0, a1);
            std::swap(b0, b1);
        }
        if (a1 < 0 || a0 >= lengthA || std::max(b0, b1) < 0 || std::min(b0, b1) >= lengthB)
            return;
        const double slope = a1 > a0 ? (b1 - b0) / (a1 - a0) : 0;
        const int first = static_cast<int>(std::floor(std::max(a0, 0.0)));
        const int last = static_cast<int>(std::floor(std::min(a1, lengthA - 1.0)));
        for (int a = first; a <= last; ++a) {
            const int b = static_cast<int>(std::floor(b0 + slope * std::clamp(a + 0.5 - a0, 0.0, a1 - a0)));
            if (b >= 0 && b < lengthB)
                m_bits[a * strideA + b * strideB] = colour;
        }
    }
};

/// How visible edges are: full from 0.15 on, gone at 0.02, where they would be a grey veil over the blocks.
double edgeOpacity(double zoom) {
    constexpr double kFull = 0.15, kNone = 0.02;
    return std::clamp((zoom - kNone) / (kFull - kNone), 0.0, 1.0);
}

QColor edgeColour(const PaintContext& c, const SceneEdge& e) {
    if (c.dimmed)
        return c.theme.border;
    if (e.diff == DiffState::Added)
        return c.theme.added;
    if (e.diff == DiffState::Removed)
        return c.theme.removed;
    return e.style == EdgeStyle::Gradient ? c.theme.bwd : c.theme.edge;
}

void rasterEdge(Raster& raster, std::span<const Point> points, double scale, QPoint origin, QRgb colour) {
    Point last = points[0];
    const auto to = [&](Point p) {
        raster.line(last.x * scale - origin.x(), last.y * scale - origin.y(), p.x * scale - origin.x(),
            p.y * scale - origin.y(), colour);
        last = p;
    };
    for (std::size_t i = 0; i + 3 < points.size(); i += 3) {
        const Point a = points[i], b = points[i + 1], c = points[i + 2], d = points[i + 3];
        // Only wide swings need a middle.
        if (std::abs(a.x - d.x) * scale > 6) {
            for (const float t : {0.25f, 0.5f, 0.75f}) {
                const float s = 1 - t;
                const float w0 = s * s * s, w1 = 3 * s * s * t, w2 = 3 * s * t * t, w3 = t * t * t;
                to({w0 * a.x + w1 * b.x + w2 * c.x + w3 * d.x, w0 * a.y + w1 * b.y + w2 * c.y + w3 * d.y});
            }
        }
        to(d);
    }
}

} // namespace

void rasterFar(QImage& image, QPoint origin, const PaintContext& c, SceneIndex::Scratch& scratch) {
    const GraphScene& scene = c.scene();
    const double scale = c.zoom * c.ratio;
    Raster raster(image);
    image.fill(c.theme.canvas);
    const Box area{static_cast<float>((origin.x() - 4) / scale), static_cast<float>((origin.y() - 4) / scale),
        static_cast<float>((image.width() + 8) / scale), static_cast<float>((image.height() + 8) / scale)};
    const auto left = [&](double x) { return static_cast<int>(std::floor(x * scale)) - origin.x(); };
    const auto top = [&](double y) { return static_cast<int>(std::floor(y * scale)) - origin.y(); };
    for (const int g : c.prepared.index().groupsOutsideIn()) {
        const Box& b = scene.groups[g].box;
        if (!b.overlaps(area))
            continue;
        const int l = left(b.x), t = top(b.y), r = left(b.right()) + 1, bottom = top(b.bottom()) + 1;
        raster.fill(l, t, r, bottom, c.theme.group.rgb());
        if (r - l > 3 && bottom - t > 3)
            raster.outline(l, t, r, bottom, c.theme.groupBorder.rgb());
    }
    c.prepared.index().query(area, scratch);
    const double opacity = edgeOpacity(c.zoom);
    if (opacity > 0.02) {
        for (const int e : scratch.edges) {
            const auto points = scene.route(static_cast<std::size_t>(e));
            if (points.size() >= 4)
                rasterEdge(
                    raster, points, scale, origin, mix(c.theme.canvas, edgeColour(c, scene.edges[e]), opacity).rgb());
        }
    }
    for (const int n : scratch.nodes) {
        const SceneNode& node = scene.nodes[n];
        const int l = left(node.box.x), t = top(node.box.y);
        const int r = std::max(left(node.box.right()), l + 1), b = std::max(top(node.box.bottom()), t + 1);
        if (node.form == NodeForm::Ghost) {
            raster.outline(l, t, r, b, c.theme.removed.rgb());
            continue;
        }
        raster.fill(l, t, r, b, (node.form == NodeForm::Portal ? c.theme.borderStrong : c.blockColour(node)).rgb());
    }
}

} // namespace nabla::views
