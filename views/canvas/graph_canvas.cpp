// View state of the canvas: scene, selection, zoom and place.
#include "views/canvas/graph_canvas.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <QEvent>
#include <QStyle>

#include "views/canvas/canvas_accessible.h"
#include "views/canvas/plain_text.h"

namespace nabla::views {
namespace {

constexpr int kLowestLevel = -48; // 1 : 4096, a scene of three million units in a window
constexpr int kHighestLevel = 8; // 400 %
constexpr double kFitMargin = 28;
constexpr double kClearance = 12; // between a node and what floats over the picture
constexpr int kAnimationMs = 150;
constexpr std::size_t kMostAnimated = 2000;

std::vector<int> remapped(
    const std::vector<int>& nodes, const GraphScene& old, const std::unordered_map<std::uint64_t, int>& byKey) {
    std::vector<int> result;
    for (const int n : nodes) {
        const auto it = byKey.find(old.nodes[n].key);
        if (it != byKey.end())
            result.push_back(it->second);
    }
    return result;
}

std::unordered_map<std::uint64_t, int> nodesByKey(const GraphScene& scene) {
    std::unordered_map<std::uint64_t, int> byKey;
    for (std::size_t n = 0; n < scene.nodes.size(); ++n) {
        if (scene.nodes[n].key != 0)
            byKey.emplace(scene.nodes[n].key, static_cast<int>(n));
    }
    return byKey;
}

bool inScene(const GraphScene& scene, int node) {
    return node >= 0 && node < static_cast<int>(scene.nodes.size());
}

std::vector<int> onlyInScene(std::vector<int> nodes, const GraphScene& scene) {
    std::erase_if(nodes, [&](int n) { return !inScene(scene, n); });
    return nodes;
}

} // namespace

GraphCanvas::GraphCanvas(const ThemeSource& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_scene(PreparedScene::make({})) {
    CanvasAccessible::install();
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Graph canvas"));
    setMinimumSize(160, 120);
    connect(&m_tiles, &TileCache::tileReady, this, [this] {
        m_minimapImage = {};
        update();
    });
    connect(&theme, &ThemeSource::changed, this, &GraphCanvas::refreshSource);
    m_animation.setDuration(kAnimationMs);
    m_animation.setStartValue(0.0);
    m_animation.setEndValue(1.0);
    m_animation.setEasingCurve(QEasingCurve::OutCubic);
    connect(&m_animation, &QVariantAnimation::valueChanged, this, qOverload<>(&QWidget::update));
    connect(&m_animation, &QVariantAnimation::finished, this, [this] {
        m_animateFrom.clear();
        update();
    });
    refreshSource();
}

GraphCanvas::~GraphCanvas() = default;

void GraphCanvas::refreshSource() {
    m_tileRatio = ratio();
    m_minimapImage = {};
    m_tiles.setSource(m_scene, m_theme.themePtr(), font(), m_tileRatio);
    update();
}

void GraphCanvas::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange)
        refreshSource();
    QWidget::changeEvent(event);
}

void GraphCanvas::setScene(ScenePtr fresh, std::uint64_t anchorKey) {
    const ScenePtr old = std::exchange(m_scene, fresh ? std::move(fresh) : PreparedScene::make({}));
    const std::vector<int> oldSelection = m_selection;
    m_animation.stop();
    m_animateFrom.clear();
    remap(old, m_scene);
    CanvasAccessible::sceneChanged(*this);
    if (!m_everFitted || old->scene().nodes.empty()) {
        m_everFitted = !scene().nodes.empty();
        showStart();
    } else {
        startAnimation(old);
        keepAnchor(old, anchorKey, oldSelection);
    }
    refreshSource();
}

void GraphCanvas::remap(const ScenePtr& old, const ScenePtr& fresh) {
    const auto byKey = nodesByKey(fresh->scene());
    m_selection = remapped(m_selection, old->scene(), byKey);
    m_breakpoints = remapped(m_breakpoints, old->scene(), byKey);
    m_searchHits = remapped(m_searchHits, old->scene(), byKey);
    const auto step = m_currentStep < 0 ? std::vector<int>() : remapped({m_currentStep}, old->scene(), byKey);
    m_currentStep = step.empty() ? -1 : step[0];
    m_hovered = m_hoveredEdge = -1;
}

