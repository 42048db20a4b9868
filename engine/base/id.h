// Strong ids: a NodeId is not a ValueId, and neither is a number.
#pragma once

#include <cstdint>
#include <functional>

namespace nabla::engine {

/// An id of kind Tag. 0 means "none"; ids are given out from 1 and never reused within a document.
template <typename Tag> struct Id {
    std::uint32_t value = 0;

    explicit operator bool() const { return value != 0; }
    friend auto operator<=>(Id, Id) = default;
};

} // namespace nabla::engine

template <typename Tag> struct std::hash<nabla::engine::Id<Tag>> {
    std::size_t operator()(nabla::engine::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
