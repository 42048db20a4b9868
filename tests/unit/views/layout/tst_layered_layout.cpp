// What every layout must satisfy: no overlap, edges down, groups around their nodes, routes beside boxes; and refusals.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include <QTest>

#include "layout_graphs.h"
#include "views/layout/layered_layout.h"

using namespace nabla::views;
using namespace nabla::views::test;

namespace {

LayoutResult layout(const LayoutRequest& r) {
    auto result = layeredLayout(r);
    if (!result)
        qFatal("%s", result.error().message().c_str());
    return *result;
}

/// Pairs of overlapping boxes, found by a sweep over y.
int overlaps(const std::vector<Box>& boxes) {
    std::vector<const Box*> sorted;
    for (const Box& b : boxes)
        sorted.push_back(&b);
    std::sort(sorted.begin(), sorted.end(), [](const Box* a, const Box* b) { return a->y < b->y; });
    int count = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        for (std::size_t j = i + 1; j < sorted.size() && sorted[j]->y < sorted[i]->bottom(); ++j)
            count += sorted[i]->overlaps(*sorted[j]);
    }
    return count;
}

Point bezier(std::span<const Point> c, float t) {
    const float s = 1 - t;
    const auto mix = [&](float a, float b, float d, float e) {
        return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * d + t * t * t * e;
    };
    return {mix(c[0].x, c[1].x, c[2].x, c[3].x), mix(c[0].y, c[1].y, c[2].y, c[3].y)};
}

/// Edges that run through the inside of a node that is not one of their ends.
int edgesThroughNodes(const LayoutRequest& r, const LayoutResult& l) {
    int count = 0;
    for (std::size_t e = 0; e < r.edges.size(); ++e) {
        std::set<int> hit;
        const auto points = l.route(e);
        for (std::size_t i = 0; i + 3 < points.size(); i += 3) {
            for (int k = 0; k <= 16; ++k) {
                const Point p = bezier(points.subspan(i, 4), static_cast<float>(k) / 16);
                for (int n = 0; n < static_cast<int>(l.nodes.size()); ++n) {
                    Box inner = l.nodes[n];
                    inner = {inner.x + 2, inner.y + 2, inner.width - 4, inner.height - 4};
                    if (n != r.edges[e].from && n != r.edges[e].to && inner.contains(p))
                        hit.insert(n);
                }
            }
        }
        count += static_cast<int>(hit.size());
    }
    return count;
}

bool touches(const Box& b, Point p) {
    return p.x >= b.x - 0.5f && p.x <= b.right() + 0.5f && p.y >= b.y - 0.5f && p.y <= b.bottom() + 0.5f;
}

} // namespace

class TestLayeredLayout : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void placesWithoutOverlap_data();
    void placesWithoutOverlap();
    void fanInOf361NodesIsClean();
    void residualSpineIsStraight();
    void widthStaysNearWidestRank();
    void cyclesAndSelfEdgesAreDrawn();
    void longChainNeedsNoRecursion();
    void fiftyThousandNodes();
    void groupsHoldTheirNodesAndMeetEdgesInPorts();
    void equalBlocksAreLaidOutOnce();
    void unconnectedPartsDoNotOverlap();
    void hostileRequestsAreRefused_data();
    void hostileRequestsAreRefused();
    void stopCancels();
    void emptyGraphIsEmpty();
};

void TestLayeredLayout::placesWithoutOverlap_data() {
    QTest::addColumn<LayoutRequest>("request");
    QTest::newRow("chain") << chain(30);
    QTest::newRow("residual") << residual(20);
    QTest::newRow("skips") << irregularSkips(400);
    QTest::newRow("transformer") << transformer(6);
    LayoutRequest mixed = irregularSkips(200, 7);
    for (std::size_t i = 0; i < mixed.nodes.size(); i += 3)
        mixed.nodes[i] = {60.0f + static_cast<float>(i), 20.0f + static_cast<float>(i % 50)};
    QTest::newRow("mixed sizes") << mixed;
}

