// Operators on strings: StringConcat, StringSplit, RegexFullMatch.
#include <limits>

#include <re2/re2.h>

#include "engine/ops/broadcast.h"
#include "engine/ops/cost_rules.h"

namespace nabla::engine {

namespace {

Result<Tensor> needStrings(const KernelContext& c, std::size_t i) {
    NABLA_TRY(Tensor t, needTensor(c, i));
    if (t.dtype() != DType::String)
        return typeError(c, t.dtype());
    return t;
}

Result<void> runStringConcat(const KernelContext& c) {
    NABLA_TRY(const Tensor a, needStrings(c, 0));
    NABLA_TRY(const Tensor b, needStrings(c, 1));
    NABLA_TRY(const auto loop, BroadcastLoop<2>::make({a.shape(), b.shape()}));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::String, loop.shape()));
    mapBroadcast(
        loop, y.mutableData<std::string>().data(), [](const std::string& p, const std::string& q) { return p + q; }, a.data<std::string>().data(),
        b.data<std::string>().data());
    c.setOutput(0, std::move(y));
    return {};
}

constexpr std::string_view kBlanks = " \t\n\v\f\r";

/// Runs of blanks separate; leading and trailing ones vanish, those inside the unsplit rest stay.
std::vector<std::string_view> splitAtBlanks(std::string_view text, std::size_t most) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos)
            return parts;
        text.remove_prefix(begin);
        const std::size_t length = parts.size() == most ? text.find_last_not_of(kBlanks) + 1 : std::min(text.find_first_of(kBlanks), text.size());
        parts.push_back(text.substr(0, length));
        text.remove_prefix(length);
        if (parts.size() == most + 1)
            return parts;
    }
}

std::vector<std::string_view> splitAt(std::string_view text, std::string_view delimiter, std::size_t most) {
    std::vector<std::string_view> parts;
    std::size_t at = text.find(delimiter);
    while (at != std::string_view::npos && parts.size() < most) {
        parts.push_back(text.substr(0, at));
        text.remove_prefix(at + delimiter.size());
        at = text.find(delimiter);
    }
    parts.push_back(text);
    return parts;
}

Result<void> runStringSplit(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needStrings(c, 0));
    const std::string delimiter = c.stringAttribute("delimiter");
    const std::int64_t limit = c.hasAttribute("maxsplit") ? c.intAttribute("maxsplit") : -1;
    const std::size_t most = limit < 0 ? std::numeric_limits<std::size_t>::max() - 1 : static_cast<std::size_t>(limit);
    std::vector<std::vector<std::string_view>> rows;
    std::size_t width = 0;
    for (const std::string& text : x.data<std::string>()) {
        rows.push_back(delimiter.empty() ? splitAtBlanks(text, most) : splitAt(text, delimiter, most));
        width = std::max(width, rows.back().size());
    }
    Shape shape = x.shape();
    shape.push_back(static_cast<std::int64_t>(width));
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::String, shape));
    NABLA_TRY(Tensor counts, c.makeOutput(1, DType::Int64, x.shape()));
    const auto out = y.mutableData<std::string>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t k = 0; k < rows[i].size(); ++k)
            out[i * width + k] = rows[i][k];
        counts.mutableData<std::int64_t>()[i] = static_cast<std::int64_t>(rows[i].size());
    }
    c.setOutput(0, std::move(y));
    if (c.wantsOutput(1))
        c.setOutput(1, std::move(counts));
    return {};
}

Result<void> runRegexFullMatch(const KernelContext& c) {
    NABLA_TRY(const Tensor x, needStrings(c, 0));
    const std::string pattern = c.stringAttribute("pattern");
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 expression(pattern, options);
    if (!expression.ok())
        return runError("pattern \"{}\" is no regular expression: {}", pattern.substr(0, 100), expression.error());
    NABLA_TRY(Tensor y, c.makeOutput(0, DType::Bool, x.shape()));
    const auto in = x.data<std::string>();
    for (std::size_t i = 0; i < in.size(); ++i)
        y.mutableData<bool>()[i] = RE2::FullMatch(in[i], expression);
    c.setOutput(0, std::move(y));
    return {};
}

constexpr auto kText = "its operands are text";

constexpr OpDef kOps[] = {
    {.name = "StringConcat", .since = 20, .source = "ONNX Operators.md, StringConcat-20", .run = runStringConcat, .gradient = notDifferentiable(kText),
        .flops = noFlops},
    {.name = "StringSplit", .since = 20, .source = "ONNX Operators.md, StringSplit-20", .run = runStringSplit, .gradient = notDifferentiable(kText),
        .flops = noFlops},
    {.name = "RegexFullMatch", .since = 20, .source = "ONNX Operators.md, RegexFullMatch-20; RE2's syntax", .run = runRegexFullMatch,
        .gradient = notDifferentiable(kText), .flops = noFlops},
};

} // namespace

std::span<const OpDef> stringOps() { return kOps; }

} // namespace nabla::engine
