// write, fsync, rename.
#include "engine/base/write_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace nabla::engine {

Result<void> writeFile(const std::filesystem::path& path, std::string_view bytes) {
    const std::string aside = fmt::format("{}.part{}", path.string(), ::getpid());
    const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return readError("cannot write {}: {}", path.string(), std::strerror(errno));
    const auto fail = [&]() -> Error {
        const int error = errno;
        ::close(fd);
        ::unlink(aside.c_str());
        return readError("cannot write {}: {}", path.string(), std::strerror(error));
    };
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR)
            return fail();
        if (written > 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(fd) != 0)
        return fail();
    ::close(fd);
    if (::rename(aside.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(aside.c_str());
        return readError("cannot write {}: {}", path.string(), std::strerror(error));
    }
    return {};
}

} // namespace nabla::engine
