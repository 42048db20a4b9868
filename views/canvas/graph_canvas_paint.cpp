// What the canvas paints: tiles, live marks, the overlays in its corners.
#include <algorithm>
#include <cmath>

#include <QPainterPath>
#include <QStyle>

#include "views/canvas/edge_painter.h"
#include "views/canvas/graph_canvas.h"
#include "views/canvas/plain_text.h"
#include "views/theme/fonts.h"

namespace nabla::views {
namespace {

constexpr double kOverlayMargin = 12;
constexpr double kMinimapWidth = 184;
constexpr double kMinimapHeight = 184;
constexpr double kLegendPad = 10, kLegendBar = 7;

bool has(const std::vector<int>& nodes, int node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

int floorDiv(int a, int b) {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

} // namespace

NodeMarks GraphCanvas::marksOf(int node) const {
    return {has(m_selection, node), node == m_hovered, node == m_currentStep, has(m_breakpoints, node),
        has(m_searchHits, node)};
}

void GraphCanvas::paintEvent(QPaintEvent*) {
    if (m_tileRatio != ratio())
        refreshSource(); // the window went to another screen
    QPainter painter(this);
    const Theme& t = m_theme.theme();
    painter.fillRect(rect(), t.canvas);
    if (!m_animateFrom.empty()) {
        paintAnimation(painter);
    } else {
        paintTiles(painter);
        paintLive(painter);
    }
    paintLegend(painter);
    paintMinimap(painter);
    if (hasFocus() && (m_showFocus || t.kind == ThemeKind::Contrast)) {
        const double w = t.kind == ThemeKind::Contrast ? 3 : 2;
        const QRectF r = rect();
        for (const QRectF& side :
            {QRectF(r.left(), r.top(), r.width(), w), QRectF(r.left(), r.bottom() - w, r.width(), w),
                QRectF(r.left(), r.top(), w, r.height()), QRectF(r.right() - w, r.top(), w, r.height())})
            painter.fillRect(side, t.focus);
    }
}

void GraphCanvas::paintTiles(QPainter& painter) {
    const QPoint o = origin();
    const double r = ratio();
    const int right = o.x() + static_cast<int>(std::ceil(width() * r)),
              bottom = o.y() + static_cast<int>(std::ceil(height() * r));
    const Box& bounds = scene().bounds;
    const double scale = zoom() * r;
    // Marks and labels stick out of the scene's bounds by less than a tile; nothing lies beyond.
    const auto tileOf = [](double v) { return floorDiv(static_cast<int>(std::floor(v)), kTileSide); };
    const int firstX = std::max(floorDiv(o.x(), kTileSide), tileOf(bounds.x * scale - 64));
    const int lastX = std::min(floorDiv(right - 1, kTileSide), tileOf(bounds.right() * scale + 64));
    const int firstY = std::max(floorDiv(o.y(), kTileSide), tileOf(bounds.y * scale - 64));
    const int lastY = std::min(floorDiv(bottom - 1, kTileSide), tileOf(bounds.bottom() * scale + 64));
    const bool dimmed = m_dimming && !m_selection.empty();
    std::vector<TileKey> missing;
    for (int y = firstY; y <= lastY; ++y) {
        for (int x = firstX; x <= lastX; ++x) {
            const TileKey key{m_level, x, y, dimmed};
            const QRectF target((x * kTileSide - o.x()) / r, (y * kTileSide - o.y()) / r, kTileSide / r, kTileSide / r);
            if (const QImage* tile = m_tiles.find(key)) {
                painter.drawImage(target.topLeft(), *tile);
            } else {
                missing.push_back(key);
                paintStandIn(painter, key, target);
            }
        }
    }
    const double middleX = (o.x() + right) / 2.0 / kTileSide - 0.5, middleY = (o.y() + bottom) / 2.0 / kTileSide - 0.5;
    std::sort(missing.begin(), missing.end(), [&](const TileKey& a, const TileKey& b) {
        return std::hypot(a.x - middleX, a.y - middleY) < std::hypot(b.x - middleX, b.y - middleY);
    });
    m_tiles.want(missing);
}

void GraphCanvas::paintStandIn(QPainter& painter, const TileKey& key, const QRectF& target) {
    const QImage& overview = m_tiles.overview();
    const double units = kTileSide / (zoom() * ratio()); // side of the tile in the scene
    const QRectF area(key.x * units, key.y * units, units, units);
    painter.save();
    painter.setClipRect(target);
    if (!overview.isNull()) {
        const double s = m_tiles.overviewScale();
        painter.drawImage(target, overview, QRectF(area.topLeft() * s, area.size() * s));
    }
    // The nearest level that has anything here, finer or coarser.
    bool found = false;
    for (int away = 1; away <= 8 && !found; ++away) {
        for (const int level : {key.level - away, key.level + away}) {
            const double other = kTileSide / (zoomOfLevel(level) * ratio());
            if (area.width() / other > 3)
                continue;
            for (int y = static_cast<int>(std::floor(area.top() / other)); y * other < area.bottom(); ++y) {
                for (int x = static_cast<int>(std::floor(area.left() / other)); x * other < area.right(); ++x) {
                    const QImage* tile = m_tiles.find({level, x, y, key.dimmed});
                    if (tile == nullptr)
                        continue;
                    found = true;
                    const double f = target.width() / units;
                    painter.drawImage(QRectF(target.left() + (x * other - area.left()) * f,
                                          target.top() + (y * other - area.top()) * f, other * f, other * f),
                        *tile, QRectF(tile->rect()));
                }
            }
            if (found)
                break;
        }
    }
    painter.restore();
}

void GraphCanvas::paintLive(QPainter& painter) const {
    const PaintContext context(*m_scene, m_theme.theme(), font(), zoom(), ratio());
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(QPointF(-origin()) / ratio());
    const SceneIndex& index = m_scene->index();
    const CardPainter cards(painter, context);
    const EdgePainter edges(painter, context);
    const bool dimmed = m_dimming && !m_selection.empty();
    std::vector<std::pair<int, EdgeEmphasis>> marked;
    std::vector<int> nodes;
    for (const int n : m_selection) {
        for (const auto list : {index.edgesInto(n), index.edgesFrom(n)}) {
            for (const int e : list) {
                marked.emplace_back(e, EdgeEmphasis::Selected);
                if (dimmed)
                    nodes.insert(nodes.end(), {scene().edges[e].from, scene().edges[e].to});
            }
        }
    }
    if (m_hovered >= 0) {
        for (const auto list : {index.edgesInto(m_hovered), index.edgesFrom(m_hovered)}) {
            for (const int e : list)
                marked.emplace_back(e, EdgeEmphasis::Hovered);
        }
    } else if (m_hoveredEdge >= 0) {
        marked.emplace_back(m_hoveredEdge, EdgeEmphasis::Hovered);
    }
    if (context.level != DetailLevel::Far || marked.size() < 2000) {
        for (const auto& [e, emphasis] : marked)
            edges.paintEdge(static_cast<std::size_t>(e), emphasis);
    }
    paintHiddenEdges(painter, context);
    for (const auto* list : {&m_searchHits, &m_breakpoints, &m_selection})
        nodes.insert(nodes.end(), list->begin(), list->end());
    for (const int n : {m_currentStep, m_hovered}) {
        if (n >= 0)
            nodes.push_back(n);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const QRectF seen = QRectF(rect()).adjusted(-24, -24, 24, 24);
    for (const int n : nodes) {
        if (seen.intersects(widgetRect(scene().nodes[n].box)))
            cards.paintNode(scene().nodes[n], marksOf(n));
    }
    constexpr std::size_t kMostLabels = 40; // a hub's labels would cover the picture
    if (marked.size() <= kMostLabels) {
        for (const auto& [e, emphasis] : marked) {
            if (scene().edges[e].labelled || e == m_hoveredEdge)
                edges.paintLabel(static_cast<std::size_t>(e), emphasis);
        }
    }
    painter.restore();
}

void GraphCanvas::paintHiddenEdges(QPainter& painter, const PaintContext& context) const {
    if (scene().hiddenEdges.empty() || (m_selection.empty() && m_hovered < 0))
        return;
    const Theme& t = m_theme.theme();
    painter.setBrush(Qt::NoBrush);
    for (const HiddenEdge& e : scene().hiddenEdges) {
        const bool selected = has(m_selection, e.from) || has(m_selection, e.to);
        if (!selected && e.from != m_hovered && e.to != m_hovered)
            continue;
        const Box& from = scene().nodes[e.from].box;
        const Box& to = scene().nodes[e.to].box;
        const QPointF a = context.point({from.centre().x, from.bottom()}), b = context.point({to.centre().x, to.y});
        const double swing = std::max(20.0, std::abs(b.y() - a.y()) / 2);
        QPainterPath path(a);
        path.cubicTo(a + QPointF(0, swing), b - QPointF(0, swing), b);
        painter.strokePath(path, QPen(selected ? t.focus : t.muted, 1.5));
    }
}

void GraphCanvas::paintAnimation(QPainter& painter) const {
    const auto t = static_cast<float>(m_animation.currentValue().toDouble());
    const PaintContext context(*m_scene, m_theme.theme(), font(), zoom(), ratio());
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(QPointF(-origin()) / ratio());
    const auto between = [t](const Box& a, const Box& b) {
        return Box{a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.width + (b.width - a.width) * t,
            a.height + (b.height - a.height) * t};
    };
    const CardPainter cards(painter, context);
    for (const int g : m_scene->index().groupsOutsideIn()) {
        if (QRectF(rect()).intersects(widgetRect(scene().groups[g].box)))
            cards.paintGroup(scene().groups[g]);
    }
    std::vector<Box> boxes;
    for (std::size_t n = 0; n < scene().nodes.size(); ++n)
        boxes.push_back(between(m_animateFrom[n], scene().nodes[n].box));
    const QRectF seen = rect();
    for (const SceneEdge& e : scene().edges) {
        const QPointF a = context.point({boxes[e.from].centre().x, boxes[e.from].bottom()}),
                      b = context.point({boxes[e.to].centre().x, boxes[e.to].y});
        if (!seen.intersects(widgetRect(boxes[e.from])) && !seen.intersects(widgetRect(boxes[e.to])))
            continue;
        QPainterPath path(a);
        path.cubicTo({a.x(), (a.y() + b.y()) / 2}, {b.x(), (a.y() + b.y()) / 2}, b);
        painter.strokePath(path, QPen(context.theme.edge, 1));
    }
    for (std::size_t n = 0; n < boxes.size(); ++n) {
        if (!seen.intersects(widgetRect(boxes[n])))
            continue;
        SceneNode moving = scene().nodes[n];
        moving.box = boxes[n];
        cards.paintNode(moving, marksOf(static_cast<int>(n)));
    }
    painter.restore();
}

QRectF GraphCanvas::legendFrame() const {
    if (!m_legend || scene().overlayRamp == OverlayRamp::None)
        return {};
    const Fonts fonts = Fonts::from(font());
    const QFontMetricsF strong(fonts.strong), mono(fonts.cardMono);
    const double ends = mono.horizontalAdvance(QString::fromStdString(scene().overlayLow + "   " + scene().overlayHigh));
    const double wanted = std::max(strong.horizontalAdvance(QString::fromStdString(scene().overlayTitle)), ends) + 2 * kLegendPad + 2;
    const double wide = std::clamp<double>(wanted, kMinimapWidth, std::max<double>(kMinimapWidth, width() / 2.0));
    return {width() - wide - kOverlayMargin, kOverlayMargin, wide, strong.height() + kLegendBar + mono.height() + 2 * kLegendPad + 10};
}

void GraphCanvas::paintLegend(QPainter& painter) const {
    const QRectF frame = legendFrame();
    if (frame.isEmpty())
        return;
    const Theme& t = m_theme.theme();
    const Fonts fonts = Fonts::from(font());
    const QFontMetricsF strong(fonts.strong), mono(fonts.cardMono);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.border, 1));
    painter.setBrush(t.dock);
    painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const QRectF in = frame.adjusted(kLegendPad, kLegendPad, -kLegendPad, -kLegendPad);
    painter.setFont(fonts.strong);
    painter.setPen(t.text);
    painter.drawText(QPointF(in.left(), in.top() + strong.ascent()),
        elided(scene().overlayTitle, strong, in.width(), Qt::ElideRight));
    const Ramp& ramp = scene().overlayRamp == OverlayRamp::Heat ? t.heat : t.health;
    const double top = in.top() + strong.height() + 5;
    for (std::size_t i = 0; i < ramp.size(); ++i) {
        const double left = std::round(in.left() + in.width() * static_cast<double>(i) / 9);
        const double right = std::round(in.left() + in.width() * static_cast<double>(i + 1) / 9);
        painter.fillRect(QRectF(left, std::round(top), right - left, kLegendBar), ramp[i]);
    }
    painter.setFont(fonts.cardMono);
    painter.setPen(t.muted);
    const double baseline = top + kLegendBar + 5 + mono.ascent();
    const QString high = elided(scene().overlayHigh, mono, in.width() / 2 + 8, Qt::ElideRight);
    painter.drawText(QPointF(in.left(), baseline), elided(scene().overlayLow, mono, in.width() - mono.horizontalAdvance(high) - 6, Qt::ElideRight));
    painter.drawText(QPointF(in.right() - mono.horizontalAdvance(high), baseline), high);
}

QRectF GraphCanvas::minimapFrame() const {
    return {width() - kMinimapWidth - kOverlayMargin, height() - kMinimapHeight - kOverlayMargin, kMinimapWidth,
        kMinimapHeight};
}

QRectF GraphCanvas::minimapPicture() const {
    const Box& b = scene().bounds;
    if (!m_minimap || b.width <= 0 || b.height <= 0 || width() < 2.5 * kMinimapWidth || height() < 2 * kMinimapHeight)
        return {};
    // Off when everything is seen.
    if (QRectF(rect()).adjusted(-1, -1, 1, 1).contains(widgetRect(b)))
        return {};
    const QRectF frame = minimapFrame().adjusted(8, 8, -8, -8);
    const double scale = std::min(frame.width() / b.width, frame.height() / b.height);
    const QSizeF size(std::max(1.0, b.width * scale), std::max(1.0, b.height * scale));
    return {frame.center() - QPointF(size.width() / 2, size.height() / 2), size};
}

void GraphCanvas::paintMinimap(QPainter& painter) const {
    const QRectF picture = minimapPicture();
    if (picture.isEmpty())
        return;
    const Theme& t = m_theme.theme();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.border, 1));
    painter.setBrush(t.canvas);
    painter.drawRoundedRect(minimapFrame().adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const QSize pixels = (picture.size() * ratio()).toSize().expandedTo({1, 1});
    if (m_minimapImage.isNull() && !m_tiles.overview().isNull())
        m_minimapImage = m_tiles.overview().scaled(pixels, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    if (!m_minimapImage.isNull())
        painter.drawImage(picture, m_minimapImage);
    const Box& b = scene().bounds;
    const double sx = picture.width() / b.width, sy = picture.height() / b.height;
    const auto spot = [&](int node, const QColor& colour) {
        const Point c = scene().nodes[node].box.centre();
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawEllipse(QPointF(picture.left() + c.x * sx, picture.top() + c.y * sy), 2.5, 2.5);
    };
    for (const int n : m_searchHits)
        spot(n, t.warning);
    for (const int n : m_selection)
        spot(n, t.focus);
    if (m_currentStep >= 0)
        spot(m_currentStep, t.step);
    const Point a = toScene({0, 0}), z = toScene({static_cast<double>(width()), static_cast<double>(height())});
    QRectF lens(QPointF(picture.left() + a.x * sx, picture.top() + a.y * sy),
        QPointF(picture.left() + z.x * sx, picture.top() + z.y * sy));
    if (lens.height() < 4)
        lens.adjust(0, -2, 0, 2);
    lens = lens.intersected(minimapFrame().adjusted(2, 2, -2, -2));
    painter.setPen(QPen(t.focus, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(lens);
}

} // namespace nabla::views
