// Nodes and constants of losses and optimizers.
#include "engine/training/node_writer.h"

#include <fmt/format.h>

#include "engine/tensor/element.h"

namespace nabla::engine {

NodeWriter::NodeWriter(GraphEditor& editor, std::string createdBy)
    : m_editor(editor), m_createdBy(std::make_shared<const std::string>(std::move(createdBy))) { }

ValueId NodeWriter::op(std::string_view opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes, std::string name) {
    NodeSpec spec;
    spec.opType = std::string(opType);
    spec.inputs = std::move(inputs);
    spec.attributes = std::move(attributes);
    spec.createdBy = m_createdBy;
    if (!name.empty())
        spec.outputNames = {std::move(name)};
    return m_editor.addValue(std::move(spec));
}

ValueId NodeWriter::scalar(DType dtype, double value) {
    ValueId& id = m_scalars[{dtype, value}];
    if (!id) {
        Tensor tensor = *Tensor::make(dtype, {}); // one element: below any limit
        writeDouble(dtype, tensor.mutableRaw(), 0, value);
        id = m_editor.addInitializer(fmt::format("{}.const", *m_createdBy), std::make_shared<const Tensor>(std::move(tensor)));
    }
    return id;
}

ValueId NodeWriter::cast(ValueId value, DType to) { return op("Cast", {value}, {{"to", static_cast<std::int64_t>(to)}}); }

} // namespace nabla::engine
