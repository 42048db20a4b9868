// FLOPs, bytes and parameters; the arithmetic stands beside each number.
#include <QTest>

#include "engine/analysis/cost.h"
#include "engine/schema/text_form.h"

using namespace nabla::engine;

class TstCost : public QObject {
    Q_OBJECT

private slots:
    void matMulCountsMultiplyAndAdd() {
        const auto graph = parseGraphText("g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { m "
                                          "= MatMul (x, w) y = Relu (m) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        const auto bound = cost(*graph, {{"N", 4}});
        QCOMPARE(bound->flops, std::int64_t{2 * 4 * 3 * 2 + 4 * 2}); // a multiply-add is two; Relu one an element
        // MatMul reads 4x3 and 3x2 and writes 4x2; Relu reads and writes 4x2; four bytes each.
        QCOMPARE(bound->bytesMoved, std::int64_t{4 * (4 * 3 + 3 * 2 + 4 * 2 + 4 * 2 + 4 * 2)});
        QCOMPARE(bound->parameters, std::int64_t{6});
        QCOMPARE(bound->parameterBytes, std::int64_t{24});
        QCOMPARE(bound->unknownNodes, std::size_t{0});
        const auto open = cost(*graph);
        QCOMPARE(open->unknownNodes, std::size_t{2}); // N is not known
        QCOMPARE(open->flops, std::int64_t{0});
    }

    void movingElementsCountsNoFlops() {
        const auto graph = parseGraphText("g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }");
        QVERIFY(graph);
        QCOMPARE(cost(*graph)->flops, std::int64_t{0});
        QCOMPARE(cost(*graph)->bytesMoved, std::int64_t{2 * 6 * 4});
    }

    void hugeShapesSaturate() {
        // 2 * 2^23 * 2^23 * 2^23 is beyond 2^63; the file declares it, nothing was allocated.
        const auto graph = parseGraphText("g (float[8388608,8388608] x) => (y, z) { y = MatMul (x, x) z = MatMul (y, y) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        QCOMPARE(cost(*graph)->flops, std::numeric_limits<std::int64_t>::max());
        // An attribute is not bounded by any tensor's size.
        const auto pool = parseGraphText("g (float[1,1,8,8] x) => (float[1,1,1,1] y) { y = MaxPool <kernel_shape = [4611686018427387904, 4611686018427387904]> (x) }");
        QVERIFY2(pool, pool ? "" : pool.error().message().c_str());
        QCOMPARE(cost(*pool)->flops, std::int64_t{0});
    }

    void functionCountsItsBody() {
        const auto graph = parseGraphText(
            "<ir_version: 10, opset_import: [\"\" : 28, \"my\" : 1]> g (float[5] x) => (float[5] y) { y = my.f (x) }"
            "<domain: \"my\", opset_import: [\"\" : 28]> f (a) => (c) { b = Mul (a, a) c = Add (a, b) }");
        QVERIFY2(graph, graph ? "" : graph.error().message().c_str());
        QCOMPARE(cost(*graph)->flops, std::int64_t{5 + 5});
    }
};

QTEST_APPLESS_MAIN(TstCost)
#include "tst_cost.moc"
