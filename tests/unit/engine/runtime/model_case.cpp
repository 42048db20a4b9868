// A sample model with its reference arrays.
#include "model_case.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace nabla::engine {

namespace {
template <typename T> T need(Result<T> result, const std::string& what) {
    if (!result) {
        std::fprintf(stderr, "%s: %s\n", what.c_str(), result.error().message().c_str());
        std::abort();
    }
    return std::move(*result);
}
} // namespace

Graph legalGraph(const std::string& path) {
    ImportContext context;
    const Model model = need(openModel(path, context), path);
    return need(legalized(model.graph), path);
}

NamedTensors arrays(const std::string& path) {
    return need(readNpz(path), path);
}

NamedValues asInputs(const NamedTensors& tensors) {
    return {tensors.begin(), tensors.end()};
}

std::string difference(const std::string& name, const RuntimeValue& got, const Tensor& expected, double tolerance) {
    const Tensor& tensor = got.tensor();
    if (!tensor.defined())
        return fmt::format("\"{}\" is no tensor", name);
    if (tensor.shape() != expected.shape())
        return fmt::format(
            "\"{}\" has shape {}, {} is right", name, toString(tensor.shape()), toString(expected.shape()));
    double largest = 0;
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        const double value = std::abs(expected.asDouble(i));
        largest = std::isfinite(value) ? std::max(largest, value) : largest;
    }
    for (std::int64_t i = 0; i < expected.elementCount(); ++i) {
        const double a = tensor.asDouble(i), b = expected.asDouble(i);
        const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * largest;
        if (!same)
            return fmt::format("\"{}\"[{}] is {}, {} is right; largest entry {}", name, i, a, b, largest);
    }
    return {};
}

} // namespace nabla::engine
