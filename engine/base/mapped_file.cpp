// mmap with the checks that keep a hostile path from blocking or surprising us.
#include "engine/base/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mapped_owner.h"

namespace nabla::engine {

namespace {

/// Ends a mapping, and is how mappedOwner() knows one.
struct Unmap {
    const MappedFile* file;
    void operator()(const MappedFile* mapped) const { delete mapped; }
};

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe or a device must not wait for its other end.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return readError("{}: {}", path.string(), std::strerror(errno));
    struct stat info { };
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        ::close(fd);
        return readError("{}: not a regular file", path.string());
    }
    const auto size = static_cast<std::size_t>(info.st_size);
    const void* data = nullptr;
    if (size > 0) {
        data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            const int error = errno;
            ::close(fd);
            return readError("{}: cannot map {} bytes: {}", path.string(), size, std::strerror(error));
        }
    }
    ::close(fd);
    const auto* mapped = new MappedFile(path, static_cast<const std::byte*>(data), size);
    return std::shared_ptr<const MappedFile>(mapped, Unmap{mapped});
}

std::shared_ptr<const MappedFile> mappedOwner(const std::shared_ptr<const void>& owner) {
    const Unmap* unmap = std::get_deleter<Unmap>(owner);
    return unmap ? std::shared_ptr<const MappedFile>(owner, unmap->file) : nullptr;
}

MappedFile::~MappedFile() {
    if (m_data)
        ::munmap(const_cast<std::byte*>(m_data), m_size);
}

} // namespace nabla::engine
