// Weights that a session refers to instead of holding them: by file, offset, length and hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "engine/base/mapped_file.h"
#include "engine/tensor/tensor.h"

namespace nabla::app {

/// FNV-1a, 64 bit, over little-endian words of eight bytes; the rest byte by byte. Tells a changed file, not a forged one.
/// Source: Fowler, Noll, Vo (draft-eastlake-fnv); taking words instead of bytes is ours, it reads eight times as fast.
std::uint64_t weightHash(std::span<const std::byte> bytes);

/// One range of a file below the session's folder.
struct WeightPlace {
    std::string file; ///< relative to the session's folder, with `/`
    std::uint64_t fileSize = 0, offset = 0, length = 0, hash = 0;
};

/// The folder a session lies in. Files are looked for there and below only: a session comes from a stranger, and no other file is opened
/// on its word.
class SessionFolder {
public:
    explicit SessionFolder(std::filesystem::path folder);

    /// How a file is named in a session here; nothing when it lies elsewhere (links followed).
    std::optional<std::string> relative(const std::filesystem::path& file) const;
    /// The path of a name in a session. Errors (Read): absolute, or leading out of the folder.
    engine::Result<std::filesystem::path> resolve(std::string_view name) const;
    /// The bytes of a place as a tensor over the mapped file. Errors (Read) name the file, the offset and both sizes or hashes.
    engine::Result<engine::Tensor> tensor(const WeightPlace& place, engine::DType dtype, engine::Shape shape);

private:
    engine::Result<std::shared_ptr<const engine::MappedFile>> map(const std::string& name);

    std::filesystem::path m_folder; ///< without links
    std::map<std::string, std::shared_ptr<const engine::MappedFile>, std::less<>> m_files;
    std::set<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>> m_checked;
};

} // namespace nabla::app
