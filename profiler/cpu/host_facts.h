// A fixed list of facts about this machine; never its environment.
#pragma once

#include "profiler/store/rows.h"

namespace nabla::profiler {

/// Processor, cores, memory, kernel, clock source and whether the TSC is invariant. tscHz stays 0: a recording measures
/// it.
HostRow hostFacts();

} // namespace nabla::profiler
