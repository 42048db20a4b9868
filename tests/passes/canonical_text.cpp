// Depth-first numbering from the outputs.
#include "tests/passes/canonical_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nabla::tests {

using namespace engine;

namespace {

std::string tensorText(const Tensor& tensor) {
    std::string text = fmt::format("{}{}{{", name(tensor.dtype()), toString(tensor.shape()));
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        text += (i ? "," : "") + tensor.asText(i);
    return text + "}";
}

class Canonical {
public:
    explicit Canonical(const Graph& graph)
        : m_graph(graph) {
        for (std::size_t i = 0; i < graph.captures().size(); ++i)
            m_names[graph.captures()[i]] = fmt::format("capture{}", i);
    }

    std::string text() {
        std::string head = "inputs:";
        for (const ValueId input : m_graph.inputs()) {
            m_names[input] = m_graph.value(input)->name;
            head += " " + m_names[input];
        }
        std::string tail = "outputs:";
        for (const ValueId output : m_graph.outputs())
            tail += fmt::format(" {}={}", m_graph.value(output)->name, nameOf(output));
        std::vector<std::string> unneeded;
        m_graph.forEachNode([&](const Node& node) {
            if (!m_seen.contains(node.id))
                unneeded.push_back("unneeded " + node.opType);
        });
        m_graph.forEachValue([&](const Value& value) {
            if (value.constant && !m_names.contains(value.id))
                unneeded.push_back("unneeded " + tensorText(*value.constant));
        });
        std::sort(unneeded.begin(), unneeded.end());
        for (const std::string& line : unneeded)
            m_lines += line + '\n';
        return head + '\n' + m_lines + tail + '\n';
    }

private:
    std::string nameOf(ValueId id) {
        if (!id)
            return "none";
        if (const auto it = m_names.find(id); it != m_names.end())
            return it->second;
        if (const Node* node = m_graph.producer(id)) {
            print(*node);
            return m_names.at(id);
        }
        const Value* value = m_graph.value(id);
        return m_names[id] = value->constant ? tensorText(*value->constant) : "nothing";
    }

    void print(const Node& node) {
        m_seen.insert(node.id);
        std::vector<std::string> inputs, captures;
        for (const ValueId input : node.inputs)
            inputs.push_back(nameOf(input));
        for (const ValueId capture : node.captures)
            captures.push_back(nameOf(capture));
        std::vector<std::string> outputs;
        for (const ValueId output : node.outputs)
            outputs.push_back(output ? m_names[output] = fmt::format("v{}", ++m_count) : "none");
        m_lines += fmt::format("{} = {}{}({}){}{}\n", fmt::join(outputs, ","),
            node.domain.empty() ? "" : node.domain + ".", node.opType, fmt::join(inputs, ","),
            captures.empty() ? "" : fmt::format(" captures({})", fmt::join(captures, ",")), attributes(node));
    }

    static std::string attributes(const Node& node) {
        std::map<std::string, std::string> sorted;
        for (const Attribute& a : node.attributes)
            sorted[a.name] = std::visit([](const auto& value) { return valueText(value); }, a.value);
        std::string text;
        for (const auto& [name, value] : sorted)
            text += fmt::format(" {}={}", name, value);
        return text;
    }

    static std::string valueText(std::int64_t v) { return std::to_string(v); }
    static std::string valueText(float v) { return fmt::format("{}f", v); }
    static std::string valueText(const std::string& v) { return '"' + v + '"'; }
    static std::string valueText(const TensorPtr& v) { return v ? tensorText(*v) : "null"; }
    static std::string valueText(const GraphPtr& v) { return v ? "{\n" + Canonical(*v).text() + "}" : "null"; }
    static std::string valueText(const std::vector<std::int64_t>& v) { return fmt::format("{}", v); }
    static std::string valueText(const std::vector<float>& v) { return fmt::format("{}", v); }
    static std::string valueText(const std::vector<std::string>& v) { return fmt::format("{}", v); }
    static std::string valueText(const AttributeReference& v) { return "@" + v.name; }
    template <typename T> static std::string valueText(const T&) { return "(another kind)"; }

    const Graph& m_graph;
    std::map<ValueId, std::string> m_names;
    std::set<NodeId> m_seen;
    std::string m_lines;
    int m_count = 0;
};

} // namespace

std::string canonicalText(const Graph& graph) {
    return Canonical(graph).text();
}

} // namespace nabla::tests
