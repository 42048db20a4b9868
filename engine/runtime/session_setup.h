// What Session and Stepper prepare alike.
#pragma once

#include "engine/runtime/graph_runner.h"
#include "engine/runtime/session.h"

namespace nabla::engine {

/// The graph with the extra outputs, in double if asked for. Errors as of Session::create.
Result<Graph> graphToRun(const Graph& graph, const SessionOptions& options);
RunnerOptions runnerOptions(const Graph& graph, const SessionOptions& options);

} // namespace nabla::engine
