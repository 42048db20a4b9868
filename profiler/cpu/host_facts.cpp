// Read from /proc, /sys and uname.
#include "profiler/cpu/host_facts.h"

#include <array>
#include <fstream>
#include <string>
#include <thread>

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace nabla::profiler {

namespace {

std::string afterColon(const std::string& line) {
    const std::size_t colon = line.find(':');
    const std::size_t first = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? std::string() : line.substr(first);
}

} // namespace

HostRow hostFacts() {
    HostRow host;
    utsname names{};
    if (uname(&names) == 0) {
        host.hostname = names.nodename;
        host.os = std::string(names.sysname) + " " + names.release;
    }
    std::ifstream cpuinfo("/proc/cpuinfo");
    bool constant = false;
    bool nonstop = false;
    for (std::string line; std::getline(cpuinfo, line) && !line.empty();) { // an empty line ends the first processor
        if (line.starts_with("model name"))
            host.cpuModel = afterColon(line);
        if (line.starts_with("flags")) {
            constant = line.find(" constant_tsc") != std::string::npos;
            nonstop = line.find(" nonstop_tsc") != std::string::npos;
        }
    }
    host.tscInvariant = constant && nonstop;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> host.clockSource;
    host.cores = std::thread::hardware_concurrency();
    struct sysinfo memory { };
    if (sysinfo(&memory) == 0)
        host.memBytes = static_cast<std::int64_t>(memory.totalram) * memory.mem_unit;
    return host;
}

} // namespace nabla::profiler
