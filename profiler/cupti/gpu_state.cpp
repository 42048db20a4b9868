// Detection by dlopen. The few prototypes are the C ABI of cuda.h and cupti_version.h, written out.
#include "profiler/cupti/gpu_state.h"

#include <array>
#include <fstream>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace nabla::profiler {

namespace {

/// CUresult 0 is success, 100 CUDA_ERROR_NO_DEVICE.
constexpr int kCudaNoDevice = 100;
// CUdevice_attribute.
constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;

struct CloseLibrary {
    void operator()(void* handle) const { dlclose(handle); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <typename Function> Function* symbol(const Library& library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

/// The first of `names` that loads; `used` tells which, `why` what the loader said about the first.
Library loadFirst(const std::vector<std::string>& names, std::string& used, std::string& why) {
    for (const std::string& name : names) {
        if (Library library{dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)}) {
            used = name;
            return library;
        }
        const char* message = dlerror();
        if (why.empty() && message)
            why = message;
    }
    return nullptr;
}

GpuDevice describe(const Library& driver, int device) {
    GpuDevice result;
    std::array<char, 256> name{};
    if (auto* getName = symbol<int(char*, int, int)>(driver, "cuDeviceGetName");
        getName && getName(name.data(), static_cast<int>(name.size()) - 1, device) == 0)
        result.name = name.data();
    std::size_t bytes = 0;
    if (auto* total = symbol<int(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
        total && total(&bytes, device) == 0)
        result.memoryBytes = static_cast<std::int64_t>(bytes);
    if (auto* attribute = symbol<int(int*, int, int)>(driver, "cuDeviceGetAttribute")) {
        attribute(&result.computeMajor, kComputeMajor, device);
        attribute(&result.computeMinor, kComputeMinor, device);
    }
    return result;
}

/// Fills devices and the driver's version. False, with state and reason, when there is nothing to record.
bool askDriver(const Library& driver, GpuReport& report) {
    auto* init = symbol<int(unsigned)>(driver, "cuInit");
    auto* version = symbol<int(int*)>(driver, "cuDriverGetVersion");
    auto* count = symbol<int(int*)>(driver, "cuDeviceGetCount");
    report.state = GpuState::NoDevice;
    if (!init || !version || !count) {
        report.reason = "the NVIDIA driver library lacks cuInit, cuDriverGetVersion or cuDeviceGetCount";
        return false;
    }
    static_cast<void>(version(&report.driverVersion));
    int devices = 0;
    int code = init(0);
    if (code == 0)
        code = count(&devices);
    if (code != 0 && code != kCudaNoDevice) {
        report.reason = fmt::format("the NVIDIA driver is there, but answers error {} to cuInit", code);
        return false;
    }
    if (devices == 0) {
        report.reason = "the NVIDIA driver is there, but offers no GPU";
        return false;
    }
    for (int device = 0; device < devices; ++device)
        report.devices.push_back(describe(driver, device));
    return true;
}

/// "RmProfilingAdminOnly: 1" in the driver's parameters keeps counters to CAP_SYS_ADMIN.
bool profilingIsRestricted(const std::string& path) {
    std::ifstream parameters(path);
    for (std::string line; std::getline(parameters, line);) {
        if (line.starts_with("RmProfilingAdminOnly:"))
            return line.find('1') != std::string::npos && geteuid() != 0;
    }
    return false;
}

} // namespace

const char* gpuStateName(GpuState state) {
    switch (state) {
    case GpuState::NoDriver:
        return "no NVIDIA driver";
    case GpuState::NoDevice:
        return "no GPU";
    case GpuState::NoCupti:
        return "no CUPTI";
    case GpuState::NoPermission:
        return "no permission";
    case GpuState::Ready:
        return "ready";
    }
    return "";
}

GpuReport detectGpu(const GpuLibraries& libraries) {
    GpuReport report;
    std::string used;
    std::string why;
    const Library driver = loadFirst(libraries.driver, used, why);
    if (!driver) {
        report.reason = fmt::format("no NVIDIA driver: {}", why);
        return report;
    }
    if (!askDriver(driver, report))
        return report;
    why.clear();
    const Library cupti = loadFirst(libraries.cupti, report.cuptiLibrary, why);
    report.state = GpuState::NoCupti;
    if (!cupti) {
        report.reason = fmt::format("no CUPTI, which comes with the CUDA toolkit: {}", why);
        return report;
    }
    auto* version = symbol<int(std::uint32_t*)>(cupti, "cuptiGetVersion");
    const int code = version ? version(&report.cuptiVersion) : -1;
    if (code != 0) {
        report.reason = version ? fmt::format("{} answers error {} to cuptiGetVersion: it does not fit the driver",
                            report.cuptiLibrary, code)
                                : fmt::format("{} has no cuptiGetVersion", report.cuptiLibrary);
        return report;
    }
    if (profilingIsRestricted(libraries.driverParameters)) {
        report.state = GpuState::NoPermission;
        report.reason = "the driver keeps profiling to administrators: load it with "
                        "NVreg_RestrictProfilingToAdminUsers=0, or grant CAP_SYS_ADMIN";
        return report;
    }
    report.state = GpuState::Ready;
    report.reason = fmt::format("CUDA driver {}.{}, CUPTI {}", report.driverVersion / 1000,
        report.driverVersion % 1000 / 10, report.cuptiVersion);
    return report;
}

} // namespace nabla::profiler
