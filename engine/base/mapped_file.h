// A file mapped read-only into memory, shared by every tensor that points into it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/base/result.h"

namespace nabla::engine {

/// Bytes of a regular file, unmapped when the last owner goes. Never copies; pages are read when touched.
class MappedFile {
public:
    /// Errors (Read): not found, not a regular file (directories, devices and pipes are refused), not readable.
    static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {m_data, m_size}; }
    const std::filesystem::path& path() const { return m_path; }

private:
    MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size)
        : m_path(std::move(path)), m_data(data), m_size(size) { }

    std::filesystem::path m_path;
    const std::byte* m_data;
    std::size_t m_size;
};

} // namespace nabla::engine
