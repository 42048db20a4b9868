// Scenes are built and laid out on a thread; Graphviz refines small ones when it answers in time.
#include "app/main_window/graph_panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QShortcut>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/document/sample_inputs.h"
#include "app/main_window/bodies.h"
#include "views/graph/diff_view.h"
#include "views/layout/layered_layout.h"
#include "views/theme/fonts.h"
#include "views/theme/icons.h"

namespace nabla::app {

using namespace nabla::views;
using engine::Graph;
using engine::NodeId;

namespace {
constexpr std::size_t kWorkerNodes = 300; // above this, and with scopes, Graphviz is slower or less clear than our own layout
constexpr double kReadableZoom = 0.5;
constexpr int kReadableLevel = -1; // zoom 2^(-1/4): cards with all their lines
}

/// One finished set of scenes, made on the thread.
struct GraphPanel::Built {
    GraphView before, after;
    ScenePtr beforeScene, afterScene;
    std::optional<engine::Error> error;
    bool newGraph = false;
};

GraphPanel::GraphPanel(const ThemeSource& theme, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_before(new GraphCanvas(theme)), m_after(new GraphCanvas(theme)), m_worker(new LayoutWorker(LayoutWorker::defaultProgram(), this)) {
    m_pool.setMaxThreadCount(1);
    m_before->setObjectName("canvasBefore");
    m_after->setObjectName("canvas");
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    makeBar();
    const auto side = [this](GraphCanvas* canvas, QLabel*& title) {
        auto* box = new QWidget(this);
        auto* column = new QVBoxLayout(box);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        title = new QLabel(box);
        title->setContentsMargins(12, 4, 12, 4);
        title->setTextFormat(Qt::PlainText);
        title->hide();
        column->addWidget(title);
        column->addWidget(canvas, 1);
        return box;
    };
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    m_beforeSide = side(m_before, m_beforeTitle);
    splitter->addWidget(m_beforeSide);
    splitter->addWidget(side(m_after, m_afterTitle));
    splitter->setHandleWidth(1);
    layout->addWidget(splitter, 1);
    m_beforeSide->hide();
    m_before->setMinimapVisible(false);
    connectCanvas(m_before, false);
    connectCanvas(m_after, true);
    connect(m_after, &GraphCanvas::viewChanged, m_before, &GraphCanvas::setView);
    connect(m_before, &GraphCanvas::viewChanged, m_after, &GraphCanvas::setView);
    connect(m_after, &GraphCanvas::viewChanged, this, &GraphPanel::updateBar);
    connect(m_worker, &LayoutWorker::done, this, [this](std::uint32_t id, const LayoutResult& result) {
        if (id != m_workerRequest || m_workerGeneration != m_generation || result.nodes.size() != m_afterView.scene.nodes.size())
            return;
        applyLayout(m_afterView.scene, result);
        m_after->setScene(PreparedScene::make(m_afterView.scene));
        refreshMarks();
        Q_EMIT sceneShown();
    });
    // Failing is no trouble: the built-in layout is on the screen already.
}

GraphPanel::~GraphPanel() {
    m_stop.request_stop();
    m_pool.waitForDone();
}

void GraphPanel::makeBar() {
    auto* bar = new QWidget(this);
    bar->setObjectName("pathBar");
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(12, 2, 8, 2);
    row->setSpacing(4);
    const auto button = [&](const char* icon, const QString& text, auto slot) {
        auto* b = new QToolButton(bar);
        b->setIcon(themedIcon(icon, m_theme));
        b->setToolTip(text);
        b->setAccessibleName(text);
        b->setAutoRaise(true);
        connect(b, &QToolButton::clicked, this, slot);
        row->addWidget(b);
        return b;
    };
    m_crumbs = new QWidget(bar);
    m_crumbs->setObjectName("crumbs");
    m_crumbs->hide();
    m_path = new QLabel(bar);
    m_path->setTextFormat(Qt::PlainText);
    m_path->setObjectName("breadcrumb");
    m_path->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_stepBadge = new QLabel(bar);
    m_stepBadge->setObjectName("stepBadge");
    m_stepBadge->setTextFormat(Qt::PlainText);
    m_stepBadge->hide();
    row->addWidget(m_crumbs);
    row->addWidget(m_path, 1);
    row->addWidget(m_stepBadge);
    makeIterationBox(row);
    row->addSpacing(8);
    m_search = new QLineEdit(bar);
    m_search->setObjectName("graphSearch");
    m_search->setPlaceholderText(tr("Find node or operator  Ctrl+F"));
    m_search->setAccessibleName(tr("Find node or operator"));
    m_search->setClearButtonEnabled(true);
    m_search->setMinimumWidth(QFontMetrics(font()).horizontalAdvance('x') * 28);
    m_hitLabel = new QLabel(bar);
    row->addWidget(m_search);
    row->addWidget(m_hitLabel);
    row->addSpacing(8);
    button("zoom-out", tr("Zoom out (−)"), [this] { m_after->zoomOut(); });
    m_zoomLabel = new QLabel("100 %", bar);
    m_zoomLabel->setFont(Fonts::from(QApplication::font()).mono);
    m_zoomLabel->setMinimumWidth(QFontMetrics(m_zoomLabel->font()).horizontalAdvance("100 % "));
    m_zoomLabel->setAlignment(Qt::AlignCenter);
    row->addWidget(m_zoomLabel);
    button("zoom-in", tr("Zoom in (+)"), [this] { m_after->zoomIn(); });
    button("fit", tr("Show the whole graph (Home)"), [this] { m_after->fitAll(); });
    button("minimap", tr("Overview map (M)"), [this] { m_after->setMinimapVisible(!m_after->isMinimapVisible()); });
    m_overlayBox = new QComboBox(bar);
    m_overlayBox->setObjectName("overlayBox");
    m_overlayBox->setAccessibleName(tr("Overlay"));
    m_overlayBox->addItems({tr("Overlay: none"), tr("Overlay: time"), tr("Overlay: memory"), tr("Overlay: gradient")});
    row->addWidget(m_overlayBox);
    layout()->addWidget(bar);
    connect(m_overlayBox, &QComboBox::currentIndexChanged, this, [this] { rebuild(false); });
    connect(m_overlayBox, &QComboBox::activated, this, [this] { m_after->setFocus(); });
    connect(m_search, &QLineEdit::textChanged, this, &GraphPanel::search);
    connect(m_search, &QLineEdit::returnPressed, this, [this] { nextHit(QApplication::keyboardModifiers() & Qt::ShiftModifier ? -1 : 1); });
    auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), m_search, nullptr, nullptr, Qt::WidgetShortcut);
    connect(escape, &QShortcut::activated, this, [this] {
        m_search->clear();
        m_after->setFocus();
    });
}

