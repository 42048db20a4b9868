// Models with inputs for the tests of transforms: the cases of tests/data/grad and the sample models.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "engine/runtime/session.h"

namespace nabla::tests {

struct TransformCase {
    engine::Graph graph; ///< legalized
    engine::NamedValues inputs;
    std::vector<engine::ValueId> of, wrt;
};

std::filesystem::path gradCasesFolder();
/// `of` and `wrt`: where the case has cotangents and expected gradients.
engine::Result<TransformCase> loadGradCase(const std::filesystem::path& folder);
std::vector<std::string> gradCaseNames();
/// A folder of sample_models with its inputs.npz; `of` by name, `wrt` empty: the defaults.
engine::Result<TransformCase> loadSample(const std::string& name, const std::string& of);

/// In double, by the reference kernels, on one thread.
engine::Result<engine::NamedValues> runInDouble(const engine::Graph& graph, const engine::NamedValues& inputs);

std::string nameOf(const engine::Graph& graph, engine::ValueId id);
engine::ValueId named(const engine::Graph& graph, std::string_view name);
/// Float64, uniform in [-1, 1].
engine::Tensor randomLike(const engine::Tensor& like, std::mt19937_64& random);
double dot(const engine::Tensor& a, const engine::Tensor& b);
/// What a sum of products may lose: each term to rounding of the rules, so relative to their sizes rather than to the sum.
double sizeOf(const engine::Tensor& a, const engine::Tensor& b);

} // namespace nabla::tests
