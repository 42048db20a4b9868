// Files of one value: TensorProto, SequenceProto, OptionalProto or MapProto, as ONNX's backend tests keep inputs and outputs.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.h"
#include "engine/graph/value_type.h"
#include "engine/tensor/runtime_value.h"

namespace nabla::engine {

/// Reads the message that `type` declares (Unknown: a tensor). The value shares the mapped file. Errors (Read): the file, its wire data.
Result<RuntimeValue> readValueFile(const std::filesystem::path& path, const ValueType& type);
/// The bytes of a value as the message of its kind.
std::string valueBytes(const RuntimeValue& value, const std::string& name);

} // namespace nabla::engine
