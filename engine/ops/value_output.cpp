// Copies of whole values, slices and stacks.
#include "engine/ops/value_output.h"

#include "engine/ops/float_kernel.h"
#include "engine/ops/mover.h"

namespace nabla::engine {

Result<RuntimeValue> owned(const KernelContext& c, const RuntimeValue& value) {
    if (!c.place || !value.isTensor())
        return value;
    NABLA_TRY(Tensor copy, value.tensor().clone());
    return RuntimeValue(std::move(copy));
}

Result<void> emitValue(const KernelContext& c, std::size_t i, const RuntimeValue& value) {
    if (value.isTensor() && c.place)
        return copyToOutput(c, i, value.tensor());
    c.setOutput(i, value);
    return {};
}

Result<Tensor> sliceAt(const Tensor& t, std::size_t axis, std::int64_t index) {
    NABLA_TRY(const Tensor part, sliceRange(t, axis, index, index + 1));
    Shape shape = part.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return part.reshaped(std::move(shape));
}

Result<Tensor> sliceRange(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t end) {
    Shape shape = t.shape();
    shape[axis] = end - begin;
    NABLA_TRY(Tensor out, Tensor::make(t.dtype(), shape));
    const auto strides = rowMajorStrides(t.shape());
    copyStrided(out, contiguous(shape), t, {begin * strides[axis], strides}, shape);
    return out;
}

Result<Tensor> stackTensors(const std::vector<Tensor>& parts, std::size_t axis) {
    std::vector<Tensor> wide;
    wide.reserve(parts.size());
    for (const Tensor& part : parts) {
        if (part.shape() != parts.front().shape() || part.dtype() != parts.front().dtype()) {
            return runError("cannot stack {} {} and {} {}", name(parts.front().dtype()), toString(parts.front().shape()), name(part.dtype()),
                toString(part.shape()));
        }
        if (axis > part.rank())
            return runError("axis {} is out of range for stacking tensors of rank {}", axis, part.rank());
        Shape shape = part.shape();
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        wide.push_back(part.reshaped(std::move(shape)));
    }
    return joinTensors(wide, axis);
}

Result<Tensor> joinTensors(const std::vector<Tensor>& parts, std::size_t axis) {
    NABLA_ASSERT(!parts.empty(), "joining wants a tensor for its type and shape");
    Shape shape = parts.front().shape();
    if (axis >= shape.size())
        return runError("axis {} is out of range for tensors of rank {}", axis, shape.size());
    shape[axis] = 0;
    for (const Tensor& part : parts) {
        Shape other = part.shape();
        if (axis < other.size())
            other[axis] = shape[axis];
        if (other != shape || part.dtype() != parts.front().dtype()) {
            return runError("cannot join {} {} and {} {} along axis {}", name(parts.front().dtype()), toString(parts.front().shape()), name(part.dtype()),
                toString(part.shape()), axis);
        }
        shape[axis] += part.dim(axis);
    }
    NABLA_TRY(Tensor out, Tensor::make(parts.front().dtype(), shape));
    const auto strides = rowMajorStrides(shape);
    std::int64_t at = 0;
    for (const Tensor& part : parts) {
        copyStrided(out, {at * strides[axis], strides}, part, contiguous(part.shape()), part.shape());
        at += part.dim(axis);
    }
    return out;
}

} // namespace nabla::engine
