// run FILE --find-nonfinite.
#pragma once

#include "app/cli/cli.h"
#include "engine/runtime/session.h"

namespace nabla::app::cli {

/// Runs the graph step by step and prints where the first values that are not finite are born, the way back from the
/// first of them to its causes, and what values of half types lost. Errors: Check when something is not finite; of running.
engine::Result<void> findNonFinite(const engine::Graph& graph, const engine::NamedValues& inputs, const engine::SessionOptions& options, Context& context);

} // namespace nabla::app::cli
