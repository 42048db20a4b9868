// A backend test folder (model.onnx, test_data_set_K/*.pb) read by the ONNX library's own messages, independently of our importer.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::tests {

/// One set of inputs with the right outputs.
struct CaseData {
    std::vector<engine::RuntimeValue> inputs, outputs;
};

struct OnnxCase {
    engine::Graph graph;
    std::vector<CaseData> sets;
    double rtol = 1e-3, atol = 1e-7; ///< of the ONNX test runner
    /// Why the folder cannot be used here (a body, a sequence); empty = usable.
    std::string unusable;
};

OnnxCase readOnnxCase(const std::filesystem::path& folder);
/// Operator types and domains in the model, in order.
std::vector<std::pair<std::string, std::string>> operatorsOf(const std::filesystem::path& modelFile);
/// A TensorProto file; undefined when it is none.
engine::Tensor readTensorFile(const std::filesystem::path& file);

} // namespace nabla::tests
