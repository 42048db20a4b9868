// operatorBody: the one place that decides which body an operator expands to.
#include "engine/ops/op_def.h"

namespace nabla::engine {

Result<GraphPtr> operatorBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids) {
    if (const OpDef* op = findOp(node.opType, node.domain); op && op->body)
        return op->body(node, opset, inputTypes, ids);
    return functionBody(node, opset, inputTypes, ids);
}

} // namespace nabla::engine