void GraphPanel::connectCanvas(GraphCanvas* canvas, bool after) {
    connect(canvas, &GraphCanvas::nodeSelected, this, [this, after](int node) {
        if (node < 0) {
            Q_EMIT selectionWanted({});
            return;
        }
        const GraphView& view = viewOf(after);
        const NodeId id = view.nodeOf[static_cast<std::size_t>(node)];
        const engine::Node* graphNode = m_state.graph.node(id);
        Q_EMIT selectionWanted({id, graphNode ? graphNode->output(0) : view.valueOf[static_cast<std::size_t>(node)]});
    });
    connect(canvas, &GraphCanvas::edgeClicked, this, [this, after](int edge) {
        Q_EMIT selectionWanted({{}, viewOf(after).edgeValue[static_cast<std::size_t>(edge)]});
    });
    connect(canvas, &GraphCanvas::groupToggled, this, [this, after](int group, GraphCanvas::Depth depth) {
        setScopeClosed(viewOf(after).groupScope[static_cast<std::size_t>(group)], true, depth);
    });
    connect(canvas, &GraphCanvas::collapsedGroupToggled, this, [this, after](int node, GraphCanvas::Depth depth) {
        setScopeClosed(viewOf(after).scopeOf[static_cast<std::size_t>(node)], false, depth);
    });
    if (after) {
        connect(canvas, &GraphCanvas::nodeActivated, this, [this](int node) {
            if (const NodeId id = m_afterView.nodeOf[static_cast<std::size_t>(node)])
                Q_EMIT bodyWanted(m_state.bodies.size(), id, {});
        });
    }
    connect(canvas, &GraphCanvas::breakpointToggled, this, [this, after](int node) {
        if (node >= 0)
            Q_EMIT breakpointToggled(viewOf(after).nodeOf[static_cast<std::size_t>(node)]);
    });
}

