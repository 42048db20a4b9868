// Placement of buffers: no two that live together overlap, and the certificate is honest.
#include <QtTest>

#include <random>

#include "engine/plan/arena.h"

using namespace nabla::engine;

class ArenaTest : public QObject {
    Q_OBJECT

    static void check(const std::vector<ArenaBuffer>& buffers, const ArenaPlacement& placed) {
        QCOMPARE(placed.offsets.size(), buffers.size());
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            QVERIFY(placed.offsets[i] >= 0 && placed.offsets[i] % kArenaAlignment == 0);
            QVERIFY(placed.offsets[i] + buffers[i].bytes <= placed.bytes);
            for (std::size_t j = 0; j < i; ++j) {
                const bool together
                    = buffers[i].firstStep <= buffers[j].lastStep && buffers[j].firstStep <= buffers[i].lastStep;
                const bool overlap = placed.offsets[i] < placed.offsets[j] + buffers[j].bytes
                    && placed.offsets[j] < placed.offsets[i] + buffers[i].bytes;
                QVERIFY(!(together && overlap));
            }
        }
        QVERIFY(placed.bytes >= placed.lowerBound);
    }

private slots:
    void nothingNeedsNothing() { QCOMPARE(placeBuffers({}, 3).bytes, 0); }

    void aChainNeedsItsLargestNeighbours() {
        // Sizes 128, 64, 192, 64, each read by the next step: the largest pair alive at once is 64 + 192.
        const std::vector<ArenaBuffer> buffers{{128, 0, 1}, {64, 1, 2}, {192, 2, 3}, {64, 3, 4}};
        const ArenaPlacement placed = placeBuffers(buffers, 5);
        check(buffers, placed);
        QCOMPARE(placed.lowerBound, 256);
        QCOMPARE(placed.bytes, 256);
        QCOMPARE(placed.peakStep, 2U);
    }

    /// Forward values live until their backward step, as in training: buffers nest like brackets, and an optimal stack
    /// exists.
    void aTrainingStepMeetsItsBound() {
        std::vector<ArenaBuffer> buffers;
        std::mt19937 random(1);
        constexpr std::uint32_t kLayers = 400;
        for (std::uint32_t i = 0; i < kLayers; ++i) {
            buffers.push_back(
                {64 * (1 + static_cast<std::int64_t>(random() % 64)), i, 2 * kLayers - 1 - i}); // kept for backward
            buffers.push_back({64 * (1 + static_cast<std::int64_t>(random() % 64)), i, i + 1}); // short lived
            buffers.push_back(
                {64 * (1 + static_cast<std::int64_t>(random() % 64)), kLayers + i, kLayers + i + 1}); // cotangents
        }
        const ArenaPlacement placed = placeBuffers(buffers, 2 * kLayers + 2);
        check(buffers, placed);
        QCOMPARE(placed.bytes, placed.lowerBound);
    }

    void randomBuffersNeverOverlap_data() {
        QTest::addColumn<unsigned>("seed");
        for (unsigned seed = 0; seed < 20; ++seed)
            QTest::addRow("seed %u", seed) << seed;
    }
    void randomBuffersNeverOverlap() {
        QFETCH(unsigned, seed);
        std::mt19937 random(seed);
        std::vector<ArenaBuffer> buffers(150);
        for (ArenaBuffer& buffer : buffers) {
            buffer.bytes = 64 * (1 + static_cast<std::int64_t>(random() % 100));
            buffer.firstStep = static_cast<std::uint32_t>(random() % 100);
            buffer.lastStep = std::min<std::uint32_t>(99, buffer.firstStep + static_cast<std::uint32_t>(random() % 30));
        }
        check(buffers, placeBuffers(buffers, 100));
    }
};

QTEST_APPLESS_MAIN(ArenaTest)
#include "tst_arena.moc"
