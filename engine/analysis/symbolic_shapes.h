// Dimensions that the library's inference loses because it knows no arithmetic on names: sums, products, windows.
#pragma once

#include "engine/schema/schema.h"

namespace nabla::engine {

/// Fills unknown dimensions of the outputs where the operator's definition gives them as expressions of the inputs' dimensions.
/// Never changes a dimension that is known. Sources: the shape formulas of ONNX Operators.md.
void refineSymbolicShapes(const Node& node, std::int64_t opset, const InferenceInputs& inputs, std::vector<ValueType>& outputs);

/// The dimension with its name read as arithmetic where it is one: `2*seq + 1` (as PyTorch's exporter writes) becomes an expression.
Dim parsedDim(const Dim& dim);

} // namespace nabla::engine
