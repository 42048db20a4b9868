// Error: what went wrong and where, built up on the way to the user.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace nabla::engine {

/// What kind of failure it is; the command line turns it into its exit code (DESIGN 7).
enum class ErrorKind {
    Read,        ///< the file cannot be read or is malformed (exit 3)
    Run,         ///< the model cannot be run: unknown operator, shape clash, memory limit (exit 4)
    Usage,       ///< the caller asked for something that does not exist (exit 2)
    Cancelled,   ///< the user stopped it (exit 130)
    Check,       ///< a check that was asked for failed (exit 1)
};

/// A failure in normal use. The message starts in lower case, has no final period, and names the numbers that disagree.
class Error {
public:
    Error(ErrorKind kind, std::string message) : m_kind(kind), m_message(std::move(message)) { }

    ErrorKind kind() const { return m_kind; }
    const std::string& message() const { return m_message; }

    /// The same error seen from one level up: `where: message`.
    Error in(std::string_view where) const { return {m_kind, fmt::format("{}: {}", where, m_message)}; }

private:
    ErrorKind m_kind;
    std::string m_message;
};

template <typename... Args> Error readError(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::Read, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args> Error runError(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::Run, fmt::format(format, std::forward<Args>(args)...)};
}
template <typename... Args> Error usageError(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::Usage, fmt::format(format, std::forward<Args>(args)...)};
}

} // namespace nabla::engine
