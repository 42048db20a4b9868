// Inputs and outputs of a model as files: .npz by value name or in_K / out_K, or a folder of input_K.pb / output_K.pb.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/runtime/session.h"

namespace nabla::app {

enum class Side : std::uint8_t { Inputs, Outputs, Gradients, OutputCotangents };

/// Values of one side of `graph`, keyed by value name. Gradients and OutputCotangents may name any value. Keys of an npz that name nothing on the side
/// of Inputs or Outputs are left out. Errors (Read): the file; (Usage): nothing in it belongs to this model; an entry of Gradients or OutputCotangents
/// that names no value, or a file of a folder that counts beyond the side (Inputs excepted), since a check or a direction would silently lack it.
engine::Result<engine::NamedValues> readValues(const std::filesystem::path& path, const engine::Graph& graph, Side side);
/// To an .npz by value name, or a folder of TensorProto files when `path` has no extension `.npz`.
engine::Result<void> writeValues(const std::filesystem::path& path, const engine::NamedValues& values, const std::vector<std::string>& order);

} // namespace nabla::app
