// How often a body of control flow runs, where that is known before running.
#pragma once

#include <functional>
#include <optional>

#include "engine/analysis/types.h"

namespace nabla::engine {

/// What is known of a value before running: an initializer, a Constant, or folded shape arithmetic; null when nothing is.
TensorPtr knownValue(const Graph& graph, const TypeMap& types, ValueId value);

struct Iterations {
    GraphPtr body; ///< the one that runs; null when none does
    std::int64_t count = 0;
};
/// As knownValue, for whoever knows more: what a body captures.
using KnownValueOf = std::function<TensorPtr(const Graph&, ValueId)>;
/// Of an If, Loop or Scan of `graph`. Nothing when data decide.
std::optional<Iterations> knownIterations(const Graph& graph, const TypeMap& types, const Node& node, const KnownValueOf& known);

} // namespace nabla::engine
