// npz by name or position; folders of one file a value.
#include "app/document/values_io.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/write_file.h"
#include "engine/importers/onnx/tensor_file.h"
#include "engine/importers/values/npz.h"

namespace nabla::app {

using namespace nabla::engine;
namespace fs = std::filesystem;

namespace {

/// The values of a side, in order; `in_K`, `input_K.pb` and so on count them.
struct SideNames {
    std::vector<ValueId> ids;
    std::string_view key, file;
};

SideNames sideNames(const Graph& graph, Side side) {
    SideNames out;
    switch (side) {
    case Side::Inputs:
        out = {{graph.inputs().begin(), graph.inputs().end()}, "in_", "input_"};
        break;
    case Side::Outputs:
        out = {{graph.outputs().begin(), graph.outputs().end()}, "out_", "output_"};
        break;
    case Side::OutputCotangents:
        out = {{graph.outputs().begin(), graph.outputs().end()}, "out_", "grad_output_"};
        break;
    case Side::Gradients:
        out = {{graph.inputs().begin(), graph.inputs().end()}, "in_", "grad_input_"};
        break;
    }
    // Old files list initializers among the inputs; callers and test data count only what must be given.
    if (side == Side::Inputs || side == Side::Gradients) {
        std::vector<ValueId> required;
        for (const ValueId id : out.ids) {
            if (!graph.value(id)->constant)
                required.push_back(id);
        }
        if (!required.empty() || out.ids.empty())
            out.ids = std::move(required);
    }
    return out;
}

/// Errors (Usage): a file `prefix`K.pb with K beyond the values of the side.
Result<void> refuseBeyond(const fs::path& path, const SideNames& names) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error)) {
        const std::string file = entry.path().filename().string();
        if (!file.starts_with(names.file) || entry.path().extension() != ".pb")
            continue;
        const std::string digits = entry.path().stem().string().substr(names.file.size());
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
            continue;
        if (digits.size() > 9 || static_cast<std::size_t>(std::stoul(digits)) >= names.ids.size())
            return usageError("{}: {} belongs to nothing: the model has {} such values", path.string(), file, names.ids.size());
    }
    return {};
}

Result<NamedValues> readFolder(const fs::path& path, const Graph& graph, const SideNames& names, Side side) {
    if (side != Side::Inputs)
        NABLA_CHECK(refuseBeyond(path, names));
    NamedValues out;
    for (std::size_t i = 0; i < names.ids.size(); ++i) {
        const fs::path file = path / fmt::format("{}{}.pb", names.file, i);
        std::error_code error;
        if (!fs::exists(file, error))
            continue;
        const Value& value = *graph.value(names.ids[i]);
        NABLA_TRY(out[value.name], readValueFile(file, value.declared));
    }
    return out;
}

Result<NamedValues> readArchive(const fs::path& path, const Graph& graph, const SideNames& names, Side side) {
    NABLA_TRY(NamedTensors arrays, readNpz(path));
    NamedValues out;
    for (std::size_t i = 0; i < names.ids.size(); ++i) {
        const Value& value = *graph.value(names.ids[i]);
        auto it = arrays.find(value.name);
        if (it == arrays.end())
            it = arrays.find(fmt::format("{}{}", names.key, i));
        if (it == arrays.end())
            continue;
        Tensor tensor = std::move(it->second);
        arrays.erase(it);
        // NumPy has no bfloat16 and its kin: such inputs come as float32.
        const DType declared = value.declared.elementType;
        if (side == Side::Inputs && value.declared.isTensor() && declared != DType::Undefined && tensor.dtype() != declared && bitWidth(declared) > 0
            && (declared == DType::BFloat16 || bitWidth(declared) < 8 || (isFloat(declared) && bitWidth(declared) == 8))) {
            NABLA_TRY(tensor, castTensor(tensor, declared));
        }
        out[value.name] = RuntimeValue(std::move(tensor));
    }
    if (side == Side::Gradients || side == Side::OutputCotangents) {
        graph.forEachValue([&](const Value& value) {
            if (auto entry = arrays.extract(value.name); !entry.empty() && !out.contains(value.name))
                out[value.name] = RuntimeValue(std::move(entry.mapped()));
        });
        if (!arrays.empty())
            return usageError("{}: \"{}\" names no value of the model", path.string(), arrays.begin()->first.substr(0, 200));
    }
    return out;
}

} // namespace

Result<NamedValues> readValues(const fs::path& path, const Graph& graph, Side side) {
    const SideNames names = sideNames(graph, side);
    std::error_code error;
    NABLA_TRY(NamedValues out, fs::is_directory(path, error) ? readFolder(path, graph, names, side) : readArchive(path, graph, names, side));
    if (out.empty() && !names.ids.empty() && side != Side::Gradients && side != Side::OutputCotangents && !fs::is_directory(path, error)) {
        std::vector<std::string> wanted;
        for (const ValueId id : names.ids)
            wanted.push_back(graph.value(id)->name.substr(0, 100));
        return usageError("{}: holds none of {} (nor {}0, …)", path.string(), fmt::join(wanted, ", "), names.key);
    }
    return out;
}

Result<void> writeValues(const fs::path& path, const NamedValues& values, const std::vector<std::string>& order) {
    if (path.extension() == ".npz") {
        NamedTensors arrays;
        for (const auto& [name, value] : values) {
            if (!value.isTensor())
                return usageError("{} is no tensor: an .npz holds only tensors, write to a folder", name);
            arrays[name] = value.tensor();
        }
        return writeNpz(path, arrays);
    }
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        return readError("cannot make the folder {}: {}", path.string(), error.message());
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (const auto it = values.find(order[i]); it != values.end())
            NABLA_CHECK(writeFile(path / fmt::format("output_{}.pb", i), valueBytes(it->second, order[i])));
    }
    return {};
}

} // namespace nabla::app
