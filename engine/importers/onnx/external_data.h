// External data of a model: files beside it, and only those.
#pragma once

#include <filesystem>

#include "engine/schema/onnx_file/read_tensor.h"

namespace nabla::engine {

enum class LinksOutside : bool { Refuse, Allow };

/// Maps each file once. A location must be relative and stay in `folder` after links are resolved (unless allowed), and be a regular file.
/// A file that is not there or is too short is reported as missing; everything else is an error (Read).
ExternalResolver externalData(std::filesystem::path folder, LinksOutside links);

} // namespace nabla::engine
