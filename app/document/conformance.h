// Test folders in the layout of ONNX's backend tests, with gradients where the folder has them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/stop.h"
#include "engine/graph/graph.h"

namespace nabla::app {

struct CaseResult {
    enum class Outcome : std::uint8_t { Passed, Failed, Skipped };
    std::string name;
    Outcome outcome = Outcome::Passed;
    std::string text; ///< why it failed, or which operator or type is not there
};

/// Every folder at or below `folder` that holds a model.onnx, sorted.
std::vector<std::filesystem::path> conformanceCases(const std::filesystem::path& folder);

struct CaseOptions {
    bool shapesOnly = false;       ///< the outputs are random draws
    bool referenceKernels = false; ///< and no optimised ones
    engine::JobControl job;
    std::filesystem::path results; ///< our outputs of each set are written to <results>/<case>/<set>/output_K.pb, and a set without expected ones passes when it runs
};
/// Runs one case: each test_data_set_K's outputs, then its gradients (in double) when it has grad_output_J.pb or grad_input_J.pb.
/// Tolerances: tol.json beside the model, else rtol 1e-3, atol 1e-7.
CaseResult runConformanceCase(const std::filesystem::path& folder, const CaseOptions& options = {});

/// Operators of the graph (bodies and functions too) that nothing here can run, as `domain.Op`; empty = all can.
std::vector<std::string> missingOperators(const engine::Graph& graph);

} // namespace nabla::app
