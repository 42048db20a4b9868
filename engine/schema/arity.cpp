// Counting of formal parameters.
#include "engine/schema/arity.h"

#include "engine/schema/registry.h"

#include "onnx/defs/schema.h"

namespace nabla::engine {

namespace {

/// `given` against the formal ones; `least`: of a variadic last one too, where the library says it.
Result<void> check(const char* what, const std::vector<ValueId>& given, const std::vector<FormalParameter>& formal, std::size_t least, bool namesNeeded) {
    const bool variadic = !formal.empty() && formal.back().kind == FormalParameter::Kind::Variadic;
    if (!variadic && given.size() > formal.size())
        return runError("it has {} {}s, the operator {}", given.size(), what, formal.size());
    for (std::size_t i = 0; i < formal.size(); ++i) {
        const bool missing = i >= given.size() || (namesNeeded && !given[i]);
        if (missing && formal[i].kind == FormalParameter::Kind::Single)
            return runError("{} {} \"{}\" is missing", what, i + 1, formal[i].name);
    }
    if (given.size() < least)
        return runError("it has {} {}s, the operator at least {}", given.size(), what, least);
    return {};
}

} // namespace

Result<void> checkArity(const Node& node, const SchemaEntry& entry) {
    const int leastInputs = entry.library ? entry.library->min_input() : 0, leastOutputs = entry.library ? entry.library->min_output() : 0;
    NABLA_CHECK(check("input", node.inputs, entry.schema.inputs, static_cast<std::size_t>(leastInputs), true));
    return check("output", node.outputs, entry.schema.outputs, static_cast<std::size_t>(leastOutputs), false);
}

Result<void> checkArity(const Node& node, std::int64_t opset) {
    const SchemaEntry* entry = findSchemaEntry(node.opType, node.domain, opset);
    return entry ? checkArity(node, *entry) : Result<void>{};
}

} // namespace nabla::engine
