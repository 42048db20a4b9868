// The cache between our schemas and the library's. Private to engine/schema.
#pragma once

#include "engine/schema/schema.h"

namespace onnx {
class OpSchema;
}

namespace nabla::engine {

/// Our schema with the library's behind it; `library` is null for the domain `nabla`.
struct SchemaEntry {
    OperatorSchema schema;
    const onnx::OpSchema* library = nullptr;
};

/// Null when there is none. Thread safe; the library registers its schemas on the first call (35 ms).
const SchemaEntry* findSchemaEntry(std::string_view opType, std::string_view domain, std::int64_t opset);

/// checkArity of engine/schema/arity.h for one who has the schema.
Result<void> checkArity(const Node& node, const SchemaEntry& entry);

} // namespace nabla::engine
