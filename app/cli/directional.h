// grad --mode forward and --mode hvp: derivatives along a direction.
#pragma once

#include "app/cli/execution_options.h"

namespace nabla::app::cli {

enum class DirectionalMode : std::uint8_t { Forward, Hvp };

struct DirectionalOptions {
    DirectionalMode mode = DirectionalMode::Forward;
    std::vector<std::string> of, wrt;
    std::string direction; ///< .npz or folder, by the name of the wrt value; one that names some only: the others are zero. Empty: ones
    std::string outputs; ///< where to write the results, by the name of the output (forward) or of the wrt value (hvp)
    std::string save;
    std::int64_t opset = 0;
};

/// Makes the graph, saves it if asked for, runs it and prints the results.
engine::Result<void> directionalDerivatives(const ExecutionOptions& execution, const DirectionalOptions& options, Context& context);

} // namespace nabla::app::cli
