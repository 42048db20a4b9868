// The messages of an ONNX file taken apart into views of its bytes: who is called what, before any graph is built.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/value_type.h"
#include "engine/schema/onnx_file/wire_reader.h"

namespace nabla::engine {

/// Bodies inside bodies, sequences of sequences: deeper files are refused.
inline constexpr int kMaxNesting = 100;

using ParsedPairs = std::vector<std::pair<std::string_view, std::string_view>>;

struct ParsedAttribute {
    std::string_view name, reference;
    std::string_view bytes;                      ///< the AttributeProto, decoded when the node is made
    int type = 0;                                ///< 0 in old files: then what is there decides
    std::uint32_t bodyBegin = 0, bodyCount = 0;  ///< in ParsedGraph::bodies
};

struct ParsedNode {
    std::string_view name, opType, domain, overload, doc;
    std::uint32_t inputBegin = 0, inputCount = 0, outputBegin = 0, outputCount = 0; ///< in ParsedGraph::names
    std::uint32_t attributeBegin = 0, attributeCount = 0;
    ParsedPairs metadata;
};

struct ParsedValueInfo {
    std::string_view name, type, doc;
    bool hasType = false;
};

struct ParsedGraph {
    std::string_view name, doc;
    std::vector<std::string_view> names;
    std::vector<ParsedNode> nodes;
    std::vector<ParsedAttribute> attributes;
    std::vector<ParsedValueInfo> inputs, outputs, valueInfos;
    std::vector<std::string_view> initializers, sparseInitializers;
    std::vector<std::unique_ptr<ParsedGraph>> bodies;
    /// Names that are read here or in bodies and made nowhere here, in order of first use.
    std::vector<std::string_view> freeNames;
};

struct ParsedFunction {
    std::string_view name, domain, overload, doc;
    std::vector<std::string_view> attributes;
    std::vector<ParsedAttribute> defaults;
    std::vector<std::pair<std::string_view, std::int64_t>> opsets;
    ParsedGraph body;
};

struct ParsedModel {
    std::int64_t irVersion = 0, modelVersion = 0;
    std::string_view producer, producerVersion, domain, doc;
    std::vector<std::pair<std::string_view, std::int64_t>> opsets;
    ParsedPairs metadata;
    std::vector<ParsedFunction> functions;
    ParsedGraph graph;
    bool hasGraph = false, hasTraining = false;
};

/// Errors (Read) name the byte: truncated, corrupt, nested deeper than kMaxNesting.
Result<ParsedModel> parseModel(std::string_view file);
/// One FunctionProto by itself (bodies of operators come so).
Result<ParsedFunction> parseFunction(std::string_view file);

struct ParsedTensor {
    std::string_view bytes;           ///< the TensorProto
    std::string_view name, doc, raw;
    std::vector<std::int64_t> dims;
    int dataType = 0;
    bool hasRaw = false, external = false;
    std::uint32_t typedFields = 0;    ///< bit per field number: 4 float, 5 int32, 6 string, 7 int64, 10 double, 11 uint64
    ParsedPairs externalData;
};
ParsedTensor parseTensor(std::string_view bytes, WireStatus& status);

/// A TypeProto. Numbers of element types that are not known become Undefined; negative dimensions unknown.
ValueType parseType(std::string_view bytes, WireStatus& status, int depth = 0);

} // namespace nabla::engine
