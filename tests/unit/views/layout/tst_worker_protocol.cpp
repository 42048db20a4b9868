// Frames of the layout worker: round trips, and frames that lie about their lengths.
#include <QTest>

#include "layout_graphs.h"
#include "views/layout/layered_layout.h"
#include "views/layout/worker_protocol.h"

using namespace nabla::views;

namespace {

std::span<const std::byte> payload(const Bytes& frame) {
    return std::span(frame).subspan(4);
}

void put(Bytes& bytes, std::size_t at, std::uint32_t v) {
    for (std::size_t i = 0; i < 4; ++i)
        bytes[at + i] = static_cast<std::byte>(v >> (8 * i) & 0xff);
}

} // namespace

class TestWorkerProtocol : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void requestSurvives();
    void replySurvives();
    void lengthsAreLittleEndian();
    void framesMayArriveInPieces();
    void everyCutIsRefused();
    void countsBeyondTheBytesAreRefused();
    void tooLongFrameIsRefused();
    void routesOutsideThePointsAreRefused();
};

void TestWorkerProtocol::requestSurvives() {
    WorkerRequest r{7, WorkerRequestKind::Layout, test::transformer(2)};
    r.layout.nodes[3].previousX = 12.5f;
    r.layout.edges[1].labelHeight = 18;
    r.layout.spacing.rankGap = 33;
    const auto back = decodeRequest(payload(encodeRequest(r)));
    QVERIFY(back);
    QCOMPARE(back->id, 7u);
    QCOMPARE(back->layout.nodes.size(), r.layout.nodes.size());
    QCOMPARE(back->layout.nodes[3].previousX, 12.5f);
    QCOMPARE(back->layout.nodes[3].group, r.layout.nodes[3].group);
    QCOMPARE(back->layout.groups[1].parent, 0);
    QCOMPARE(back->layout.edges[1].labelHeight, 18.0f);
    QVERIFY(back->layout.spacing == r.layout.spacing);
}

void TestWorkerProtocol::replySurvives() {
    const auto layout = layeredLayout(test::transformer(2));
    QVERIFY(layout);
    const auto back = decodeReply(payload(encodeReply({9, 0, 1234, 20, *layout, {}})));
    QVERIFY(back);
    QCOMPARE(back->microseconds, 1234u);
    QVERIFY(back->result.nodes == layout->nodes);
    QVERIFY(back->result.groups == layout->groups);
    QVERIFY(back->result.points == layout->points);
    QVERIFY(back->result.firstPoint == layout->firstPoint);
    QCOMPARE(back->result.ports.size(), layout->ports.size());
    const auto failure = decodeReply(payload(encodeReply({9, 1, 0, 0, {}, "no layout"})));
    QVERIFY(failure);
    QCOMPARE(failure->message, std::string("no layout"));
}

void TestWorkerProtocol::lengthsAreLittleEndian() {
    const Bytes frame = encodeRequest({0x01020304, WorkerRequestKind::Ping, {}});
    const std::uint8_t expected[] = {5, 0, 0, 0, 4, 3, 2, 1, 1}; // u32 length, u32 id, u8 kind
    QCOMPARE(frame.size(), sizeof expected);
    for (std::size_t i = 0; i < frame.size(); ++i)
        QCOMPARE(static_cast<std::uint8_t>(frame[i]), expected[i]);
}

void TestWorkerProtocol::framesMayArriveInPieces() {
    Bytes stream = encodeRequest({1, WorkerRequestKind::Layout, test::chain(4)});
    const Bytes second = encodeRequest({2, WorkerRequestKind::Quit, {}});
    stream.insert(stream.end(), second.begin(), second.end());
    FrameReader reader;
    std::vector<std::uint32_t> ids;
    for (const std::byte b : stream) {
        reader.append(std::span(&b, 1));
        auto frame = reader.next();
        QVERIFY(frame);
        if (frame->has_value())
            ids.push_back(decodeRequest(**frame)->id);
    }
    QVERIFY(ids == (std::vector<std::uint32_t>{1, 2}));
}

void TestWorkerProtocol::everyCutIsRefused() {
    const Bytes frame = encodeRequest({1, WorkerRequestKind::Layout, test::transformer(1)});
    for (std::size_t n = 0; n + 4 < frame.size(); ++n)
        QVERIFY(!decodeRequest(payload(frame).first(n)));
    Bytes longer = frame;
    longer.push_back(std::byte{0});
    QVERIFY(!decodeRequest(payload(longer)));
}

void TestWorkerProtocol::countsBeyondTheBytesAreRefused() {
    Bytes frame = encodeRequest({1, WorkerRequestKind::Layout, test::chain(4)});
    put(frame, 4 + 5 + 24, 0x40000000); // after id, kind and six spacings: the node count
    const auto result = decodeRequest(payload(frame));
    QVERIFY(!result);
    QVERIFY(result.error().message().find("1073741824 nodes announced") != std::string::npos);
    frame[8] = std::byte{9};
    QVERIFY(!decodeRequest(payload(frame))); // kind
}

void TestWorkerProtocol::tooLongFrameIsRefused() {
    Bytes bytes(4);
    put(bytes, 0, 0xffffffff);
    FrameReader reader;
    reader.append(bytes);
    const auto frame = reader.next();
    QVERIFY(!frame);
    QCOMPARE(frame.error().message(), std::string("layout frame of 4294967295 bytes, more than 67108864"));
}

void TestWorkerProtocol::routesOutsideThePointsAreRefused() {
    auto layout = layeredLayout(test::chain(3));
    QVERIFY(layout);
    LayoutResult bad = *layout;
    bad.firstPoint[1] = 1000;
    QVERIFY(!decodeReply(payload(encodeReply({1, 0, 0, 0, bad, {}}))));
    bad = *layout;
    bad.points[0].x = std::numeric_limits<float>::infinity();
    QVERIFY(!decodeReply(payload(encodeReply({1, 0, 0, 0, bad, {}}))));
    bad = *layout;
    bad.points.push_back({});
    QVERIFY(!decodeReply(payload(encodeReply({1, 0, 0, 0, bad, {}}))));
}

QTEST_GUILESS_MAIN(TestWorkerProtocol)
#include "tst_worker_protocol.moc"
