// Whether GPU work can be recorded here, and if not, why. Nothing is linked: driver and CUPTI are looked for at run
// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nabla::profiler {

enum class GpuState {
    NoDriver, ///< libcuda.so.1 is not there
    NoDevice, ///< the driver is, but offers no GPU
    NoCupti, ///< a GPU, but no CUPTI library that works with the driver
    NoPermission, ///< all there, but the driver keeps profiling to administrators
    Ready,
};
const char* gpuStateName(GpuState state);

struct GpuDevice {
    std::string name;
    std::int64_t memoryBytes = 0;
    int computeMajor = 0, computeMinor = 0;
};

struct GpuReport {
    GpuState state = GpuState::NoDriver;
    std::string reason; ///< in words, with what to do where something can be done
    int driverVersion = 0; ///< as CUDA counts: 13000 is 13.0
    std::uint32_t cuptiVersion = 0; ///< as CUPTI counts: 130001
    std::string cuptiLibrary; ///< the name that could be loaded
    std::vector<GpuDevice> devices;
};

/// Where to look; tests put others here.
struct GpuLibraries {
    std::vector<std::string> driver{"libcuda.so.1"};
    std::vector<std::string> cupti{"libcupti.so.13", "libcupti.so.12",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"};
    std::string driverParameters = "/proc/driver/nvidia/params";
};

/// Loads the driver first and touches CUPTI only when a GPU answered: without a driver CUPTI 13.2 overflows the stack
/// in its own search for one, and 13.3 answers 999 to everything. Takes up to a second where there is a GPU: run it as
/// a job.
GpuReport detectGpu(const GpuLibraries& libraries = {});

} // namespace nabla::profiler
