// NodeWriter: short names for adding the nodes of a loss or of an optimizer to a graph.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/graph_editor.h"

namespace nabla::engine {

/// Appends ordinary ONNX nodes; each carries `createdBy` (`train/sgd`, `loss/mse`). Constants are made once per value and type.
class NodeWriter {
public:
    NodeWriter(GraphEditor& editor, std::string createdBy);

    GraphEditor& editor() { return m_editor; }
    ValueId op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}, std::string name = {});
    /// A rank-0 constant.
    ValueId scalar(DType dtype, double value);
    ValueId cast(ValueId value, DType to);

    ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
    ValueId sub(ValueId a, ValueId b) { return op("Sub", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    ValueId div(ValueId a, ValueId b) { return op("Div", {a, b}); }

private:
    GraphEditor& m_editor;
    std::shared_ptr<const std::string> m_createdBy;
    std::map<std::pair<DType, double>, ValueId> m_scalars;
};

} // namespace nabla::engine