void GraphPanel::setScopeClosed(const std::string& path, bool closed, GraphCanvas::Depth depth) {
    if (closed)
        m_closed.insert(path);
    else
        m_closed.erase(path);
    if (depth == GraphCanvas::Depth::All && m_state.scopes) {
        for (const auto& scope : m_state.scopes->scopes) {
            if (!scope.path.starts_with(path + "/"))
                continue;
            if (closed)
                m_closed.insert(scope.path);
            else
                m_closed.erase(scope.path);
        }
    }
    rebuild(false);
}

void GraphPanel::setState(const ViewState& state, const Changes& changes, const Graph* before, const QString& beforeTitle) {
    m_fitNext = m_fitNext || !samePath(m_state.bodies, state.bodies);
    m_state = state;
    const bool compared = before != nullptr;
    const bool compareChanged = compared != m_beforeGraph.has_value() || (before && !before->sameStateAs(*m_beforeGraph));
    m_beforeGraph = before ? std::optional<Graph>(*before) : std::nullopt;
    m_beforeName = beforeTitle;
    if (changes.graph || compareChanged) {
        if (changes.graph && state.scopes)
            m_closed = defaultClosed(*state.scopes);
        rebuild(changes.graph);
    } else if (changes.timeline || ((changes.step || changes.values) && (m_overlayBox->currentIndex() == static_cast<int>(OverlayKind::Gradient) || state.step.has_value()))) {
        rebuild(false);
    }
    // A live training tells many steps a second: what is being built is shown first.
    if (changes.training && !changes.graph && m_overlayBox->currentIndex() == static_cast<int>(OverlayKind::Gradient) && state.gradientOf.empty()) {
        if (m_building)
            m_again = true;
        else
            rebuild(false);
    }
    if (changes.graph)
        m_gradientOffered = m_gradientOffered && !state.bodies.empty();
    if (changes.graph)
        showCrumbs();
    // The first backward step puts the gradients' size on the graph; whoever switches that off is not asked again.
    if (changes.step && state.step && state.step->position > state.step->backwardStart && !m_gradientOffered && m_overlayBox->currentIndex() == static_cast<int>(OverlayKind::None)) {
        m_gradientOffered = true;
        setOverlay(OverlayKind::Gradient);
    }
    m_followStep = changes.step || (m_followStep && !changes.selection);
    refreshMarks();
    const auto steps = shownSteps(state);
    if (changes.step && steps && steps->last()) {
        if (const int node = sceneNode(steps->last()); node >= 0)
            m_after->ensureVisible(node);
    } else if (changes.selection) {
        if (const int node = sceneNode(state.selection.node); node >= 0)
            m_after->ensureVisible(node);
    }
    updateBar();
}

void GraphPanel::rebuild(bool newGraph) {
    if (!m_state.types || !m_state.scopes)
        return;
    m_stop.request_stop();
    m_stop = std::stop_source();
    const std::uint32_t generation = ++m_generation;
    m_building = true;
    const auto overlayKind = static_cast<OverlayKind>(m_overlayBox->currentIndex());
    m_pool.start([this, generation, newGraph, overlayKind, stop = m_stop.get_token(), state = m_state, before = m_beforeGraph, closed = m_closed] {
        auto built = std::make_shared<Built>();
        built->newGraph = newGraph;
        std::unordered_set<NodeId> notYet;
        if (const auto steps = shownSteps(state); steps && (steps->position > 0 || steps->level))
            notYet.insert(steps->order.begin() + static_cast<std::ptrdiff_t>(steps->position), steps->order.end());
        Overlay overlay = makeOverlay(overlayKind, state);
        GraphViewOptions options;
        options.closed = closed;
        options.notYet = notYet.empty() ? nullptr : &notYet;
        std::unordered_set<NodeId> withNan;
        for (const auto& [id, stats] : state.stats) {
            if (const engine::Value* value = stats.nan > 0 ? state.graph.value(id) : nullptr)
                withNan.insert(value->producer);
        }
        options.withNan = &withNan;
        options.overlay = overlayKind == OverlayKind::None ? nullptr : &overlay;
        if (before) {
            options.other = &*before;
            options.side = GraphViewOptions::Side::After;
        }
        GraphView after = buildGraphView(state.graph, *state.types, *state.scopes, options);
        if (options.overlay) {
            after.scene.overlayRamp = overlay.ramp;
            after.scene.overlayTitle = overlay.title;
            after.scene.overlayLow = overlay.low;
            after.scene.overlayHigh = overlay.high;
        }
        if (before) {
            GraphViewOptions left;
            left.closed = closed;
            left.other = &state.graph;
            left.side = GraphViewOptions::Side::Before;
            GraphView beforeView = buildGraphView(*before, *engine::types(*before, sampleBindings(*before)), scopeTree(*before), left);
            if (auto both = layoutUnion(std::move(beforeView), std::move(after), stop)) {
                built->before = std::move(both->before);
                built->after = std::move(both->after);
                built->beforeScene = PreparedScene::make(built->before.scene);
            } else {
                built->error = both.error();
            }
        } else if (auto layout = layeredLayout(layoutRequestOf(after.scene), stop)) {
            applyLayout(after.scene, *layout);
            built->after = std::move(after);
        } else {
            built->error = layout.error();
        }
        if (stop.stop_requested())
            return;
        if (!built->error)
            built->afterScene = PreparedScene::make(built->after.scene);
        QMetaObject::invokeMethod(this, [this, built, generation] {
            if (generation == m_generation)
                show(built);
        }, Qt::QueuedConnection);
    });
}

