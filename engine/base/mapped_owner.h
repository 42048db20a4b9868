// Finds the mapped file behind an owner whose type is forgotten: tensors keep their bytes alive by such owners.
#pragma once

#include <memory>

#include "engine/base/mapped_file.h"

namespace nabla::engine {

/// The file that this owner keeps mapped; null when it owns something else.
std::shared_ptr<const MappedFile> mappedOwner(const std::shared_ptr<const void>& owner);

} // namespace nabla::engine
