// Symbolic dimensions: arithmetic is that of polynomials, with floors where it leaves them.
#include <limits>

#include <QTest>

#include "engine/graph/dim.h"

using nabla::engine::Dim;

class tst_dim : public QObject {
    Q_OBJECT
private slots:
    void formsAreCanonical_data();
    void formsAreCanonical();
    void equalExpressionsAreTheSame();
    void divisionRoundsDown_data();
    void divisionRoundsDown();
    void overflowIsUnknownNotWrong();
    void unknownsAreNotKnownToBeEqual();
};

namespace {
const Dim N = Dim::symbol("n"), S = Dim::symbol("s");
}

void tst_dim::formsAreCanonical_data() {
    QTest::addColumn<QString>("made");
    QTest::addColumn<QString>("text");
    int count = 0;
    const auto row = [&](const char* text, const Dim& dim) { QTest::addRow("%s #%d", text, ++count) << QString::fromStdString(dim.text()) << QString(text); };
    row("2*n+1", N + Dim(1) + N);
    row("n*s", S * N);
    row("0", N - N);
    row("n*n", N * N);
    row("n-2", N - Dim(2));
    row("-n", Dim(0) - N);
    row("?", Dim() + N);
    row("0", Dim() * Dim(0));
    row("n", Dim::floorDiv(N * Dim(6), Dim(6)));
    row("2*n", Dim::floorDiv(N * S * Dim(2), S));
    row("floor((n)/(2))", Dim::floorDiv(N, Dim(2)));
    row("n+1", Dim::max(N, N + Dim(1)));
    row("n", Dim::min(N + Dim(1), N));
    row("min(n,s)", Dim::min(S, N));
}

void tst_dim::formsAreCanonical() {
    QFETCH(const QString, made);
    QFETCH(const QString, text);
    QCOMPARE(made, text);
}

void tst_dim::equalExpressionsAreTheSame() {
    const Dim a = (N + Dim(1)) * (N - Dim(1)), b = N * N - Dim(1); // (n+1)(n-1) = n^2 - 1
    QVERIFY(a.sameAs(b));
    QVERIFY(!a.sameAs(N));
    QCOMPARE(a.atoms(), std::vector<std::string>{"n"});
}

void tst_dim::divisionRoundsDown_data() {
    QTest::addColumn<qint64>("a");
    QTest::addColumn<qint64>("b");
    QTest::addColumn<qint64>("floor");
    QTest::addColumn<qint64>("ceil");
    QTest::newRow("7/2") << qint64(7) << qint64(2) << qint64(3) << qint64(4);
    QTest::newRow("-7/2") << qint64(-7) << qint64(2) << qint64(-4) << qint64(-3);
    QTest::newRow("7/-2") << qint64(7) << qint64(-2) << qint64(-4) << qint64(-3);
    QTest::newRow("-6/-2") << qint64(-6) << qint64(-2) << qint64(3) << qint64(3);
    QTest::newRow("0/5") << qint64(0) << qint64(5) << qint64(0) << qint64(0);
}

void tst_dim::divisionRoundsDown() {
    QFETCH(const qint64, a);
    QFETCH(const qint64, b);
    QFETCH(const qint64, floor);
    QFETCH(const qint64, ceil);
    QCOMPARE(*Dim::floorDiv(Dim(a), Dim(b)).constant(), floor);
    QCOMPARE(*Dim::ceilDiv(Dim(a), Dim(b)).constant(), ceil);
}

void tst_dim::overflowIsUnknownNotWrong() {
    const Dim big(std::numeric_limits<std::int64_t>::max()), small(std::numeric_limits<std::int64_t>::min());
    QVERIFY((big + Dim(1)).isUnknown());
    QVERIFY((big * Dim(2)).isUnknown());
    QVERIFY((small * Dim(-1)).isUnknown());
    QVERIFY(Dim::floorDiv(small, Dim(-1)).isUnknown());
    QVERIFY(Dim::floorDiv(N, Dim(0)).isUnknown());
}

void tst_dim::unknownsAreNotKnownToBeEqual() {
    QVERIFY(!Dim().sameAs(Dim()));
    QVERIFY(Dim() == Dim());
}

QTEST_GUILESS_MAIN(tst_dim)
#include "tst_dim.moc"
