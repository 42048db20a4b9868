#include "app/document/nearest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nabla::app {

namespace {

constexpr std::size_t kLongest = 200, kMost = 5000;

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    return out;
}

std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearest(const std::vector<std::string>& names, std::string_view wanted) {
    const std::string plain = lower(wanted.substr(0, kLongest));
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& name : names) {
        if (name.size() < kLongest && near.size() < kMost)
            near.emplace_back(editDistance(lower(name), plain), fmt::format("\"{}\"", name));
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    near.resize(std::min<std::size_t>(near.size(), 3));
    std::vector<std::string> found;
    for (auto& [distance, name] : near)
        found.push_back(std::move(name));
    return fmt::format("{}", fmt::join(found, ", "));
}

} // namespace nabla::app
