// Lookups of a published graph.
#include "engine/graph/graph.h"

#include <algorithm>

#include <fmt/format.h>

namespace nabla::engine {

std::string functionKey(std::string_view domain, std::string_view name, std::string_view overload) {
    return overload.empty() ? fmt::format("{}:{}", domain, name) : fmt::format("{}:{}:{}", domain, name, overload);
}

Graph::Graph()
    : m_info(std::make_shared<const ModelInfo>()), m_ids(std::make_shared<IdSource>()), m_functions(std::make_shared<const FunctionMap>()),
      m_diagnostics(std::make_shared<const std::vector<Diagnostic>>()), m_memo(std::make_shared<AnalysisMemo>()) { }

const Function* Graph::function(const Node& call) const {
    const auto it = m_functions->find(functionKey(call.domain, call.opType, call.overload));
    return it == m_functions->end() ? nullptr : it->second.get();
}

std::int64_t Graph::opset(std::string_view domain) const {
    const auto it = m_info->opsets.find(std::string(domain == "ai.onnx" ? "" : domain));
    return it == m_info->opsets.end() ? 0 : it->second;
}

const Node* Graph::producer(ValueId id) const {
    const Value* v = value(id);
    return v ? node(v->producer) : nullptr;
}

TensorPtr Graph::constant(ValueId id) const {
    const Value* v = value(id);
    if (!v || !v->constant || std::find(m_inputs.begin(), m_inputs.end(), id) != m_inputs.end())
        return nullptr;
    return v->constant;
}

} // namespace nabla::engine
