// A graph in double: the oracle against which kernels, passes and gradients are judged.
#pragma once

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Every float16, bfloat16 and float32 tensor held as float64: declared types, constants, results of Cast and of
/// operators that are told a type. An operator whose schema has no double computes in float32 between two casts. Bodies
/// and functions too; integers and the 8-bit floats of quantised models stay. Values and nodes keep their ids. Errors
/// (Run): out of memory.
Result<Graph> inDoublePrecision(const Graph& graph);

} // namespace nabla::engine
