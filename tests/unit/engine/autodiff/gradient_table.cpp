// Reading of the table, drawing of shapes and values.
#include "tests/unit/engine/autodiff/gradient_table.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "engine/schema/text_form.h"
#include "engine/tensor/element.h"

namespace nabla::tests {

using namespace engine;

namespace {

std::string trimmed(const std::string& text) {
    const auto from = text.find_first_not_of(" \t");
    return from == std::string::npos ? std::string() : text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

/// `$A` .. `$Z` -> 2 to 3, the same letter the same number: one is a broadcast, which rows write out.
std::string withDimensions(const std::string& text, std::mt19937_64& random) {
    std::map<char, char> drawn;
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char letter = text[++i];
        if (!drawn.contains(letter))
            drawn[letter] = static_cast<char>('2' + random() % 2);
        out += drawn[letter];
    }
    return out;
}

/// How the elements of one input are drawn.
class Domain {
public:
    static Result<Domain> parse(const std::string& text) {
        Domain domain;
        std::istringstream words(text);
        std::string word;
        while (words >> word) {
            if (word == "int" || word == "distinct" || word == "constant" || word == "permutation")
                (word == "int" ? domain.m_int : word == "distinct" ? domain.m_distinct : word == "constant" ? domain.m_constant : domain.m_permutation) = true;
            else if (word == "away") {
                double kink = 0;
                while (words >> kink)
                    domain.m_kinks.push_back(kink);
                words.clear();
            } else if (word == "of") {
                double value = 0;
                while (words >> value)
                    domain.m_values.push_back(value);
                words.clear();
            } else if (const auto dots = word.find(".."); dots != std::string::npos) {
                domain.m_low = std::stod(word.substr(0, dots));
                domain.m_high = std::stod(word.substr(dots + 2));
            } else {
                return Error{ErrorKind::Check, fmt::format("unknown word \"{}\" in a domain", word)};
            }
        }
        return domain;
    }

    bool isConstant() const { return m_constant; }

    std::vector<double> draw(std::size_t count, std::mt19937_64& random) const {
        std::vector<double> out(count);
        if (m_distinct || m_permutation) { // evenly spaced over the range, in random order
            std::iota(out.begin(), out.end(), 0.0);
            std::shuffle(out.begin(), out.end(), random);
            for (double& each : out)
                each = m_permutation ? each : m_low + (m_high - m_low) * (each + 0.5) / static_cast<double>(count);
            return out;
        }
        for (std::size_t i = 0; i < count; ++i)
            out[i] = m_values.empty() ? one(random) : m_values[i % m_values.size()];
        return out;
    }

private:
    double one(std::mt19937_64& random) const {
        if (m_int)
            return static_cast<double>(std::uniform_int_distribution<int>(static_cast<int>(m_low), static_cast<int>(m_high))(random));
        std::uniform_real_distribution<double> uniform(m_low, m_high);
        double value = uniform(random);
        const auto isNear = [&] { return std::any_of(m_kinks.begin(), m_kinks.end(), [&](double kink) { return std::abs(value - kink) < 0.05; }); };
        while (isNear())
            value = uniform(random);
        return value;
    }

    double m_low = -2, m_high = 2;
    bool m_int = false, m_distinct = false, m_constant = false, m_permutation = false;
    std::vector<double> m_kinks, m_values;
};

Result<Tensor> drawTensor(const Domain& domain, const ValueType& type, const std::string& name, std::mt19937_64& random) {
    if (!type.isTensor() || !type.shape)
        return Error{ErrorKind::Check, fmt::format("input \"{}\" has no shape", name)};
    Shape shape;
    for (const Dim& dim : *type.shape) {
        if (!dim.constant())
            return Error{ErrorKind::Check, fmt::format("input \"{}\" has a symbolic dimension", name)};
        shape.push_back(*dim.constant());
    }
    NABLA_TRY(Tensor tensor, Tensor::make(type.elementType, shape));
    const std::vector<double> values = domain.draw(static_cast<std::size_t>(tensor.elementCount()), random);
    for (std::size_t i = 0; i < values.size(); ++i)
        writeDouble(type.elementType, tensor.mutableRaw(), static_cast<std::int64_t>(i), values[i]);
    return tensor;
}

} // namespace

GradientTable readGradientTable(const std::string& file) {
    GradientTable table;
    std::ifstream in(file);
    if (!in)
        table.error = "cannot read " + file;
    std::string text;
    for (int line = 1; std::getline(in, text); ++line) {
        if (text.empty() || text.front() == '#')
            continue;
        std::vector<std::string> parts;
        std::istringstream stream(text);
        for (std::string part; std::getline(stream, part, '|');)
            parts.push_back(trimmed(part));
        if (parts.size() == 2 && parts[1].starts_with("excluded: ")) {
            table.excluded[parts[0]] = parts[1].substr(10);
            continue;
        }
        GradientRow row;
        row.op = parts[0];
        row.line = line;
        if (parts.size() < 2 || !(parts[1].starts_with("(") || parts[1].starts_with("<"))) {
            table.error = fmt::format("{}:{}: not `operator | graph | domains`", file, line);
            continue;
        }
        row.graph = parts[1];
        for (std::size_t i = 2; i < parts.size(); ++i) {
            const auto colon = parts[i].find(':');
            const std::string key = parts[i].substr(0, colon), value = colon == std::string::npos ? "" : trimmed(parts[i].substr(colon + 1));
            if (value.empty())
                table.error = fmt::format("{}:{}: \"{}\" is no `input: domain`", file, line, parts[i]);
            else if (key == "once" || key == "single")
                (key == "once" ? row.onlyOnce : row.single) = value;
            else
                row.domains[key] = value;
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

Result<GradientTrial> makeTrial(const GradientRow& row, std::mt19937_64& random) {
    GradientTrial trial;
    trial.text = withDimensions(row.graph, random);
    const bool hasHeader = trial.text.starts_with("<");
    NABLA_TRY(trial.graph, parseGraphText((hasHeader ? "" : "g ") + trial.text).in(trial.text));
    for (const ValueId input : trial.graph.inputs()) {
        const Value& value = *trial.graph.value(input);
        const auto given = row.domains.find(value.name);
        NABLA_TRY(const Domain domain, Domain::parse(given == row.domains.end() ? "" : given->second));
        NABLA_TRY(Tensor tensor, drawTensor(domain, value.declared, value.name, random));
        if (isDifferentiable(tensor.dtype()) && !domain.isConstant())
            trial.wrt.push_back(input);
        trial.inputs[value.name] = std::move(tensor);
    }
    return trial;
}

} // namespace nabla::tests