void GraphPanel::show(const std::shared_ptr<Built>& built) {
    m_building = false;
    if (built->error) {
        m_path->setText(QString::fromStdString(built->error->message()));
        return;
    }
    const bool compared = built->beforeScene != nullptr;
    m_afterView = std::move(built->after);
    m_beforeView = std::move(built->before);
    m_beforeSide->setVisible(compared);
    m_beforeTitle->setVisible(compared);
    m_afterTitle->setVisible(compared);
    if (compared) {
        m_beforeTitle->setText(tr("Before: %1").arg(m_beforeName));
        for (const HistoryEntry& entry : m_state.history) {
            if (entry.id == m_state.currentState)
                m_afterTitle->setText(tr("After: %1 (%2)").arg(QString::fromStdString(entry.title), QString::fromStdString(entry.subtitle)));
        }
        m_before->setScene(built->beforeScene);
    }
    m_after->setScene(built->afterScene);
    if (m_fitNext && built->newGraph) // another body has nothing where the last one had it
        m_after->fitAll();
    m_fitNext = m_fitNext && !built->newGraph;
    if (built->newGraph)
        showReadableTop();
    if (compared)
        m_before->setView(m_after->centre(), m_after->zoomLevel());
    if (!m_search->text().isEmpty())
        search(m_search->text());
    refreshMarks();
    updateBar();
    askWorker();
    Q_EMIT sceneShown();
    if (std::exchange(m_again, false))
        rebuild(false);
}

/// A graph whose whole picture has no legible word begins at its top instead; the overview map shows the rest.
void GraphPanel::showReadableTop() {
    constexpr double kTooSmall = 0.4;
    constexpr std::size_t kShape = 1500; // above this the shape of the whole says more than the first cards
    constexpr int kLevel = -3;           // zoom 2^(-3/4)
    const GraphScene& scene = m_afterView.scene;
    if (m_after->zoom() >= kTooSmall || scene.nodes.empty() || scene.nodes.size() > kShape || m_state.step)
        return;
    const auto top = std::min_element(scene.nodes.begin(), scene.nodes.end(), [](const SceneNode& a, const SceneNode& b) { return a.box.y < b.box.y; });
    const double zoom = std::pow(2.0, kLevel / 4.0);
    m_after->setView(QPointF(static_cast<qreal>(top->box.centre().x), static_cast<qreal>(top->box.y) + (m_after->height() / 2.0 - 32) / zoom), kLevel);
}

void GraphPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    updateBar();
}

void GraphPanel::askWorker() {
    // Stepping repaints the same graph often: keep the places it has.
    if (m_beforeGraph || m_state.step || !m_afterView.scene.groups.empty() || m_afterView.scene.nodes.size() > kWorkerNodes || m_afterView.scene.nodes.empty())
        return;
    m_workerGeneration = m_generation;
    m_workerRequest = m_worker->request(layoutRequestOf(m_afterView.scene));
}

int GraphPanel::sceneNode(NodeId node) const {
    const auto it = m_afterView.sceneOf.find(node);
    return it == m_afterView.sceneOf.end() ? -1 : it->second;
}

