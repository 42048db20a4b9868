// Options that every verb which executes a model has.
#pragma once

#include <optional>

#include "app/cli/cli.h"
#include "engine/runtime/session.h"

namespace nabla::app::cli {

struct ExecutionOptions {
    std::string file;
    std::string inputs;              ///< .npz or folder; empty = generated
    std::uint64_t seed = 0;
    unsigned threads = 0;
    std::string executor = "compiled";
    bool inDouble = false;
    bool reference = false;          ///< reference kernels only
    std::vector<std::string> passes; ///< pass names, "none", or empty = none
    DimOptions dims;

    engine::Result<engine::SessionOptions> session() const;
    /// The file's inputs for this graph: read, or generated from the signature and the seed.
    engine::Result<engine::NamedValues> values(const engine::Graph& graph) const;
    /// Opens the file, legalizes, applies the passes asked for.
    engine::Result<engine::Graph> open(const Context& context) const;
};
void addExecution(::CLI::App& verb, ExecutionOptions& options);

struct ToleranceOptions {
    std::optional<double> rtol, atol;
};

} // namespace nabla::app::cli
