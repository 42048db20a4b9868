// The canvas driven by real clicks and keys, asserting on signals and on what is painted. With NABLA_SHOTS set to a
// folder it also leaves pictures there to look at.
#include <QAccessible>
#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "canvas_scenes.h"
#include "layout_graphs.h"
#include "views/canvas/graph_canvas.h"
#include "views/theme/nabla_style.h"

using namespace nabla::views;
using namespace nabla::views::test;

namespace {

bool hasColour(const QImage& image, const QRectF& area, const QColor& colour) {
    const double r = image.devicePixelRatio();
    const QRect pixels = QRectF(area.topLeft() * r, area.size() * r).toAlignedRect().intersected(image.rect());
    for (int y = pixels.top(); y <= pixels.bottom(); ++y) {
        for (int x = pixels.left(); x <= pixels.right(); ++x) {
            if (image.pixelColor(x, y).rgb() == colour.rgb())
                return true;
        }
    }
    return false;
}

} // namespace

class TestGraphCanvas : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void clickSelectsAndPaintsTheSelection();
    void clickOnBackgroundClears();
    void dragPansAndDoesNotClear();
    void wheelKeepsThePointUnderTheCursor();
    void keysZoomFitAndToggle();
    void arrowsWalkTheGraph();
    void doubleClickAndEnterActivate();
    void collapseBoxTogglesTheGroup();
    void expandBoxTogglesTheClosedGroup();
    void edgeClickIsReported();
    void sceneChangeKeepsSelectionAndAnchor();
    void currentStepIsFollowed();
    void currentStepComesFromUnderTheMinimap();
    void farViewShowsKindColours();
    void dimmingQuietensTheRest();
    void minimapMovesTheView();
    void themeChangeRepaints();
    void accessibleListNamesTheNodes();
    void hostileNamesAreHarmless();
    void staleIndicesAreIgnored();
    void leavesPictures();

private:
    std::unique_ptr<ThemeSource> m_theme;
    std::unique_ptr<GraphCanvas> m_canvas;

    void show(GraphScene scene, QSize size = {1000, 900}) {
        m_canvas->resize(size);
        m_canvas->setScene(PreparedScene::make(std::move(scene)));
        m_canvas->show();
        QVERIFY(QTest::qWaitForWindowActive(m_canvas.get()));
        m_canvas->setFocus();
        settle();
    }
    void settle() {
        m_canvas->repaint();
        QTRY_VERIFY_WITH_TIMEOUT(m_canvas->isSettled(), 20'000);
    }
    QImage picture() {
        settle();
        return m_canvas->grab().toImage();
    }
    const GraphScene& scene() const { return m_canvas->scenePtr()->scene(); }
    QPoint middleOf(int node) const { return m_canvas->widgetRect(scene().nodes[node].box).center().toPoint(); }
    void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(m_canvas.get(), Qt::LeftButton, modifiers, at);
    }
};

void TestGraphCanvas::init() {
    m_theme = std::make_unique<ThemeSource>(ThemeKind::Light);
    m_canvas = std::make_unique<GraphCanvas>(*m_theme);
    m_canvas->setAnimated(false);
}

void TestGraphCanvas::cleanup() {
    m_canvas.reset();
}

void TestGraphCanvas::clickSelectsAndPaintsTheSelection() {
    show(resnetBlock());
    QSignalSpy selected(m_canvas.get(), &GraphCanvas::nodeSelected);
    const QRectF card = m_canvas->widgetRect(scene().nodes[1].box);
    QVERIFY(!hasColour(picture(), card, m_theme->theme().selection));
    click(middleOf(1));
    QCOMPARE(selected.size(), 1);
    QCOMPARE(selected[0][0].toInt(), 1);
    QVERIFY(hasColour(picture(), card, m_theme->theme().selection));
    click(middleOf(2), Qt::ControlModifier);
    QCOMPARE(m_canvas->selection().size(), std::size_t(2));
}

void TestGraphCanvas::clickOnBackgroundClears() {
    show(resnetBlock());
    click(middleOf(1));
    click({5, 5});
    QVERIFY(m_canvas->selection().empty());
}

