// Runs a small graph on reference kernels alone: no plan, no arena, no other kernels.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::tests {

/// Every node of an older version replaced by its newest form, by the operators' own upgrades.
engine::Result<engine::Graph> upgradeAll(const engine::Graph& graph, const std::vector<engine::RuntimeValue>& inputs);
/// The graph's outputs. `inputs` are in the order of graph.inputs(); absent ones take their default.
engine::Result<std::vector<engine::RuntimeValue>> evaluate(const engine::Graph& graph, const std::vector<engine::RuntimeValue>& inputs);
/// Empty when equal: same type and shape, floats within atol + rtol * |expected|, NaN equal to NaN, everything else exact.
std::string difference(const engine::Tensor& actual, const engine::Tensor& expected, double rtol, double atol);

} // namespace nabla::tests
