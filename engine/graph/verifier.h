// The structural promises of a graph, checked.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace nabla::engine {

/// Every fault as one sentence; empty when well formed. Checked: every id an edge names is there, producers and outputs agree, names are
/// unique, captures of a node fit the captures of its bodies. Cycles and values without a producer are the file's faults, not ours: they
/// are shown as diagnostics and not reported here.
std::vector<std::string> verify(const Graph& graph);

} // namespace nabla::engine