void GraphCanvas::keepAnchor(const ScenePtr& old, std::uint64_t anchorKey, const std::vector<int>& oldSelection) {
    const GraphScene& before = old->scene();
    const auto now = nodesByKey(scene());
    int anchor = -1;
    if (anchorKey == 0 && !oldSelection.empty())
        anchorKey = before.nodes[oldSelection[0]].key;
    const auto oldIndex = [&](std::uint64_t key) {
        for (std::size_t n = 0; n < before.nodes.size(); ++n) {
            if (before.nodes[n].key == key)
                return static_cast<int>(n);
        }
        return -1;
    };
    if (anchorKey != 0 && now.contains(anchorKey))
        anchor = oldIndex(anchorKey);
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; anchor < 0 && n < before.nodes.size(); ++n) {
        const Point c = before.nodes[n].box.centre();
        const double away = std::hypot(c.x - m_centre.x(), c.y - m_centre.y());
        if (away < nearest && before.nodes[n].key != 0 && now.contains(before.nodes[n].key)) {
            nearest = away;
            anchorKey = before.nodes[n].key;
        }
    }
    if (anchor < 0 && nearest < std::numeric_limits<double>::infinity())
        anchor = oldIndex(anchorKey);
    if (anchor < 0)
        return fitAll();
    const Point a = before.nodes[anchor].box.centre();
    const Point b = scene().nodes[now.at(anchorKey)].box.centre();
    m_centre += QPointF(b.x - a.x, b.y - a.y);
    changed();
}

void GraphCanvas::startAnimation(const ScenePtr& old) {
    if (!m_animated || !isVisible() || scene().nodes.size() > kMostAnimated
        || style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this) <= 0)
        return;
    const auto before = nodesByKey(old->scene());
    bool moved = false;
    for (const SceneNode& n : scene().nodes) {
        const auto it = before.find(n.key);
        m_animateFrom.push_back(it == before.end() ? n.box : old->scene().nodes[it->second].box);
        moved = moved || m_animateFrom.back() != n.box;
    }
    if (moved)
        m_animation.start();
    else
        m_animateFrom.clear();
}

void GraphCanvas::changed() {
    update();
    Q_EMIT viewChanged(m_centre, m_level);
}

QPoint GraphCanvas::origin() const {
    const double scale = zoom() * ratio();
    return {static_cast<int>(std::lround(m_centre.x() * scale - width() * ratio() / 2)),
        static_cast<int>(std::lround(m_centre.y() * scale - height() * ratio() / 2))};
}

QPointF GraphCanvas::toWidget(Point p) const {
    const QPoint o = origin();
    return {p.x * zoom() - o.x() / ratio(), p.y * zoom() - o.y() / ratio()};
}

Point GraphCanvas::toScene(QPointF p) const {
    const QPoint o = origin();
    return {
        static_cast<float>((p.x() + o.x() / ratio()) / zoom()), static_cast<float>((p.y() + o.y() / ratio()) / zoom())};
}

QRectF GraphCanvas::widgetRect(const Box& box) const {
    return {toWidget({box.x, box.y}), QSizeF(box.width * zoom(), box.height * zoom())};
}

bool GraphCanvas::isSettled() const {
    return !m_tiles.isBusy() && m_animateFrom.empty();
}

void GraphCanvas::setSelection(std::vector<int> nodes, Follow follow) {
    m_selection = onlyInScene(std::move(nodes), scene());
    update();
    if (follow == Follow::Yes && !m_selection.empty())
        ensureVisible(m_selection[0]);
}

void GraphCanvas::select(int node, bool extend) {
    if (node < 0) {
        if (m_selection.empty())
            return;
        m_selection.clear();
    } else if (!extend) {
        m_selection = {node};
    } else if (const auto it = std::find(m_selection.begin(), m_selection.end(), node); it != m_selection.end()) {
        m_selection.erase(it);
    } else {
        m_selection.insert(m_selection.begin(), node);
    }
    CanvasAccessible::selectionChanged(*this);
    update();
    Q_EMIT nodeSelected(m_selection.empty() ? -1 : m_selection[0]);
}

void GraphCanvas::setCurrentStep(int node, Follow follow) {
    m_currentStep = inScene(scene(), node) ? node : -1;
    update();
    if (m_currentStep >= 0 && follow == Follow::Yes)
        ensureVisible(m_currentStep);
}

void GraphCanvas::setBreakpoints(std::vector<int> nodes) {
    m_breakpoints = onlyInScene(std::move(nodes), scene());
    update();
}

void GraphCanvas::setSearchHits(std::vector<int> nodes) {
    m_searchHits = onlyInScene(std::move(nodes), scene());
    update();
}

void GraphCanvas::setDimming(bool on) {
    m_dimming = on;
    update();
}

void GraphCanvas::setMinimapVisible(bool on) {
    if (on == m_minimap)
        return;
    m_minimap = on;
    update();
    Q_EMIT minimapToggled(on);
}

void GraphCanvas::setLegendVisible(bool on) {
    m_legend = on;
    update();
}

void GraphCanvas::setView(QPointF centre, int level) {
    level = std::clamp(level, kLowestLevel, kHighestLevel);
    if (centre == m_centre && level == m_level)
        return;
    m_centre = centre;
    m_level = level;
    changed();
}

void GraphCanvas::zoomBy(int levels, QPointF around) {
    const int level = std::clamp(m_level + levels, kLowestLevel, kHighestLevel);
    if (level == m_level)
        return;
    const Point fixed = toScene(around);
    m_level = level;
    // The scene point under the cursor stays there.
    m_centre = QPointF(fixed.x, fixed.y) - (around - QPointF(width() / 2.0, height() / 2.0)) / zoom();
    changed();
}

