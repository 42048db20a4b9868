// Eager execution: no plan, each node as it is met.
#pragma once

#include "engine/runtime/graph_runner.h"

namespace nabla::engine {

/// Reference kernels only, every result in memory of its own, freed after its last reader.
Result<std::vector<RuntimeValue>> runEager(
    GraphRunner& runner, std::span<const RuntimeValue> values, const RunEnv& env);

} // namespace nabla::engine
