// Numbers and units as text. Expected texts follow from the rule "three significant digits" by hand.
#include <limits>

#include <QTest>

#include "views/theme/units.h"

using namespace nabla::views;

class TestUnits : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bytes_data();
    void bytes();
    void durations_data();
    void durations();
    void numbers_data();
    void numbers();
    void countsShapesAndChanges();
};

void TestUnits::bytes_data() {
    QTest::addColumn<qint64>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << qint64(0) << "0 B";
    QTest::newRow("below") << qint64(1023) << "1023 B";
    QTest::newRow("one") << qint64(1024) << "1.00 KiB";
    QTest::newRow("784") << qint64(784 * 1024) << "784 KiB";
    QTest::newRow("1.5") << qint64(1536 * 1024) << "1.50 MiB";
    QTest::newRow("rounds to the next unit") << qint64(1024 * 1024 - 1) << "1.00 MiB";
    QTest::newRow("minus") << qint64(-2411725) << "−2.30 MiB";
    QTest::newRow("smallest") << std::numeric_limits<qint64>::min() << "−8192 PiB";
}

void TestUnits::bytes() {
    QFETCH(qint64, value);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatBytes(value)), text);
}

void TestUnits::durations_data() {
    QTest::addColumn<qint64>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("ns") << qint64(310) << "310 ns";
    QTest::newRow("us") << qint64(52'340) << "52.3 µs";
    QTest::newRow("below a millisecond") << qint64(710'400) << "0.71 ms";
    QTest::newRow("to a millisecond") << qint64(997'000) << "1.00 ms";
    QTest::newRow("ms") << qint64(23'620'000) << "23.6 ms";
    QTest::newRow("s") << qint64(1'204'000'000) << "1.20 s";
    QTest::newRow("minus") << qint64(-2'870'000) << "−2.87 ms";
}

void TestUnits::durations() {
    QFETCH(qint64, value);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatDurationNs(value)), text);
}

void TestUnits::numbers_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << 0.0 << "0";
    QTest::newRow("small") << 8.02e-5 << "8.02e−5";
    QTest::newRow("fraction") << 0.71449 << "0.714";
    QTest::newRow("rounds up") << 9.996 << "10.0";
    QTest::newRow("large") << 128.0 << "128";
    QTest::newRow("huge") << -6.112e12 << "−6.11e+12";
    QTest::newRow("nan") << std::numeric_limits<double>::quiet_NaN() << "NaN";
    QTest::newRow("inf") << -std::numeric_limits<double>::infinity() << "−∞";
}

void TestUnits::numbers() {
    QFETCH(double, value);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatNumber(value)), text);
}

void TestUnits::countsShapesAndChanges() {
    QCOMPARE(formatCount(1'234'567), std::string("1,234,567"));
    QCOMPARE(formatCount(100), std::string("100"));
    QCOMPARE(formatCount(-1000), std::string("−1,000"));
    const std::int64_t shape[] = {1, 64, -1, 56};
    QCOMPARE(formatShape(shape), std::string("[1,64,?,56]"));
    const std::string names[] = {"batch", "64"};
    QCOMPARE(formatShape(names), std::string("[batch,64]"));
    QCOMPARE(formatFlops(115.6e6), std::string("116 MFLOP"));
    QCOMPARE(formatFlops(39), std::string("39 FLOP"));
    QCOMPARE(formatFlops(999.7), std::string("1.00 kFLOP"));
    QCOMPARE(formatBytesChange(1536), std::string("+1.50 KiB"));
    QCOMPARE(formatCountChange(0), std::string("±0"));
    QCOMPARE(formatDurationChangeNs(-1'000'000), std::string("−1.00 ms"));
}

QTEST_GUILESS_MAIN(TestUnits)
#include "tst_units.moc"
