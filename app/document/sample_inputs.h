// The inputs a model is run on when nobody chose any: inputs.npz beside the file, else generated ones.
#pragma once

#include "engine/analysis/types.h"
#include "engine/runtime/session.h"

namespace nabla::app {

/// Values of `inputs.npz` beside the model's file where it is there and fits this graph's inputs; else generated from seed 0.
engine::Result<engine::NamedValues> sampleInputs(const engine::Graph& graph);
/// Sizes of symbolic dimensions that those inputs imply: `batch` -> 4. Empty without such a file.
engine::DimBindings sampleBindings(const engine::Graph& graph);

/// Names of the sizes that the model leaves open and nothing binds; generated inputs have 1 there: `batch, x.dim1`. Empty: none is open.
std::string openSizes(const engine::Graph& graph, const engine::DimBindings& bound);
/// Why a run on sampleInputs() may have failed: sizes of 1 that nobody chose. Empty: there were none.
std::string sampleHint(const engine::Graph& graph);

} // namespace nabla::app
