// Node, Value and Attribute: the immutable parts a graph is a table of.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/ids.h"
#include "engine/graph/value_type.h"
#include "engine/tensor/tensor.h"

namespace nabla::engine {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

/// Inside a function body: the value of the calling node's attribute of this name.
struct AttributeReference {
    std::string name;
    std::uint8_t kind = 0; ///< AttributeProto.AttributeType of the file
    friend bool operator==(const AttributeReference&, const AttributeReference&) = default;
};

/// Indices and values of a sparse tensor, with its dense shape.
struct SparseTensor {
    TensorPtr values, indices;
    Shape shape;
};
using SparseTensorPtr = std::shared_ptr<const SparseTensor>;

using AttributeValue = std::variant<std::int64_t, float, std::string, TensorPtr, GraphPtr, SparseTensorPtr, ValueType, std::vector<std::int64_t>,
    std::vector<float>, std::vector<std::string>, std::vector<TensorPtr>, std::vector<GraphPtr>, std::vector<ValueType>, AttributeReference>;

struct Attribute {
    std::string name;
    AttributeValue value;
};

/// One operator applied to values. Immutable once in a graph.
struct Node {
    NodeId id;
    std::string opType;
    std::string domain; ///< empty = ai.onnx; ours is `nabla`; source dialects have their own
    std::string overload;
    std::string name;   ///< as in the file; may be empty and need not be unique
    std::vector<ValueId> inputs;   ///< none = omitted optional input
    std::vector<ValueId> outputs;  ///< none = output not wanted
    std::vector<Attribute> attributes;
    /// Outer values that the bodies of this node read; position k is formal capture k of every body (Graph::captures).
    std::vector<ValueId> captures;
    std::string doc;
    std::vector<std::pair<std::string, std::string>> metadata;

    std::vector<NodeId> origins; ///< nodes of the imported graph it came from; itself when imported
    NodeId gradientOf;           ///< forward node whose cotangents this one helps to make
    std::shared_ptr<const std::string> createdBy; ///< `pass/rule`; null = imported

    const Attribute* attribute(std::string_view attributeName) const;
    /// Typed access; the default when the attribute is absent or of another kind.
    std::int64_t intAttribute(std::string_view attributeName, std::int64_t otherwise) const;
    float floatAttribute(std::string_view attributeName, float otherwise) const;
    std::string stringAttribute(std::string_view attributeName, std::string_view otherwise) const;
    std::vector<std::int64_t> intsAttribute(std::string_view attributeName) const;
    std::vector<float> floatsAttribute(std::string_view attributeName) const;
    std::vector<std::string> stringsAttribute(std::string_view attributeName) const;
    TensorPtr tensorAttribute(std::string_view attributeName) const; ///< null when absent
    GraphPtr graphAttribute(std::string_view attributeName) const;   ///< null when absent
    /// Every body (If, Loop, Scan, …) with its attribute's name.
    std::vector<std::pair<std::string, GraphPtr>> bodies() const;

    ValueId input(std::size_t i) const { return i < inputs.size() ? inputs[i] : ValueId{}; }
    ValueId output(std::size_t i) const { return i < outputs.size() ? outputs[i] : ValueId{}; }
    bool is(std::string_view type, std::string_view inDomain = "") const { return opType == type && domain == inDomain; }
};
using NodePtr = std::shared_ptr<const Node>;

/// One edge's source. Exactly one of: graph input (or body capture), initializer, output of a node.
struct Value {
    ValueId id;
    std::string name;      ///< unique within its graph
    NodeId producer;       ///< none for inputs, captures and initializers
    std::uint32_t outputIndex = 0;
    ValueType declared;    ///< what the file says; Unknown when it says nothing. Inferred types are an analysis
    TensorPtr constant;    ///< initializers
    std::string doc;
};
using ValuePtr = std::shared_ptr<const Value>;

/// `Conv "layer1.conv"` or `Conv #12` for messages: what a node is called where it has no name.
std::string describe(const Node& node);

} // namespace nabla::engine
