// Types and shapes of every value without running: the standard's inference, constants through shape arithmetic, symbolic dimensions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// Dimensions that the user fixed: `batch` -> 8.
using DimBindings = std::map<std::string, std::int64_t>;

struct TypeMap {
    std::unordered_map<ValueId, ValueType> values;   ///< bodies' values too: ids are unique in the document
    std::unordered_map<ValueId, TensorPtr> constants; ///< values known before running (folded shape arithmetic), small ones only
    std::vector<Diagnostic> diagnostics;              ///< clashes found on the way, on their node
    std::int64_t dims = 0, knownDims = 0;             ///< dimensions of all tensors with known rank, and how many have a number or expression

    /// Unknown when nothing is known.
    const ValueType& of(ValueId value) const;
};

/// Memoised per graph state and bindings. Never fails: what cannot be inferred stays Unknown with a diagnostic.
std::shared_ptr<const TypeMap> types(const Graph& graph, const DimBindings& dims = {});

} // namespace nabla::engine
