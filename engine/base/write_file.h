// Writes a file aside and renames it, so that a reader never sees half of one.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/base/result.h"

namespace nabla::engine {

/// Replaces `path` by `bytes` atomically. Errors (Read): folder missing, disk full, no permission.
Result<void> writeFile(const std::filesystem::path& path, std::string_view bytes);

} // namespace nabla::engine
