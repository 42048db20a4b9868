// What expansions of our own are written with: a graph under construction, with shorthands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph_editor.h"
#include "engine/tensor/element.h"

namespace nabla::engine {

/// An integer attribute.
inline Attribute number(std::string name, std::int64_t value) { return {std::move(name), value}; }

/// Writes nodes into `editor`; scalar() makes constants of the element type `type`.
class Sheet {
public:
    Sheet(GraphEditor& editor, DType type) : m_editor(editor), m_type(type) { }

    std::vector<ValueId> ops(std::string opType, std::vector<ValueId> inputs, std::size_t outputs, std::vector<Attribute> attributes = {}) {
        NodeSpec spec{.opType = std::move(opType), .inputs = std::move(inputs), .attributes = std::move(attributes)};
        spec.outputCount = outputs;
        return m_editor.outputs(m_editor.add(std::move(spec)));
    }
    ValueId op(std::string opType, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
        return ops(std::move(opType), std::move(inputs), 1, std::move(attributes)).front();
    }
    ValueId ints(std::vector<std::int64_t> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        return constant(Tensor::of<std::int64_t>({count}, values));
    }
    ValueId intScalar(std::int64_t value) { return constant(Tensor::scalar(value)); }
    /// A scalar of the element type of the operator.
    ValueId scalar(double value) {
        Tensor t = *Tensor::make(m_type, {}); // one element: cannot be over the limit
        writeDouble(m_type, t.mutableRaw(), 0, value);
        return constant(std::move(t));
    }
    ValueId constant(Tensor t) { return m_editor.addInitializer("number", std::make_shared<const Tensor>(std::move(t))); }
    ValueId add(ValueId a, ValueId b) { return op("Add", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("Mul", {a, b}); }
    ValueId oneMinus(ValueId a) { return op("Sub", {scalar(1), a}); }
    ValueId transposed(ValueId a) { return op("Transpose", {a}, {{"perm", std::vector<std::int64_t>{1, 0}}}); }
    /// Equal parts along the last axis.
    std::vector<ValueId> split(ValueId a, std::size_t parts) {
        if (parts == 1)
            return {a};
        return ops("Split", {a}, parts, {number("axis", -1), number("num_outputs", static_cast<std::int64_t>(parts))});
    }
    GraphEditor& editor() { return m_editor; }
    DType type() const { return m_type; }

private:
    GraphEditor& m_editor;
    DType m_type;
};

} // namespace nabla::engine
