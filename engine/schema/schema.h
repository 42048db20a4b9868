// The ONNX standard as the ONNX library tells it: schemas, defaults, function bodies. The library stays behind this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/graph/graph.h"

namespace nabla::engine {

/// A formal input or output of an operator.
struct FormalParameter {
    enum class Kind : std::uint8_t { Single, Optional, Variadic };
    std::string name, typeText, doc;
    Kind kind = Kind::Single;
    std::vector<std::string> types; ///< allowed types as ONNX writes them: `tensor(float)`
};

struct FormalAttribute {
    std::string name, kindText, doc;
    bool required = false;
    std::optional<AttributeValue> otherwise; ///< the default
};

/// One version of one operator. Lives as long as the program.
struct OperatorSchema {
    std::string name, domain;
    std::int64_t sinceVersion = 1;
    std::string doc; ///< Markdown of the standard
    bool deprecated = false;
    bool hasFunctionBody = false;
    std::vector<FormalParameter> inputs, outputs;
    std::vector<FormalAttribute> attributes;
    const FormalAttribute* attribute(std::string_view attributeName) const;
    /// Formal input of a position (the last one again for variadic inputs); null past the end.
    const FormalParameter* input(std::size_t position) const;
    const FormalParameter* output(std::size_t position) const;
};

/// Newest opset of a domain that the library knows; 0 for a domain it does not know. `nabla` is ours: 1.
std::int64_t newestOpset(std::string_view domain);
/// Schema in force at `opset`; null when there is none (an operator nobody knows). Thread safe, cached.
const OperatorSchema* findSchema(std::string_view opType, std::string_view domain, std::int64_t opset);
/// The newest schema of every operator, sorted by domain and name.
std::vector<const OperatorSchema*> newestSchemas();
/// Every version of an operator, ascending, deprecated ones too; empty for an operator nobody knows.
std::vector<std::int64_t> schemaVersions(std::string_view opType, std::string_view domain);
/// The attribute of the node, else the schema's default, else nothing.
std::optional<AttributeValue> attributeOrDefault(const Node& node, std::string_view attributeName, std::int64_t opset);

/// The function body of an operator as a graph over `ids` whose inputs and outputs are the operator's formal ones, attribute references
/// already replaced by the node's attributes. Context-dependent bodies are built for these input types. The body's opset imports stand in its
/// ModelInfo. Null when the operator has no body.
Result<GraphPtr> functionBody(const Node& node, std::int64_t opset, const std::vector<ValueType>& inputTypes, const IdSourcePtr& ids);

/// What is known of a node's inputs and outputs while types are inferred.
struct InferenceInputs {
    std::vector<ValueType> types;              ///< one per input; Unknown for omitted ones
    std::vector<TensorPtr> constants;          ///< one per input; null when not constant (only small integer ones matter)
    std::vector<std::optional<SymbolicShape>> shapeData; ///< symbolic contents of an int64 vector, from shape arithmetic
};
/// Infers the types of the node's outputs (bodies too, through `inferBody`), by the library's own function for the operator at that opset.
/// Errors (Run) carry the library's words: a clash of shapes, an axis out of range. Unknown outputs stay Unknown.
using BodyInference = std::function<Result<std::vector<ValueType>>(const GraphPtr& body, const std::vector<ValueType>& inputs)>;
Result<std::vector<ValueType>> inferNodeTypes(const Graph& graph, const Node& node, const InferenceInputs& inputs, const BodyInference& inferBody);

} // namespace nabla::engine
