// Sums and texts of the chain rule's values.
#include "engine/autodiff/chain_rule.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nabla::engine {

double ChainPath::rest() const {
    double sum = share;
    for (const ChainTerm& term : terms)
        sum -= term.product();
    return static_cast<std::size_t>(termCount) == terms.size() ? 0 : sum;
}

std::string elementText(std::int64_t index, ShapeView shape) {
    std::vector<std::int64_t> at(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        at[axis] = shape[axis] > 0 ? index % shape[axis] : 0;
        index = shape[axis] > 0 ? index / shape[axis] : 0;
    }
    return fmt::format("[{}]", fmt::join(at, ", "));
}

Result<std::int64_t> parseElement(std::string_view text, ShapeView shape) {
    std::vector<std::int64_t> at;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
            std::int64_t value = 0;
            const auto [end, failed] = std::from_chars(text.data() + i, text.data() + text.size(), value);
            if (failed != std::errc{})
                return usageError("\"{}\" is no index", text);
            at.push_back(value);
            i = static_cast<std::size_t>(end - text.data());
        } else if (text[i] == '[' || text[i] == ']' || text[i] == ',' || text[i] == ' ') {
            ++i;
        } else {
            return usageError("\"{}\" is no index like [0, 3]", text);
        }
    }
    if (at.size() != shape.size())
        return usageError("{} indices given, the shape [{}] has {}", at.size(), fmt::join(shape, ","), shape.size());
    std::int64_t index = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t k = at[axis] < 0 ? at[axis] + shape[axis] : at[axis];
        if (k < 0 || k >= shape[axis])
            return usageError("index {} is outside axis {} of size {}", at[axis], axis, shape[axis]);
        index = index * shape[axis] + k;
    }
    return index;
}

} // namespace nabla::engine
