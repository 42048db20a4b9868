// write, fsync, rename.
#include "engine/base/write_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace nabla::engine {

Result<void> checkReplaceable(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return readError("cannot write {}: it is not a regular file", path.string());
    return {};
}

Result<void> writeFile(const std::filesystem::path& path, std::string_view bytes) {
    const bool direct = !checkReplaceable(path);
    const std::string aside = direct ? path.string() : fmt::format("{}.part{}", path.string(), ::getpid());
    const int fd = ::open(aside.c_str(), O_WRONLY | O_CLOEXEC | (direct ? 0 : O_CREAT | O_TRUNC), 0644);
    if (fd < 0)
        return readError("cannot write {}: {}", path.string(), std::strerror(errno));
    const auto fail = [&]() -> Error {
        const int error = errno;
        ::close(fd);
        if (!direct)
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
    if (direct) {
        ::close(fd);
        return {};
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
