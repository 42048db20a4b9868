// Calls expanded, typed and counted.
#include "engine/analysis/expanded_cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/analysis/function_call.h"
#include "engine/graph/dead_nodes.h"
#include "engine/graph/graph_editor.h"

namespace nabla::engine {

namespace {

constexpr int kMaxDepth = 64;                     // calls in calls
constexpr std::int64_t kMaxConstantElements = 128; // shapes, axes and sizes go into the body, weights do not

bool goesIn(const TensorPtr& constant) {
    return constant && constant->dtype() != DType::String && constant->elementCount() <= kMaxConstantElements;
}

/// True when the text says it all; else the value must be kept, since its address stands in the text.
bool appendValue(const AttributeValue& value, std::string& out) {
    return std::visit(
        [&]<typename T>(const T& v) {
            if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, float> || std::is_same_v<T, std::string>)
                out += fmt::format("{}", v);
            else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<float>> || std::is_same_v<T, std::vector<std::string>>)
                out += fmt::format("{}", v);
            else if constexpr (std::is_same_v<T, ValueType>)
                out += v.text();
            else if constexpr (std::is_same_v<T, AttributeReference>)
                out += "@" + v.name;
            else if constexpr (std::is_same_v<T, TensorPtr> || std::is_same_v<T, GraphPtr> || std::is_same_v<T, SparseTensorPtr>) {
                out += fmt::format("{}", static_cast<const void*>(v.get()));
                return false;
            } else {
                for (const auto& each : v) {
                    if constexpr (std::is_same_v<T, std::vector<ValueType>>)
                        out += each.text() + ",";
                    else
                        out += fmt::format("{},", static_cast<const void*>(each.get()));
                }
                return false;
            }
            return true;
        },
        value);
}

} // namespace

std::optional<std::int64_t> ExpandedCosts::flops(
    const Graph& graph, const Node& call, const std::vector<ValueType>& inputTypes, const std::vector<TensorPtr>& constants) {
    std::string key = fmt::format("{}|{}|{}|{}|", call.domain, call.opType, call.overload, graph.opset(call.domain));
    for (std::size_t i = 0; i < inputTypes.size(); ++i) {
        key += call.inputs[i] ? inputTypes[i].text() : "-";
        if (goesIn(constants[i])) {
            key += '=';
            key.append(reinterpret_cast<const char*>(constants[i]->raw()), static_cast<std::size_t>(constants[i]->bytes()));
        }
        key += '|';
    }
    for (const ValueId output : call.outputs)
        key += output ? '1' : '0';
    for (const Attribute& attribute : call.attributes) {
        key += '|' + attribute.name + '=';
        if (!appendValue(attribute.value, key))
            m_kept.push_back(attribute);
    }
    if (const auto it = m_known.find(key); it != m_known.end())
        return it->second;
    if (m_depth >= kMaxDepth || !m_open.insert(key).second)
        return std::nullopt;
    ++m_depth;
    std::optional<std::int64_t> found;
    if (Result<Graph> body = expanded(graph, call, inputTypes))
        found = counted(std::move(*body), inputTypes, constants);
    --m_depth;
    m_open.erase(key);
    m_known.emplace(std::move(key), found);
    return found;
}

Result<Graph> ExpandedCosts::expanded(const Graph& graph, const Node& call, const std::vector<ValueType>& inputTypes) const {
    if (const Function* function = m_model.function(call))
        return function->body ? functionForCall(*function, call) : Result<Graph>(runError("the function {} has no body", call.opType));
    const std::int64_t own = graph.opset(call.domain);
    return bodyForCall(call, own > 0 ? own : newestOpset(call.domain), inputTypes, graph.ids());
}

std::optional<std::int64_t> ExpandedCosts::counted(
    Graph body, const std::vector<ValueType>& inputTypes, const std::vector<TensorPtr>& constants) {
    GraphEditor editor(std::move(body));
    const std::vector<ValueId> formals(editor.graph().inputs().begin(), editor.graph().inputs().end());
    std::vector<ValueId> open;
    for (std::size_t i = 0; i < formals.size(); ++i) {
        const bool given = i < inputTypes.size();
        if (given)
            editor.setDeclaredType(formals[i], inputTypes[i]);
        if (given && goesIn(constants[i]))
            editor.setConstant(formals[i], constants[i]);
        else
            open.push_back(formals[i]);
    }
    editor.setInputs(std::move(open));
    editor.setFunctions(m_model.functions());
    removeUnneeded(editor);
    const Graph typed = editor.finish();
    const auto total = m_count(typed, *types(typed), *this);
    return total->unknownNodes > 0 ? std::nullopt : std::optional(total->flops);
}

} // namespace nabla::engine
