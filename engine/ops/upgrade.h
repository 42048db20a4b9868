// Upgrades of attributes: a template row for "newer versions do not have it".
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "engine/ops/upgrade_tools.h"

namespace nabla::engine {

/// A string as a template argument.
template <std::size_t N> struct FixedString {
    char text[N] = {};
    constexpr FixedString(const char (&from)[N]) { std::copy_n(from, N, text); }
    constexpr std::string_view view() const { return {text, N - 1}; }
};

/// Rewrites the node in place (same outputs): without some attributes, with others.
Result<void> withAttributes(UpgradeContext& c, std::initializer_list<std::string_view> dropped, std::vector<Attribute> added = {});

/// An attribute that newer versions do not have and that says nothing more: dropAttributes<"consumed_inputs">.
template <FixedString... Names> Result<void> dropAttributes(UpgradeContext& c) { return withAttributes(c, {Names.view()...}); }

} // namespace nabla::engine