void TestLayeredLayout::placesWithoutOverlap() {
    QFETCH(LayoutRequest, request);
    const LayoutResult l = layout(request);
    QCOMPARE(overlaps(l.nodes), 0);
    QCOMPARE(l.firstPoint.size(), request.edges.size() + 1);
    for (std::size_t e = 0; e < request.edges.size(); ++e) {
        const auto points = l.route(e);
        QVERIFY(points.size() >= 4 && points.size() % 3 == 1);
        const Box& from = l.nodes[request.edges[e].from];
        const Box& to = l.nodes[request.edges[e].to];
        QVERIFY(touches(from, points.front()));
        QVERIFY(touches(to, points.back()));
        QVERIFY2(from.bottom() <= to.y + 0.5f, "an edge of an acyclic graph points up");
    }
    for (const Box& b : l.nodes)
        QVERIFY(b.x >= -0.5f && b.y >= -0.5f && b.right() <= l.bounds.right() + 0.5f
            && b.bottom() <= l.bounds.bottom() + 0.5f);
    QCOMPARE(edgesThroughNodes(request, l), 0);
}

void TestLayeredLayout::fanInOf361NodesIsClean() {
    const LayoutRequest r = fanIn(60);
    QCOMPARE(r.nodes.size(), std::size_t(361));
    const auto start = std::chrono::steady_clock::now();
    const LayoutResult l = layout(r);
    QVERIFY(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
    QCOMPARE(overlaps(l.nodes), 0);
    QCOMPARE(edgesThroughNodes(r, l), 0);
    // The 59 skips share a lane, so the picture is hardly wider than a card.
    QVERIFY2(l.bounds.width < 2 * 230, qPrintable(QString::number(l.bounds.width)));
}

void TestLayeredLayout::residualSpineIsStraight() {
    const LayoutRequest r = residual(30);
    const LayoutResult l = layout(r);
    for (std::size_t n = 1; n < l.nodes.size(); ++n)
        QVERIFY(std::abs(l.nodes[n].centre().x - l.nodes[0].centre().x) < 1.5f);
}

void TestLayeredLayout::widthStaysNearWidestRank() {
    const LayoutRequest r = irregularSkips(2000, 3);
    const LayoutResult l = layout(r);
    // A rank is a set of nodes of one y; dummies are not counted, so the bound is generous: twice, and one card a side.
    std::map<float, int> ranks;
    int widest = 0;
    for (const Box& b : l.nodes)
        widest = std::max(widest, ++ranks[b.y]);
    float left = 1e9f, right = 0;
    for (const Box& b : l.nodes) {
        left = std::min(left, b.x);
        right = std::max(right, b.right());
    }
    QVERIFY2(right - left <= 2.0f * static_cast<float>(widest + 2) * (230 + 26),
        qPrintable(QStringLiteral("%1 wide, widest rank %2").arg(right - left).arg(widest)));
}

void TestLayeredLayout::cyclesAndSelfEdgesAreDrawn() {
    LayoutRequest r = chain(5);
    r.edges.push_back({4, 1});
    r.edges.push_back({2, 2});
    r.edges.push_back({3, 0});
    const LayoutResult l = layout(r);
    QCOMPARE(overlaps(l.nodes), 0);
    for (std::size_t e = 0; e < r.edges.size(); ++e) {
        QVERIFY(touches(l.nodes[r.edges[e].from], l.route(e).front()));
        QVERIFY(touches(l.nodes[r.edges[e].to], l.route(e).back()));
    }
    int up = 0;
    for (const LayoutEdge& e : r.edges)
        up += l.nodes[e.from].y > l.nodes[e.to].y;
    QCOMPARE(up, 2);
    for (const Point p : l.route(5)) // the loop stays in the picture
        QVERIFY(p.x <= l.bounds.right() && p.y >= 0);
}

void TestLayeredLayout::longChainNeedsNoRecursion() {
    const LayoutResult l = layout(chain(20'000));
    for (const Box& b : l.nodes)
        QCOMPARE(b.x, l.nodes[0].x);
    LayoutRequest back = chain(20'000);
    for (LayoutEdge& e : back.edges)
        std::swap(e.from, e.to); // not in the order of indices: takes the depth-first walk
    QCOMPARE(layout(back).nodes.size(), std::size_t(20'000));
}

void TestLayeredLayout::fiftyThousandNodes() {
    const LayoutResult l = layout(irregularSkips(50'000));
    QCOMPARE(overlaps(l.nodes), 0);
}

void TestLayeredLayout::groupsHoldTheirNodesAndMeetEdgesInPorts() {
    const LayoutRequest r = transformer(4);
    const LayoutResult l = layout(r);
    for (std::size_t n = 0; n < r.nodes.size(); ++n) {
        for (int g = r.nodes[n].group; g >= 0; g = r.groups[g].parent) {
            const Box& box = l.groups[g];
            const Box& node = l.nodes[n];
            QVERIFY(node.x >= box.x && node.right() <= box.right() && node.bottom() <= box.bottom());
            QVERIFY(node.y >= box.y + r.spacing.groupHeader);
        }
    }
    std::vector<Box> outer;
    for (std::size_t g = 0; g < r.groups.size(); ++g) {
        if (r.groups[g].parent < 0)
            outer.push_back(l.groups[g]);
        else
            QVERIFY(l.groups[r.groups[g].parent].contains({l.groups[g].x, l.groups[g].y}));
    }
    QCOMPARE(overlaps(outer), 0);
    // Each outer box is entered by `last` and the mask, and left once; each inner one by the norm and the mask.
    QCOMPARE(l.ports.size(), std::size_t(4 * (2 + 1 + 2 + 1)));
    for (const LayoutPort& p : l.ports) {
        const Box& box = l.groups[p.group];
        QVERIFY(std::abs(p.at.y - box.y) < 0.5f || std::abs(p.at.y - box.bottom()) < 0.5f);
        const auto points = l.route(static_cast<std::size_t>(p.edge));
        const bool onRoute = std::any_of(points.begin(), points.end(),
            [&](Point q) { return std::abs(q.x - p.at.x) < 0.5f && std::abs(q.y - p.at.y) < 0.5f; });
        QVERIFY(onRoute);
    }
}

void TestLayeredLayout::equalBlocksAreLaidOutOnce() {
    LayoutCache cache;
    const LayoutRequest r = transformer(24);
    const auto fresh = layeredLayout(r);
    const auto cached = layeredLayout(r, {}, &cache);
    QVERIFY(fresh && cached);
    QVERIFY(fresh->nodes == cached->nodes);
    QCOMPARE(cache.misses(), 3); // top level, layer, attention
    QCOMPARE(cache.hits(), 46);
}

void TestLayeredLayout::unconnectedPartsDoNotOverlap() {
    LayoutRequest r = cards(40);
    for (int i = 0; i < 9; ++i)
        r.edges.push_back({i, i + 1});
    for (int i = 12; i < 20; ++i)
        r.edges.push_back({12, i + 1});
    const LayoutResult l = layout(r);
    QCOMPARE(overlaps(l.nodes), 0);
}

void TestLayeredLayout::hostileRequestsAreRefused_data() {
    QTest::addColumn<LayoutRequest>("request");
    QTest::addColumn<QString>("message");
    LayoutRequest r = chain(3);
    r.edges.push_back({0, 3});
    QTest::newRow("edge") << r << "layout edge 2: 0 to 3, but there are 3 nodes";
    r = chain(3);
    r.nodes[1].width = std::numeric_limits<float>::quiet_NaN();
    QTest::newRow("size") << r << "layout node 1: size nan x 64 is not in 0 to 1000000";
    r = chain(3);
    r.nodes[2].group = 0;
    QTest::newRow("group") << r << "layout node 2: group 0 of 0";
    r = chain(3);
    r.groups = {{1, 0}, {0, 0}};
    QTest::newRow("group cycle") << r << "layout group 0 contains itself";
    r = chain(3);
    for (int i = 0; i < 2000; ++i)
        r.groups.push_back({i - 1, 0});
    QTest::newRow("deep") << r << "layout group 512: nested 513 deep, more than 512";
}

void TestLayeredLayout::hostileRequestsAreRefused() {
    QFETCH(LayoutRequest, request);
    QFETCH(QString, message);
    const auto result = layeredLayout(request);
    QVERIFY(!result);
    QCOMPARE(QString::fromStdString(result.error().message()), message);
}

void TestLayeredLayout::stopCancels() {
    std::stop_source stop;
    stop.request_stop();
    const auto result = layeredLayout(irregularSkips(1000), stop.get_token());
    QVERIFY(!result);
    QCOMPARE(result.error().kind(), nabla::engine::ErrorKind::Cancelled);
}

void TestLayeredLayout::emptyGraphIsEmpty() {
    const LayoutResult l = layout({});
    QVERIFY(l.nodes.empty());
    QCOMPARE(l.bounds.width, 0.0f);
}

QTEST_GUILESS_MAIN(TestLayeredLayout)
#include "tst_layered_layout.moc"
