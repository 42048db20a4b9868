// devices: what this machine offers, and why something is missing.
#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "profiler/cpu/host_facts.h"
#include "profiler/cupti/gpu_state.h"

namespace nabla::app::cli {

void addDevices(::CLI::App& app, Context& context) {
    auto* verb = app.add_subcommand("devices", "what this machine offers: processor, GPU, CUPTI and why not");
    verb->callback([&context] {
        const profiler::HostRow host = profiler::hostFacts();
        const profiler::GpuReport gpu = profiler::detectGpu();
        if (context.json) {
            nlohmann::json devices = nlohmann::json::array();
            for (const auto& device : gpu.devices)
                devices.push_back({{"name", device.name}, {"memory_bytes", device.memoryBytes}, {"compute", fmt::format("{}.{}", device.computeMajor, device.computeMinor)}});
            context.printJson(nlohmann::json{{"schema", 1}, {"cpu", {{"model", host.cpuModel}, {"cores", host.cores}, {"memory_bytes", host.memBytes}, {"clock_source", host.clockSource}, {"tsc_invariant", host.tscInvariant}}},
                {"gpu", {{"state", profiler::gpuStateName(gpu.state)}, {"reason", gpu.reason}, {"devices", devices}, {"cupti", gpu.cuptiLibrary}}}});
            return;
        }
        context.print(fmt::format("cpu     {}, {} cores, {} MiB, clock source {}", host.cpuModel, host.cores, host.memBytes >> 20, host.clockSource));
        context.print(fmt::format("gpu     {}", gpu.reason.empty() ? profiler::gpuStateName(gpu.state) : gpu.reason));
        for (const auto& device : gpu.devices)
            context.print(fmt::format("        {}, {} MiB, compute {}.{}", device.name, device.memoryBytes >> 20, device.computeMajor, device.computeMinor));
    });
}

} // namespace nabla::app::cli
