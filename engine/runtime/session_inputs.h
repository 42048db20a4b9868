// What a caller gives a run, checked against what the graph declares.
#pragma once

#include <vector>

#include "engine/runtime/session.h"

namespace nabla::engine {

/// One value per graph input, in order: the given one, else the default, else an empty optional. Float tensors are
/// widened when `inDouble`. Errors (Usage): a missing input, a name that the graph does not have, a wrong type, rank or
/// fixed dimension; with names and numbers.
Result<std::vector<RuntimeValue>> orderedInputs(const Graph& graph, const NamedValues& given, bool inDouble);

} // namespace nabla::engine
