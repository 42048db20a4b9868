// The document part of an own file: graph states and view state, as plain rows.
#pragma once

#include <filesystem>
#include <span>

#include "profiler/store/rows.h"
#include "profiler/store/sqlite.h"

namespace nabla::profiler {

/// Replaces the states and sets the given view entries in one transaction; recordings in the file stay. Makes the file,
/// with the whole schema, when there is none. Errors: not ours, a newer version's, disk full; the file is then as it
/// was. Reading back: Recording::loadStates(), loadView().
Result<void> saveDocument(
    const std::filesystem::path& path, std::span<const StateRow> states, std::span<const ViewRow> views);

} // namespace nabla::profiler