void TestGraphCanvas::dragPansAndDoesNotClear() {
    show(resnetBlock());
    click(middleOf(1));
    const QPoint before = middleOf(1);
    const QPoint from(5, 400);
    QTest::mousePress(m_canvas.get(), Qt::LeftButton, {}, from);
    QTest::mouseMove(m_canvas.get(), from + QPoint(60, 30));
    QTest::mouseMove(m_canvas.get(), from + QPoint(120, 40));
    QTest::mouseRelease(m_canvas.get(), Qt::LeftButton, {}, from + QPoint(120, 40));
    QVERIFY((middleOf(1) - before - QPoint(120, 40)).manhattanLength() <= 2);
    QCOMPARE(m_canvas->selection().size(), std::size_t(1));
}

void TestGraphCanvas::wheelKeepsThePointUnderTheCursor() {
    show(resnetBlock());
    const QPointF at = middleOf(4);
    const Point before = m_canvas->toScene(at);
    const int level = m_canvas->zoomLevel();
    QWheelEvent turn(
        at, m_canvas->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(m_canvas.get(), &turn);
    QCOMPARE(m_canvas->zoomLevel(), level + 2);
    const Point after = m_canvas->toScene(at);
    QVERIFY(std::abs(after.x - before.x) < 2 && std::abs(after.y - before.y) < 2);
}

void TestGraphCanvas::keysZoomFitAndToggle() {
    show(resnetBlock());
    const int fitted = m_canvas->zoomLevel();
    QTest::keyClick(m_canvas.get(), Qt::Key_Plus);
    QCOMPARE(m_canvas->zoomLevel(), fitted + 1);
    QTest::keyClick(m_canvas.get(), Qt::Key_Minus);
    QTest::keyClick(m_canvas.get(), Qt::Key_Minus);
    QCOMPARE(m_canvas->zoomLevel(), fitted - 1);
    QTest::keyClick(m_canvas.get(), Qt::Key_0);
    QCOMPARE(m_canvas->zoom(), 1.0);
    QTest::keyClick(m_canvas.get(), Qt::Key_Home);
    QCOMPARE(m_canvas->zoomLevel(), fitted);
    for (std::size_t n = 0; n < scene().nodes.size(); ++n)
        QVERIFY(QRectF(m_canvas->rect()).contains(m_canvas->widgetRect(scene().nodes[n].box)));
    QSignalSpy minimap(m_canvas.get(), &GraphCanvas::minimapToggled);
    QTest::keyClick(m_canvas.get(), Qt::Key_M);
    QCOMPARE(minimap.size(), 1);
}

void TestGraphCanvas::arrowsWalkTheGraph() {
    show(resnetBlock());
    m_canvas->setSelection({3}); // relu
    QTest::keyClick(m_canvas.get(), Qt::Key_Down);
    QCOMPARE(m_canvas->selection(), std::vector<int>{4}); // conv2 reads it
    QTest::keyClick(m_canvas.get(), Qt::Key_Up);
    QTest::keyClick(m_canvas.get(), Qt::Key_Up);
    QCOMPARE(m_canvas->selection(), std::vector<int>{2}); // bn1
    m_canvas->setSelection({1});
    const bool right = scene().nodes[6].box.x > scene().nodes[1].box.x;
    QTest::keyClick(m_canvas.get(), right ? Qt::Key_Right : Qt::Key_Left);
    QCOMPARE(m_canvas->selection(), std::vector<int>{6}); // downsample.0 beside conv1
    m_canvas->setSelection({});
    const QPoint before = middleOf(1);
    QTest::keyClick(m_canvas.get(), Qt::Key_Down);
    QVERIFY(middleOf(1).y() < before.y()); // pans
}

void TestGraphCanvas::doubleClickAndEnterActivate() {
    show(resnetBlock());
    QSignalSpy activated(m_canvas.get(), &GraphCanvas::nodeActivated);
    QTest::mouseDClick(m_canvas.get(), Qt::LeftButton, {}, middleOf(4));
    QCOMPARE(activated.size(), 1);
    m_canvas->setSelection({5});
    QTest::keyClick(m_canvas.get(), Qt::Key_Return);
    QCOMPARE(activated.size(), 2);
    QCOMPARE(activated[1][0].toInt(), 5);
}

void TestGraphCanvas::collapseBoxTogglesTheGroup() {
    show(resnetBlock());
    QSignalSpy toggled(m_canvas.get(), &GraphCanvas::groupToggled);
    click(m_canvas->widgetRect(CardPainter::collapseBox(scene().groups[0])).center().toPoint(), Qt::AltModifier);
    QCOMPARE(toggled.size(), 1);
    QCOMPARE(toggled[0][0].toInt(), 0);
    QCOMPARE(toggled[0][1].value<GraphCanvas::Depth>(), GraphCanvas::Depth::All);
}

void TestGraphCanvas::expandBoxTogglesTheClosedGroup() {
    show(resnetBlock());
    QSignalSpy toggled(m_canvas.get(), &GraphCanvas::collapsedGroupToggled);
    click(m_canvas->widgetRect(CardPainter::expandBox(scene().nodes[0])).center().toPoint());
    QTest::mouseDClick(m_canvas.get(), Qt::LeftButton, {}, middleOf(0));
    QCOMPARE(toggled.size(), 2);
}

void TestGraphCanvas::edgeClickIsReported() {
    show(resnetBlock());
    QSignalSpy clicked(m_canvas.get(), &GraphCanvas::edgeClicked);
    const Point a = scene().nodes[3].box.centre(), b = scene().nodes[4].box.centre();
    const QPoint between = m_canvas->toWidget({a.x, (a.y + b.y) / 2}).toPoint();
    click(between);
    QCOMPARE(clicked.size(), 1);
    QCOMPARE(clicked[0][0].toInt(), 4); // relu to conv2
    click(between, Qt::ControlModifier);
    QCOMPARE(m_canvas->selection(), std::vector<int>{4});
}

void TestGraphCanvas::sceneChangeKeepsSelectionAndAnchor() {
    show(resnetBlock());
    m_canvas->setSelection({4});
    const QPoint before = middleOf(4);
    GraphScene changed = resnetBlock();
    changed.nodes.erase(changed.nodes.begin()); // layer1 goes, everything moves up
    changed.edges.erase(changed.edges.begin(), changed.edges.begin() + 2);
    for (SceneEdge& e : changed.edges) {
        --e.from;
        --e.to;
    }
    changed.hiddenEdges.clear();
    auto layout = layeredLayout(layoutRequestOf(changed));
    QVERIFY(layout);
    applyLayout(changed, *layout);
    m_canvas->setScene(PreparedScene::make(std::move(changed)));
    QCOMPARE(m_canvas->selection(), std::vector<int>{3});
    QVERIFY((middleOf(3) - before).manhattanLength() <= 2);
}

void TestGraphCanvas::currentStepIsFollowed() {
    GraphScene s;
    for (int i = 0; i < 60; ++i) {
        s.nodes.push_back(card("node", OperatorKind::Activation, "Relu", "", "", "", -1, -1));
        if (i > 0) {
            SceneEdge e;
            e.from = i - 1;
            e.to = i;
            s.edges.push_back(e);
        }
    }
    place(s);
    show(std::move(s), {600, 500});
    QTest::keyClick(m_canvas.get(), Qt::Key_0);
    m_canvas->setCurrentStep(59);
    const QRectF r = m_canvas->widgetRect(scene().nodes[59].box);
    QVERIFY(QRectF(m_canvas->rect()).contains(r));
    const QImage image = picture();
    QVERIFY(hasColour(image, r, m_theme->theme().stepBg));
    QVERIFY(hasColour(image, {r.left() - 12, r.top(), 10, r.height()}, m_theme->theme().step));
}

void TestGraphCanvas::currentStepComesFromUnderTheMinimap() {
    GraphScene s;
    for (int i = 0; i < 60; ++i)
        s.nodes.push_back(card("node", OperatorKind::Activation, "Relu", "", "", "", -1, -1));
    place(s);
    show(std::move(s), {900, 700});
    QTest::keyClick(m_canvas.get(), Qt::Key_0);
    m_canvas->ensureVisible(30);
    const QPoint corner(m_canvas->width() - 110, m_canvas->height() - 110); // the middle of the minimap
    const QPoint grip = m_canvas->widgetRect(scene().nodes[30].box).center().toPoint() - QPoint(0, 60); // beside the nodes
    const QPoint by = corner - m_canvas->widgetRect(scene().nodes[30].box).center().toPoint();
    QTest::mousePress(m_canvas.get(), Qt::LeftButton, {}, grip);
    QTest::mouseMove(m_canvas.get(), grip + by / 2);
    QTest::mouseMove(m_canvas.get(), grip + by);
    QTest::mouseRelease(m_canvas.get(), Qt::LeftButton, {}, grip + by);
    const QRectF under = m_canvas->widgetRect(scene().nodes[30].box);
    QVERIFY(under.contains(corner));
    m_canvas->setCurrentStep(30);
    const QRectF r = m_canvas->widgetRect(scene().nodes[30].box);
    const QImage image = picture();
    for (const QPointF& at : {r.topLeft(), r.topRight() - QPointF(20, 0), r.bottomLeft() - QPointF(0, 12), r.bottomRight() - QPointF(20, 12)})
        QVERIFY(hasColour(image, QRectF(at, QSizeF(20, 12)), m_theme->theme().stepBg));
    QVERIFY(std::fabs(r.top() - under.top()) < 1); // sideways only
    m_canvas->setCurrentStep(-1);
}

void TestGraphCanvas::farViewShowsKindColours() {
    GraphScene s = resnetBlock();
    s.overlayRamp = OverlayRamp::None;
    show(std::move(s));
    m_canvas->zoomBy(-12, m_canvas->rect().center());
    const QImage image = picture();
    QCOMPARE(detailLevel(m_canvas->zoom()), DetailLevel::Far);
    for (const int n : {1, 2, 3, 8})
        QVERIFY(hasColour(
            image, m_canvas->widgetRect(scene().nodes[n].box), m_theme->theme().colour(scene().nodes[n].kind)));
}

void TestGraphCanvas::dimmingQuietensTheRest() {
    show(resnetBlock());
    m_canvas->setSelection({1});
    m_canvas->setDimming(true);
    const QImage image = picture();
    const Theme& t = m_theme->theme();
    QVERIFY(hasColour(image, m_canvas->widgetRect(scene().nodes[2].box), t.colour(OperatorKind::Normalization)));
    QVERIFY(!hasColour(
        image, m_canvas->widgetRect(scene().nodes[5].box), t.colour(OperatorKind::Normalization))); // four hops away
}

void TestGraphCanvas::minimapMovesTheView() {
    show(resnetBlock());
    QTest::keyClick(m_canvas.get(), Qt::Key_0);
    for (int i = 0; i < 6; ++i)
        QTest::keyClick(m_canvas.get(), Qt::Key_Plus);
    settle();
    const QPointF before = m_canvas->centre();
    click({m_canvas->width() - 12 - 92, m_canvas->height() - 12 - 20});
    QVERIFY(m_canvas->centre().y() > before.y());
    click({m_canvas->width() - 12 - 92, m_canvas->height() - 12 - 170});
    QVERIFY(m_canvas->centre().y() < before.y());
}

void TestGraphCanvas::themeChangeRepaints() {
    show(resnetBlock());
    m_theme->setKind(ThemeKind::Dark);
    QVERIFY(hasColour(picture(), m_canvas->widgetRect(scene().nodes[1].box), m_theme->theme().card));
}

void TestGraphCanvas::accessibleListNamesTheNodes() {
    show(resnetBlock());
    QAccessibleInterface* list = QAccessible::queryAccessibleInterface(m_canvas.get());
    QVERIFY(list != nullptr);
    QCOMPARE(list->role(), QAccessible::List);
    QCOMPARE(list->childCount(), static_cast<int>(scene().nodes.size()));
    QStringList names;
    for (int i = 0; i < list->childCount(); ++i) {
        QAccessibleInterface* item = list->child(i);
        QVERIFY(item != nullptr && item->isValid());
        QCOMPARE(item->role(), QAccessible::ListItem);
        QCOMPARE(list->indexOfChild(item), i);
        names << item->text(QAccessible::Name);
    }
    QVERIFY(names.contains(
        QStringLiteral("conv1, Conv 3×3 · stride 2 · pad 1 · 64→128, [1,128,28,28] f32, 392 KiB, 0.71 ms")));
    QVERIFY(!list->text(QAccessible::Name).isEmpty());
}

void TestGraphCanvas::hostileNamesAreHarmless() {
    GraphScene s = resnetBlock();
    s.nodes[1].name = "<b>bold</b> & <img src=x>";
    s.nodes[2].name = "\u202Egnp.exe\n\tsecond line";
    s.nodes[3].name = std::string(1'000'000, 'x');
    s.nodes[4].name = "\xff\xfe broken \xc3";
    s.groups[0].title = std::string(1'000'000, 'y');
    s.edges[0].label = std::string(1'000'000, 'z');
    place(s);
    QElapsedTimer timer;
    timer.start();
    show(std::move(s));
    const QImage image = picture();
    QVERIFY(!image.isNull());
    QVERIFY2(timer.elapsed() < 10'000, qPrintable(QString::number(timer.elapsed())));
    for (const int n : {1, 2, 3, 4}) {
        const QString text = m_canvas->describe(n);
        QVERIFY(text.size() < 500);
        QVERIFY(!text.contains(u'\n') && !text.contains(QChar(0x202e)));
    }
}

void TestGraphCanvas::staleIndicesAreIgnored() {
    show(resnetBlock());
    m_canvas->setSelection({0, 99, -5});
    QCOMPARE(m_canvas->selection(), std::vector<int>{0});
    m_canvas->setCurrentStep(1000);
    QCOMPARE(m_canvas->currentStep(), -1);
    m_canvas->setBreakpoints({77});
    m_canvas->setScene(nullptr);
    QVERIFY(!picture().isNull());
    click(m_canvas->rect().center());
    for (const Qt::Key key : {Qt::Key_Up, Qt::Key_Left, Qt::Key_F, Qt::Key_Home, Qt::Key_Return, Qt::Key_Plus})
        QTest::keyClick(m_canvas.get(), key);
}

void TestGraphCanvas::leavesPictures() {
    const QString folder = qEnvironmentVariable("NABLA_SHOTS");
    if (folder.isEmpty())
        QSKIP("NABLA_SHOTS names no folder");
    const auto save
        = [&](const char* name) { picture().save(QStringLiteral("%1/%2.png").arg(folder, QLatin1String(name))); };
    for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark, ThemeKind::Contrast}) {
        const QByteArray suffix = kind == ThemeKind::Light ? "light" : kind == ThemeKind::Dark ? "dark" : "contrast";
        m_theme->setKind(kind);
        show(resnetBlock(), {1010, 1000});
        QTest::keyClick(m_canvas.get(), Qt::Key_0);
        m_canvas->setSelection({1});
        m_canvas->setBreakpoints({4});
        save(("block-" + suffix).constData());
        m_canvas->setDimming(true);
        save(("dimmed-" + suffix).constData());
        m_canvas->setDimming(false);
        m_canvas->zoomBy(-5, m_canvas->rect().center());
        save(("mid-" + suffix).constData());
        m_canvas->zoomBy(-4, m_canvas->rect().center());
        save(("far-" + suffix).constData());
        show(diffStates(), {1010, 800});
        m_canvas->setSelection({});
        m_canvas->setCurrentStep(3);
        m_canvas->setBreakpoints({4});
        m_canvas->fitAll();
        save(("diff-" + suffix).constData());
        m_canvas->setCurrentStep(-1);
    }
    m_theme->setKind(ThemeKind::Light);
    const auto graphScene = [](const LayoutRequest& r) {
        GraphScene s;
        for (std::size_t i = 0; i < r.nodes.size(); ++i) {
            s.nodes.push_back(card("node" + std::to_string(i), static_cast<OperatorKind>(i % 9), "Op · attr",
                "[1,128] f32", "4.00 KiB", "", -1, r.nodes[i].group));
            s.nodes.back().key = i + 1;
        }
        for (const LayoutGroup& g : r.groups) {
            SceneGroup group;
            group.parent = g.parent;
            group.title = "scope" + std::to_string(s.groups.size());
            s.groups.push_back(group);
        }
        for (const LayoutEdge& e : r.edges) {
            SceneEdge edge;
            edge.from = e.from;
            edge.to = e.to;
            s.edges.push_back(edge);
        }
        place(s);
        return s;
    };
    const std::pair<const char*, LayoutRequest> graphs[] = {{"residual", residual(3)}, {"fanin", fanIn(60)},
        {"transformer", transformer(3)}, {"skips", irregularSkips(300)}, {"skips-huge", irregularSkips(50'000)}};
    for (const auto& [name, request] : graphs) {
        show(graphScene(request), {1200, 1000});
        m_canvas->fitAll();
        save((QByteArray("fit-") + name).constData());
        m_canvas->zoomBy(-m_canvas->zoomLevel() - 3, m_canvas->rect().center());
        save((QByteArray("near-") + name).constData());
    }
}

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    ThemeSource theme;
    applyTheme(theme);
    TestGraphCanvas test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_graph_canvas.moc"
