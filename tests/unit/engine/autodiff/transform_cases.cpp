// Opens models and runs them exactly.
#include "tests/unit/engine/autodiff/transform_cases.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/importers/importer.h"
#include "engine/importers/values/npz.h"
#include "engine/passes/pass.h"
#include "tests/unit/engine/ops/onnx_case.h"

namespace nabla::tests {

using namespace nabla::engine;
namespace fs = std::filesystem;

fs::path gradCasesFolder() { return fs::path(NABLA_TEST_DATA) / "grad"; }

std::vector<std::string> gradCaseNames() {
    std::vector<std::string> names;
    const auto index = nlohmann::json::parse(std::ifstream(gradCasesFolder() / "index.json"));
    for (const auto& entry : index.at("cases"))
        names.push_back(entry.at("name"));
    return names;
}

Result<TransformCase> loadGradCase(const fs::path& folder) {
    ImportContext context;
    NABLA_TRY(const Model model, openModel(folder / "model.onnx", context));
    TransformCase result;
    NABLA_TRY(result.graph, legalized(model.graph));
    const fs::path data = folder / "test_data_set_0";
    for (std::size_t i = 0; i < result.graph.inputs().size(); ++i) {
        const ValueId input = result.graph.inputs()[i];
        if (const fs::path file = data / fmt::format("input_{}.pb", i); fs::exists(file))
            result.inputs[nameOf(result.graph, input)] = readTensorFile(file);
        if (fs::exists(data / fmt::format("grad_input_{}.pb", i)))
            result.wrt.push_back(input);
    }
    for (std::size_t i = 0; i < result.graph.outputs().size(); ++i) {
        if (fs::exists(data / fmt::format("grad_output_{}.pb", i)))
            result.of.push_back(result.graph.outputs()[i]);
    }
    return result;
}

Result<TransformCase> loadSample(const std::string& name, const std::string& of) {
    const fs::path folder = fs::path(NABLA_SAMPLE_MODELS) / name;
    ImportContext context;
    NABLA_TRY(const Model model, openModel(folder / "model.onnx", context));
    TransformCase result;
    NABLA_TRY(result.graph, legalized(model.graph));
    NABLA_TRY(const NamedTensors arrays, readNpz(folder / "inputs.npz"));
    for (const auto& [input, tensor] : arrays)
        result.inputs[input] = tensor;
    result.of = {named(result.graph, of)};
    return result;
}

Result<NamedValues> runInDouble(const Graph& graph, const NamedValues& inputs) {
    SessionOptions options;
    options.mode = ExecutorMode::Eager;
    options.inDouble = true;
    options.threads = 1;
    options.optimisedKernels = false;
    NABLA_TRY(const auto session, Session::create(graph, options));
    return session->run(inputs);
}

std::string nameOf(const Graph& graph, ValueId id) { return graph.value(id)->name; }

ValueId named(const Graph& graph, std::string_view name) {
    ValueId found;
    graph.forEachValue([&](const Value& value) {
        if (value.name == name)
            found = value.id;
    });
    return found;
}

Tensor randomLike(const Tensor& like, std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(like.elementCount()));
    for (double& each : values)
        each = uniform(random);
    return Tensor::of<double>(like.shape(), values);
}

double dot(const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.elementCount(); ++i)
        sum += a.asDouble(i) * b.asDouble(i);
    return sum;
}

double sizeOf(const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.elementCount(); ++i)
        sum += std::abs(a.asDouble(i) * b.asDouble(i));
    return sum;
}

} // namespace nabla::tests
