// Looks beside the model.
#include "app/document/sample_inputs.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/document/values_io.h"
#include "engine/analysis/input_shapes.h"

namespace nabla::app {

using namespace nabla::engine;

namespace {

std::filesystem::path inputsBeside(const Graph& graph) {
    if (graph.info().path.empty())
        return {};
    const auto path = graph.info().path.parent_path() / "inputs.npz";
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) ? path : std::filesystem::path();
}

} // namespace

Result<NamedValues> sampleInputs(const Graph& graph) {
    if (const auto path = inputsBeside(graph); !path.empty()) {
        auto values = readValues(path, graph, Side::Inputs);
        if (!values)
            return values.error();
        bool complete = true;
        for (const ValueId id : graph.inputs()) {
            const Value& value = *graph.value(id);
            complete = complete && (value.constant || values->contains(value.name));
        }
        if (complete)
            return values;
    }
    return generateInputs(graph, 0, sampleBindings(graph));
}

std::string openSizes(const Graph& graph, const DimBindings& bound) {
    std::set<std::string> names;
    for (const SymbolicShape& shape : namedInputShapes(graph)) {
        for (const Dim& dim : shape) {
            for (const std::string& atom : dim.atoms()) {
                if (!bound.contains(atom))
                    names.insert(atom);
            }
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string sampleHint(const Graph& graph) {
    const std::string open = openSizes(graph, sampleBindings(graph));
    return open.empty() ? "" : fmt::format("The inputs were made up, with the sizes that the model leaves open ({}) as 1: inputs.npz beside the model gives others", open);
}

DimBindings sampleBindings(const Graph& graph) {
    DimBindings out;
    const auto path = inputsBeside(graph);
    if (path.empty())
        return out;
    const auto values = readValues(path, graph, Side::Inputs);
    if (!values)
        return out; // sampleInputs says what is wrong with the file
    const std::vector<SymbolicShape> shapes = namedInputShapes(graph);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        const auto it = values->find(graph.value(graph.inputs()[k])->name);
        if (it == values->end() || !it->second.isTensor())
            continue;
        const Tensor& tensor = it->second.tensor();
        for (std::size_t i = 0; i < shapes[k].size() && i < tensor.rank(); ++i) {
            const Dim& dim = shapes[k][i];
            if (const auto atoms = dim.atoms(); atoms.size() == 1 && dim.text() == atoms.front())
                out[atoms.front()] = tensor.dim(i);
        }
    }
    return out;
}

} // namespace nabla::app
