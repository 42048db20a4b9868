// Handing on whole values: sequences, optionals, and what bodies return.
#pragma once

#include "engine/ops/op_def.h"

namespace nabla::engine {

/// The value in memory of its own: a tensor may lie in the arena of the run, which is reused, and must not be kept inside a sequence.
Result<RuntimeValue> owned(const KernelContext& c, const RuntimeValue& value);
/// Sets output i; a tensor is copied to the output's place when the executor has one.
Result<void> emitValue(const KernelContext& c, std::size_t i, const RuntimeValue& value);

/// Entry `index` along `axis`, without the axis.
Result<Tensor> sliceAt(const Tensor& t, std::size_t axis, std::int64_t index);
/// Entries [begin, end) along `axis`.
Result<Tensor> sliceRange(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t end);
/// Tensors of one shape and type along a new axis, which may be the last. Errors (Run): shapes that differ.
Result<Tensor> stackTensors(const std::vector<Tensor>& parts, std::size_t axis);
/// Tensors that agree in all but `axis`, one after the other.
Result<Tensor> joinTensors(const std::vector<Tensor>& parts, std::size_t axis);

} // namespace nabla::engine
