// Places are checked once each: bounds before the bytes are touched, then the hash.
#include "app/document/session_weights.h"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "engine/tensor/file_elements.h"

namespace nabla::app {

using namespace nabla::engine;
namespace fs = std::filesystem;

std::uint64_t weightHash(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kOffset = 0xcbf29ce484222325, kPrime = 0x100000001b3;
    std::uint64_t hash = kOffset;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        hash = (hash ^ word) * kPrime;
        hash ^= hash >> 32; // high bits of a word would else never reach the low bits of the hash
    }
    for (; i < bytes.size(); ++i)
        hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * kPrime;
    return hash;
}

SessionFolder::SessionFolder(fs::path folder) {
    std::error_code error;
    m_folder = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
    if (error)
        m_folder = std::move(folder);
}

namespace {

/// Below the folder it is relative to, and a file.
bool staysBelow(const fs::path& relative) {
    return !relative.empty() && relative.is_relative() && *relative.begin() != ".." && *relative.begin() != "." && relative.has_filename();
}

} // namespace

std::optional<std::string> SessionFolder::relative(const fs::path& file) const {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error)
        return std::nullopt;
    const fs::path name = real.lexically_relative(m_folder);
    if (!staysBelow(name))
        return std::nullopt;
    return name.generic_string();
}

Result<fs::path> SessionFolder::resolve(std::string_view name) const {
    const fs::path path = fs::path(name).lexically_normal();
    if (name.find('\0') != std::string_view::npos || !staysBelow(path))
        return readError("the file name \"{}\" leads out of the session's folder", name.substr(0, 300));
    return m_folder / path;
}

Result<std::shared_ptr<const MappedFile>> SessionFolder::map(const std::string& name) {
    if (const auto it = m_files.find(name); it != m_files.end())
        return it->second;
    NABLA_TRY(const fs::path path, resolve(name));
    std::error_code error;
    if (!fs::exists(path, error))
        return readError("weights file {} is missing; a session needs its model file beside it", path.string());
    if (!relative(path))
        return readError("weights file {} is a link that leaves the session's folder", path.string());
    NABLA_TRY(auto file, MappedFile::open(path).in("weights file"));
    m_files.emplace(name, file);
    return file;
}

Result<Tensor> SessionFolder::tensor(const WeightPlace& place, DType dtype, Shape shape) {
    NABLA_TRY(const auto file, map(place.file));
    const auto bytes = file->bytes();
    if (bytes.size() != place.fileSize)
        return readError("weights file {} was changed: it has {} bytes, the session was saved with {}", place.file, bytes.size(), place.fileSize);
    if (place.offset > bytes.size() || place.length > bytes.size() - place.offset)
        return readError("weights file {}: offset {} and length {} are outside its {} bytes", place.file, place.offset, place.length, bytes.size());
    if (m_checked.emplace(place.file, place.offset, place.length, place.hash).second) {
        const auto range = bytes.subspan(place.offset, place.length);
        if (const std::uint64_t hash = weightHash(range); hash != place.hash) {
            return readError("weights file {} was changed: the {} bytes at offset {} have hash {:016x}, the session was saved with {:016x}", place.file,
                place.length, place.offset, hash, place.hash);
        }
    }
    if (dtype == DType::Bool && std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(place.offset), bytes.begin() + static_cast<std::ptrdiff_t>(place.offset + place.length), [](std::byte b) { return b > std::byte{1}; }))
        return readError("weights file {}: a bool at offset {} is neither 0 nor 1", place.file, place.offset);
    return tensorInFile(dtype, std::move(shape), file, place.offset);
}

} // namespace nabla::app
