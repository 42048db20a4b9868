// Result<T>: a value or an Error, and NABLA_TRY to pass errors on.
#pragma once

#include <tl/expected.hpp>

#include "engine/base/error.h"

namespace nabla::engine {

template <typename T> class [[nodiscard]] Result : public tl::expected<T, Error> {
public:
    using tl::expected<T, Error>::expected;
    Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) { }

    /// The same result whose error, if any, says where: `where: message`.
    Result in(std::string_view where) && {
        if (!this->has_value())
            return this->error().in(where);
        return std::move(*this);
    }
};

template <> class [[nodiscard]] Result<void> : public tl::expected<void, Error> {
public:
    using tl::expected<void, Error>::expected;
    Result() = default;
    Result(Error error) : tl::expected<void, Error>(tl::unexpect, std::move(error)) { }

    Result in(std::string_view where) && {
        if (!has_value())
            return error().in(where);
        return {};
    }
};

} // namespace nabla::engine

#define NABLA_CONCAT_INNER(a, b) a##b
#define NABLA_CONCAT(a, b) NABLA_CONCAT_INNER(a, b)
#define NABLA_TRY_IMPL(name, declaration, ...)                                                                         \
    auto name = (__VA_ARGS__);                                                                                         \
    if (!name.has_value())                                                                                             \
        return std::move(name).error();                                                                                \
    declaration = std::move(*name)

/// `NABLA_TRY(const Graph g, load(path));`: declares g, or returns the error from the enclosing function.
#define NABLA_TRY(declaration, ...) NABLA_TRY_IMPL(NABLA_CONCAT(nablaTry, __COUNTER__), declaration, __VA_ARGS__)

/// `NABLA_CHECK(store(x));`: returns the error of a Result<void> from the enclosing function.
#define NABLA_CHECK(...)                                                                                               \
    do {                                                                                                               \
        if (auto nablaCheck = (__VA_ARGS__); !nablaCheck.has_value())                                                  \
            return std::move(nablaCheck).error();                                                                      \
    } while (false)
