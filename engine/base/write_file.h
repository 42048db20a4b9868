// Writes a file aside and renames it, so that a reader never sees half of one.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/base/result.h"

namespace nabla::engine {

/// Replaces `path` by `bytes` atomically; a device or pipe is written to, never replaced. Errors (Read): folder missing, disk full, no
/// permission.
Result<void> writeFile(const std::filesystem::path& path, std::string_view bytes);

/// Errors (Read) when something that is no regular file has this name: renaming over a device would remove it.
Result<void> checkReplaceable(const std::filesystem::path& path);

} // namespace nabla::engine
