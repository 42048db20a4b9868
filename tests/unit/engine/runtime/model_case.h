// A sample model with its reference arrays, and comparison by the largest entry.
#pragma once

#include <string>

#include "engine/importers/importer.h"
#include "engine/importers/values/npz.h"
#include "engine/passes/pass.h"
#include "engine/runtime/session.h"

namespace nabla::engine {

/// The legalized graph of a model file. Aborts the test when it cannot be read.
Graph legalGraph(const std::string& path);
NamedTensors arrays(const std::string& path);
NamedValues asInputs(const NamedTensors& tensors);

/// Empty when `got` equals `expected` within `tolerance` times expected's largest finite entry, NaN equal to NaN; else
/// what differs.
std::string difference(const std::string& name, const RuntimeValue& got, const Tensor& expected, double tolerance);

} // namespace nabla::engine
