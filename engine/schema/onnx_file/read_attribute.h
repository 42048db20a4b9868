// One AttributeProto to an attribute value; bodies are built by the caller.
#pragma once

#include "engine/schema/onnx_file/read_tensor.h"

namespace nabla::engine {

struct ReadAttribute {
    std::optional<AttributeValue> value; ///< nothing: the kind is not one we keep (sparse tensors in a list)
    std::string missing;                 ///< external elements that are not there
};
/// `type` as AttributeProto.AttributeType. Not for graphs.
Result<ReadAttribute> readAttribute(const ParsedAttribute& parsed, int type, WireStatus& status, const TensorSource& source);
/// What an attribute without a type holds (files before 2018).
int guessAttributeType(const ParsedAttribute& parsed, WireStatus& status);

} // namespace nabla::engine
