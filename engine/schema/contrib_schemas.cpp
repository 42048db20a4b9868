// Reads the schema texts of contrib_schema_text.cpp. A line of such a text is one of
//   op DOMAIN NAME VERSION | what it does      (DOMAIN `-` is ai.onnx)
//   in NAME TYPE | ...       out NAME TYPE | ...       `in?` is optional, `in*` variadic
//   attr NAME KIND =DEFAULT | ...                      `attr!` is required
//   type NAME ELEMENT ELEMENT ...                      what a type name of the inputs and outputs stands for
#include "engine/schema/contrib_schemas.h"

#include <charconv>
#include <map>
#include <sstream>

#include "engine/base/assert.h"

namespace nabla::engine {

namespace {

std::string tensorOf(const std::string& element) { return "tensor(" + element + ")"; }

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return lines;
}

/// The words before the bar, and what stands after it.
std::pair<std::vector<std::string>, std::string> partsOf(std::string_view line) {
    const std::size_t bar = line.find(" | ");
    std::istringstream stream{std::string(line.substr(0, bar))};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(std::move(word));
    return {std::move(words), bar == std::string_view::npos ? std::string() : std::string(line.substr(bar + 3))};
}

AttributeValue defaultOf(const std::string& kind, const std::string& text) {
    if (kind == "STRING")
        return text;
    if (kind == "FLOAT")
        return std::stof(text);
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

FormalParameter parameterOf(const std::vector<std::string>& words, std::string doc, const std::map<std::string, std::vector<std::string>>& types) {
    FormalParameter out;
    out.name = words[1];
    out.doc = std::move(doc);
    out.kind = words[0].back() == '?' ? FormalParameter::Kind::Optional : words[0].back() == '*' ? FormalParameter::Kind::Variadic : FormalParameter::Kind::Single;
    const auto named = types.find(words[2]);
    out.types = named != types.end() ? named->second : std::vector{tensorOf(words[2])};
    out.typeText = named != types.end() ? words[2] : out.types.front();
    return out;
}

OperatorSchema parse(std::string_view text) {
    OperatorSchema schema;
    std::map<std::string, std::vector<std::string>> types;
    const auto lines = linesOf(text);
    for (const std::string_view line : lines) { // types first: inputs and outputs name them
        const auto [words, doc] = partsOf(line);
        for (std::size_t i = 2; words[0] == "type" && i < words.size(); ++i)
            types[words[1]].push_back(tensorOf(words[i]));
    }
    for (const std::string_view line : lines) {
        auto [words, doc] = partsOf(line);
        if (words[0] == "op") {
            schema.domain = words[1] == "-" ? "" : words[1];
            schema.name = words[2];
            schema.sinceVersion = std::stoll(words[3]);
            schema.doc = std::move(doc);
        } else if (words[0].starts_with("in")) {
            schema.inputs.push_back(parameterOf(words, std::move(doc), types));
        } else if (words[0].starts_with("out")) {
            schema.outputs.push_back(parameterOf(words, std::move(doc), types));
        } else if (words[0].starts_with("attr")) {
            FormalAttribute attribute{words[1], words[2], std::move(doc), words[0] == "attr!", std::nullopt};
            if (words.size() > 3)
                attribute.otherwise = defaultOf(words[2], words[3].substr(1));
            schema.attributes.push_back(std::move(attribute));
        } else {
            NABLA_ASSERT(words[0] == "type", "a line of a schema text starts with op, in, out, attr or type");
        }
    }
    return schema;
}

} // namespace

std::span<const OperatorSchema> contribSchemas() {
    static const std::vector<OperatorSchema> kTable = [] {
        std::vector<OperatorSchema> table;
        for (const std::string_view text : contribSchemaTexts())
            table.push_back(parse(text));
        return table;
    }();
    return kTable;
}

} // namespace nabla::engine