void GraphPanel::reveal(NodeId node) {
    if (const int index = sceneNode(node); index >= 0)
        m_after->fitNodes({index});
}

void GraphPanel::setOverlay(OverlayKind kind) { m_overlayBox->setCurrentIndex(static_cast<int>(kind)); }

void GraphPanel::refreshMarks() {
    std::vector<int> selected;
    if (const int node = sceneNode(m_state.selection.node); node >= 0)
        selected.push_back(node);
    else if (m_state.selection.value) {
        for (std::size_t i = 0; i < m_afterView.valueOf.size(); ++i) {
            if (m_afterView.valueOf[i] == m_state.selection.value)
                selected.push_back(static_cast<int>(i));
        }
    }
    m_after->setSelection(selected, GraphCanvas::Follow::No);
    const auto steps = shownSteps(m_state);
    const int next = steps ? sceneNode(steps->next()) : -1;
    const bool follow = next >= 0 && m_followStep;
    m_after->setCurrentStep(next, follow ? GraphCanvas::Follow::Yes : GraphCanvas::Follow::No);
    if (follow && m_after->zoom() < kReadableZoom) { // following blocks without names helps nobody
        const Point at = m_afterView.scene.nodes[static_cast<std::size_t>(next)].box.centre();
        m_after->setView(QPointF(static_cast<qreal>(at.x), static_cast<qreal>(at.y)), kReadableLevel);
    }
    std::vector<int> breakpoints;
    for (const NodeId node : m_state.breakpoints) {
        if (const int index = sceneNode(node); index >= 0)
            breakpoints.push_back(index);
    }
    m_after->setBreakpoints(std::move(breakpoints));
}

void GraphPanel::search(const QString& text) {
    m_hits.clear();
    m_hit = -1;
    const std::string needle = text.trimmed().toLower().toStdString();
    if (!needle.empty()) {
        for (std::size_t i = 0; i < m_afterView.scene.nodes.size(); ++i) {
            const SceneNode& node = m_afterView.scene.nodes[i];
            const QString haystack = QString::fromStdString(node.name.substr(0, 300) + " " + node.subtitle.substr(0, 300)).toLower();
            if (haystack.contains(QString::fromStdString(needle)))
                m_hits.push_back(static_cast<int>(i));
        }
    }
    m_after->setSearchHits(m_hits);
    m_hitLabel->setText(needle.empty() ? QString() : tr("%1 found").arg(m_hits.size()));
}

void GraphPanel::nextHit(int direction) {
    if (m_hits.empty())
        return;
    const int count = static_cast<int>(m_hits.size());
    m_hit = m_hit < 0 ? 0 : (m_hit + direction + count) % count;
    const int node = m_hits[static_cast<std::size_t>(m_hit)];
    m_hitLabel->setText(tr("%1 of %2").arg(m_hit + 1).arg(count));
    m_after->ensureVisible(node);
    const NodeId id = m_afterView.nodeOf[static_cast<std::size_t>(node)];
    const engine::Node* graphNode = m_state.graph.node(id);
    Q_EMIT selectionWanted({id, graphNode ? graphNode->output(0) : m_afterView.valueOf[static_cast<std::size_t>(node)]});
}

void GraphPanel::updateBar() {
    QStringList path;
    if (m_state.bodies.empty())
        path << QString::fromStdString(m_state.documentTitle);
    if (m_state.scopes && m_state.graph.node(m_state.selection.node)) {
        const auto& scope = m_state.scopes->scopes[static_cast<std::size_t>(m_state.scopes->scope(m_state.selection.node))];
        if (!scope.path.empty())
            path << QString::fromStdString(scope.path).split('/');
        path << QString::fromStdString(m_state.scopes->title(m_state.selection.node).substr(0, 200));
    }
    QString text = path.join("  \u203a  ");
    if (!m_state.bodies.empty() && !path.isEmpty())
        text.prepend("\u203a  ");
    m_path->setText(QFontMetrics(m_path->font()).elidedText(text, Qt::ElideLeft, m_path->width() - 4));
    m_path->setToolTip(text.toHtmlEscaped());
    m_zoomLabel->setText(QStringLiteral("%1 %").arg(qRound(m_after->zoom() * 100)));
    showStepBadge();
}

} // namespace nabla::app
