// Names for the sizes that a file leaves open in its inputs, and which dimensions are known by them before running.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/analysis/types.h"

namespace nabla::engine {

/// The declared shapes of the graph's inputs, with a name for each size that the file leaves open: `x.dim0` is axis 0 of
/// "x" (`in_2.dim0` where the input's name cannot be part of one). Empty where the file states no shape.
std::vector<SymbolicShape> namedInputShapes(const Graph& graph);

/// What inference left open.
struct ShapeCoverage {
    std::int64_t dims = 0, knownDims = 0; ///< of all tensors with a known rank; a number or an expression over the inputs' names
    std::int64_t untyped = 0;             ///< values nothing is known of
    std::int64_t unknownRanks = 0;        ///< tensors whose number of dimensions is not known
};
/// Over the values of the map, bodies' and functions' too.
ShapeCoverage shapeCoverage(const Graph& graph, const TypeMap& map);

} // namespace nabla::engine
