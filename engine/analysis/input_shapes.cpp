// Naming by input and axis; counting over a finished inference.
#include "engine/analysis/input_shapes.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace nabla::engine {

namespace {

/// Words of an atom: `floor((h-1)/(2))` has h.
std::vector<std::string_view> namesIn(std::string_view atom) {
    std::vector<std::string_view> names;
    const std::string_view separators = "()/,+-*";
    while (!atom.empty()) {
        const std::size_t end = std::min(atom.find_first_of(separators), atom.size());
        const std::string_view word = atom.substr(0, end);
        const bool called = end < atom.size() && atom[end] == '('; // floor, min, max
        if (!word.empty() && !called && (word[0] < '0' || word[0] > '9'))
            names.push_back(word);
        atom.remove_prefix(std::min(end + 1, atom.size()));
    }
    return names;
}

} // namespace

std::vector<SymbolicShape> namedInputShapes(const Graph& graph) {
    std::vector<SymbolicShape> shapes;
    std::set<std::string> taken;
    for (const ValueId id : graph.inputs()) {
        shapes.push_back(graph.value(id)->declared.shape.value_or(SymbolicShape{}));
        for (const Dim& dim : shapes.back()) {
            for (std::string& atom : dim.atoms())
                taken.insert(std::move(atom));
        }
    }
    const auto inWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':'; };
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const std::string& input = graph.value(graph.inputs()[i])->name;
        const bool usable = !input.empty() && input.size() <= 60 && std::all_of(input.begin(), input.end(), inWord);
        for (std::size_t axis = 0; axis < shapes[i].size(); ++axis) {
            if (!shapes[i][axis].isUnknown())
                continue;
            std::string name = usable ? fmt::format("{}.dim{}", input, axis) : fmt::format("in_{}.dim{}", i, axis);
            if (taken.insert(name).second)
                shapes[i][axis] = Dim::symbol(std::move(name));
        }
    }
    return shapes;
}

ShapeCoverage shapeCoverage(const Graph& graph, const TypeMap& map) {
    ShapeCoverage out;
    std::set<std::string, std::less<>> given;
    for (const ValueId id : graph.inputs()) {
        for (const Dim& dim : map.of(id).shape.value_or(SymbolicShape{})) {
            for (std::string& atom : dim.atoms())
                given.insert(std::move(atom));
        }
    }
    // A name that only the declaration of an inner value has says nothing about its size before running.
    const auto isKnown = [&](const Dim& dim) {
        const auto atoms = dim.atoms();
        return !dim.isUnknown() && std::all_of(atoms.begin(), atoms.end(), [&](const std::string& atom) {
            const auto names = namesIn(atom);
            return given.contains(atom) || (!names.empty() && std::all_of(names.begin(), names.end(), [&](std::string_view name) { return given.contains(name); }));
        });
    };
    for (const auto& [id, type] : map.values) {
        out.untyped += type.kind == ValueType::Kind::Unknown || (type.isTensor() && type.elementType == DType::Undefined) ? 1 : 0;
        if (!type.isTensor())
            continue;
        out.unknownRanks += type.shape ? 0 : 1;
        out.dims += type.shape ? static_cast<std::int64_t>(type.shape->size()) : 0;
        out.knownDims += type.shape ? std::count_if(type.shape->begin(), type.shape->end(), isKnown) : 0;
    }
    return out;
}

} // namespace nabla::engine
