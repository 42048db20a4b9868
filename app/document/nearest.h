// What somebody may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nabla::app {

/// The three of `names` with the smallest edit distance to `wanted`, upper and lower case alike, quoted: `"a", "b", "c"`.
/// Names of 200 characters and more, and those after the first 5,000, are left out. Source: Wagner, Fischer 1974.
std::string nearest(const std::vector<std::string>& names, std::string_view wanted);

} // namespace nabla::app
