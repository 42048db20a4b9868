// Each state of detection, against libraries made for it.
#include <unistd.h>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "profiler/cupti/gpu_state.h"

using namespace nabla::profiler;

class TestGpuState : public QObject {
    Q_OBJECT

    static GpuLibraries fakes(const char* driver, const char* cupti) {
        GpuLibraries libraries;
        libraries.driver = {driver};
        libraries.cupti = {"libnot-there.so.13", cupti};
        libraries.driverParameters = "/nothing";
        return libraries;
    }

private slots:
    void withoutADriverCuptiIsNotTouched() {
        const GpuReport report = detectGpu(fakes("libnot-there.so.1", FAKE_CUPTI));
        QVERIFY(report.state == GpuState::NoDriver);
        QVERIFY(QString::fromStdString(report.reason).contains("libnot-there.so.1"));
        QVERIFY(report.cuptiLibrary.empty());
    }
    void aDriverWithoutDevices() {
        const GpuReport report = detectGpu(fakes(FAKE_DRIVER_EMPTY, FAKE_CUPTI));
        QVERIFY(report.state == GpuState::NoDevice);
        QVERIFY(report.cuptiLibrary.empty());
    }
    void aDeviceWithoutCupti() {
        const GpuReport report = detectGpu(fakes(FAKE_DRIVER, "libnot-there.so.12"));
        QVERIFY(report.state == GpuState::NoCupti);
        QVERIFY(QString::fromStdString(report.reason).contains("CUDA toolkit"));
    }
    void aCuptiThatAnswersAnError() {
        // 999 CUPTI_ERROR_UNKNOWN, what 13.3 says without a driver of its time.
        const GpuReport report = detectGpu(fakes(FAKE_DRIVER, FAKE_CUPTI_BROKEN));
        QVERIFY(report.state == GpuState::NoCupti);
        QVERIFY(QString::fromStdString(report.reason).contains("error 999"));
    }
    void everythingThere() {
        const GpuReport report = detectGpu(fakes(FAKE_DRIVER, FAKE_CUPTI));
        QVERIFY2(report.state == GpuState::Ready, report.reason.c_str());
        QCOMPARE(report.devices.size(), std::size_t{1});
        QCOMPARE(report.devices[0].name, std::string("Fake GPU"));
        QCOMPARE(report.devices[0].computeMajor, 9);
        QCOMPARE(report.devices[0].memoryBytes, std::int64_t{1} << 34);
        QCOMPARE(report.cuptiVersion, 130001u);
        QCOMPARE(report.reason, std::string("CUDA driver 13.0, CUPTI 130001"));
    }
    void profilingForAdministratorsOnly() {
        QTemporaryDir folder;
        QFile parameters(folder.filePath("params"));
        QVERIFY(parameters.open(QIODevice::WriteOnly));
        parameters.write("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n");
        parameters.close();
        GpuLibraries libraries = fakes(FAKE_DRIVER, FAKE_CUPTI);
        libraries.driverParameters = parameters.fileName().toStdString();
        const GpuReport report = detectGpu(libraries);
        if (geteuid() == 0)
            QVERIFY(report.state == GpuState::Ready); // an administrator may
        else
            QVERIFY(report.state == GpuState::NoPermission);
    }
    void thisMachineAnswersWithAReason() {
        const GpuReport report = detectGpu();
        QVERIFY(!report.reason.empty());
        QCOMPARE(report.state == GpuState::NoDriver || report.state == GpuState::NoDevice, report.devices.empty());
    }
};

QTEST_APPLESS_MAIN(TestGpuState)
#include "tst_gpu_state.moc"