void GraphCanvas::zoomIn() {
    zoomBy(1, rect().center());
}
void GraphCanvas::zoomOut() {
    zoomBy(-1, rect().center());
}

void GraphCanvas::resetZoom() {
    zoomBy(-m_level, rect().center());
}

int GraphCanvas::fitLevel(const Box& box) const {
    const double fit = std::min((width() - 2 * kFitMargin) / std::max(1.0, static_cast<double>(box.width)),
        (height() - 2 * kFitMargin) / std::max(1.0, static_cast<double>(box.height)));
    return std::clamp(
        static_cast<int>(std::floor(4 * std::log2(std::max(fit, 1e-6)) + 1e-6)), kLowestLevel, kHighestLevel);
}

void GraphCanvas::fitBox(const Box& box, int mostLevel) {
    m_level = std::min(fitLevel(box), mostLevel);
    m_centre = {box.centre().x, box.centre().y};
    changed();
}

void GraphCanvas::fitAll() {
    fitBox(scene().bounds, 0);
}

void GraphCanvas::showStart() {
    constexpr double kReadable = 0.05; // a card is a block of 12 x 3 pixels
    constexpr int kThreadLevel = -5; // about 42 %: names can be read
    m_startPending = !isVisible(); // the size is not known yet
    const Box& b = scene().bounds;
    fitAll();
    if (zoom() >= kReadable || b.height < 4 * b.width)
        return;
    m_level = std::clamp(fitLevel({b.x, b.y, b.width,
                             b.width * static_cast<float>(height()) / static_cast<float>(std::max(1, width()))}),
        m_level, kThreadLevel);
    // The first node's column, whatever wanders off farther down.
    const auto top = std::min_element(scene().nodes.begin(), scene().nodes.end(),
        [](const SceneNode& l, const SceneNode& r) { return l.box.y < r.box.y; });
    m_centre = {top->box.centre().x, b.y + (height() / 2.0 - kFitMargin) / zoom()};
    changed();
}

void GraphCanvas::fitNodes(const std::vector<int>& nodes) {
    const std::vector<int> there = onlyInScene(nodes, scene());
    if (there.empty())
        return fitAll();
    Box b = scene().nodes[there[0]].box;
    for (const int n : there) {
        const Box& o = scene().nodes[n].box;
        const float right = std::max(b.right(), o.right()), bottom = std::max(b.bottom(), o.bottom());
        b.x = std::min(b.x, o.x);
        b.y = std::min(b.y, o.y);
        b.width = right - b.x;
        b.height = bottom - b.y;
    }
    fitBox(b, 0);
}

void GraphCanvas::focusSelection() {
    fitNodes(m_selection);
}

void GraphCanvas::ensureVisible(int node) {
    if (!inScene(scene(), node))
        return;
    const Box& box = scene().nodes[node].box;
    const QRectF r = widgetRect(box);
    const QRectF safe = QRectF(rect()).adjusted(40, 40, -40, -40);
    const QPointF before = m_centre;
    // Far away it is centred; at the edge the picture moves as little as possible.
    if (!QRectF(rect()).adjusted(-width(), -height(), width(), height()).intersects(r) || r.width() > safe.width() || r.height() > safe.height())
        m_centre = {box.centre().x, box.centre().y};
    else {
        const double dx = r.left() < safe.left() ? r.left() - safe.left() : std::max(0.0, r.right() - safe.right());
        const double dy = r.top() < safe.top() ? r.top() - safe.top() : std::max(0.0, r.bottom() - safe.bottom());
        m_centre += QPointF(dx, dy) / zoom();
    }
    // From under what floats at the right, where there is room beside it.
    for (const QRectF& cover : {legendFrame(), minimapPicture().isEmpty() ? QRectF() : minimapFrame()}) {
        const QRectF now = widgetRect(box);
        if (now.intersects(cover) && now.width() < cover.left() - safe.left())
            m_centre.rx() += (now.right() - cover.left() + kClearance) / zoom();
    }
    if (m_centre != before)
        changed();
}

void GraphCanvas::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    if (m_startPending || !isVisible())
        showStart();
}

QString GraphCanvas::describe(int node) const {
    const SceneNode& n = scene().nodes[node];
    QStringList parts;
    for (const std::string* s : {&n.name, &n.subtitle, &n.shapeText, &n.bytesText, &n.rightText}) {
        if (!s->empty())
            parts << plainText(*s);
    }
    if (node == m_currentStep)
        parts << tr("current step");
    if (std::find(m_breakpoints.begin(), m_breakpoints.end(), node) != m_breakpoints.end())
        parts << tr("breakpoint");
    if (n.hasNan)
        parts << tr("not a number in its values");
    if (n.diff != DiffState::None)
        parts << (n.diff == DiffState::Added   ? tr("added")
                : n.diff == DiffState::Removed ? tr("removed")
                                               : tr("changed"));
    return parts.join(QStringLiteral(", "));
}

} // namespace nabla::views
